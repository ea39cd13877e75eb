package quota

import (
	"runtime"
	"testing"
	"time"

	"gpupool/domain/pool"
)

// BenchmarkQuote asks about one more job, last in line, and prints the goal,
// what was measured, and whether it is met.
func BenchmarkQuote(b *testing.B) {
	const now = 10_000_000
	for _, x := range []struct {
		name string
		crowd
		likely bool
		goal   time.Duration
	}{
		{"30 queues, the bound", crowd{orgs: 30, running: 600, pending: 3000}, false, 200 * time.Millisecond},
		{"30 queues, the likely start too", crowd{orgs: 30, running: 600, pending: 3000}, true, time.Second},
		{"10x100 queues, the bound", crowd{orgs: 10, projects: 100, running: 20_000, pending: 100_000}, false, 200 * time.Millisecond},
		{"10x100 queues, the likely start too", crowd{orgs: 10, projects: 100, running: 20_000, pending: 100_000}, true, time.Second},
	} {
		b.Run(x.name, func(b *testing.B) {
			s := x.snapshot()
			if x.likely {
				var past []Past
				for i := range 200 {
					past = append(past, Past{Org: s.Orgs[0].ID, Class: "gpu", Declared: 10 * time.Hour, Ran: time.Duration(i*3) * time.Minute})
				}
				s.Habits = Learn(past)
			}
			j := Job{ID: "asked", Org: s.Orgs[0].ID, Classes: []pool.ClassID{"gpu"}, Nodes: 1, GPUs: 1, Tier: pool.Burst, Submitted: now, MaxRun: time.Hour}
			if x.projects > 0 { // behind those of the same project
				j.Project = s.Projects[0].ID
			}
			var a Answer
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			from := cpu()
			for b.Loop() {
				a = Quote(s, j, now)
			}
			took, verdict := (cpu()-from)/time.Duration(b.N), "ok"
			if took > x.goal {
				verdict = "missed"
			}
			b.Logf("%s: goal %v, measured %v, %s; at the latest in %v, likely %v", x.name, x.goal, took.Round(time.Millisecond), verdict, a.Start.Sub(now), a.Likely.Known())
		})
	}
}
