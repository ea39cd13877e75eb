package domain

import (
	"cmp"
	"context"
	"slices"

	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/rating"
)

// UsageLine is a row of the usage report: use and its charge.
type UsageLine struct {
	Kind    rating.Kind
	Class   pool.ClassID
	Cover   pool.Cover
	Project pool.ProjectID
	User    pool.UserID
	Use     pool.GPUMillis
	Amount  money.Amount
}

// UsageReport is an organisation's month: every part adds up to the whole.
type UsageReport struct {
	Month       pool.Month
	Now         pool.Instant
	Settings    Settings
	Provisional bool
	Lines       []UsageLine // by project, person, class, kind
	Total       money.Amount
	Days        []UsageDay
	Projects    map[pool.ProjectID]string
	Users       map[pool.UserID]string
}

// UsageDay is use of a class and cover on a day of the billing zone.
type UsageDay struct {
	Day   pool.Instant
	Class pool.ClassID
	Cover pool.Cover
	Use   pool.GPUMillis
}

// Usage reports an organisation's month by project and person. A member who
// is narrowed to projects sees only those.
func (s *Service) Usage(ctx context.Context, a Actor, org pool.OrgID, m pool.Month) (UsageReport, error) {
	r := UsageReport{Month: m}
	if err := a.Need(org, ActView); err != nil {
		return r, err
	}
	err := s.store.View(ctx, func(tx Tx) error {
		t, err := LoadTerms(tx)
		if err != nil {
			return err
		}
		r = UsageReport{Month: m, Now: tx.Now(), Settings: t.Settings, Projects: map[pool.ProjectID]string{}}
		bounds := m.Bounds(t.Zone)
		r.Provisional = r.Now < bounds.End.Add(t.Settings.Grace)
		lines, err := MonthCharges(tx, t, org, m)
		if err != nil {
			return err
		}
		r.add(lines, func(p pool.ProjectID) bool { return a.SeesProject(org, p) })
		f := SegmentFilter{Org: org, From: bounds.Start, To: bounds.End}
		if only, narrowed := a.Projects[org]; narrowed && !a.Operator {
			f.Projects = only
		}
		days, err := tx.Usage(f, UsageGroup{Day: true})
		if err != nil {
			return err
		}
		r.addDays(days)
		for _, p := range t.ProjectsOf(org) {
			r.Projects[p.ID] = p.Name
		}
		r.Users, err = userNames(tx)
		return err
	})
	return r, err
}

func (r *UsageReport) add(lines []rating.Line, seen func(pool.ProjectID) bool) {
	type key struct {
		kind    rating.Kind
		class   pool.ClassID
		project pool.ProjectID
		user    pool.UserID
	}
	at := map[key]int{}
	for _, l := range lines {
		for _, p := range l.Parts {
			if !seen(p.Project) {
				continue
			}
			k := key{l.Kind, l.Class, p.Project, p.User}
			i, ok := at[k]
			if !ok {
				i = len(r.Lines)
				at[k] = i
				r.Lines = append(r.Lines, UsageLine{Kind: l.Kind, Class: l.Class, Cover: l.Cover, Project: p.Project, User: p.User})
			}
			r.Lines[i].Use += p.Quantity
			r.Lines[i].Amount += p.Amount
			r.Total += p.Amount
		}
	}
	slices.SortFunc(r.Lines, func(a, b UsageLine) int {
		return cmp.Or(cmp.Compare(a.Project, b.Project), cmp.Compare(a.User, b.User), cmp.Compare(a.Class, b.Class),
			cmp.Compare(slices.Index(rating.Kinds, a.Kind), slices.Index(rating.Kinds, b.Kind)))
	})
}

func (r *UsageReport) addDays(rows []UsageRow) {
	for _, row := range rows {
		n := len(r.Days)
		i := slices.IndexFunc(r.Days, func(d UsageDay) bool { return d.Day == row.Day && d.Class == row.Class && d.Cover == row.Cover })
		if i < 0 {
			r.Days = append(r.Days, UsageDay{Day: row.Day, Class: row.Class, Cover: row.Cover})
			i = n
		}
		r.Days[i].Use += row.Use
	}
	slices.SortFunc(r.Days, func(a, b UsageDay) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Cover, b.Cover))
	})
}
