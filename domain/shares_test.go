package domain_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gpupool/domain"
	"gpupool/domain/domaintest"
	"gpupool/domain/pool"
)

// What projects were given is always within the organisation's quota, in the
// use case, in the engine's figures, and when the organisation has less later.
func TestProjectsShareTheirOrganisationsQuota(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	ctx := context.Background()
	projects := []pool.ProjectID{p.Project.ID}
	for i := range 3 {
		projects = append(projects, ok[domain.Project](t)(p.Service.CreateProject(ctx, p.Owner, p.Org, domain.ProjectInput{Name: fmt.Sprintf("P%d", i)})).ID)
	}
	const whole = 6 // of Campus
	set := map[pool.ProjectID]int{}
	check := func(rt fataler, whole int) {
		tree, err := p.Service.QuotaTree(ctx, p.Owner, p.Org)
		if err != nil {
			rt.Fatalf("%v", err)
		}
		sum, given := 0, 0
		for _, k := range set {
			given += k
		}
		for _, r := range tree.Rows {
			switch {
			case r.Org == p.Org && r.Project == "" && (r.Quota != whole || r.Nominal != whole-min(given, whole)):
				rt.Fatalf("the organisation stands with %+v, want %d in all", r, whole)
			case r.Project != "":
				sum += r.Quota
				if r.Quota > set[r.Project] || given <= whole && r.Quota != set[r.Project] {
					rt.Fatalf("%s stands with %d, was given %d", r.Project, r.Quota, set[r.Project])
				}
			}
		}
		if sum != min(given, whole) {
			rt.Fatalf("the projects have %d of %d, %d were given", sum, whole, given)
		}
		for id, k := range set {
			all, err := p.Service.ProjectShares(ctx, p.Owner, p.Org, id)
			if err != nil {
				rt.Fatalf("%v", err)
			}
			i := slices.IndexFunc(tree.Rows, func(r domain.QuotaRow) bool { return r.Project == id })
			if all[0].Guaranteed != k || i >= 0 && tree.Rows[i].Quota != all[0].Now || all[0].Whole != whole {
				rt.Fatalf("the project's page says %+v of %d", all[0], whole)
			}
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		for range rapid.IntRange(1, 3).Draw(rt, "changes") {
			id, n := rapid.SampledFrom(projects).Draw(rt, "project"), rapid.IntRange(0, 8).Draw(rt, "guaranteed")
			others := 0
			for x, k := range set {
				if x != id {
					others += k
				}
			}
			_, err := p.Service.SetProjectQuota(ctx, p.Owner, p.Org, id, domain.ProjectQuotaInput{Class: p.Class, Guaranteed: fmt.Sprint(n)})
			if fits := others+n <= whole; fits != (err == nil) {
				rt.Fatalf("%d beside %d of %d: %v", n, others, whole, err)
			} else if fits {
				set[id] = n
			}
		}
		p.Clock.Add(time.Second) // changes of one instant stand one after the other
		check(rt, whole)
	})
	// A smaller plan: what was given stays written, and counts in proportion.
	for i, id := range projects[:3] {
		set[id] = 0
		ok[domain.ProjectQuota](t)(p.Service.SetProjectQuota(ctx, p.Owner, p.Org, id, domain.ProjectQuotaInput{Class: p.Class, Guaranteed: "0"}))
		set[id] = 3 - i
	}
	set[projects[3]] = 0
	ok[domain.ProjectQuota](t)(p.Service.SetProjectQuota(ctx, p.Owner, p.Org, projects[3], domain.ProjectQuotaInput{Class: p.Class, Guaranteed: "0"}))
	for _, id := range projects[:3] {
		ok[domain.ProjectQuota](t)(p.Service.SetProjectQuota(ctx, p.Owner, p.Org, id, domain.ProjectQuotaInput{Class: p.Class, Guaranteed: fmt.Sprint(set[id])}))
	}
	v := ok[domain.PlanVersion](t)(p.Service.SavePlanDraft(ctx, p.Operator, "campus", domain.PlanVersionInput{Fee: "1", Classes: []domain.PlanClassInput{{Class: p.Class, Guaranteed: "4", Borrow: "6"}}}))
	if _, _, err := p.Service.PublishPlan(ctx, p.Operator, v.ID); err != nil {
		t.Fatal(err)
	}
	ok[domain.Subscription](t)(p.Service.ChangePlan(ctx, p.Owner, p.Org, domain.SubscribeInput{Version: v.ID, Account: p.Account.ID}))
	p.Clock.Add(40 * 24 * time.Hour) // a smaller plan counts from the next month on
	check(t, 4)
}

type fataler interface{ Fatalf(string, ...any) }

// A project's own quota is the first to be given back to it, and its limit
// holds; its lead may set both.
func TestAProjectsQuotaDecides(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	s := p.Service
	other := ok[domain.Project](t)(s.CreateProject(ctx, p.Owner, p.Org, domain.ProjectInput{Name: "Vision"}))
	if err := s.SaveProjectMember(ctx, p.Owner, p.Org, other.ID, p.Member.User, true); err != nil {
		t.Fatal(err)
	}
	lead := p.Actor(p.Member.User)
	ok[domain.ProjectQuota](t)(s.SetProjectQuota(ctx, lead, p.Org, other.ID, domain.ProjectQuotaInput{Class: p.Class, Guaranteed: "2", Borrow: "1"}))
	if _, err := s.SetProjectQuota(ctx, lead, p.Org, p.Project.ID, domain.ProjectQuotaInput{Class: p.Class, Guaranteed: "1"}); domain.CodeOf(err) != domain.NotFound && domain.CodeOf(err) != domain.Forbidden {
		t.Errorf("a lead sets the quota of another project: %v", err)
	}
	job := ok[domain.Job](t)(s.SubmitJob(ctx, lead, p.Org, domain.JobInput{Project: other.ID, Name: "x", Classes: []pool.ClassID{p.Class}, Nodes: 1, GPUsPerNode: 4, Tier: pool.Burst, MaxRun: time.Hour, Spec: domain.JobSpec{Image: "busybox"}}))
	if r := job.Reasons; len(r) == 0 || r[0].Code != pool.NeverFits || r[0].Limit != 3 {
		t.Errorf("4 GPUs in a project of 2 and 1 beyond wait for %+v", r)
	}
	trail := ok[[]domain.AuditRow](t)(s.AuditTrail(ctx, p.Owner, p.Org, 0, 20))
	if !slices.ContainsFunc(trail, func(r domain.AuditRow) bool { return r.Action == "project.quota" && r.Subject == string(other.ID) }) {
		t.Error("the trail doesn't say who set the quota")
	}
}

func TestAWeightIsDatedAndCountsInItsClass(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	at := func() int {
		tree := ok[domain.QuotaTree](t)(p.Service.QuotaTree(ctx, p.Operator, ""))
		i := slices.IndexFunc(tree.Rows, func(r domain.QuotaRow) bool { return r.Org == p.Org && r.Project == "" })
		return tree.Rows[i].Weight
	}
	if w := at(); w != 1 {
		t.Errorf("a member weighs %d", w)
	}
	for _, w := range []int{3, 0, 7} { // at one instant: the last one counts
		ok[domain.Weight](t)(p.Service.SetWeight(ctx, p.Operator, p.Org, p.Class, fmt.Sprint(w)))
	}
	p.Clock.Add(time.Second)
	if w := at(); w != 7 {
		t.Errorf("it weighs %d, want 7", w)
	}
}
