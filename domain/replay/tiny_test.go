package replay

import (
	"strings"
	"testing"
	"time"

	"gpupool/domain/pool"
)

// tinyPool is one node of 4 GPUs: all of them the owner's, who lends them to a guest.
const tinyPool = `{"name": "Tiny", "currency": "EUR", "zone": "UTC", "notice": "0s", "fair_reclaim": false,
	"classes": [{"id": "gpu", "name": "GPU"}],
	"nodes": [{"name": "node", "class": "gpu", "gpus": 4}],
	"plans": [
		{"id": "own", "name": "Own", "fee": "100.00", "classes": {"gpu": {"guaranteed": 4, "included_hours": 1, "borrow": 0, "lend": 4}}},
		{"id": "guest", "name": "Guest", "fee": "10.00", "classes": {"gpu": {"guaranteed": 0, "included_hours": 0, "borrow": 4, "lend": 0}}}],
	"organisations": [{"id": "owner", "name": "Owner", "plan": "own"}, {"id": "guest", "name": "Guest", "plan": "guest", "trace": ["Gäste"]}],
	"prices": [{"id": "list", "rows": [
		{"class": "gpu", "cover": "own", "price": "2.00"},
		{"class": "gpu", "cover": "loan", "price": "1.00", "lender_share_bp": 6000},
		{"class": "gpu", "cover": "spot", "price": "0.50", "lender_share_bp": 6000}]}],
	"trace": {"start": "2026-03-01T00:00:00Z"}}`

// tinyTrace: the guest borrows everything, the owner takes it back after an
// hour, the guest goes on when the owner is done.
const tinyTrace = `organisation,user,project,name,class,tier,nodes,gpus_per_node,submit_s,length_s,limit_s,exit
guest,gil,,borrows,gpu,burst,1,4,0,7200,,
owner,ola,,takes back,gpu,burst,1,4,3600,3600,,
guest,gil,,waits,gpu,burst,1,2,7200,7200,,
owner,ola,,beside,gpu,guaranteed,1,1,10800,3600,,
guest,gil,,idle,gpu,spot,1,1,10800,3600,,
`

func load(t testing.TB, text string) Pool {
	t.Helper()
	p, err := LoadPool(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func read(t testing.TB, text string, p Pool) Trace {
	t.Helper()
	tr, err := Read(strings.NewReader(text), p)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func report(t testing.TB, p Pool, jobs []Job, opt Options) (Result, Report) {
	t.Helper()
	res, err := Run(p, jobs, opt)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Summarise(p, res)
	if err != nil {
		t.Fatal(err)
	}
	return res, r
}

func TestTheFiguresOfATinyTraceAreThoseMadeByHand(t *testing.T) {
	t.Parallel()
	p := load(t, tinyPool)
	tr := read(t, tinyTrace, p)
	_, r := report(t, p, tr.Jobs, Options{Until: pool.Never})
	const hour = pool.MillisPerHour
	// 4 for an hour, 4 for an hour, 4 for an hour, then 2 for two hours beside 1 and 1: 18 of 5 hours of 4.
	if r.Held != 18*hour || r.Offered != 20*hour || r.Share() != 9000 {
		t.Errorf("held %d of %d, %d: want 18 of 20 GPU-hours, 90 %%", r.Held/hour, r.Offered/hour, r.Share())
	}
	if r.Jobs != 5 || r.Done != 5 || r.Preemptions != 1 || r.LostWork != 0 {
		t.Errorf("%d jobs, %d done, %d preempted, %d lost: want 5, 5, 1, 0", r.Jobs, r.Done, r.Preemptions, r.LostWork)
	}
	want := []Waits{
		{pool.Guaranteed, Spread{Jobs: 1}},
		{pool.Burst, Spread{Jobs: 3, Median: 0, P95: time.Hour, Max: time.Hour}},
		{pool.Spot, Spread{Jobs: 1}},
	}
	if len(r.Waits) != len(want) {
		t.Fatalf("waits %+v", r.Waits)
	}
	for i, w := range want {
		if r.Waits[i] != w {
			t.Errorf("waits %+v, want %+v", r.Waits[i], w)
		}
	}
	for i, w := range []Invoice{
		{Org: "owner", Months: 1, Fee: 100_00, Use: 8_00, Net: 108_00}, // 5 own hours less 1 included, at 2.00
		{Org: "guest", Months: 1, Fee: 10_00, Use: 12_50, Net: 22_50},  // 12 hours on loan at 1.00, 1 of spot at 0.50
	} {
		got := r.Invoices[i]
		if got.Org != w.Org || got.Months != w.Months || got.Fee != w.Fee || got.Use != w.Use || got.Net != w.Net {
			t.Errorf("invoice of %s: %d months, fee %d, use %d, net %d; want %+v", got.Org, got.Months, got.Fee, got.Use, got.Net, w)
		}
	}
}

func TestARestartedJobDoesItsWorkAgain(t *testing.T) {
	t.Parallel()
	p := load(t, tinyPool)
	res, r := report(t, p, read(t, tinyTrace, p).Jobs, Options{Until: pool.Never, Restart: true})
	// The owner takes all back after an hour, and one GPU an hour after it has begun again.
	if r.Preemptions != 2 || r.LostWork != 8*pool.MillisPerHour {
		t.Errorf("%d preempted, %s GPU-hours lost, want 2 and 8", r.Preemptions, r.LostWork.Hours())
	}
	a := res.Jobs[0].Attempts
	last := a[len(a)-1]
	if d := last.End.Sub(last.Started); d != 2*time.Hour {
		t.Errorf("the last attempt took %s, want the whole 2 hours again", d)
	}
}

func TestARunThatIsCutShowsWhatIsInFlight(t *testing.T) {
	t.Parallel()
	p := load(t, tinyPool)
	cut := pool.At(time.Date(2026, 3, 1, 2, 30, 0, 0, time.UTC))
	res, r := report(t, p, read(t, tinyTrace, p).Jobs, Options{Until: cut})
	if r.Jobs != 3 || r.Done != 1 || r.Held != 10*pool.MillisPerHour {
		t.Errorf("%d jobs, %d done, %s held: want 3, 1 and 10", r.Jobs, r.Done, r.Held.Hours())
	}
	if a := res.Jobs[0].Attempts[1]; a.End != pool.Never || a.Finished {
		t.Errorf("what runs at the cut has ended: %+v", a)
	}
	if w := res.Jobs[2]; len(w.Attempts) != 0 || len(w.Reasons) == 0 || w.Position != 1 {
		t.Errorf("what waits has no reason: %+v", w)
	}
}

func TestWithoutLendingEveryGPUStaysWithItsOwner(t *testing.T) {
	t.Parallel()
	p := load(t, tinyPool)
	_, r := report(t, p, read(t, tinyTrace, p).Jobs, Options{Until: pool.Never, NoLending: true})
	if r.Preemptions != 0 {
		t.Errorf("%d preempted", r.Preemptions)
	}
	for _, w := range r.Waits {
		if w.Tier == pool.Burst && (w.Jobs != 1 || w.Still != 2) {
			t.Errorf("the guest has borrowed: %+v", w)
		}
	}
}

func TestQuantilesAreTheNearestRank(t *testing.T) {
	t.Parallel()
	var w []time.Duration
	for i := range 40 {
		w = append(w, time.Duration(i+1))
	}
	for _, tt := range []struct {
		percent int
		want    time.Duration
	}{{0, 1}, {50, 20}, {95, 38}, {100, 40}} {
		if got := quantile(w, tt.percent); got != tt.want {
			t.Errorf("%d %% of 1 to 40: %d, want %d", tt.percent, got, tt.want)
		}
	}
	if quantile(nil, 95) != 0 {
		t.Error("no waits have a quantile")
	}
}
