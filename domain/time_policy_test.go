package domain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpupool/domain"
	"gpupool/domain/domaintest"
	"gpupool/domain/pool"
)

// policy makes a time policy for rheinau's A100.
func policy(p *domaintest.Pool, in domain.TimePolicyInput) domain.TimePolicy {
	p.T.Helper()
	if in.Name == "" {
		in.Name = "rule"
	}
	if !in.Closed && in.Org == "" {
		in.Org, in.Class = p.Org, p.Class
	}
	p.Clock.Add(time.Millisecond) // they stand in the order in which they are made
	x, _, err := p.Service.AddTimePolicy(ctx, p.Operator, in)
	if err != nil {
		p.T.Fatal(err)
	}
	return x
}

func nowHas(p *domaintest.Pool) domain.ClassQuota {
	p.T.Helper()
	all, err := p.Service.QuotaOf(ctx, p.Owner, p.Org)
	if err != nil {
		p.T.Fatal(err)
	}
	return all[0]
}

// Campus: 6 guaranteed, borrows 6, lends 4. It is Monday 2 November 2026, 10:00.
func TestAQuotaByTimeOfDay(t *testing.T) {
	t.Parallel()
	domaintest.Each(t, func(t *testing.T, p *domaintest.Pool) {
		day := policy(p, domain.TimePolicyInput{Name: "Lends nothing by day", Lend: "0", Days: []string{"mon", "tue", "wed", "thu", "fri"}, From: "08:00", To: "18:00"})
		policy(p, domain.TimePolicyInput{Name: "Nights", Borrow: "8", From: "20:00", To: "06:00"})
		policy(p, domain.TimePolicyInput{Name: "November", Guaranteed: "+2", Last: "2026-11-30"})
		policy(p, domain.TimePolicyInput{Name: "Tuesday", Guaranteed: "4", Days: []string{"tue"}})
		type row struct{ Nominal, Borrow, Lend int }
		check := func(when string, want row) {
			t.Helper()
			if i := at(t, when); i > p.Clock.Now() {
				p.Clock.Set(i)
			}
			q := nowHas(p)
			if diff := cmp.Diff(want, row{q.Nominal, q.Borrow, q.Lend}); diff != "" {
				t.Errorf("%s: want (-), got (+):\n%s", when, diff)
			}
		}
		check("2026-11-02 10:00", row{8, 6, 0})
		s := ok[domain.Schedule](t)(p.Service.ScheduleOf(ctx, p.Member, p.Org))
		if len(s.Policies) != 4 || s.Policies[0].Now != at(t, "2026-11-02 18:00") || s.Policies[0].Next.Start != at(t, "2026-11-03 08:00") {
			t.Errorf("policies %+v", s.Policies)
		}
		if len(s.Changes) != 20 || s.Changes[0].From != at(t, "2026-11-02 18:00") || s.Changes[0].Before.Lend != 0 || s.Changes[0].After.Lend != 4 {
			t.Errorf("changes %+v", s.Changes)
		}
		check("2026-11-02 17:59", row{8, 6, 0})
		check("2026-11-02 18:00", row{8, 6, 4})
		if _, err := p.Service.SetLimit(ctx, p.Owner, p.Org, p.Class, domain.LimitInput{Lend: "2"}); err != nil {
			t.Fatal(err)
		}
		check("2026-11-02 20:00", row{8, 8, 2})
		check("2026-11-03 05:59", row{6, 8, 2}) // Tuesday: 4, and 2 more
		check("2026-11-03 08:00", row{6, 6, 0}) // the policy is below what the owner chose
		p.Clock.Add(time.Minute)
		wants(t, second(p.Service.EndTimePolicy(ctx, p.Owner, day.ID)), domain.NotFound)
		ended := ok[domain.TimePolicy](t)(p.Service.EndTimePolicy(ctx, p.Operator, day.ID))
		check("2026-11-03 08:02", row{6, 6, 2})
		wants(t, second(p.Service.EndTimePolicy(ctx, p.Operator, day.ID)), domain.Conflict, "ended already")
		wants(t, second(p.Service.EndTimePolicy(ctx, p.Operator, "tp-none")), domain.NotFound, "no such")
		check("2026-12-01 12:00", row{4, 6, 2}) // a Tuesday
		all := ok[[]domain.TimePolicyView](t)(p.Service.TimePolicies(ctx, p.Operator))
		if len(all) != 4 || !all[2].Over || !all[3].Over || all[2].ID != ended.ID || all[3].Name != "November" {
			t.Errorf("policies %+v", all)
		}
		// What held then is what is stored.
		p.Update(func(tx domain.Tx) error {
			terms, err := domain.LoadTerms(tx)
			if q := terms.Quota(p.Org, at(t, "2026-11-02 12:00"))[0]; q.Lend != 0 || q.Nominal != 8 {
				t.Errorf("in the past: %+v", q)
			}
			return err
		})
	})
}

func TestABadTimePolicyNamesItsField(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	good := domain.TimePolicyInput{Name: "Day", Org: p.Org, Class: p.Class, Lend: "0", From: "08:00", To: "18:00"}
	policy(p, good)
	for want, change := range map[string]func(*domain.TimePolicyInput){
		"name: Please fill in":                                  func(in *domain.TimePolicyInput) { in.Name = " " },
		"org: There is no member":                               func(in *domain.TimePolicyInput) { in.Org = "nobody" },
		"class: There is no such GPU type":                      func(in *domain.TimePolicyInput) { in.Class = "h100" },
		"lend: Write a whole number from 0 to 10000":            func(in *domain.TimePolicyInput) { in.Lend = "10001" },
		"borrow: Write a whole number from 0":                   func(in *domain.TimePolicyInput) { in.Borrow = "-1" },
		"guaranteed: Write a whole number from -10000 to 10000": func(in *domain.TimePolicyInput) { in.Guaranteed = "+x" },
		"guaranteed: Say what changes":                          func(in *domain.TimePolicyInput) { in.Lend = "" },
		"from: Write a time":                                    func(in *domain.TimePolicyInput) { in.From = "8 am" },
		"to: Write a time":                                      func(in *domain.TimePolicyInput) { in.To = "" },
		"to: It ends when it begins":                            func(in *domain.TimePolicyInput) { in.To = "08:00" },
		"first: Write a day":                                    func(in *domain.TimePolicyInput) { in.First = "1.3.2026" },
		"last: This day is over":                                func(in *domain.TimePolicyInput) { in.Last = "2026-11-01" },
		"last: The last day is before":                          func(in *domain.TimePolicyInput) { in.First, in.Last = "2026-12-02", "2026-12-01" },
		"first: At most 5 years ahead":                          func(in *domain.TimePolicyInput) { in.First = "2032-01-01" },
		"days: Write weekdays as":                               func(in *domain.TimePolicyInput) { in.Days = []string{"monday"} },
		"days: None of these weekdays": func(in *domain.TimePolicyInput) {
			in.Days, in.First, in.Last = []string{"sat"}, "2026-11-09", "2026-11-13"
		},
		"lend: Day sets the same": func(in *domain.TimePolicyInput) { in.Name, in.From, in.To = "Noon", "12:00", "13:00" },
		"tier: Please choose": func(in *domain.TimePolicyInput) {
			*in = domain.TimePolicyInput{Name: "Closed", Closed: true, Tier: "cheap"}
		},
	} {
		in := good
		change(&in)
		_, _, err := p.Service.AddTimePolicy(ctx, p.Operator, in)
		wants(t, err, domain.Invalid, want)
	}
	_, warnings, err := p.Service.AddTimePolicy(ctx, p.Operator, domain.TimePolicyInput{Name: "Much", Org: p.Org, Class: p.Class, Guaranteed: "9"})
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0].String(), "9 GPUs are guaranteed when it holds; 8 are ready") {
		t.Errorf("warnings %v: %v", warnings, err)
	}
}

// A member whose plan lacks a GPU type borrows none of it; what is idle is
// open to it as spot.
func TestAMemberDoesNotBorrowWhatItsPlanLacks(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	in := domaintest.Class()
	in.ID, in.Name, in.Model = "h100-80g", "H100", "NVIDIA H100"
	h100 := ok[domain.GPUClass](t)(p.Service.CreateClass(ctx, p.Operator, in)).ID
	p.Update(func(tx domain.Tx) error { return tx.SaveNode(domaintest.NodeOf("gpu-02", h100, p.Site, 8)) })
	prices := domaintest.Prices(p.Class)
	prices.Rows = append(prices.Rows, domaintest.Prices(h100).Rows...)
	p.Clock.Add(time.Minute)
	list := ok[domain.PriceList](t)(p.Service.SavePriceListDraft(ctx, p.Operator, prices))
	if _, _, err := p.Service.PublishPriceList(ctx, p.Operator, list.ID, ""); err != nil {
		t.Fatal(err)
	}
	p.Clock.Add(time.Minute)
	quote := func(tier pool.Tier) domain.JobQuote {
		t.Helper()
		return ok[domain.JobQuote](t)(p.Service.QuoteJob(ctx, p.Member, p.Org, domain.JobInput{Project: p.Project.ID, Name: "x", Classes: []pool.ClassID{h100}, Nodes: 1,
			GPUsPerNode: 1, Tier: tier, MaxRun: time.Hour, Spec: domain.JobSpec{Image: "python:3.13"}}))
	}
	for _, tier := range []pool.Tier{pool.Guaranteed, pool.Burst} {
		q := quote(tier)
		if q.Answer.Admitted || len(q.Answer.Reasons) != 1 || q.Answer.Reasons[0].Code != pool.NeverFits || q.Answer.Reasons[0].Limit != 0 {
			t.Errorf("%s: %+v", tier, q.Answer)
		}
	}
	if q := quote(pool.Spot); !q.Answer.Admitted {
		t.Errorf("spot: %+v", q.Answer)
	}
	// A time policy may open it for some days.
	policy(p, domain.TimePolicyInput{Org: p.Org, Class: h100, Borrow: "2", First: "2026-11-03"})
	if q := quote(pool.Burst); q.Answer.Admitted || q.Answer.Reasons[0].Code != pool.PolicyWindow || q.Answer.Reasons[0].Until != at(t, "2026-11-03 00:00") {
		t.Errorf("before its day: %+v", q.Answer)
	}
	p.Clock.Set(at(t, "2026-11-03 00:00"))
	if q := quote(pool.Burst); !q.Answer.Admitted {
		t.Errorf("on its day: %+v", q.Answer)
	}
}

// The settlement counts each member's unused lendable quota by the quota of
// each moment, also when nobody looked at the boundary.
func TestUnusedQuotaIsCountedByTheQuotaOfEachMoment(t *testing.T) {
	t.Parallel()
	domaintest.Each(t, func(t *testing.T, p *domaintest.Pool) {
		// Campus: 6 guaranteed, lends 4 of them; 8 GPUs.
		policy(p, domain.TimePolicyInput{Name: "Noon", Lend: "1", Guaranteed: "3", From: "12:00", To: "14:00"})
		integrate := func() {
			t.Helper()
			if err := p.Service.IntegrateLending(ctx); err != nil {
				t.Fatal(err)
			}
		}
		integrate()
		p.Clock.Set(at(t, "2026-11-02 15:00"))
		integrate()
		p.Clock.Set(at(t, "2026-11-03 13:00")) // over midnight and two boundaries
		integrate()
		integrate()
		hour := pool.GPUMillis(pool.MillisPerHour)
		got := map[pool.OrgID][]pool.GPUMillis{}
		p.Update(func(tx domain.Tx) error {
			days, err := tx.LendingDays(0, pool.Never)
			for _, d := range days {
				got[d.Org] = append(got[d.Org], d.Unused)
			}
			return err
		})
		want := map[pool.OrgID][]pool.GPUMillis{
			// From 10 and a millisecond to 24, two hours of it at noon; then 12 hours and one.
			p.Org:           {(12*4+2*1)*hour - 4, (12*4 + 1) * hour},
			pool.Consortium: {(12*2+2*5)*hour - 2, (12*2 + 5) * hour},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("want (-), got (+):\n%s", diff)
		}
	})
}

func TestAnAnnouncementIsCheckedAndEnds(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	good := domain.AnnouncementInput{Text: "New switch", Start: "2026-11-05 08:00", End: "2026-11-05 12:00", Maintenance: true, Node: p.Node}
	for want, change := range map[string]func(*domain.AnnouncementInput){
		"text: Please fill in":             func(in *domain.AnnouncementInput) { in.Text = "" },
		"text: At most 500 characters":     func(in *domain.AnnouncementInput) { in.Text = strings.Repeat("x", 501) },
		"start: Write a day and a time":    func(in *domain.AnnouncementInput) { in.Start = "tomorrow" },
		"end: Please fill in":              func(in *domain.AnnouncementInput) { in.End = "" },
		"end: The end is not after":        func(in *domain.AnnouncementInput) { in.End = in.Start },
		"end: This is over already":        func(in *domain.AnnouncementInput) { in.End = "2026-11-01 08:00" },
		"end: At most a year":              func(in *domain.AnnouncementInput) { in.End = "2028-01-01 00:00" },
		"start: This has passed":           func(in *domain.AnnouncementInput) { in.Start = "2026-11-01 08:00" },
		"node: There is no such node":      func(in *domain.AnnouncementInput) { in.Node = "gpu-99" },
		"class: There is no such GPU":      func(in *domain.AnnouncementInput) { in.Class = "h100" },
		"site: No node has this site, GPU": func(in *domain.AnnouncementInput) { in.Site = "elsewhere" },
	} {
		in := good
		change(&in)
		_, err := p.Service.Announce(ctx, p.Operator, in)
		wants(t, err, domain.Invalid, want)
	}
	x := ok[domain.Announcement](t)(p.Service.Announce(ctx, p.Operator, good))
	banner := ok[domain.Announcement](t)(p.Service.Announce(ctx, p.Operator, domain.AnnouncementInput{Text: "Welcome", End: "2026-11-20 00:00"}))
	all := ok[[]domain.Announcement](t)(p.Service.Announcements(ctx, p.Viewer))
	if len(all) != 2 || all[0].ID != banner.ID || all[1].ID != x.ID || x.Start != at(t, "2026-11-05 08:00") {
		t.Errorf("%+v", all)
	}
	wants(t, second(p.Service.Announcements(ctx, domain.Actor{Via: domain.ViaWeb})), domain.Unauthenticated)
	m := ok[map[pool.NodeID]pool.Interval](t)(p.Service.Maintenance(ctx, p.Operator))
	if m[p.Node] != (pool.Interval{Start: x.Start, End: x.End}) {
		t.Errorf("maintenance %+v", m)
	}
	// One that meets it makes it longer.
	ok[domain.Announcement](t)(p.Service.Announce(ctx, p.Operator, domain.AnnouncementInput{Text: "Power", Start: "2026-11-05 12:00", End: "2026-11-05 14:00", Maintenance: true}))
	m = ok[map[pool.NodeID]pool.Interval](t)(p.Service.Maintenance(ctx, p.Operator))
	if m[p.Node].End != at(t, "2026-11-05 14:00") {
		t.Errorf("maintenance %+v", m)
	}
	p.Clock.Set(at(t, "2026-11-05 09:00"))
	ok[domain.Announcement](t)(p.Service.EndAnnouncement(ctx, p.Operator, x.ID))
	m = ok[map[pool.NodeID]pool.Interval](t)(p.Service.Maintenance(ctx, p.Operator))
	if m[p.Node].Start != at(t, "2026-11-05 12:00") {
		t.Errorf("maintenance %+v", m)
	}
	wants(t, second(p.Service.EndAnnouncement(ctx, p.Operator, x.ID)), domain.Conflict, "over already")
	if past := ok[[]domain.Announcement](t)(p.Service.AnnouncementsPast(ctx, p.Operator)); len(past) != 1 || past[0].ID != x.ID {
		t.Errorf("past %+v", past)
	}
}
