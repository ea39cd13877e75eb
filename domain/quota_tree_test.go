package domain_test

import (
	"context"
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/domaintest"
	"gpupool/domain/pool"
)

// The figures of a member's pages are the engine's own, whatever runs.
func TestQuotaFiguresAgreeWithTheEngine(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	ctx := context.Background()
	second, err := p.Service.CreateProject(ctx, p.Owner, p.Org, domain.ProjectInput{Name: "Vision"})
	if err != nil {
		t.Fatal(err)
	}
	lent, borrowed, spot := 0, 0, 0
	for _, job := range []struct {
		project pool.ProjectID
		gpus    int
		tier    pool.Tier
	}{{p.Project.ID, 2, pool.Guaranteed}, {second.ID, 3, pool.Burst}, {second.ID, 1, pool.Spot}, {p.Project.ID, 2, pool.Burst}} {
		p.Clock.Add(time.Second)
		_, err := p.Service.SubmitJob(ctx, p.Member, p.Org, domain.JobInput{Project: job.project, Name: "x", Classes: []pool.ClassID{p.Class}, Nodes: 1, GPUsPerNode: job.gpus,
			Tier: job.tier, MaxRun: time.Hour, Spec: domain.JobSpec{Image: "pytorch"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Service.RunEngine(ctx); err != nil {
			t.Fatal(err)
		}
		d, err := p.Service.Dashboard(ctx, p.Owner, p.Org)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := p.Service.QuotaTree(ctx, p.Operator, "")
		if err != nil {
			t.Fatal(err)
		}
		rows := map[pool.OrgID]domain.QuotaRow{}
		projects := domain.QuotaRow{}
		for _, r := range tree.Rows {
			if r.Project != "" {
				projects.Use, projects.Own, projects.Loan, projects.Spot = projects.Use+r.Use, projects.Own+r.Own, projects.Loan+r.Loan, projects.Spot+r.Spot
				continue
			}
			rows[r.Org] = r
		}
		q, org, root := d.Quotas[0], rows[p.Org], rows[""]
		if q.OwnUsed+q.Borrowed != org.Use || q.Borrowed != org.Over || q.Spot != org.Spot || q.Nominal != org.Quota || q.OwnUsed+q.Lent+q.Free() != q.Nominal {
			t.Errorf("the dashboard says %+v, the engine %+v", q, org)
		}
		if projects.Use != org.Use || projects.Own != org.Own || projects.Loan != org.Loan || projects.Spot != org.Spot {
			t.Errorf("projects sum up to %+v, the organisation has %+v", projects, org)
		}
		if root.Nominal != 8-q.Nominal || root.Quota != 8-org.Kept || root.Own+root.Loan+root.Spot != root.Use+root.Spot {
			t.Errorf("the consortium: %+v", root)
		}
		if n := org.Lent + root.Lent; n != root.Loan+root.Spot {
			t.Errorf("%d lent, %d borrowed and %d spot", n, root.Loan, root.Spot)
		}
		lent, borrowed, spot = lent+org.Lent+root.Lent, borrowed+org.Over, spot+org.Spot
	}
	if lent == 0 || borrowed == 0 || spot == 0 {
		t.Errorf("met %d lent, %d borrowed, %d spot", lent, borrowed, spot)
	}
	mine, err := p.Service.QuotaTree(ctx, p.Member, p.Org)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range mine.Rows {
		if r.Org != "" && r.Org != p.Org {
			t.Errorf("a member sees %+v", r)
		}
	}
	if _, err := p.Service.QuotaTree(ctx, p.Owner, ""); domain.CodeOf(err) != domain.NotFound {
		t.Errorf("an owner sees all members: %v", err)
	}
	if _, err := p.Service.QuotaTree(ctx, p.OtherOwner, p.Org); domain.CodeOf(err) != domain.NotFound {
		t.Errorf("another member sees it: %v", err)
	}
}
