package domain_test

import (
	"context"
	"testing"

	"gpupool/domain"
	"gpupool/domain/domaintest"
	"gpupool/domain/pool"
	"gpupool/domain/store/storetest"
)

// A person's pages ask a bounded number of questions, however much there is.
func TestPagesAskABoundedNumberOfQuestions(t *testing.T) {
	t.Parallel()
	domaintest.Each(t, func(t *testing.T, p *domaintest.Pool) {
		ask := func(name string, most int, page func(ctx context.Context) error) {
			t.Helper()
			// The first time reads what changes seldom.
			if err := page(context.Background()); err != nil {
				t.Fatal(name, err)
			}
			c := storetest.Counting(context.Background())
			if err := page(c); err != nil || int(storetest.Count(c)) > most {
				t.Errorf("%s: %d statements, at most %d: %v", name, storetest.Count(c), most, err)
			}
		}
		for _, jobs := range []int{1, 60} {
			for range jobs {
				submit(t, p)
			}
			ask("dashboard", 9, func(ctx context.Context) error { _, err := p.Service.Dashboard(ctx, p.Owner, p.Org); return err })
			ask("jobs", 6, func(ctx context.Context) error {
				_, _, err := p.Service.Jobs(ctx, p.Owner, domain.JobFilter{Org: p.Org, Limit: 50})
				return err
			})
		}
	})
}

func submit(t *testing.T, p *domaintest.Pool) domain.Job {
	t.Helper()
	j, err := p.Service.SubmitJob(context.Background(), p.Member, p.Org, domain.JobInput{Project: p.Project.ID, Name: "train", Classes: []pool.ClassID{p.Class},
		Nodes: 1, GPUsPerNode: 1, Tier: pool.Burst, Spec: domain.JobSpec{Image: "pytorch"}})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// What is remembered is never older than the last commit.
func TestAChangeOfRoleShowsAtOnce(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	ctx := context.Background()
	if a := p.Actor(p.Member.User); a.Roles[p.Org] != pool.RoleMember {
		t.Fatal(a.Roles)
	}
	if err := p.Service.ChangeRole(ctx, p.Owner, p.Org, p.Member.User, pool.RoleLead); err != nil {
		t.Fatal(err)
	}
	if a := p.Actor(p.Member.User); a.Roles[p.Org] != pool.RoleLead {
		t.Errorf("the role is %s after it was changed to lead", a.Roles[p.Org])
	}
}
