package replay

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"gpupool/domain/pool"
)

// generated is a pool of 64 nodes of 8 GPUs, 20 members with 24 guaranteed
// GPUs each, and n jobs that ask for about so many percent of it: always the same.
func generated(n int, load int64) (Pool, []Job) {
	const nodes, members, gpus = 64, 20, 64 * 8
	p := Pool{Name: "generated", Currency: "EUR", Zone: "UTC", Classes: []Class{{ID: "gpu", Name: "GPU"}}, MinRun: Duration(10 * time.Minute), Fair: true,
		Notice: Duration(5 * time.Minute), Nodes: []Node{{Name: "node", Count: nodes, Class: "gpu", GPUs: 8}},
		Plans: []Plan{{ID: "plan", Fee: "1000.00", Classes: map[pool.ClassID]PlanClass{"gpu": {Guaranteed: 24, Included: 1000, Borrow: gpus, Lend: 24}}}},
		Prices: []PriceList{{ID: "list", Rows: []PriceRow{{Class: "gpu", Cover: pool.Own, Price: "2.00"}, {Class: "gpu", Cover: pool.Loan, Price: "1.50"},
			{Class: "gpu", Cover: pool.SpotCover, Price: "0.50"}}}}}
	for i := range members {
		p.Orgs = append(p.Orgs, Org{ID: pool.OrgID(fmt.Sprintf("member-%02d", i)), Plan: "plan"})
	}
	r := rand.New(rand.NewPCG(1, 100_000))
	sizes := []int{1, 1, 1, 1, 1, 1, 2, 2, 4, 8}
	const mean = 26 * int64(time.Minute/time.Millisecond) // of a length, about
	at := pool.At(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	jobs := make([]Job, n)
	for i := range jobs {
		o := p.Orgs[min(r.IntN(members), r.IntN(members))].ID // some ask for much more than others
		j := Job{ID: pool.JobID(fmt.Sprintf("t%06d", i)), Org: o, Project: pool.ProjectID(o), User: pool.UserID(o), Class: "gpu", Nodes: 1,
			GPUs: sizes[r.IntN(len(sizes))], Tier: pool.Burst, Submit: at}
		switch k := r.IntN(100); {
		case k < 15 && j.GPUs < 8:
			j.Tier = pool.Guaranteed
		case k < 30:
			j.Tier = pool.Spot
		case k == 30:
			j.Nodes, j.GPUs = 2, 8
		}
		// Three in four are short, some are long.
		minutes := 1 + r.IntN(15)
		if r.IntN(4) == 0 {
			minutes = 15 + r.IntN(150)
		}
		j.Length = time.Duration(minutes)*time.Minute + time.Duration(r.IntN(60))*time.Second
		j.Limit = j.Length * time.Duration(1+r.IntN(3))
		jobs[i] = j
		// 2.4 GPUs a job on average.
		at = at.Add(time.Duration(1+r.Int64N(2*mean*24/10*100/(gpus*load))) * time.Millisecond)
	}
	return p, jobs
}

// spent is the CPU time of this process, all threads, garbage collection too.
func spent(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkReplay runs 100 000 generated jobs and bills them: on a pool that is
// used by two thirds, and on one that is full, where in each decision hundreds
// of kinds of jobs wait. The goal is in CPU time, so that a busy machine tells
// the same.
func BenchmarkReplay(b *testing.B) {
	for _, load := range []int64{65, 95} {
		b.Run(fmt.Sprintf("%d percent", load), func(b *testing.B) { replayOf(b, load) })
	}
}

func replayOf(b *testing.B, load int64) {
	const n, goal = 100_000, 5 * time.Second
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as the command does
	p, jobs := generated(n, load)
	var ran, billed time.Duration
	var res Result
	var r Report
	for b.Loop() {
		from := spent(b)
		var err error
		if res, err = Run(p, jobs, Options{Until: pool.Never}); err != nil {
			b.Fatal(err)
		}
		ran += spent(b) - from
		from = spent(b)
		if r, err = Summarise(p, res); err != nil {
			b.Fatal(err)
		}
		billed += spent(b) - from
	}
	ran, billed = ran/time.Duration(b.N), billed/time.Duration(b.N)
	verdict := "ok"
	if ran+billed > goal {
		verdict = "missed"
	}
	w := r.Coming()
	b.Logf("replay of %d jobs that ask for %d %% of the pool: goal %v of CPU, measured %v (run %v, figures and invoices %v), %s; %d decisions, %d preemptions, allocated %s while jobs arrive", n, load, goal,
		(ran + billed).Round(10*time.Millisecond), ran.Round(10*time.Millisecond), billed.Round(10*time.Millisecond), verdict, r.Decisions, r.Preemptions, share(percent100(w.Held, w.Offered)))
}
