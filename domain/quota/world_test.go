package quota

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"gpupool/domain/pool"
)

// world is a pool that lives: jobs come, run and go, nodes drain, quotas move,
// victims get notice. It applies plans as the engine loop does.
type world struct {
	t    *rapid.T
	snap Snapshot
	now  pool.Instant
	next int
	met  *met
	jobs map[pool.JobID]Job
}

// met counts the hard things that a run of the generator came across.
type met struct {
	admissions, reclaims, victims, straddles, gangs, guaranteed, spotVictims int
	withdrawn, elsewhere, recovers, reserved, scattered, fair, priority      int
	decisions, followed, mostSteps                                           int
	sites, lend, borrow, promisesKept, minimal, grounds, owners              int
}

// draws is what the generator may vary.
type draws struct {
	fair, priority, notice bool
}

func newWorld(t *rapid.T, m *met, d draws) *world {
	w := &world{t: t, now: 1_700_000_000_000, met: m, jobs: map[pool.JobID]Job{}}
	classes := rapid.IntRange(1, 2).Draw(t, "classes")
	orgs := rapid.IntRange(2, 4).Draw(t, "orgs")
	for o := range orgs {
		w.snap.Orgs = append(w.snap.Orgs, Org{ID: pool.OrgID(fmt.Sprintf("org-%d", o)), Weight: rapid.IntRange(0, 3).Draw(t, "weight")})
	}
	for c := range classes {
		id := pool.ClassID(fmt.Sprintf("class-%d", c))
		w.snap.Classes = append(w.snap.Classes, Class{ID: id})
		total := 0
		for n := range rapid.IntRange(1, 4).Draw(t, "nodes") {
			k := rapid.SampledFrom([]int{2, 4, 8}).Draw(t, "gpus")
			total += k
			owner := w.snap.Orgs[rapid.IntRange(0, orgs-1).Draw(t, "contributor")].ID
			w.snap.Nodes = append(w.snap.Nodes, Node{ID: pool.NodeID(fmt.Sprintf("node-%d-%d", c, n)), Class: id, GPUs: k, State: Ready,
				Site: pool.SiteID(fmt.Sprintf("site-%d", n%2)), Contributor: owner, Foreign: rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "foreign")})
		}
		for o := range w.snap.Orgs {
			w.snap.Orgs[o].Quotas = append(w.snap.Orgs[o].Quotas, w.quota(id, total/orgs+1))
		}
	}
	for o := range w.snap.Orgs {
		for p := range rapid.IntRange(0, 2).Draw(t, "projects") {
			pr := Project{ID: pool.ProjectID(fmt.Sprintf("p-%d-%d", o, p)), Org: w.snap.Orgs[o].ID}
			if rapid.IntRange(0, 2).Draw(t, "own quota") == 0 {
				pr.Quotas = []Quota{w.quota(w.snap.Classes[0].ID, 3)}
			}
			switch rapid.IntRange(0, 7).Draw(t, "trust") {
			case 0:
				pr.Sites = []pool.SiteID{"site-0"}
			case 1:
				pr.OwnNodesOnly = true
			case 2:
				pr.NoSharedNode = true
			}
			w.snap.Projects = append(w.snap.Projects, pr)
		}
	}
	w.snap.Policy = Policy{FairReclaim: d.fair, OwnPriority: d.priority, HalfLife: 24 * time.Hour}
	if d.notice {
		w.snap.Policy.Notice = 10 * time.Minute
	}
	return w
}

func (w *world) quota(c pool.ClassID, most int) Quota {
	q := Quota{Class: c, Nominal: rapid.IntRange(0, most).Draw(w.t, "nominal")}
	if rapid.IntRange(0, 4).Draw(w.t, "limits") == 0 {
		b := rapid.IntRange(0, 6).Draw(w.t, "borrow")
		q.BorrowLimit = &b
	}
	if rapid.IntRange(0, 4).Draw(w.t, "lends") == 0 {
		l := rapid.IntRange(0, 3).Draw(w.t, "lend")
		q.LendLimit = &l
	}
	return q
}

// happen lets one thing happen.
func (w *world) happen() {
	t := w.t
	switch rapid.IntRange(0, 9).Draw(t, "event") {
	case 0, 1, 2, 3:
		for range rapid.IntRange(1, 4).Draw(t, "submits") {
			w.submit()
		}
	case 4, 5:
		if n := len(w.snap.Running); n > 0 {
			w.gone(w.snap.Running[rapid.IntRange(0, n-1).Draw(t, "ends")].ID, false)
		}
	case 6:
		w.wait(time.Duration(rapid.SampledFrom([]int{5, 15, 60, 240}).Draw(t, "minutes")) * time.Minute)
	case 7:
		if n := len(w.snap.Pending); n > 0 {
			i := rapid.IntRange(0, n-1).Draw(t, "cancels")
			w.snap.Pending = slices.Delete(slices.Clone(w.snap.Pending), i, i+1)
		}
	case 8:
		n := &w.snap.Nodes[rapid.IntRange(0, len(w.snap.Nodes)-1).Draw(t, "node")]
		n.State = rapid.SampledFrom([]NodeState{Ready, Ready, Draining}).Draw(t, "state")
	case 9:
		o := &w.snap.Orgs[rapid.IntRange(0, len(w.snap.Orgs)-1).Draw(t, "org")]
		q := rapid.IntRange(0, len(o.Quotas)-1).Draw(t, "class")
		o.Quotas = slices.Clone(o.Quotas)
		o.Quotas[q].Nominal = rapid.IntRange(0, 8).Draw(t, "nominal")
	}
}

func (w *world) submit() {
	t := w.t
	w.next++
	o := w.snap.Orgs[rapid.IntRange(0, len(w.snap.Orgs)-1).Draw(t, "org")].ID
	j := Job{ID: pool.JobID(fmt.Sprintf("job-%03d", w.next)), Org: o, Submitted: w.now, Nodes: 1,
		GPUs: rapid.SampledFrom([]int{1, 1, 2, 2, 4, 8}).Draw(t, "gpus"), Priority: rapid.IntRange(0, 2).Draw(t, "priority"),
		Tier:   rapid.SampledFrom([]pool.Tier{pool.Guaranteed, pool.Burst, pool.Burst, pool.Burst, pool.Spot}).Draw(t, "tier"),
		MaxRun: time.Duration(rapid.SampledFrom([]int{0, 20, 30, 60, 600}).Draw(t, "max run")) * time.Minute,
		Fixed:  rapid.IntRange(0, 9).Draw(t, "fixed") == 0}
	if rapid.IntRange(0, 4).Draw(t, "gang") == 0 {
		j.Nodes, j.GPUs = 2, rapid.IntRange(1, 4).Draw(t, "each")
	}
	for _, p := range w.snap.Projects {
		if p.Org == o && rapid.Bool().Draw(t, "in project") {
			j.Project = p.ID
		}
	}
	for _, c := range w.snap.Classes {
		j.Classes = append(j.Classes, c.ID)
	}
	if len(j.Classes) == 2 && rapid.Bool().Draw(t, "second class first") {
		slices.Reverse(j.Classes)
	}
	j.Classes = j.Classes[:rapid.IntRange(1, len(j.Classes)).Draw(t, "accepts")]
	w.jobs[j.ID] = j
	w.snap.Pending = append(w.snap.Pending, j)
}

// wait lets time pass: declared ends and the stops of victims come true.
func (w *world) wait(d time.Duration) {
	w.now = w.now.Add(d)
	for _, a := range slices.Clone(w.snap.Running) {
		if a.MaxEnd <= w.now {
			w.gone(a.ID, false)
		}
	}
	for i := range w.snap.Promises {
		if p := &w.snap.Promises[i]; p.StopAt <= w.now {
			p.Sent = true
			for _, v := range p.Victims {
				w.gone(v, true)
			}
		}
	}
}

// gone ends an attempt; a victim queues again.
func (w *world) gone(id pool.AttemptID, again bool) {
	for i, a := range w.snap.Running {
		if a.ID == id {
			w.snap.Running = slices.Delete(slices.Clone(w.snap.Running), i, i+1)
			if again {
				w.snap.Pending = append(w.snap.Pending, w.jobs[id.Job])
			}
			return
		}
	}
}

// apply does to the snapshot what the engine loop commits.
func (w *world) apply(plan Plan) {
	done := map[pool.JobID]bool{}
	for _, x := range plan.Withdrawn {
		done[x.Job] = true
	}
	for _, a := range plan.Admit {
		done[a.Job] = true
	}
	w.snap.Promises = slices.DeleteFunc(slices.Clone(w.snap.Promises), func(p Promise) bool { return done[p.Job] })
	w.snap.Promises = append(w.snap.Promises, plan.Reclaim...)
	for _, a := range plan.Admit {
		j := w.jobs[a.Job]
		w.next++
		w.snap.Pending = slices.DeleteFunc(slices.Clone(w.snap.Pending), func(x Job) bool { return x.ID == a.Job })
		w.snap.Running = append(slices.Clone(w.snap.Running), Attempt{ID: pool.AttemptID{Job: a.Job, N: w.next}, Org: j.Org, Project: j.Project, Class: a.Class,
			Placement: a.Placement, Tier: j.Tier, Priority: j.Priority, Submitted: j.Submitted, Started: w.now, MaxEnd: a.MaxEnd, Fixed: j.Fixed, Split: a.Split})
	}
	w.snap.Running = slices.Clone(w.snap.Running)
	for _, c := range plan.Covers {
		for i := range w.snap.Running {
			if w.snap.Running[i].ID == c.Attempt {
				w.snap.Running[i].Split = c.Split
			}
		}
	}
}

// stopping are the attempts that the open promises of a snapshot take away.
func stopping(s Snapshot) map[pool.AttemptID]bool {
	out := map[pool.AttemptID]bool{}
	for _, p := range s.Promises {
		for _, v := range p.Victims {
			out[v] = true
		}
	}
	return out
}
