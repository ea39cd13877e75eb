package replay

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// drawn is a small pool under pressure and a trace on it.
func drawn(t *rapid.T) (Pool, []Job) {
	n := func(name string, from, to int) int { return rapid.IntRange(from, to).Draw(t, name) }
	p := Pool{Name: "drawn", Currency: "EUR", Zone: "Europe/Berlin", Fair: rapid.Bool().Draw(t, "fair"),
		Notice: Duration(rapid.SampledFrom([]time.Duration{0, 10 * time.Minute}).Draw(t, "notice")),
		Setup:  Duration(rapid.SampledFrom([]time.Duration{0, 45 * time.Second}).Draw(t, "setup")),
		MinRun: Duration(rapid.SampledFrom([]time.Duration{0, 15 * time.Minute}).Draw(t, "minimum run")),
		Prices: []PriceList{{ID: "list"}}}
	for _, c := range []pool.ClassID{"big", "small"}[:n("classes", 1, 2)] {
		p.Classes = append(p.Classes, Class{ID: c, Name: string(c)})
		p.Nodes = append(p.Nodes, Node{Name: string(c), Class: c, Count: n("nodes", 1, 3), GPUs: n("gpus", 1, 4)})
		for _, cover := range pool.Covers {
			p.Prices[0].Rows = append(p.Prices[0].Rows, PriceRow{Class: c, Cover: cover, Price: fmt.Sprintf("0.%06d", n("price", 0, 999_999))})
		}
	}
	for i := range n("members", 1, 3) {
		id := fmt.Sprintf("member-%d", i)
		pl := Plan{ID: pool.PlanID(id), Fee: fmt.Sprintf("%d.00", n("fee", 0, 500)), Classes: map[pool.ClassID]PlanClass{}}
		for _, c := range p.Classes {
			pl.Classes[c.ID] = PlanClass{Guaranteed: n("guaranteed", 0, 4), Included: int64(n("included", 0, 3)), Borrow: n("borrow", 0, 8), Lend: n("lend", 0, 4)}
		}
		p.Plans = append(p.Plans, pl)
		p.Orgs = append(p.Orgs, Org{ID: pool.OrgID(id), Name: id, Plan: pl.ID})
	}
	// Two days about the end of a month, in which Berlin also changes its clocks.
	start := pool.At(time.Date(2026, 3, 29, 22, 0, 0, 0, time.UTC)).Add(time.Duration(n("start", 0, 47)) * time.Hour)
	var jobs []Job
	for i := range n("jobs", 1, 14) {
		o := p.Orgs[n("member", 0, len(p.Orgs)-1)].ID
		j := Job{ID: pool.JobID(fmt.Sprintf("t%02d", i)), Org: o, Project: pool.ProjectID(o), User: pool.UserID(o), Class: rapid.SampledFrom(p.Classes).Draw(t, "class").ID,
			Nodes: n("nodes", 1, 2), GPUs: n("gpus", 1, 4), Tier: rapid.SampledFrom(pool.Tiers).Draw(t, "tier"),
			Submit: start.Add(time.Duration(n("submit", 0, 120)) * time.Minute), Length: time.Duration(n("length", 1, 9000)) * time.Second}
		if rapid.Bool().Draw(t, "limited") {
			j.Limit = time.Duration(n("limit", 60, 9000)) * time.Second
		}
		jobs = append(jobs, j)
	}
	slices.SortStableFunc(jobs, func(a, b Job) int { return cmp.Compare(a.Submit, b.Submit) })
	return p, jobs
}

// contended gives the first member all of the first class, and lets the
// second one borrow it first.
func contended(t *rapid.T, p *Pool, jobs []Job) {
	if len(p.Orgs) < 2 || len(jobs) < 2 {
		return
	}
	c, all := p.Classes[0].ID, p.Nodes[0].Count*p.Nodes[0].GPUs
	p.Plans[0].Classes[c] = PlanClass{Guaranteed: all, Lend: all, Borrow: 0}
	p.Plans[1].Classes[c] = PlanClass{Borrow: all}
	claim := func(j *Job, o Org, tier pool.Tier, gpus int) {
		j.Org, j.Project, j.User, j.Tier, j.Class = o.ID, pool.ProjectID(o.ID), pool.UserID(o.ID), tier, c
		j.Nodes, j.GPUs, j.Limit, j.Length = 1, gpus, 0, time.Duration(rapid.IntRange(4, 9).Draw(t, "hours"))*time.Hour
	}
	claim(&jobs[0], p.Orgs[1], pool.Burst, p.Nodes[0].GPUs)
	for i := range jobs[1:] {
		claim(&jobs[i+1], p.Orgs[0], pool.Guaranteed, p.Nodes[0].GPUs)
	}
}

func TestARunKeepsItsLaws(t *testing.T) {
	t.Parallel()
	var preempted, borrowed, waited, multi, contests int
	rapid.Check(t, func(t *rapid.T) {
		p, jobs := drawn(t)
		if rapid.IntRange(0, 3).Draw(t, "contended") == 0 { // an owner claims what a borrower has
			contended(t, &p, jobs)
		}
		opt := Options{Until: pool.Never, NoLending: rapid.Bool().Draw(t, "no lending"), Restart: rapid.Bool().Draw(t, "restart")}
		if rapid.Bool().Draw(t, "cut") {
			opt.Until = jobs[0].Submit.Add(time.Duration(rapid.IntRange(0, 300).Draw(t, "until")) * time.Minute)
		}
		if err := p.check(); err != nil {
			t.Fatal(err)
		}
		res, err := Run(p, jobs, opt)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Run(p, jobs, opt)
		if d := gocmp.Diff(res, again, gocmp.AllowUnexported(Result{})); err != nil || d != "" {
			t.Fatalf("the same input gave another result: %v %s", err, d)
		}
		anew := opt
		anew.cold = true
		again, err = Run(p, jobs, anew)
		if d := gocmp.Diff(res, again, gocmp.AllowUnexported(Result{})); err != nil || d != "" {
			t.Fatalf("decided anew each time it is another result: %v %s", err, d)
		}
		if len(res.Problems) > 0 {
			t.Fatalf("problems: %v", res.Problems)
		}
		for _, j := range res.Jobs {
			attempts(t, j, opt)
			if len(j.Attempts) > 0 && j.Attempts[0].Admitted > j.Submit {
				waited++
			}
			if j.Nodes > 1 && len(j.Attempts) > 0 {
				multi++
			}
			for _, a := range j.Attempts {
				for _, c := range a.Covers {
					if c.Split.Loan > 0 {
						borrowed++
					}
				}
			}
		}
		preempted += res.Preemptions
		capacity(t, p, res)
		bills(t, p, res)
		l := CheckLaw(p, res)
		if l.Broken > 0 {
			t.Fatalf("%s", l)
		}
		contests += l.Contests
		first := FirstCome(p, jobs, rapid.Bool().Draw(t, "skip"), opt.Until)
		capacity(t, p, first)
		inOrder(t, first)
	})
	if preempted == 0 || borrowed == 0 || waited == 0 || multi == 0 || contests == 0 {
		t.Errorf("the hard cases were not met: %d preempted, %d borrowed, %d waited, %d on several nodes, %d waits inside a guarantee", preempted, borrowed, waited, multi, contests)
	}
}

// attempts of a job: one after the other, whole covers, one end.
func attempts(t *rapid.T, j Outcome, opt Options) {
	last := j.Submit
	for i, a := range j.Attempts {
		if a.N != i+1 || a.Admitted < last || a.Started < a.Admitted || a.End < a.Admitted {
			t.Fatalf("job %s: attempt %d begins at %d after %d and ends at %d", j.ID, a.N, a.Admitted, last, a.End)
		}
		last = a.End
		if ends := a.Finished; ends != (i == len(j.Attempts)-1 && a.End != pool.Never && !waits(j)) {
			t.Fatalf("job %s: attempt %d of %d: finished %v", j.ID, a.N, len(j.Attempts), ends)
		}
		if opt.Until == pool.Never && i == len(j.Attempts)-1 && !a.Finished {
			t.Fatalf("job %s began and never ends", j.ID)
		}
		gpus := 0
		for _, n := range a.Placement {
			gpus += n.GPUs
			if n.GPUs != j.GPUs {
				t.Fatalf("job %s: %d GPUs on a node, asked for %d", j.ID, n.GPUs, j.GPUs)
			}
		}
		if gpus != j.Units() || a.Class != j.Class {
			t.Fatalf("job %s: %d GPUs of %s, asked for %d of %s", j.ID, gpus, a.Class, j.Units(), j.Class)
		}
		for k, c := range a.Covers {
			if c.Split.Total() != gpus || min(c.Split.Own, c.Split.Loan, c.Split.Spot) < 0 {
				t.Fatalf("job %s: cover %+v of %d GPUs", j.ID, c.Split, gpus)
			}
			if k == 0 && c.From != a.Admitted || k > 0 && c.From <= a.Covers[k-1].From || c.From > a.End {
				t.Fatalf("job %s: cover from %d in %d to %d", j.ID, c.From, a.Admitted, a.End)
			}
			if opt.NoLending && c.Split.Loan > 0 {
				t.Fatalf("job %s borrows %d GPUs although nobody lends", j.ID, c.Split.Loan)
			}
		}
	}
}

// waits tells whether the job waits for its next attempt at the end of the run.
func waits(j Outcome) bool { return len(j.Reasons) > 0 }

// capacity: at no time are more GPUs of a node held than it has.
func capacity(t *rapid.T, p Pool, res Result) {
	type change struct {
		at   pool.Instant
		gpus int
	}
	nodes := map[pool.NodeID][]change{}
	for _, j := range res.Jobs {
		for _, a := range j.Attempts {
			for _, n := range a.Placement {
				nodes[n.Node] = append(nodes[n.Node], change{a.Admitted, n.GPUs}, change{a.End, -n.GPUs})
			}
		}
	}
	for _, n := range p.NodeList() {
		slices.SortFunc(nodes[n.ID], func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), a.gpus-b.gpus) })
		held := 0
		for _, c := range nodes[n.ID] {
			if held += c.gpus; held > n.GPUs {
				t.Fatalf("node %s: %d of %d GPUs held at %s", n.ID, held, n.GPUs, c.at)
			}
		}
		delete(nodes, n.ID)
	}
	if len(nodes) > 0 {
		t.Fatalf("placed on nodes that there are not: %v", nodes)
	}
}

// bills: what is billed is what ran, and every sum is the sum of its parts.
func bills(t *rapid.T, p Pool, res Result) {
	r, err := Summarise(p, res)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range r.Waits {
		if w.Median < 0 || w.P95 < w.Median || w.Max < w.P95 {
			t.Fatalf("waits %+v", w)
		}
	}
	var held, lost pool.GPUMillis
	for _, j := range res.Jobs {
		for _, a := range j.Attempts {
			held += pool.GPUMillis(int64(j.Units()) * int64(min(a.End, res.Until)-a.Admitted))
		}
	}
	stops := 0
	for _, c := range r.Classes {
		if c.Held < 0 || c.Useful < 0 || c.Fragmented < 0 || c.Withheld < 0 || c.Useful > c.Held || c.Held+c.Fragmented+c.Withheld > c.Offered ||
			c.Coming.Held > c.Held || c.Coming.Useful > c.Useful || c.Coming.Offered > c.Offered {
			t.Fatalf("class %+v", c)
		}
		var fair pool.GPUMillis
		for o := range c.Fair {
			fair += c.Fair[o]
		}
		if fair > c.Offered || c.Jain < 0 || c.Jain > 10_000 {
			t.Fatalf("class %s: fair shares of %d of %d, Jain's index %d", c.Class, fair, c.Offered, c.Jain)
		}
		lost += c.Lost
		stops += c.Preemptions
	}
	if r.Held != held || lost != res.LostWork || stops != res.Preemptions {
		t.Fatalf("held %d, the attempts held %d; lost %d and %d, stopped %d and %d", r.Held, held, lost, res.LostWork, stops, res.Preemptions)
	}
	ran := map[pool.OrgID]pool.GPUMillis{}
	for _, j := range res.Jobs {
		for _, a := range j.Attempts {
			end := min(a.End, res.Until)
			if a.Notice != 0 && a.StopAt <= end {
				end = min(end, a.Notice) // free from the signal on
			}
			ran[j.Org] += pool.GPUMillis(int64(j.Units()) * max(0, int64(end-a.Started)))
		}
	}
	for _, inv := range r.Invoices {
		var net money.Amount
		var billed pool.GPUMillis
		for _, d := range inv.Documents {
			var lines money.Amount
			for _, l := range d.Lines {
				lines += l.Amount
				var parts money.Amount
				for _, x := range l.Parts {
					parts += x.Amount
				}
				if len(l.Parts) > 0 && parts != l.Amount {
					t.Fatalf("%s of %s: parts sum to %d, the line is %d", d.Period, inv.Org, parts, l.Amount)
				}
				if l.Cover != "" {
					billed += l.Quantity
				}
			}
			if lines != d.Net {
				t.Fatalf("%s of %s: lines sum to %d, net is %d", d.Period, inv.Org, lines, d.Net)
			}
			net += d.Net
		}
		if net != inv.Net || inv.Fee+inv.Use != inv.Net || inv.Fee < 0 || inv.Use < 0 {
			t.Fatalf("%s: %+v, documents sum to %d", inv.Org, inv, net)
		}
		if billed != ran[inv.Org] {
			t.Fatalf("%s: %d GPU-ms billed, %d ran", inv.Org, billed, ran[inv.Org])
		}
	}
}

// inOrder: of two jobs that ask the same of the same class, the one that came
// first starts first.
func inOrder(t *rapid.T, res Result) {
	type ask struct {
		class pool.ClassID
		shape
	}
	last := map[ask]pool.Instant{}
	for _, j := range res.Jobs {
		k := ask{j.Class, shape{j.Nodes, j.GPUs}}
		at := pool.Never
		if len(j.Attempts) > 0 {
			at = j.Attempts[0].Admitted
		}
		if at < last[k] {
			t.Fatalf("job %s starts at %s, before an earlier one at %s", j.ID, at, last[k])
		}
		last[k] = at
	}
}
