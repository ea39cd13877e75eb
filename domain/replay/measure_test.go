package replay

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpupool/domain/pool"
)

const hour = pool.GPUMillis(pool.MillisPerHour)

func TestFairnessAndWhatIsWithheldAreThoseMadeByHand(t *testing.T) {
	t.Parallel()
	p := load(t, tinyPool)
	jobs := read(t, tinyTrace, p).Jobs
	_, r := report(t, p, jobs, Options{Until: pool.Never})
	// The guest may borrow what the owner leaves: 4, 0, 4, 2, 2 in the five hours, and gets just that.
	c := r.Classes[0]
	if c.Received[0] != 5*hour || c.Fair[0] != 5*hour || c.Received[1] != 12*hour || c.Fair[1] != 12*hour || c.Jain != 10_000 || r.Jain != 10_000 {
		t.Errorf("received %v of %v, Jain's index %d", c.Received, c.Fair, c.Jain)
	}
	if c.Useful != 18*hour || c.Fragmented != 0 || c.Withheld != 0 {
		t.Errorf("useful %s, fragmented %s, withheld %s", c.Useful.Hours(), c.Fragmented.Hours(), c.Withheld.Hours())
	}
	if c.Coming != (Window{12 * hour, 12 * hour, 12 * hour}) { // until the last two jobs come after three hours
		t.Errorf("while jobs arrive %+v", c.Coming)
	}
	_, r = report(t, p, jobs, Options{Until: pool.Never, NoLending: true})
	// Until the owner's last end after four hours the guest's fair share is 4, 0, 4, 3, and it gets nothing;
	// 4, 0, 4 and 3 GPUs stand free and would fit what waits.
	c = r.Classes[0]
	if c.Received[1] != 0 || c.Fair[1] != 11*hour || c.Jain != 5000 || c.Withheld != 11*hour || c.Fragmented != 0 {
		t.Errorf("without lending: received %v of %v, Jain's index %d, withheld %s, fragmented %s", c.Received, c.Fair, c.Jain, c.Withheld.Hours(), c.Fragmented.Hours())
	}
	if m := r.Members[1]; m.Share != 0 || m.Waits.Still != 3 || r.Members[0].Share != 10_000 {
		t.Errorf("members %+v", r.Members)
	}
}

func TestFreeGPUsThatNoWaitingJobFitsOnAreFragmented(t *testing.T) {
	t.Parallel()
	p := load(t, strings.Replace(tinyPool, `{"name": "node", "class": "gpu", "gpus": 4}`, `{"name": "node", "class": "gpu", "gpus": 4, "count": 2}`, 1))
	p.Plans[1].Classes["gpu"] = PlanClass{Borrow: 8}
	jobs := read(t, `organisation,gpus_per_node,submit_s,length_s,class,tier
owner,3,0,3600,gpu,burst
guest,3,0,7200,gpu,burst
guest,2,0,3600,gpu,burst
`, p).Jobs
	_, r := report(t, p, jobs, Options{Until: pool.Never})
	// For an hour 1 GPU on each node is free and 2 on one node are wanted; then they fit beside the guest's other job.
	if c := r.Classes[0]; c.Fragmented != 2*hour || c.Withheld != 0 {
		t.Errorf("fragmented %s, withheld %s, want 2 and 0", c.Fragmented.Hours(), c.Withheld.Hours())
	}
}

func TestFairSharesGiveGuaranteesFirstAndTheRestByWeight(t *testing.T) {
	t.Parallel()
	m := func(guaranteed, most, weight, wants int) memberOfClass {
		return memberOfClass{guaranteed: guaranteed, most: most, weight: weight, wants: wants}
	}
	for _, tt := range []struct {
		sentence string
		gpus     int
		members  []memberOfClass
		want     []int64
	}{
		{"nobody wants more than its guarantee", 8, []memberOfClass{m(4, 8, 1, 3), m(4, 8, 1, 0)}, []int64{3000, 0}},
		{"the rest is shared by weight", 8, []memberOfClass{m(2, 8, 1, 8), m(0, 8, 2, 8)}, []int64{4000, 4000}},
		{"who wants little leaves it to others", 9, []memberOfClass{m(0, 9, 1, 1), m(0, 9, 1, 9), m(0, 9, 1, 9)}, []int64{1000, 4000, 4000}},
		{"nobody gets more than it may borrow", 9, []memberOfClass{m(1, 2, 1, 9), m(0, 9, 1, 9)}, []int64{2000, 7000}},
		{"weight 0 comes last", 8, []memberOfClass{m(0, 8, 0, 8), m(0, 6, 1, 8)}, []int64{2000, 6000}},
		{"more is guaranteed than there is", 6, []memberOfClass{m(4, 4, 1, 4), m(8, 8, 1, 8)}, []int64{2000, 4000}},
		{"thirds", 1, []memberOfClass{m(0, 1, 1, 1), m(0, 1, 1, 1), m(0, 1, 1, 1)}, []int64{333, 333, 334}},
	} {
		got := make([]int64, len(tt.members))
		fairShares(tt.gpus, tt.members, got, nil)
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s: %s", tt.sentence, d)
		}
	}
}

func TestJainsIndexIsOneForEqualsAndOneOfNForOne(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		received, fair []pool.GPUMillis
		want           int64
	}{
		{[]pool.GPUMillis{5, 10, 1}, []pool.GPUMillis{10, 20, 2}, 10_000},
		{[]pool.GPUMillis{7, 0, 0, 0}, []pool.GPUMillis{7, 7, 7, 7}, 2500},
		{[]pool.GPUMillis{3, 1, 9}, []pool.GPUMillis{3, 3, 0}, 8000}, // (1 + 1/3)² / 2 (1 + 1/9); who wanted nothing doesn't count
		{[]pool.GPUMillis{0, 0}, []pool.GPUMillis{7, 7}, 0},
		{nil, nil, 0},
		{[]pool.GPUMillis{1 << 62, 1 << 62}, []pool.GPUMillis{1, 1}, 10_000},
	} {
		if got := jain(tt.received, tt.fair); got < tt.want-2 || got > tt.want {
			t.Errorf("%v of %v: %d, want %d", tt.received, tt.fair, got, tt.want)
		}
	}
}

func TestFirstComeIsServedFirst(t *testing.T) {
	t.Parallel()
	p := load(t, tinyPool)
	jobs := read(t, `organisation,gpus_per_node,submit_s,length_s,class,limit_s
guest,3,0,3600,gpu,
owner,4,600,3600,gpu,
guest,1,1200,3600,gpu,1800
owner,5,1200,3600,gpu,
`, p).Jobs
	start := jobs[0].Submit
	for _, tt := range []struct {
		skip bool
		want [3][2]int // minutes of start and end
	}{
		{false, [3][2]int{{0, 60}, {60, 120}, {120, 150}}}, // the last is behind the big one, and stopped by its limit
		{true, [3][2]int{{0, 60}, {60, 120}, {20, 50}}},
	} {
		res := FirstCome(p, jobs, tt.skip, pool.Never)
		for i, w := range tt.want {
			a := res.Jobs[i].Attempts[0]
			if a.Admitted != start.Add(time.Duration(w[0])*time.Minute) || a.End != start.Add(time.Duration(w[1])*time.Minute) {
				t.Errorf("skip %v: job %d runs from %s to %s, want minutes %v", tt.skip, i, a.Admitted, a.End, w)
			}
		}
		if len(res.Jobs[3].Attempts) > 0 || !res.Jobs[2].Attempts[0].TimeLimit {
			t.Errorf("skip %v: %+v", tt.skip, res.Jobs[2:])
		}
	}
}

func TestABreakOfTheLawIsFound(t *testing.T) {
	t.Parallel()
	p := load(t, tinyPool)
	jobs := read(t, tinyTrace, p).Jobs
	res, _ := report(t, p, jobs, Options{Until: pool.Never})
	if l := CheckLaw(p, res); l.Broken != 0 || l.Moments == 0 {
		t.Fatalf("%s", l)
	}
	// The guest is not stopped, and the owner starts when it is done: an hour too late.
	a := &res.Jobs[0].Attempts[0]
	a.End, a.Stopped, a.Finished = a.Admitted.Add(2*time.Hour), false, true
	res.Jobs[0].Attempts = res.Jobs[0].Attempts[:1]
	owner := &res.Jobs[1].Attempts[0]
	owner.Admitted, owner.Started, owner.Covers[0].From, owner.End = a.End, a.End, a.End, a.End.Add(time.Hour)
	res.Promises = nil
	l := CheckLaw(p, res)
	if l.Broken != 1 || l.First != "at 2026-03-01T01:00:00.000Z owner uses 0 of its 4 guaranteed GPUs of gpu and its job t000002 (1 x 4) waits, while guest borrows where it would fit" {
		t.Errorf("%+v", l)
	}
}

func TestAWaitInsideAGuaranteeIsCountedByItsCause(t *testing.T) {
	t.Parallel()
	p := load(t, strings.Replace(tinyPool, `{"name": "node", "class": "gpu", "gpus": 4}`, `{"name": "node", "class": "gpu", "gpus": 4, "count": 2}`, 1))
	p.Plans[0].Classes["gpu"] = PlanClass{Guaranteed: 5, Lend: 5}
	p.Plans[1].Classes["gpu"] = PlanClass{Guaranteed: 3, Borrow: 8}
	const head = "organisation,gpus_per_node,submit_s,length_s,limit_s,class,tier,nodes\n"
	for _, tt := range []struct {
		sentence string
		rows     string // the last one is the job that is asked about
		law      Law
		waits    time.Duration
	}{
		{"the owner's big job, which its own work keeps out of the quota, has waited five hours, and the small one takes a loan back all the same",
			"owner,3,0,32400,32400,gpu,burst,1\nguest,4,0,90000,90000,gpu,burst,1\nowner,4,0,3600,3600,gpu,burst,1\nowner,2,18000,72000,72000,gpu,burst,1\n", Law{}, 0},
		{"nobody borrows: it would delay the big one",
			"owner,3,0,32400,32400,gpu,burst,1\nguest,2,0,90000,90000,gpu,burst,1\nowner,4,0,3600,3600,gpu,burst,1\nowner,2,18000,72000,72000,gpu,burst,1\n", Law{Contests: 1, Alone: 1}, 5 * time.Hour},
		{"all is full of guaranteed work",
			"owner,4,0,3600,3600,gpu,guaranteed,1\nguest,4,0,3600,3600,gpu,burst,1\nowner,1,0,3600,3600,gpu,guaranteed,1\n", Law{}, 0},
	} {
		res, _ := report(t, p, read(t, head+tt.rows, p).Jobs, Options{Until: pool.Never})
		last := res.Jobs[len(res.Jobs)-1]
		l := CheckLaw(p, res)
		got := l
		got.Moments = 0
		if w := last.Attempts[0].Admitted.Sub(last.Submit); w != tt.waits || got != tt.law {
			t.Errorf("%s: it waits %s, want %s; %s", tt.sentence, w, tt.waits, l)
		}
	}
}

func TestCheckpointsEveryHalfHourKeepWholeHalfHours(t *testing.T) {
	t.Parallel()
	p := load(t, strings.Replace(tinyPool, `"notice": "0s"`, `"notice": "10m", "checkpoint": "25m"`, 1))
	res, r := report(t, p, read(t, tinyTrace, p).Jobs, Options{Until: pool.Never})
	a := res.Jobs[0].Attempts[0]
	// 70 minutes with the notice, of which 50 are saved.
	if a.Kept != 50*time.Minute || r.LostWork < pool.GPUMillis(4*20*time.Minute/time.Millisecond) || r.Classes[0].Lost != r.LostWork {
		t.Errorf("kept %s, lost %s and %s", a.Kept, r.LostWork.Hours(), r.Classes[0].Lost.Hours())
	}
}

func TestSwitchesChangeWhatTheySay(t *testing.T) {
	t.Parallel()
	p := load(t, strings.Replace(tinyPool, `"notice": "0s"`, `"notice": "10m", "minimum_run": "5m"`, 1))
	base := Setting{Name: "base", Pool: p}
	for _, x := range Switches {
		s, err := base.Without(x.Name)
		if err != nil || s.Name != "without "+x.Name {
			t.Errorf("without %s: %v", x.Name, err)
		}
	}
	if s, err := base.Without("lending, minimum_run,notice"); err != nil || !s.NoLending || s.Pool.MinRun != 0 || s.Pool.Notice != 0 {
		t.Errorf("%+v %v", s, err)
	}
	if s, err := base.With("fair_reclaim"); err != nil || !s.Pool.Fair || base.Pool.Fair {
		t.Errorf("%+v %v", s, err)
	}
	for _, bad := range []string{"", "gravity", "lending,,"} {
		if _, err := base.Without(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	if _, err := base.With("notice"); err == nil {
		t.Error("a notice was switched on without a length")
	}
}
