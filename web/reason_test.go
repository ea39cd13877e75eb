package web

import (
	"strings"
	"testing"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// said are the sentences of each code with numbers, and what lifts it, as a person reads them.
var said = []struct {
	reason pool.Reason
	says   []string
}{
	{pool.Reason{Code: pool.QuotaFull, Class: "a100-80g", Need: 4, Have: 1, Limit: 6}, []string{"Needs 4 A100 80 GB; of your 6 guaranteed, 1 are left for guaranteed jobs.", "a job of your organisation ends, or the owner raises the quota"}},
	{pool.Reason{Code: pool.ClassFull, Class: "a100-80g", Need: 16, Have: 5, Quota: 32, Used: 24}, []string{"Needs 16 A100 80 GB; 5 are free in the pool. Of your 32 guaranteed, 24 are used.", "a running job ends"}},
	{pool.Reason{Code: pool.ClassFull, Class: "a100-80g", Need: 16, Have: 5, Quota: 6, Used: 9, Elsewhere: 8}, []string{"Your 6 guaranteed are all used, and 3 more are borrowed. 8 more are free on nodes where it may not run."}},
	{pool.Reason{Code: pool.Scattered, Class: "a100-80g", Need: 4, Have: 6, Limit: 3}, []string{"6 are free but scattered, at most 3 on one node.", "jobs on one node end"}},
	{pool.Reason{Code: pool.BorrowLimit, Class: "a100-80g", Need: 4, Have: 1, Limit: 8}, []string{"the borrow limit is 8 and 1 are left", "the owner raises the borrow limit"}},
	{pool.Reason{Code: pool.LendLimit, Class: "a100-80g", Need: 4, Have: 1, Limit: 3}, []string{"owners keep back 3 and lend 1 more", "owners raise their lend limit"}},
	{pool.Reason{Code: pool.Budget, Need: 1234, Have: 200, Limit: 5000}, []string{"Up to 12.34 EUR", "budget of 50.00 EUR has 2.00 EUR left", "the lead raises the budget"}},
	{pool.Reason{Code: pool.Cap, Need: 1234, Have: 200, Limit: 5000}, []string{"the spending cap of 50.00 EUR has 2.00 EUR left", "the owner raises the cap"}},
	{pool.Reason{Code: pool.OrderExhausted, Need: 1234, Have: 200, Limit: 5000, Ref: "PO-7"}, []string{"purchase order PO-7 of 50.00 EUR has 2.00 EUR left", "finance adds a purchase order"}},
	{pool.Reason{Code: pool.NeverFits, Class: "a100-80g", Need: 64, Limit: 8}, []string{"the largest that can ever fit is 8", "It can never start as the pool is"}},
	{pool.Reason{Code: pool.WaitingForDrain, Class: "a100-80g", Need: 4, Have: 2, Until: 1_793_610_000_000}, []string{"A100 80 GB are being freed for it: jobs under notice: 2, gone by 2 Nov 2026", "the jobs under notice stop"}},
	{pool.Reason{Code: pool.Reserved, Class: "a100-80g", Need: 4, Have: 6, Until: 1_793_610_000_000, Ref: "j-wide"}, []string{"6 are free but reserved for job j-wide until 2 Nov 2026", "the reserved job starts"}},
	{pool.Reason{Code: pool.PolicyWindow, Until: 1_793_610_000_000}, []string{"Not allowed at this time of day; allowed from 2 Nov 2026", "the window opens"}},
	{pool.Reason{Code: pool.MinimumRun, Class: "a100-80g", Have: 6, Until: 1_793_610_000_000}, []string{"Borrowers hold 6 A100 80 GB that their minimum run time protects; the first of these runs until 2 Nov 2026", "the minimum run time ends"}},
	{pool.Reason{Code: pool.Behind, Need: 5, Have: 2, Limit: 12}, []string{"Place 5 of 12 in the queue; jobs like it before it: 2.", "the jobs before it start"}},
	{pool.Reason{Code: pool.NotBefore, Until: 1_793_610_000_000}, []string{"Starts no sooner than 2 Nov 2026", "the time comes"}},
	{pool.Reason{Code: pool.Deadline, Until: 1_793_610_000_000}, []string{"It can't end by its deadline any more: 2 Nov 2026", "the deadline is moved"}},
	{pool.Reason{Code: pool.Dependency, Ref: "j-first"}, []string{"Waits for job j-first to finish.", "that job finishes"}},
	{pool.Reason{Code: pool.DependencyCycle, Ref: "j-first"}, []string{"Waits for itself: a job that it depends on depends on it.", "a job of that circle is cancelled"}},
	{pool.Reason{Code: pool.Site, Class: "a100-80g", Have: 2, Limit: 7, Ref: "east, north", Elsewhere: 8}, []string{"The project may run on 2 of 7 nodes with A100 80 GB. Allowed sites: east, north. 8 more are free on nodes where it may not run.", "the owner allows more sites"}},
	{pool.Reason{Code: pool.Data, Class: "a100-80g", Need: 4, Have: 1, Limit: 8, Ref: "east"}, []string{"Its data is at site east, where 1 of 8 A100 80 GB are free; it needs 4.", "GPUs at that site become free"}},
	{pool.Reason{Code: pool.NoSubscription}, []string{"The organisation has no active subscription.", "the owner subscribes to a plan"}},
	{pool.Reason{Code: pool.ProjectPaused, Ref: "invoice overdue"}, []string{"is paused: invoice overdue.", "the pause is lifted"}},
	{pool.Reason{Code: pool.AdmissionPaused}, []string{"The operator has paused the start of new jobs.", "the operator resumes"}},
	{pool.Reason{Code: pool.Maintenance, Class: "a100-80g", Need: 4, Have: 1, Limit: 8, Until: 1_793_610_000_000}, []string{"1 are free. 8 more are on nodes in maintenance, or that go into it before the job would end; the first is back at 2 Nov 2026", "the maintenance is over"}},
	{pool.Reason{Code: pool.ClassUnavailable, Class: "a100-80g"}, []string{"No healthy A100 80 GB is in the pool.", "a node of this type comes back"}},
}

func TestAWaitForAnotherJobNamesIt(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	first, second := b.submits("prepare", 1, pool.Burst), b.submits("train", 1, pool.Burst)
	b.must(b.Store.Update(b.ctx, func(tx domain.Tx) error {
		return tx.SetReasons(second, []pool.Reason{{Code: pool.Dependency, Ref: string(first)}}, 1, 0)
	}))
	text := b.as(b.Member.Email).get("/o/rheinau/jobs/" + string(second)).want(200).doc().Find("#waits li").Text()
	if !strings.Contains(text, "Waits for job prepare to finish.") {
		t.Error(text)
	}
}

func TestEveryWaitReasonStandsOnTheJobsPage(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	b.must(b.Service.PauseAdmission(b.ctx, b.Operator, true))
	id := b.submits("held", 1, pool.Burst)
	w := b.as(b.Member.Email)
	covered := map[pool.ReasonCode]bool{}
	for _, x := range said {
		covered[x.reason.Code] = true
		b.must(b.Store.Update(b.ctx, func(tx domain.Tx) error { return tx.SetReasons(id, []pool.Reason{x.reason}, 1, 0) }))
		item := w.get("/o/rheinau/jobs/" + string(id)).want(200).doc().Find("#waits li")
		text := strings.Join(strings.Fields(item.Text()), " ")
		for _, s := range x.says {
			if !strings.Contains(text, s) {
				t.Errorf("%s: the page says %q, not %q", x.reason.Code, text, s)
			}
		}
		if strings.Contains(text, "%!") {
			t.Errorf("%s: %q", x.reason.Code, text)
		}
		state := strings.Join(strings.Fields(w.get("/o/rheinau/jobs").want(200).doc().Find("main tbody tr").First().Text()), " ")
		if !strings.Contains(state, x.says[0]) {
			t.Errorf("%s: the list says %q", x.reason.Code, state)
		}
	}
	for _, r := range pool.Reasons {
		if !covered[r.Code] {
			t.Errorf("%s is on no page of this test", r.Code)
		}
	}
}
