package quota

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpupool/domain/pool"
)

// The accounts as the rules define them, one formula after the other, on any
// history.
func TestStandingsFollowTheirDefinitions(t *testing.T) {
	t.Parallel()
	var m met
	lent, over, kept := 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt, &m, draws{notice: rapid.Bool().Draw(rt, "notice")})
		for range 15 {
			w.happen()
			w.apply(Decide(w.snap, w.now))
			w.now++
			for _, got := range Standings(w.snap, w.now) {
				d := defined{w.snap, got.Class, w.now}
				want := Standing{Class: got.Class, Org: got.Org, Project: got.Project, BorrowLimit: got.BorrowLimit, LendLimit: got.LendLimit, Weight: got.Weight,
					Nominal: d.nominal(got.Org, got.Project), Quota: d.subtree(got.Org, got.Project), Kept: d.local(got.Org, got.Project),
					Use: d.use(got.Org, got.Project, nil), Guaranteed: d.use(got.Org, got.Project, func(a Attempt) bool { return a.Tier == pool.Guaranteed }),
					Spot: got.Spot, Available: max(0, d.avail(got.Org, got.Project))}
				want.Over = max(0, want.Use-want.Quota)
				shown := want.Quota - want.Kept
				want.Lendable = max(0, shown-max(0, d.usage(got.Org, got.Project)-want.Kept))
				if diff := cmp.Diff(want, got); diff != "" {
					rt.Fatal(diff)
				}
				lent, over, kept = lent+got.Lendable, over+got.Over, kept+got.Kept
			}
		}
	})
	if !t.Failed() && (lent == 0 || over == 0 || kept == 0) {
		t.Errorf("met %d lendable, %d on loan, %d kept back", lent, over, kept)
	}
}

// defined has the formulas of the rules, recursively and without shortcuts.
type defined struct {
	s   Snapshot
	c   pool.ClassID
	now pool.Instant
}

func (d defined) quota(o pool.OrgID, p pool.ProjectID) Quota {
	q := Quota{Class: d.c}
	for _, x := range d.s.Orgs {
		for _, y := range x.Quotas {
			if x.ID == o && p == "" && y.Class == d.c {
				q = y
			}
		}
	}
	for _, x := range d.s.Projects {
		for _, y := range x.Quotas {
			if x.ID == p && p != "" && y.Class == d.c {
				q = y
			}
		}
	}
	return q
}

func (d defined) children(o pool.OrgID, p pool.ProjectID) (out []Standing) {
	switch {
	case p != "":
	case o != "":
		for _, x := range d.s.Projects {
			if x.Org == o {
				out = append(out, Standing{Org: o, Project: x.ID})
			}
		}
	default:
		for _, x := range d.s.Orgs {
			out = append(out, Standing{Org: x.ID})
		}
	}
	return out
}

func (d defined) nominal(o pool.OrgID, p pool.ProjectID) int {
	if o != "" {
		return d.quota(o, p).Nominal
	}
	capacity := 0
	for _, n := range d.s.Nodes {
		if n.Class != d.c {
			continue
		}
		usable := max(0, n.GPUs-n.Foreign)
		if n.State != Ready || n.Maintenance.Contains(d.now) { // takes nothing: only what runs on is hardware
			held := 0
			for _, a := range d.s.Running {
				for _, x := range a.Placement {
					if x.Node == n.ID && a.Class == d.c && !a.Stopping && a.Notice == "" {
						held += x.GPUs
					}
				}
			}
			usable = min(usable, held)
		}
		capacity += usable
	}
	for _, x := range d.s.Orgs {
		capacity -= d.quota(x.ID, "").Nominal
	}
	for _, x := range d.s.Projects {
		capacity -= d.quota(x.Org, x.ID).Nominal
	}
	return max(0, capacity)
}

func (d defined) subtree(o pool.OrgID, p pool.ProjectID) int {
	n := d.nominal(o, p)
	for _, x := range d.children(o, p) {
		n += d.subtree(x.Org, x.Project) - d.local(x.Org, x.Project)
	}
	return n
}

func (d defined) local(o pool.OrgID, p pool.ProjectID) int {
	if l := d.quota(o, p).LendLimit; o != "" && l != nil {
		return max(0, d.subtree(o, p)-*l)
	}
	return 0
}

// use is all use below an account, spot excluded, that is picked.
func (d defined) use(o pool.OrgID, p pool.ProjectID, pick func(Attempt) bool) int {
	n := 0
	for _, a := range d.s.Running {
		if a.Class == d.c && a.Tier != pool.Spot && !a.Stopping && a.Notice == "" && (o == "" || a.Org == o) && (p == "" || a.Project == p) && (pick == nil || pick(a)) {
			n += unitsOf(a.Placement)
		}
	}
	return n
}

// usage is use as the lend limits below let it count.
func (d defined) usage(o pool.OrgID, p pool.ProjectID) int {
	if p != "" {
		return d.use(o, p, nil)
	}
	n := 0
	for _, x := range d.children(o, p) {
		n += max(0, d.usage(x.Org, x.Project)-d.local(x.Org, x.Project))
	}
	if o != "" {
		n += d.use(o, "", func(a Attempt) bool { return a.Project == "" })
	}
	return n
}

func (d defined) avail(o pool.OrgID, p pool.ProjectID) int {
	if o == "" {
		return d.subtree("", "") - d.usage("", "")
	}
	up := o
	if p == "" {
		up = ""
	}
	local, usage := d.local(o, p), d.usage(o, p)
	room := 1 << 40
	if b := d.quota(o, p).BorrowLimit; b != nil {
		room = d.subtree(o, p) - local - max(0, usage-local) + *b
	}
	return max(0, local-usage) + max(0, min(d.avail(up, ""), room))
}
