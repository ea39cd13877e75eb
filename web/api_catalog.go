package web

import (
	"net/http"

	"gpupool/domain"
)

type apiClass struct {
	ID            string          `json:"id"`
	Name          string          `json:"name"`
	Vendor        string          `json:"vendor"`
	Model         string          `json:"model"`
	MemoryMiB     int64           `json:"memory_mib"`
	PerCard       int             `json:"slices_per_card"`
	DefaultMaxRun int64           `json:"default_max_run_seconds"`
	LongestMaxRun int64           `json:"longest_max_run_seconds"`
	Total         int             `json:"total"`
	Ready         int             `json:"ready"`
	Used          int             `json:"used"`
	Free          int             `json:"free"`
	Prices        []apiClassPrice `json:"prices"` // in force now
}

type apiClassPrice struct {
	Cover string   `json:"cover"`
	Price apiPrice `json:"price"`
}

// apiClasses lists the GPU types with what is free and what they cost now.
func (s *Server) apiClasses(q *call) error {
	m, err := s.service.Marketplace(q.ctx, q.actor)
	if err != nil {
		return err
	}
	out := []apiClass{}
	for _, c := range m.Classes {
		x := apiClass{string(c.ID), c.Name, c.Vendor, c.Model, c.MemoryMiB, max(1, c.PerCard), int64(c.DefaultMaxRun.Seconds()), int64(c.MaxRun.Seconds()),
			c.Total, c.Ready, c.Used, c.Free(), []apiClassPrice{}}
		for _, p := range c.Prices {
			x.Prices = append(x.Prices, apiClassPrice{string(p.Cover), q.price(p.Price)})
		}
		out = append(out, x)
	}
	return q.answer(http.StatusOK, whole(out))
}

// apiPlans lists the plans that can be subscribed to, each with its newest version.
func (s *Server) apiPlans(q *call) error {
	m, err := s.service.Marketplace(q.ctx, q.actor)
	if err != nil {
		return err
	}
	type class struct {
		Class      string `json:"class"`
		Guaranteed int    `json:"guaranteed"`
		Included   int64  `json:"included_gpu_milliseconds"` // a month
		Borrow     int    `json:"borrow_limit"`
		Lend       int    `json:"lend_limit"`
	}
	type plan struct {
		ID          string   `json:"id"`
		Name        string   `json:"name"`
		NameZH      string   `json:"name_zh"`
		Version     string   `json:"version"`
		Fee         apiMoney `json:"monthly_fee"`
		PublishedAt apiTime  `json:"published_at"`
		Classes     []class  `json:"classes"`
	}
	out := []plan{}
	for _, p := range m.Plans {
		x := plan{string(p.ID), p.Name, p.NameZH, string(p.Version.ID), q.amount(p.Version.Fee), apiTime(p.Version.PublishedAt), []class{}}
		for _, c := range p.Version.Classes {
			x.Classes = append(x.Classes, class{string(c.Class), c.Guaranteed, int64(c.Included), c.BorrowLimit, c.LendLimit})
		}
		out = append(out, x)
	}
	return q.answer(http.StatusOK, whole(out))
}

type apiPriceList struct {
	ID   string        `json:"id"`
	Name string        `json:"name"`
	From apiTime       `json:"from"`
	Rows []apiPriceRow `json:"rows"`
}

// apiPriceRow is a price in a window of the billing zone's day; the windows of a class and cover tile the day.
type apiPriceRow struct {
	Class       string   `json:"class"`
	Cover       string   `json:"cover"`
	Price       apiPrice `json:"price"`
	LenderShare int      `json:"lender_share_basis_points"`
	FromMinute  int      `json:"from_minute"`
	ToMinute    int      `json:"to_minute"`
}

// apiPrices is the price list in force and those announced.
func (s *Server) apiPrices(q *call) error {
	m, err := s.service.Marketplace(q.ctx, q.actor)
	if err != nil {
		return err
	}
	type prices struct {
		Zone      string         `json:"zone"`
		InForce   *apiPriceList  `json:"in_force"`
		Announced []apiPriceList `json:"announced"`
	}
	out := prices{Zone: m.Zone, Announced: []apiPriceList{}}
	if m.InForce != nil {
		l := q.priceList(*m.InForce)
		out.InForce = &l
	}
	for _, l := range m.Announced {
		out.Announced = append(out.Announced, q.priceList(l))
	}
	return q.answer(http.StatusOK, out)
}

func (q *call) priceList(l domain.PriceList) apiPriceList {
	out := apiPriceList{string(l.ID), l.Name, apiTime(l.From), []apiPriceRow{}}
	for _, r := range l.Rows {
		out.Rows = append(out.Rows, apiPriceRow{string(r.Class), string(r.Cover), q.price(r.Price), r.LenderShare, r.FromMinute, r.ToMinute})
	}
	return out
}
