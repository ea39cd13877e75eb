package web

import (
	"net/http"

	"gpupool/domain"
)

// apiTimePolicy is a rule that holds at some hours of some days in the pool's zone.
type apiTimePolicy struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	Org        *string  `json:"org"`   // null: every member
	Class      *string  `json:"class"` // null: every GPU type
	Closed     bool     `json:"closed"`
	Tier       *string  `json:"tier"` // that hours are closed to; null: every tier, or not closed
	Guaranteed *int     `json:"guaranteed"`
	More       int      `json:"guaranteed_change"`
	Borrow     *int     `json:"borrow_limit"`
	Lend       *int     `json:"lend_limit"`
	First      *string  `json:"first_day"`
	Last       *string  `json:"last_day"`
	Days       []string `json:"weekdays"`
	From       string   `json:"from"`
	To         string   `json:"to"`          // not after from: on the next day
	Until      apiTime  `json:"holds_until"` // null: it doesn't hold now
	Next       apiTime  `json:"holds_next"`
	Over       bool     `json:"over"`
}

type apiQuotaChange struct {
	From       apiTime `json:"from"`
	Class      string  `json:"class"`
	Guaranteed int     `json:"guaranteed"`
	Borrow     int     `json:"borrow_limit"`
	Lend       int     `json:"lend_limit"`
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func timePolicy(p domain.TimePolicyView) apiTimePolicy {
	x := apiTimePolicy{ID: p.ID, Name: p.Name, Org: orNull(string(p.Org)), Class: orNull(string(p.Class)), Closed: p.Closed, Tier: orNull(string(p.Tier)),
		Guaranteed: p.Guaranteed, More: p.More, Borrow: p.Borrow, Lend: p.Lend, First: orNull(p.First), Last: orNull(p.Last), Days: []string{},
		From: minute(p.From), To: minute(p.To), Until: apiTime(p.Now), Next: apiTime(p.Next.Start), Over: p.Over}
	for i, d := range domain.Weekdays {
		if p.Days>>i&1 == 1 {
			x.Days = append(x.Days, d)
		}
	}
	return x
}

// apiTimePolicies lists those of the whole pool, for operators.
func (s *Server) apiTimePolicies(q *call) error {
	all, err := s.service.TimePolicies(q.ctx, q.actor)
	if err != nil {
		return err
	}
	out := []apiTimePolicy{}
	for _, p := range all {
		out = append(out, timePolicy(p))
	}
	return q.answer(http.StatusOK, whole(out))
}

// apiAnnouncements is what is announced and the maintenance that is planned or under way.
func (s *Server) apiAnnouncements(q *call) error {
	all, err := s.service.Announcements(q.ctx, q.actor)
	if err != nil {
		return err
	}
	type announcement struct {
		ID          string  `json:"id"`
		Text        string  `json:"text"`
		Start       apiTime `json:"start"`
		End         apiTime `json:"end"`
		Maintenance bool    `json:"maintenance"`
		Node        *string `json:"node"` // of a maintenance: the nodes that match all that is set
		Site        *string `json:"site"`
		Class       *string `json:"class"`
	}
	out := []announcement{}
	for _, x := range all {
		out = append(out, announcement{x.ID, x.Text, apiTime(x.Start), apiTime(x.End), x.Maintenance, orNull(string(x.Node)), orNull(string(x.Site)), orNull(string(x.Class))})
	}
	return q.answer(http.StatusOK, whole(out))
}
