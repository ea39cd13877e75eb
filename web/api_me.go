package web

import (
	"net/http"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// apiOrg is an organisation and what the token's owner is in it; the role is empty for an operator from outside.
type apiOrg struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	NameZH string `json:"name_zh"`
	Role   string `json:"role"`
	Paused bool   `json:"paused"`
}

// apiMe is whose token it is.
func (s *Server) apiMe(q *call) error {
	orgs, err := q.orgs()
	if err != nil {
		return err
	}
	type me struct {
		ID       string   `json:"id"`
		Name     string   `json:"name"`
		Email    string   `json:"email"`
		Operator bool     `json:"operator"`
		Token    string   `json:"token"`
		Scopes   []string `json:"scopes"`
		Orgs     []apiOrg `json:"orgs"`
		Now      apiTime  `json:"now"` // of the pool's clock
		Zone     string   `json:"zone"`
		Currency string   `json:"currency"`
	}
	a := q.actor
	return q.answer(http.StatusOK, me{string(a.User), a.Name, a.Email, a.Operator, a.TokenID, append([]string{}, a.Scopes...), orgs,
		apiTime(q.now), q.settings.Zone, q.settings.Currency.Code})
}

// apiOrgs lists the organisations that the token's owner belongs to; all of them for the operator.
func (s *Server) apiOrgs(q *call) error {
	orgs, err := q.orgs()
	if err != nil {
		return err
	}
	p, err := paged(q, orgs, func(o apiOrg) string { return o.ID })
	if err != nil {
		return err
	}
	return q.answer(http.StatusOK, p)
}

func (q *call) orgs() ([]apiOrg, error) {
	all, err := q.server.service.Organisations(q.ctx, q.actor)
	out := []apiOrg{}
	for _, o := range all {
		out = append(out, apiOrg{string(o.ID), o.Name, o.NameZH, string(q.actor.Roles[o.ID]), len(o.Pauses) > 0})
	}
	return out, err
}

// apiProjects lists the projects that the token's owner may see.
func (s *Server) apiProjects(q *call) error {
	all, err := s.service.Projects(q.ctx, q.actor, q.org)
	if err != nil {
		return err
	}
	type project struct {
		ID       string    `json:"id"`
		Name     string    `json:"name"`
		Archived bool      `json:"archived"`
		Paused   bool      `json:"paused"`
		Budget   *apiMoney `json:"budget"`
		Period   string    `json:"budget_period"`
		Account  *apiName  `json:"billing_account"`
	}
	var out []project
	for _, p := range all {
		x := project{ID: string(p.ID), Name: p.Name, Archived: p.Archived, Paused: len(p.Pauses) > 0, Period: p.BudgetPeriod}
		if p.Budget != nil {
			x.Budget = &apiMoney{*p.Budget, q.settings.Currency.Code}
		}
		if p.Account != "" {
			x.Account = &apiName{string(p.Account), p.AccountName}
		}
		out = append(out, x)
	}
	page, err := paged(q, out, func(p project) string { return p.ID })
	if err != nil {
		return err
	}
	return q.answer(http.StatusOK, page)
}

// apiQuotaRow is a member's quota of a class and how it is used now.
type apiQuotaRow struct {
	Class        string `json:"class"`
	Name         string `json:"name"`
	Guaranteed   int    `json:"guaranteed"` // contributed GPUs included
	Contributed  int    `json:"contributed"`
	OwnUsed      int    `json:"own_used"`
	Free         int    `json:"free"`
	Lent         int    `json:"lent"`
	Borrowed     int    `json:"borrowed"`
	Spot         int    `json:"spot"`
	BorrowLimit  int    `json:"borrow_limit"`
	LendLimit    int    `json:"lend_limit"`
	Weight       int    `json:"weight"`                    // among borrowers
	Included     int64  `json:"included_gpu_milliseconds"` // a month
	IncludedUsed int64  `json:"included_used_gpu_milliseconds"`
}

// apiQuota is what is left of the quota, and of the money.
func (s *Server) apiQuota(q *call) error {
	d, err := s.service.Dashboard(q.ctx, q.actor, q.org)
	if err != nil {
		return err
	}
	tree, err := s.service.QuotaTree(q.ctx, q.actor, q.org)
	if err != nil {
		return err
	}
	type share struct {
		Project    string `json:"project"`
		Class      string `json:"class"`
		Guaranteed int    `json:"guaranteed"` // of the organisation's, to this project
		InUse      int    `json:"in_use"`     // spot excluded
		Beyond     *int   `json:"beyond_limit"`
	}
	type spendingCap struct {
		Amount apiMoney `json:"amount"`
		Mode   string   `json:"mode"`
	}
	type quota struct {
		Month     string        `json:"month"`
		Now       apiTime       `json:"now"`
		Plan      *apiName      `json:"plan"` // id is of the version
		Classes   []apiQuotaRow `json:"classes"`
		Projects  []share       `json:"projects"` // with quota or work
		Fee       apiMoney      `json:"fee"`
		Charges   apiMoney      `json:"charges"` // variable, of the month so far
		Committed apiMoney      `json:"committed"`
		PerHour   apiMoney      `json:"per_hour"`
		Cap       *spendingCap  `json:"cap"`
		// What time makes of it: rules, and the changes of the next four weeks.
		Policies []apiTimePolicy  `json:"time_policies"`
		Changes  []apiQuotaChange `json:"changes"`
	}
	schedule, err := s.service.ScheduleOf(q.ctx, q.actor, q.org)
	if err != nil {
		return err
	}
	out := quota{Policies: []apiTimePolicy{}, Changes: []apiQuotaChange{}, Month: d.Month.String(), Now: apiTime(d.Now), Classes: []apiQuotaRow{}, Projects: []share{}, Fee: q.amount(d.Fee), Charges: q.amount(d.Charges),
		Committed: q.amount(d.Committed), PerHour: q.amount(d.PerHour)}
	if d.Plan != nil {
		out.Plan = &apiName{string(d.Plan.ID), d.PlanName}
	}
	for _, c := range d.Quotas {
		x := quotaRow(c)
		for _, r := range tree.Rows {
			if r.Org == q.org && r.Project == "" && r.Class == c.Class {
				x.Weight = r.Weight
			}
		}
		out.Classes = append(out.Classes, x)
	}
	for _, r := range tree.Rows {
		if r.Project != "" {
			out.Projects = append(out.Projects, share{string(r.Project), string(r.Class), r.Quota, r.Use, r.BorrowLimit})
		}
	}
	for _, p := range schedule.Policies {
		out.Policies = append(out.Policies, timePolicy(p))
	}
	for _, c := range schedule.Changes {
		out.Changes = append(out.Changes, apiQuotaChange{apiTime(c.From), string(c.After.Class), c.After.Nominal, c.After.Borrow, c.After.Lend})
	}
	if d.Cap != nil && d.Cap.Amount != nil {
		out.Cap = &spendingCap{q.amount(*d.Cap.Amount), string(d.Cap.Mode)}
	}
	return q.answer(http.StatusOK, out)
}

func quotaRow(c domain.QuotaNow) apiQuotaRow {
	return apiQuotaRow{Class: string(c.Class), Name: c.Name, Guaranteed: c.Nominal, Contributed: c.Contributed, OwnUsed: c.OwnUsed, Free: c.Free(), Lent: c.Lent,
		Borrowed: c.Borrowed, Spot: c.Spot, BorrowLimit: c.Borrow, LendLimit: c.Lend, Included: int64(c.Included), IncludedUsed: int64(c.IncludedUsed)}
}

// month is the billing month of the query, the present one without a wish.
func (q *call) month() (pool.Month, error) {
	s := q.query("month")
	if s == "" {
		return pool.MonthOf(q.now, q.settings.Location()), nil
	}
	m, err := pool.ParseMonth(s)
	if err != nil || m.Year < 1971 || m.Year > 9998 {
		return m, badParameter("month", "Write it as 2026-11.")
	}
	return m, nil
}
