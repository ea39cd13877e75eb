package domain

import (
	"context"
	"fmt"
	"slices"

	"gpupool/domain/pool"
)

// PriceListInput is the form of a draft, numbers as typed.
type PriceListInput struct {
	ID   pool.PriceListID // empty: a new draft
	Name string
	From pool.Instant // effective; 0: when it is published
	Rows []PriceRowInput
}

// PriceRowInput is one price. Errors of row i carry the fields price.i,
// share.i, from.i, to.i and class.i.
type PriceRowInput struct {
	Class       pool.ClassID
	Cover       pool.Cover
	Price       string // net, per GPU-hour
	LenderShare string // percent of loan and spot money for the lender; empty: 0
	From, To    string // time of day as 22:00 in the billing zone; both empty: the whole day
}

const maxPriceRows = 2000

// PriceLists with drafts, by effective date, for the operator.
func (s *Service) PriceLists(ctx context.Context, a Actor) ([]PriceList, error) {
	if err := a.NeedOperator(); err != nil {
		return nil, err
	}
	var out []PriceList
	err := s.store.View(ctx, func(tx Tx) (err error) { out, err = tx.PriceLists(); return err })
	return out, err
}

// SavePriceListDraft writes a draft; it may be incomplete until it is published.
func (s *Service) SavePriceListDraft(ctx context.Context, a Actor, in PriceListInput) (PriceList, error) {
	if err := a.NeedOperator(); err != nil {
		return PriceList{}, err
	}
	id := in.ID
	if id == "" {
		id = pool.PriceListID(s.newID("prices-"))
	}
	ids := make([]pool.PriceRowID, min(len(in.Rows), maxPriceRows))
	for i := range ids {
		ids[i] = pool.PriceRowID(s.newID("row-"))
	}
	var l PriceList
	err := s.update(ctx, "", func(tx Tx) error {
		st, err := tx.Settings()
		if err != nil {
			return err
		}
		classes, err := tx.Classes()
		if err != nil {
			return err
		}
		l = PriceList{ID: id, CreatedAt: tx.Now()}
		var before any
		if in.ID != "" {
			old, err := tx.PriceList(id)
			if err != nil {
				return err
			}
			if old.PublishedAt != 0 {
				return Errf(Conflict, "Price list %s was published on %s. A published list never changes.", old.Name, old.PublishedAt.Time().Format("2006-01-02"))
			}
			before, l = old, old
		}
		var f Fields
		l.Name, l.From, l.ProposedBy, l.Rows = checkName(&f, "name", in.Name), in.From, a.User, nil
		if in.From < 0 || in.From == pool.Never {
			f.Add("from", "Choose a date.")
		}
		if len(in.Rows) > maxPriceRows {
			f.Add("rows", "At most %d rows; this has %d.", maxPriceRows, len(in.Rows))
			return f.Err()
		}
		starts := map[PriceRow]bool{} // the rows' keys: class, cover and first minute
		for i, x := range in.Rows {
			field := func(name string) string { return fmt.Sprintf("%s.%d", name, i) }
			r := PriceRow{ID: ids[i], List: id, Class: x.Class, Cover: x.Cover, ToMinute: 1440}
			if !slices.ContainsFunc(classes, func(c GPUClass) bool { return c.ID == x.Class }) {
				f.Add(field("class"), "There is no GPU type %.63q.", string(x.Class))
			}
			checkChoice(&f, field("cover"), x.Cover, pool.Covers...)
			r.Price = checkPrice(&f, field("price"), st.Currency, x.Price)
			if trimmed(x.LenderShare) != "" {
				r.LenderShare = checkRate(&f, field("share"), x.LenderShare)
			}
			if trimmed(x.From) != "" || trimmed(x.To) != "" {
				r.FromMinute, r.ToMinute = checkMinute(&f, field("from"), x.From, 0, 1439), checkMinute(&f, field("to"), x.To, 0, 1440)
				if r.ToMinute == 0 {
					r.ToMinute = 1440 // 00:00 as an end is the day's end
				}
				if r.FromMinute == r.ToMinute {
					f.Add(field("to"), "The window is empty.")
				}
			}
			key := PriceRow{Class: r.Class, Cover: r.Cover, FromMinute: r.FromMinute}
			if starts[key] {
				f.Add(field("from"), "Another row of %s as %s begins at the same time.", string(r.Class), string(r.Cover))
			}
			starts[key] = true
			l.Rows = append(l.Rows, r)
		}
		if err := f.Err(); err != nil {
			return err
		}
		if err := tx.SavePriceList(l); err != nil {
			return err
		}
		return audit(tx, a, "", "prices.draft", string(id), before, l)
	})
	return l, err
}

// checkMinute reads a time of day such as 22:00 as minutes after midnight.
func checkMinute(f *Fields, field, s string, low, high int) int {
	var h, m int
	if n, err := fmt.Sscanf(trimmed(s), "%d:%d", &h, &m); err != nil || n != 2 || trimmed(s) != fmt.Sprintf("%02d:%02d", h, m) ||
		h < 0 || m < 0 || m > 59 || h*60+m < low || h*60+m > high {
		f.Add(field, "Write a time of day from %02d:%02d to %02d:%02d.", low/60, low%60, high/60, high%60)
		return low
	}
	return h*60 + m
}

// PublishPriceList publishes a complete draft. From then on it never changes.
// Every class has rows for own, loan and spot that tile the day; at every time
// of day spot < loan <= own. Only the last rule can be overridden, with a
// reason that the trail keeps.
func (s *Service) PublishPriceList(ctx context.Context, a Actor, id pool.PriceListID, override string) (PriceList, []Warning, error) {
	if err := a.NeedOperator(); err != nil {
		return PriceList{}, nil, err
	}
	var f Fields
	override = trimmed(override)
	if checkText(&f, "override", override, false, 200); len(f) > 0 {
		return PriceList{}, nil, f.Err()
	}
	var l PriceList
	var warnings []Warning
	err := s.update(ctx, "", func(tx Tx) (err error) {
		if l, err = tx.PriceList(id); err != nil {
			return err
		}
		if l.PublishedAt != 0 {
			return Errf(Conflict, "Price list %s was published on %s already.", l.Name, l.PublishedAt.Time().Format("2006-01-02"))
		}
		if warnings, err = checkPublish(tx, &l, override); err != nil {
			return err
		}
		l.PublishedAt, l.ApprovedBy = tx.Now(), a.User
		if err := tx.SavePriceList(l); err != nil {
			return err
		}
		if err := tx.BumpVersion(); err != nil {
			return err
		}
		return audit(tx, a, "", "prices.publish", string(id), nil, map[string]any{"list": l, "override": override})
	})
	return l, warnings, err
}

// checkPublish completes l.From and tells what stands against publishing.
func checkPublish(tx Tx, l *PriceList, override string) ([]Warning, error) {
	st, err := tx.Settings()
	if err != nil {
		return nil, err
	}
	classes, err := tx.Classes()
	if err != nil {
		return nil, err
	}
	lists, err := tx.PriceLists()
	if err != nil {
		return nil, err
	}
	if l.From == 0 {
		l.From = tx.Now()
	}
	local := func(i pool.Instant) string { return i.In(st.Location()).Format("2006-01-02 15:04 MST") }
	var f Fields
	if l.From < tx.Now() {
		f.Add("from", "%s is past; it is %s. Prices never change backwards.", local(l.From), local(tx.Now()))
	}
	first := true
	for _, x := range lists {
		if x.PublishedAt == 0 || x.ID == l.ID {
			continue
		}
		first = false
		if x.From == l.From {
			f.Add("from", "Price list %s begins at the same instant.", x.Name)
		}
	}
	if len(classes) == 0 {
		f.Add("rows", "There is no GPU type to price yet.")
	}
	var unsound []string
	for _, c := range classes {
		missing := false
		for _, cover := range pool.Covers {
			if why := tiles(l.Rows, c.ID, cover); why != "" {
				f.Add("rows", "%s as %s: "+why, string(c.ID), string(cover))
				missing = true
			}
		}
		if !missing {
			unsound = append(unsound, arbitrage(l.Rows, c.ID, st)...)
		}
	}
	if override == "" {
		for _, x := range unsound {
			f.Add("override", "%s", x+" Give a reason to publish all the same.")
		}
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	var out []Warning
	for _, x := range unsound {
		out = append(out, Warning{"%s", []any{x}})
	}
	if !first && l.From < tx.Now().Add(st.LongestMaxRun) {
		out = append(out, Warning{"It takes effect sooner than the longest maximum run of %d hours: jobs that run now never pay more than they were promised; the difference is waived.",
			[]any{int64(st.LongestMaxRun.Hours())}})
	}
	return out, nil
}

// tiles says how the rows of a class and cover fail to cover each minute of the
// day exactly once; empty when they do.
func tiles(rows []PriceRow, class pool.ClassID, cover pool.Cover) string {
	var times [1440]int
	any := false
	for _, r := range rows {
		if r.Class != class || r.Cover != cover {
			continue
		}
		any = true
		for m := range times {
			if r.applies(m) {
				times[m]++
			}
		}
	}
	if !any {
		return "there is no price."
	}
	for m, n := range times {
		switch {
		case n == 0:
			return fmt.Sprintf("no price at %02d:%02d.", m/60, m%60)
		case n > 1:
			return fmt.Sprintf("%d prices at %02d:%02d.", n, m/60, m%60)
		}
	}
	return ""
}

// arbitrage names the first time of day at which somebody could win by taking
// one cover for another.
func arbitrage(rows []PriceRow, class pool.ClassID, st Settings) []string {
	at := func(cover pool.Cover, m int) PriceRow {
		for _, r := range rows {
			if r.Class == class && r.Cover == cover && r.applies(m) {
				return r
			}
		}
		return PriceRow{}
	}
	price := func(r PriceRow) string { return st.Currency.FormatPrice(r.Price) + " " + st.Currency.Code }
	var out []string
	spotDone, loanDone := false, false
	for m := range 1440 {
		own, loan, spot := at(pool.Own, m), at(pool.Loan, m), at(pool.SpotCover, m)
		if !spotDone && spot.Price >= loan.Price {
			spotDone = true
			out = append(out, fmt.Sprintf("%s at %02d:%02d: spot for %s is not below loan for %s.", class, m/60, m%60, price(spot), price(loan)))
		}
		if !loanDone && loan.Price > own.Price {
			loanDone = true
			out = append(out, fmt.Sprintf("%s at %02d:%02d: loan for %s is above own for %s.", class, m/60, m%60, price(loan), price(own)))
		}
	}
	return out
}
