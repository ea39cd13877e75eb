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

// at is an instant of Europe/Berlin.
func at(t testing.TB, s string) pool.Instant {
	t.Helper()
	loc := ok[*time.Location](t)(time.LoadLocation("Europe/Berlin"))
	return pool.At(ok[time.Time](t)(time.ParseInLocation("2006-01-02 15:04", s, loc)))
}

func TestASubscriptionBeginsNowAndCostsTheRestOfTheMonth(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	s, a, org := p.Service, p.OtherOwner, p.Other
	in := domain.SubscribeInput{Version: p.Starter.ID}
	_, err := s.Subscribe(ctx, a, org, in)
	wants(t, err, domain.Invalid, "account: Add a billing account first")
	account := ok[domain.BillingAccount](t)(s.CreateAccount(ctx, a, org, domaintest.Account()))
	p.Clock.Set(at(t, "2026-11-16 00:00"))
	v := ok[domain.SubscriptionPreview](t)(s.PreviewSubscription(ctx, a, org, in))
	// 15 of November's 30 days of 490.00.
	if v.ThisMonth != 24_500 || v.Before != 0 || v.Monthly != 49_000 || v.From != p.Clock.Now() || v.Change || v.Account != account.ID {
		t.Errorf("%+v", v)
	}
	before := version(p)
	sub := ok[domain.Subscription](t)(s.Subscribe(ctx, a, org, in))
	if sub.Start != p.Clock.Now() || sub.End != pool.Never || sub.Payment != "ok" || sub.Account != account.ID || version(p) <= before {
		t.Errorf("%+v", sub)
	}
	_, err = s.Subscribe(ctx, a, org, in)
	wants(t, err, domain.Conflict, "has a subscription already")
	draft := ok[domain.PlanVersion](t)(s.SavePlanDraft(ctx, p.Operator, "starter", domain.PlanVersionInput{Fee: "1", Classes: []domain.PlanClassInput{{Class: p.Class, Borrow: "1"}}}))
	_, err = s.ChangePlan(ctx, a, org, domain.SubscribeInput{Version: draft.ID})
	wants(t, err, domain.Invalid, "version: There is no such plan.")
	if _, _, err := s.PublishPlan(ctx, p.Operator, draft.ID); err != nil {
		t.Fatal(err)
	}
	_, err = s.PreviewSubscription(ctx, a, org, in)
	wants(t, err, domain.Invalid, "version: Version 1 of Starter was replaced by version 2.")
}

func TestABiggerPlanBeginsAtOnceAndASmallerOneNextMonth(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	s, a, org := p.Service, p.Owner, p.Org // Campus since Monday 2 November 10:00
	lab := p.Plan("lab", "Lab", "7200.00", domain.PlanClassInput{Class: p.Class, Guaranteed: "8", IncludedHours: "4000"})
	p.Clock.Set(at(t, "2026-11-11 00:00"))
	next := at(t, "2026-12-01 00:00")

	_, err := s.ChangePlan(ctx, a, org, domain.SubscribeInput{Version: p.Campus.ID})
	wants(t, err, domain.Conflict, "has Campus already")
	down := ok[domain.SubscriptionPreview](t)(s.PreviewSubscription(ctx, a, org, domain.SubscribeInput{Version: p.Starter.ID}))
	if down.From != next || down.ThisMonth != down.Before || down.Monthly != 49_000 || down.OldPlan != "Campus" ||
		fmt.Sprint(down.Losing) != "[a100-80g: 1 guaranteed GPUs instead of 6. a100-80g: 400 included hours a month instead of 3000. a100-80g: borrows at most 2 GPUs instead of 6.]" {
		t.Errorf("%+v", down)
	}
	ok[domain.Subscription](t)(s.ChangePlan(ctx, a, org, domain.SubscribeInput{Version: p.Starter.ID}))
	v := ok[domain.SubscriptionView](t)(s.Subscription(ctx, a, org))
	if v.Current.Version != p.Campus.ID || v.Current.End != next || v.Next.Version != p.Starter.ID || v.Next.Start != next {
		t.Errorf("%+v, %+v", v.Current, v.Next)
	}

	up := ok[domain.SubscriptionPreview](t)(s.PreviewSubscription(ctx, a, org, domain.SubscribeInput{Version: lab.ID}))
	old := money.Portion(money.Amount(649_000), int64(at(t, "2026-11-11 00:00")-at(t, "2026-11-02 10:00"))/1000, 30*86_400)
	if up.From != p.Clock.Now() || len(up.Lines) != 2 || up.ThisMonth != old+480_000 { // 20 of 30 days of 7200.00
		t.Errorf("%+v, want %d", up, old+480_000)
	}
	ok[domain.Subscription](t)(s.ChangePlan(ctx, a, org, domain.SubscribeInput{Version: lab.ID}))
	v = ok[domain.SubscriptionView](t)(s.Subscription(ctx, a, org))
	if v.Current.Version != lab.ID || v.Current.End != pool.Never || v.Next != nil || len(v.Past) != 1 || v.Past[0].End != p.Clock.Now() {
		t.Errorf("the change to come is not replaced: %+v", v)
	}

	ok[domain.Subscription](t)(s.CancelSubscription(ctx, a, org))
	_, err = s.CancelSubscription(ctx, a, org)
	wants(t, err, domain.Conflict)
	_, err = s.Subscribe(ctx, a, org, domain.SubscribeInput{Version: p.Starter.ID})
	wants(t, err, domain.Conflict)
	ok[domain.Subscription](t)(s.KeepSubscription(ctx, a, org))
	ok[domain.Subscription](t)(s.CancelSubscription(ctx, a, org))
	p.Clock.Set(next)
	if v := ok[domain.SubscriptionView](t)(s.Subscription(ctx, a, org)); v.Current != nil || v.Next != nil || len(v.Past) != 2 {
		t.Errorf("after the end: %+v", v)
	}
	_, err = s.ChangePlan(ctx, a, org, domain.SubscribeInput{Version: p.Starter.ID})
	wants(t, err, domain.Conflict, "no subscription")
	ok[domain.Subscription](t)(s.Subscribe(ctx, a, org, domain.SubscribeInput{Version: p.Starter.ID}))
}

func TestACapBelowWhatIsUsedIsRefusedWithBothNumbers(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	s := p.Service
	var loan pool.PriceRowID
	for _, r := range p.Prices.Rows {
		if r.Cover == pool.Loan {
			loan = r.ID
		}
	}
	p.Clock.Add(24 * time.Hour)
	p.Update(func(tx domain.Tx) error { // 20 borrowed GPU-hours at 1.00
		_, err := tx.AppendSegments([]domain.Segment{{Alloc: "al-1", Attempt: pool.AttemptID{Job: "j-1", N: 1}, Start: p.Subscription.Start,
			End: p.Subscription.Start.Add(10 * time.Hour), Class: p.Class, GPUs: 2, Cover: pool.Loan, PriceRow: loan, PlanVersion: p.Campus.ID,
			Org: p.Org, Project: p.Project.ID, User: p.Member.User, Account: p.Account.ID, Node: p.Node, Source: "nomad", Quality: "exact", Sign: 1}})
		return err
	})
	_, err := s.SetCap(ctx, p.Finance, p.Org, domain.CapInput{Amount: "19.99", Mode: domain.CapStop})
	wants(t, err, domain.Invalid, "amount: A cap of 19.99 EUR is below the 20.00 EUR that this month has used already.")
	before := version(p)
	for _, in := range []domain.CapInput{{Amount: "20", Mode: domain.CapStop}, {Amount: "30.00", Mode: domain.CapDowngrade}} { // in one instant
		ok[domain.SpendingCap](t)(s.SetCap(ctx, p.Finance, p.Org, in))
	}
	if version(p) <= before {
		t.Error("a new cap leaves the pool's version")
	}
	p.Clock.Add(time.Second)
	v := ok[domain.CapView](t)(s.Cap(ctx, p.Owner, p.Org))
	if *v.Cap.Amount != 3000 || v.Cap.Mode != domain.CapDowngrade || v.Used != 2000 {
		t.Errorf("%+v", v)
	}
	ok[domain.SpendingCap](t)(s.SetCap(ctx, p.Owner, p.Org, domain.CapInput{Mode: domain.CapStop}))
	if v := ok[domain.CapView](t)(s.Cap(ctx, p.Owner, p.Org)); v.Cap.Amount != nil {
		t.Errorf("%+v", v)
	}
}

func TestLimitsStayWithinThePlan(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	s := p.Service
	ok[domain.Limit](t)(s.SetLimit(ctx, p.Owner, p.Org, p.Class, domain.LimitInput{Borrow: "2", Lend: "0"}))
	ok[domain.Limit](t)(s.SetLimit(ctx, p.Owner, p.Org, p.Class, domain.LimitInput{Borrow: "3"}))
	p.Clock.Add(time.Second)
	if q := ok[[]domain.ClassQuota](t)(s.QuotaOf(ctx, p.Member, p.Org))[0]; q.Borrow != 3 || q.Lend != 4 || q.MostBorrow != 6 {
		t.Errorf("%+v", q)
	}
	_, err := s.SetLimit(ctx, p.Owner, p.Org, "b200", domain.LimitInput{})
	wants(t, err, domain.NotFound)
}

func TestProjectsFollowTheirBillingAccounts(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	s := p.Service
	early := ok[domain.Project](t)(s.CreateProject(ctx, p.OtherOwner, p.Other, domain.ProjectInput{Name: "Drive"}))
	first := ok[domain.BillingAccount](t)(s.CreateAccount(ctx, p.OtherOwner, p.Other, domaintest.Account()))
	if v := ok[domain.ProjectView](t)(s.Project(ctx, p.OtherOwner, p.Other, early.ID)); v.Account != first.ID || v.AccountName != "Main" {
		t.Errorf("the first account takes projects that have none: %+v", v)
	}
	in := domaintest.Account()
	in.Name = "Grant 二期"
	second := ok[domain.BillingAccount](t)(s.CreateAccount(ctx, p.OtherOwner, p.Other, in))
	if err := s.AssignAccount(ctx, p.OtherOwner, p.Other, early.ID, second.ID); err != nil {
		t.Fatal(err)
	}
	p.Clock.Add(time.Second)
	if v := ok[domain.ProjectView](t)(s.Project(ctx, p.OtherOwner, p.Other, early.ID)); v.Account != second.ID {
		t.Errorf("%+v", v)
	}
	in.Advance = true
	ok[domain.BillingAccount](t)(s.UpdateAccount(ctx, p.OtherOwner, p.Other, second.ID, in))
	used := domaintest.Account()
	used.Advance = true
	_, err := s.UpdateAccount(ctx, p.Owner, p.Org, p.Account.ID, used)
	wants(t, err, domain.Invalid, "advance: Fixed once a subscription uses the account.")
	o := ok[domain.PurchaseOrder](t)(s.AddOrder(ctx, p.Finance, p.Org, p.Account.ID, domain.OrderInput{Number: "4500-17/B 号", Amount: "12000", AtZero: "next"}))
	if o.Amount != 1_200_000 || o.From != p.Clock.Now() || o.To != pool.Never {
		t.Errorf("%+v", o)
	}
	_, err = s.AddOrder(ctx, p.Finance, p.Org, p.Account.ID, domain.OrderInput{Number: "4500-17/B 号", Amount: "1", AtZero: "next"})
	wants(t, err, domain.Invalid, "number: The account has an order with this number, of 12000.00 EUR.")
	_, err = s.AddOrder(ctx, p.Finance, p.Org, p.Account.ID, domain.OrderInput{Number: "K", Amount: "1", AtZero: "next", To: p.Clock.Now()})
	wants(t, err, domain.Invalid, "to: ")
}
