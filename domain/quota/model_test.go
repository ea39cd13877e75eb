package quota

import (
	"slices"
	"sort"
	"time"

	"gpupool/domain/pool"
)

// model reads a snapshot by the formulas of the rules and by nothing of the
// engine: it counts everything anew at each question. The laws are checked
// against it. It takes snapshots that don't contradict themselves.
type model struct {
	s        *Snapshot
	now      pool.Instant
	classes  map[pool.ClassID]int
	orgs     map[pool.OrgID]int // account of an organisation
	projects map[pool.ProjectID]int
	private  []bool // accounts of projects that share no node
	parent   []int
	books    [][]book // of a class and an account
	nodes    []place
	at       map[nodeName]int
	held     []*holder
	spot     []int // of a class
}

// book is the quota state of an account in a class.
type book struct {
	nominal, borrow, lend, subtree, local int
	use, visible, guaranteed              int
}

func (b *book) over() int { return max(0, b.use-b.subtree) }

type place struct {
	*Node
	class, cap    int
	open          bool
	held, planned int // on it now; on it when victims are gone and beneficiaries there
}

type nodeName struct {
	id    pool.NodeID
	class pool.ClassID
}

// holder is what holds GPUs, or will when its promise is kept.
type holder struct {
	id                         pool.AttemptID
	org, account, class, units int
	tier                       pool.Tier
	priority                   int
	started, end, minRun       pool.Instant
	fixed, here, gone          bool // here: on its nodes now; gone: stopping or a victim
	where                      []NodeGPUs
	own, loan                  int
}

const nameless = "" // the project of work that names none

func read(s *Snapshot, now pool.Instant) *model {
	m := &model{s: s, now: now, classes: map[pool.ClassID]int{}, orgs: map[pool.OrgID]int{}, projects: map[pool.ProjectID]int{}, at: map[nodeName]int{}, parent: []int{-1}}
	for i, c := range s.Classes {
		m.classes[c.ID] = i
	}
	for _, o := range s.Orgs {
		m.orgs[o.ID] = len(m.parent)
		m.parent = append(m.parent, 0)
	}
	for i := range s.Orgs {
		m.parent = append(m.parent, 1+i)
	}
	for _, p := range s.Projects {
		m.projects[p.ID] = len(m.parent)
		m.parent = append(m.parent, m.orgs[p.Org])
	}
	m.private = make([]bool, len(m.parent))
	for c := range s.Classes {
		m.books = append(m.books, make([]book, len(m.parent)))
		for a := range m.books[c] {
			m.books[c][a].borrow, m.books[c][a].lend = 1<<40, 1<<40
		}
	}
	for _, o := range s.Orgs {
		m.grant(m.orgs[o.ID], o.Quotas)
	}
	for _, p := range s.Projects {
		m.grant(m.projects[p.ID], p.Quotas)
		m.private[m.projects[p.ID]] = p.NoSharedNode
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		m.at[nodeName{n.ID, n.Class}] = i
		m.nodes = append(m.nodes, place{Node: n, class: m.classes[n.Class], cap: max(0, n.GPUs-n.Foreign), open: n.State == Ready && !n.Maintenance.Contains(now)})
	}
	m.hold()
	m.settle()
	m.tally()
	return m
}

func (m *model) grant(a int, qs []Quota) {
	for _, q := range qs {
		for _, x := range q.Ahead {
			if x.From <= m.now {
				q.Nominal, q.BorrowLimit, q.LendLimit = x.Nominal, nil, nil
				if x.BorrowLimit != NoLimit {
					q.BorrowLimit = &x.BorrowLimit
				}
				if x.LendLimit != NoLimit {
					q.LendLimit = &x.LendLimit
				}
			}
		}
		b := &m.books[m.classes[q.Class]][a]
		b.nominal += q.Nominal
		if q.BorrowLimit != nil {
			b.borrow = *q.BorrowLimit
		}
		if q.LendLimit != nil {
			b.lend = *q.LendLimit
		}
	}
}

func (m *model) account(o pool.OrgID, p pool.ProjectID) int {
	if p != nameless {
		return m.projects[p]
	}
	return m.orgs[o] + len(m.s.Orgs)
}

// hold lists what runs, and the beneficiaries of the open promises.
func (m *model) hold() {
	victim := stopping(*m.s)
	for _, a := range m.s.Running {
		m.held = append(m.held, &holder{id: a.ID, org: m.orgs[a.Org], account: m.account(a.Org, a.Project), class: m.classes[a.Class], units: unitsOf(a.Placement),
			tier: a.Tier, priority: a.Priority, started: a.Started, end: a.MaxEnd, minRun: max(a.MinRunUntil, a.Started+1), fixed: a.Fixed,
			here: true, gone: a.Stopping || a.Notice != "" || victim[a.ID], where: a.Placement})
	}
	for _, p := range m.s.Promises {
		if i := slices.IndexFunc(m.s.Pending, func(j Job) bool { return j.ID == p.Job }); i >= 0 {
			h := m.start(&m.s.Pending[i], p.Class, p.Placement)
			h.started = pool.Never // what waits for its GPUs is covered last
			m.held = append(m.held, h)
		}
	}
}

// start is the holder that a job becomes.
func (m *model) start(j *Job, c pool.ClassID, where []NodeGPUs) *holder {
	h := &holder{id: pool.AttemptID{Job: j.ID}, org: m.orgs[j.Org], account: m.account(j.Org, j.Project), class: m.classes[c], units: unitsOf(where),
		tier: j.Tier, priority: j.Priority, started: m.now, minRun: m.now.Add(m.s.Classes[m.classes[c]].MinRun) + 1, fixed: j.Fixed, where: where, end: pool.Never}
	if j.MaxRun > 0 {
		h.end = m.now.Add(j.MaxRun)
	}
	return h
}

// settle computes the quotas: the consortium has what the usable hardware has
// beyond all that is granted.
func (m *model) settle() {
	for c := range m.books {
		capacity, sold := 0, 0
		for i := range m.nodes {
			if n := &m.nodes[i]; n.class == c {
				used := 0
				for _, h := range m.held {
					if h.here && h.class == c && !m.isStopping(h.id) {
						used += on(h, n.ID)
					}
				}
				if n.open {
					used = n.cap
				}
				capacity += min(n.cap, used)
			}
		}
		for a := range m.books[c] {
			sold += m.books[c][a].nominal
		}
		m.books[c][0].nominal = max(0, capacity-sold)
		for a := len(m.parent) - 1; a >= 0; a-- {
			b := &m.books[c][a]
			b.subtree += b.nominal
			if p := m.parent[a]; p >= 0 {
				b.local = max(0, b.subtree-b.lend)
				m.books[c][p].subtree += b.subtree - b.local
			}
		}
	}
}

func (m *model) isStopping(id pool.AttemptID) bool {
	return slices.ContainsFunc(m.s.Running, func(a Attempt) bool { return a.ID == id && (a.Stopping || a.Notice != "") })
}

func on(h *holder, n pool.NodeID) int {
	k := 0
	for _, x := range h.where {
		if x.Node == n {
			k += x.GPUs
		}
	}
	return k
}

// tally counts the use of accounts and nodes after holders came or went.
func (m *model) tally() {
	m.spot = make([]int, len(m.books))
	for c := range m.books {
		for a := range m.books[c] {
			b := &m.books[c][a]
			b.use, b.visible, b.guaranteed = 0, 0, 0
		}
	}
	for i := range m.nodes {
		m.nodes[i].held, m.nodes[i].planned = 0, 0
	}
	for _, h := range m.held {
		for _, x := range h.where {
			if i, ok := m.at[nodeName{x.Node, m.s.Classes[h.class].ID}]; ok {
				m.nodes[i].held += when(h.here, x.GPUs)
				m.nodes[i].planned += when(!h.gone, x.GPUs)
			}
		}
		switch {
		case h.gone:
		case h.tier == pool.Spot:
			m.spot[h.class] += h.units
		default:
			b := &m.books[h.class][h.account]
			b.use, b.visible, b.guaranteed = b.use+h.units, b.visible+h.units, b.guaranteed+when(h.tier == pool.Guaranteed, h.units)
		}
	}
	for c := range m.books {
		for a := len(m.parent) - 1; a > 0; a-- {
			b, up := &m.books[c][a], &m.books[c][m.parent[a]]
			up.use, up.guaranteed, up.visible = up.use+b.use, up.guaranteed+b.guaranteed, up.visible+max(0, b.visible-b.local)
		}
	}
}

// avail is what an account may still take, by quota alone.
func (m *model) avail(c, a int) int {
	b := &m.books[c][a]
	if m.parent[a] < 0 {
		return b.subtree - b.visible
	}
	return max(0, b.local-b.visible) + max(0, min(m.avail(c, m.parent[a]), b.subtree-b.local-max(0, b.visible-b.local)+b.borrow))
}

// allowed is what quota leaves a job; spot work doesn't eat what owners keep.
func (m *model) allowed(j *Job, c int) int {
	if j.Tier == pool.Spot {
		return m.avail(c, 0) - m.spot[c]
	}
	return m.avail(c, m.account(j.Org, j.Project))
}

// uses is what the accounts of a job use now, as the lend limits let it count.
func (m *model) uses(j *Job, c int) map[int]int {
	out := map[int]int{}
	for a := m.account(j.Org, j.Project); a >= 0; a = m.parent[a] {
		out[a] = m.books[c][a].visible
	}
	return out
}

// replaces says whether a job, where a limit was cut under what runs, only takes
// the place of what was in use before.
func (m *model) replaces(j *Job, c int, was map[int]int) bool {
	more := j.Units()
	for a := m.account(j.Org, j.Project); a >= 0; a = m.parent[a] {
		b := m.books[c][a]
		limit := b.subtree + when(m.parent[a] >= 0, b.borrow)
		if b.visible+more > max(limit, was[a]) {
			return false
		}
		more = max(0, b.visible+more-b.local) - max(0, b.visible-b.local)
	}
	return j.Tier != pool.Spot
}

// entitled says whether a job is inside the quota of its organisation.
func (m *model) entitled(j *Job, c int) bool {
	b := &m.books[c][m.orgs[j.Org]]
	switch j.Tier {
	case pool.Guaranteed:
		return b.guaranteed+j.Units() <= b.subtree
	case pool.Burst:
		return b.use+j.Units() <= b.subtree
	}
	return false
}

// suits says whether a job may be on a node, whatever is free there.
func (m *model) suits(j *Job, n *place) bool {
	var p Project
	if j.Project != nameless {
		p = m.s.Projects[slices.IndexFunc(m.s.Projects, func(p Project) bool { return p.ID == j.Project })]
	}
	if !n.open || j.DataSite != "" && j.DataSite != n.Site || len(p.Sites) > 0 && !slices.Contains(p.Sites, n.Site) ||
		p.OwnNodesOnly && n.Contributor != j.Org || !p.OwnNodesOnly && len(p.NodeOwners) > 0 && !slices.Contains(p.NodeOwners, n.Contributor) {
		return false
	}
	if n.Maintenance.Start > m.now && m.bound(j) > n.Maintenance.Start {
		return false
	}
	for _, h := range m.held {
		if on(h, n.ID) > 0 && h.class == n.class && h.org != m.orgs[j.Org] && (h.here || !h.gone) && (p.NoSharedNode || m.private[h.account]) {
			return false
		}
	}
	return true
}

// bound is the latest end of a job that starts now, in steps of 15 minutes.
func (m *model) bound(j *Job) pool.Instant {
	if j.MaxRun <= 0 {
		return pool.Never
	}
	const step = 15 * time.Minute
	return m.now.Add((j.MaxRun + step - 1) / step * step)
}

// room says whether a job has a place on nodes, now or when victims are gone.
func (m *model) room(j *Job, c int, later bool) bool {
	fits := 0
	for i := range m.nodes {
		n := &m.nodes[i]
		free := n.cap - n.planned
		if !later {
			free = n.cap - max(n.held, n.planned)
		}
		if n.class == c && free >= j.GPUs && m.suits(j, n) {
			fits++
		}
	}
	return fits >= j.Nodes
}

func (m *model) fits(j *Job, c int, later bool) bool {
	return m.allowed(j, c) >= j.Units() && m.room(j, c, later)
}

// fitsFor is fits when the victims of a claim are gone.
func (m *model) fitsFor(j *Job, c int, was map[int]int) bool {
	return (m.allowed(j, c) >= j.Units() || m.replaces(j, c, was)) && m.room(j, c, true)
}

// closed says whether a time policy keeps a job from starting in a class.
func (m *model) closed(j *Job, c int) bool {
	return slices.ContainsFunc(m.s.Windows, func(w Window) bool {
		if w.Org != "" && w.Org != j.Org || w.Class != "" && w.Class != m.s.Classes[c].ID || w.Tier != "" && w.Tier != j.Tier {
			return false
		}
		stays := j.Tier == pool.Guaranteed || j.Fixed
		return w.Closed.Contains(m.now) || stays && w.Closed.Overlaps(pool.Interval{Start: m.now, End: m.bound(j)})
	})
}

// cover shares out the quota of an organisation: guaranteed work, each
// project's own quota, then priority and start.
func (m *model) cover(c, o int) {
	var all []*holder
	for _, h := range m.held {
		h.own, h.loan = when(h.class != c || h.org != o, h.own), when(h.class != c || h.org != o, h.loan)
		if h.class == c && h.org == o && !h.gone && h.tier != pool.Spot {
			all = append(all, h)
		}
	}
	sort.Slice(all, func(i, k int) bool {
		a, b := all[i], all[k]
		if (a.tier == pool.Guaranteed) != (b.tier == pool.Guaranteed) {
			return a.tier == pool.Guaranteed
		}
		if a.priority != b.priority {
			return a.priority > b.priority
		}
		return a.started < b.started || a.started == b.started && attemptBefore(a.id, b.id)
	})
	left := max(0, m.books[c][o].subtree)
	mine := map[int]int{}
	for a := range m.parent {
		mine[a] = m.books[c][a].nominal
	}
	give := func(h *holder, most int) {
		k := min(h.units-h.own, most, left)
		h.own, left, mine[h.account] = h.own+k, left-k, max(0, mine[h.account]-k)
	}
	for _, h := range all {
		if h.tier == pool.Guaranteed { // also above a quota that was cut under it
			h.own, left, mine[h.account] = h.units, max(0, left-h.units), max(0, mine[h.account]-h.units)
		}
	}
	for _, h := range all {
		give(h, mine[h.account])
	}
	for _, h := range all {
		give(h, h.units)
		h.loan = h.units - h.own
	}
}

// mayStop is the law of claims on quota: spot work; loans of others, for an
// organisation inside its quota; burst work of its own for a guaranteed job;
// else that of projects over their quota, for a project inside its own.
func (m *model) mayStop(j *Job, c int, h *holder) bool {
	if h.class != c || h.gone || !h.here || h.fixed || h.minRun > m.now || h.tier == pool.Guaranteed {
		return false
	}
	org := &m.books[c][m.orgs[j.Org]]
	inside := org.use+j.Units() <= org.subtree
	switch {
	case h.tier == pool.Spot:
		return true
	case h.org != m.orgs[j.Org]:
		if m.cover(c, h.org); !inside {
			return false
		}
		return h.loan > 0
	case j.Tier == pool.Guaranteed:
		return true
	}
	mine, its := &m.books[c][m.account(j.Org, j.Project)], &m.books[c][h.account]
	return inside && h.account != m.account(j.Org, j.Project) && mine.use+j.Units() <= mine.subtree && its.over() > 0
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
