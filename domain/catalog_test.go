package domain_test

import (
	"fmt"
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/domaintest"
	"gpupool/domain/money"
	"gpupool/domain/pool"
)

func TestAPublishedPlanVersionNeverChanges(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	s := p.Service
	in := domain.PlanVersionInput{Fee: "6990.00", Classes: []domain.PlanClassInput{{Class: p.Class, Guaranteed: "7", IncludedHours: "3500", Borrow: "8", Lend: "7"}}}
	v := ok[domain.PlanVersion](t)(s.SavePlanDraft(ctx, p.Operator, "campus", in))
	in.Fee = "7000"
	again := ok[domain.PlanVersion](t)(s.SavePlanDraft(ctx, p.Operator, "campus", in))
	if again.ID != v.ID || again.N != 2 || again.Fee != 700_000 || again.Classes[0].Included != 3500*pool.MillisPerHour {
		t.Errorf("%+v", again)
	}
	out, warnings, err := s.PublishPlan(ctx, p.Operator, v.ID)
	if err != nil || out.PublishedAt != p.Clock.Now() {
		t.Fatal(out, err)
	}
	if want := "[a100-80g: 6 guaranteed GPUs are sold and this plan guarantees 7 more; 8 are ready.]"; fmt.Sprint(warnings) != want {
		t.Errorf("warnings %v", warnings)
	}
	_, _, err = s.PublishPlan(ctx, p.Operator, v.ID)
	wants(t, err, domain.Conflict, "Version 2 of campus was published on 2026-11-02")
	third := ok[domain.PlanVersion](t)(s.SavePlanDraft(ctx, p.Operator, "campus", in))
	if third.N != 3 || third.ID == v.ID {
		t.Errorf("%+v", third)
	}
	m := ok[domain.Marketplace](t)(s.Marketplace(ctx, domain.Actor{}))
	if len(m.Plans) != 2 || m.Plans[0].Version.ID != v.ID || m.Plans[1].Version.ID != p.Starter.ID {
		t.Errorf("%+v", m.Plans)
	}
}

func TestLendingMoreThanTheFeeIsWorthIsAWarning(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	in := domain.PlanVersionInput{Fee: "100", Classes: []domain.PlanClassInput{{Class: p.Class, Guaranteed: "1", Lend: "1"}}}
	v := ok[domain.PlanVersion](t)(p.Service.SavePlanDraft(ctx, p.Operator, "starter", in))
	_, warnings, err := p.Service.PublishPlan(ctx, p.Operator, v.ID)
	// November has 720 hours: 720 x 1.00 x 60 %.
	if want := "[Lending everything all month would earn 432.00 EUR, more than the fee of 100.00 EUR.]"; err != nil || fmt.Sprint(warnings) != want {
		t.Errorf("%v, %v", warnings, err)
	}
}

func TestAPriceListIsPublishedOnlyWhenItIsSoundAndWhole(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	s := p.Service
	next := p.Clock.Now().Add(40 * 24 * time.Hour)
	draft := func(set func(in *domain.PriceListInput)) domain.PriceList {
		in := domaintest.Prices(p.Class)
		in.From = next
		set(&in)
		return ok[domain.PriceList](t)(s.SavePriceListDraft(ctx, p.Operator, in))
	}
	publish := func(set func(in *domain.PriceListInput), override string) ([]domain.Warning, error) {
		_, w, err := s.PublishPriceList(ctx, p.Operator, draft(set).ID, override)
		return w, err
	}
	spot := func(from, to, price string) domain.PriceRowInput {
		return domain.PriceRowInput{Class: p.Class, Cover: pool.SpotCover, Price: price, From: from, To: to}
	}
	for want, set := range map[string]func(in *domain.PriceListInput){
		"from: 2026-11-02 09:59 CET is past; it is 2026-11-02 10:00 CET": func(in *domain.PriceListInput) { in.From = p.Clock.Now() - 1 },
		"from: Price list Prices begins at the same instant.":            func(in *domain.PriceListInput) { in.From = p.Prices.From },
		"rows: a100-80g as spot: there is no price.":                     func(in *domain.PriceListInput) { in.Rows = in.Rows[:2] },
		"rows: a100-80g as spot: no price at 00:00.":                     func(in *domain.PriceListInput) { in.Rows = append(in.Rows[:2], spot("06:00", "24:00", "0.4")) },
		"rows: a100-80g as spot: 2 prices at 22:00.": func(in *domain.PriceListInput) {
			in.Rows = append(in.Rows[:2], spot("06:00", "23:00", "0.4"), spot("22:00", "06:00", "0.3"))
		},
		"override: a100-80g at 00:00: spot for 1.00 EUR is not below loan for 1.00 EUR.": func(in *domain.PriceListInput) { in.Rows[2].Price = "1" },
		"override: a100-80g at 00:00: loan for 1.26 EUR is above own for 1.25 EUR.":      func(in *domain.PriceListInput) { in.Rows[1].Price = "1.26" },
	} {
		_, err := publish(set, "")
		wants(t, err, domain.Invalid, want)
	}
	warnings, err := publish(func(in *domain.PriceListInput) { in.Rows[1].Price = "1.26" }, "loans are scarce this winter")
	if err != nil || len(warnings) != 1 {
		t.Errorf("with a reason: %v, %v", warnings, err)
	}
	night := draft(func(in *domain.PriceListInput) {
		in.From = next + 1
		in.Rows = append(in.Rows[:2], spot("22:00", "06:00", "0.3825"), spot("06:00", "22:00", "0.45"))
	})
	l, _, err := s.PublishPriceList(ctx, p.Operator, night.ID, "")
	if err != nil || l.PublishedAt != p.Clock.Now() || l.ApprovedBy != p.Operator.User || l.Rows[3].FromMinute != 1320 || l.Rows[3].ToMinute != 360 {
		t.Errorf("%+v, %v", l, err)
	}
	_, _, err = s.PublishPriceList(ctx, p.Operator, l.ID, "")
	wants(t, err, domain.Conflict)
	_, err = s.SavePriceListDraft(ctx, p.Operator, domain.PriceListInput{ID: l.ID, Name: "X"})
	wants(t, err, domain.Conflict, "never changes")
	m := ok[domain.Marketplace](t)(s.Marketplace(ctx, p.Member))
	if m.InForce.ID != p.Prices.ID || len(m.Announced) != 2 || m.Announced[1].ID != l.ID {
		t.Errorf("in force %s, announced %d", m.InForce.ID, len(m.Announced))
	}
	c := m.Classes[0]
	if c.Total != 8 || c.Ready != 8 || c.Free() != 8 || len(c.Prices) != 3 || c.Prices[0].Price != 125*money.MicroPerMinor {
		t.Errorf("%+v", c)
	}
}

func TestACordonedNodeIsNotReady(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	before := version(p)
	n := ok[domain.Node](t)(p.Service.AssignNode(ctx, p.Operator, p.Node, domain.NodeInput{Site: p.Site, Contributor: p.Org, Cordoned: true}))
	if !n.Cordoned || n.Contributor != p.Org || n.GPUs != 8 || len(n.Devices) != 8 || version(p) <= before {
		t.Errorf("%+v", n)
	}
	if c := ok[domain.Marketplace](t)(p.Service.Marketplace(ctx, p.Member)).Classes[0]; c.Ready != 0 || c.Total != 8 {
		t.Errorf("%+v", c)
	}
	_, err := p.Service.AssignNode(ctx, p.Operator, p.Node, domain.NodeInput{Site: "mars", Contributor: "nobody"})
	wants(t, err, domain.Invalid, `site: There is no site "mars".`, `contributor: There is no member "nobody".`)
	_, err = p.Service.AssignNode(ctx, p.Operator, "gpu-99", domain.NodeInput{Site: p.Site})
	wants(t, err, domain.NotFound)
	ok[domain.Contribution](t)(p.Service.AddContribution(ctx, p.Operator, domain.ContributionInput{Org: p.Org, Node: p.Node, GPUs: "8", Quota: "2"}))
	_, err = p.Service.AddContribution(ctx, p.Operator, domain.ContributionInput{Org: p.Other, Node: p.Node, GPUs: "8", Quota: "2"})
	wants(t, err, domain.Invalid, "node: gpu-01 is a contribution of rheinau already.")
	if q := ok[[]domain.ClassQuota](t)(p.Service.QuotaOf(ctx, p.Owner, p.Org)); q[0].Nominal != 8 || q[0].Lend != 6 {
		t.Errorf("%+v", q)
	}
}
