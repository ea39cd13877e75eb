package main

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"gpupool/domain"
	"gpupool/domain/domaintest"
	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// I14: what a job is charged on the invoices never exceeds the "up to" that
// was shown when it was sent, whatever happens to it.
func TestAChargeNeverExceedsWhatWasPromised(t *testing.T) {
	t.Parallel()
	again, charged := 0, 0
	for seed := range 6 {
		gen := rapid.Custom(func(rt *rapid.T) []event { return rapid.SliceOfN(rapid.Custom(anyEvent), 10, 40).Draw(rt, "events") })
		a, c := promiseHolds(t, gen.Example(seed))
		again, charged = again+a, charged+c
	}
	if again == 0 || charged < 20 {
		t.Errorf("%d jobs ran again and %d were charged: the histories are too tame", again, charged)
	}
}

// event is one thing that happens, and how long nothing happens after it.
type event struct {
	what  string // submit, borrow, stop, down, up, wait
	tier  pool.Tier
	gpus  int
	run   time.Duration
	limit time.Duration
	after time.Duration
}

func anyEvent(rt *rapid.T) event {
	minutes := func(name string, low, high int) time.Duration {
		return time.Duration(rapid.IntRange(low*60_000, high*60_000).Draw(rt, name)) * time.Millisecond
	}
	return event{
		what: rapid.SampledFrom([]string{"submit", "submit", "borrow", "borrow", "stop", "down", "up", "wait"}).Draw(rt, "what"),
		tier: rapid.SampledFrom(pool.Tiers).Draw(rt, "tier"), gpus: rapid.IntRange(1, 4).Draw(rt, "gpus"),
		run: minutes("run", 1, 120), limit: minutes("limit", 15, 100), after: minutes("after", 1, 25),
	}
}

// promiseHolds plays a history, closes its month and compares; it tells how
// many jobs ran more than once and how many were charged.
func promiseHolds(t *testing.T, events []event) (again, charged int) {
	t.Helper()
	r := onCluster(t, domaintest.New(t), gpuNode("gpu-a", 4), gpuNode("gpu-b", 4))
	borrower, drive := r.starter()
	nearMonthEnd(r)
	month := pool.MonthOf(r.Clock.Now(), must[domain.Settings](r, "settings")(r.Service.Settings(ctx)).Location())
	var ids []pool.JobID
	for _, e := range events {
		in := r.ask(e.tier, e.gpus, e.run, e.limit)
		switch e.what {
		case "submit":
			ids = append(ids, r.submit(in).ID)
		case "borrow":
			in.Project, in.Tier, in.GPUsPerNode = drive, pool.Burst, min(3, e.gpus)
			ids = append(ids, must[domain.Job](r, "borrow")(r.Service.SubmitJob(ctx, borrower, r.Other, in)).ID)
		case "stop":
			if len(ids) > 0 {
				if j := r.job(ids[len(ids)-1]); j.Org == r.Org && j.Live() {
					if err := r.Service.StopJob(ctx, r.Member, r.Org, j.ID); err != nil {
						t.Fatal(err)
					}
				}
			}
		case "down":
			if err := r.cluster.NodeDown("gpu-b"); err != nil {
				t.Fatal(err)
			}
		case "up":
			if err := r.cluster.NodeUp("gpu-b"); err != nil {
				t.Fatal(err)
			}
		}
		r.keep()
		r.turn()
		r.pass(e.after, 5*time.Minute)
	}
	if err := r.cluster.NodeUp("gpu-b"); err != nil {
		t.Fatal(err)
	}
	r.keep()
	r.pass(30*time.Hour, time.Hour)
	end := month.Next().Bounds(time.UTC).End.Add(48 * time.Hour)
	r.Clock.Set(end)
	r.turn()
	r.keep()
	bill := map[pool.JobID]money.Amount{}
	for _, m := range []pool.Month{month, month.Next()} {
		for _, c := range must[[]domain.Closed](r, "close")(r.Service.CloseMonth(ctx, r.Operator, m)) {
			if c.Err != nil {
				t.Fatal(c.Err)
			}
			f, err := c.Invoice.Open()
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range f.Document.Lines {
				for _, p := range l.Parts {
					bill[p.Job] += p.Amount
				}
			}
		}
	}
	for _, id := range ids {
		j := r.job(id)
		if bill[id] > j.UpTo {
			t.Errorf("job %s was promised at most %d and is charged %d: %s", id, j.UpTo, bill[id], show(r.ledger(id)))
		}
		if j.Live() {
			t.Errorf("job %s is still %s; %+v", id, j.State, j.Reasons)
		}
		if j.Attempts > 1 {
			again++
		}
		if len(r.ledger(id)) > 0 {
			charged++
		}
	}
	r.verified()
	return again, charged
}
