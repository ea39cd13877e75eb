package quota

import (
	"slices"

	"gpupool/domain/pool"
)

// mask says on which nodes work may be placed, whatever is free there.
type mask struct {
	sites   []int32 // nil = all
	owners  []int32 // contributors, nil = all; -1 is the consortium
	data    int32   // site of the data, 0 = anywhere
	allowed []int   // nodes of each class that it allows, counted on demand
}

// siteOf numbers sites from 1; no site is 0.
func (e *engine) siteOf(id pool.SiteID) int32 {
	if id == "" {
		return 0
	}
	n, ok := e.sites[id]
	if !ok {
		n = int32(len(e.sites)) + 1
		e.sites[id] = n
	}
	return n
}

// maskOf finds or makes the mask; 0 is the mask that allows everything.
func (e *engine) maskOf(sites []pool.SiteID, owners []pool.OrgID, ownOnly bool, org int32, data pool.SiteID) int32 {
	m := mask{data: e.siteOf(data)}
	for _, s := range sites {
		m.sites = append(m.sites, e.siteOf(s))
	}
	for _, o := range owners {
		if o == pool.Consortium {
			m.owners = append(m.owners, -1)
		} else if i, ok := e.orgAt[o]; ok {
			m.owners = append(m.owners, i)
		} else {
			m.owners = append(m.owners, -2) // nobody's nodes
		}
	}
	if ownOnly {
		m.owners = []int32{org}
	}
	if m.sites == nil && m.owners == nil && m.data == 0 {
		return 0
	}
	slices.Sort(m.sites)
	slices.Sort(m.owners)
	for i := 1; i < len(e.masks); i++ {
		x := &e.masks[i]
		if x.data == m.data && slices.Equal(x.sites, m.sites) && slices.Equal(x.owners, m.owners) {
			return int32(i)
		}
	}
	e.masks = append(e.masks, m)
	return int32(len(e.masks) - 1)
}

// narrow is the mask of a project with the site of a job's data added.
func (e *engine) narrow(m int32, data pool.SiteID) int32 {
	if data == "" {
		return m
	}
	x := e.masks[m]
	x.data, x.allowed = e.siteOf(data), nil
	for i := 1; i < len(e.masks); i++ {
		y := &e.masks[i]
		if y.data == x.data && slices.Equal(x.sites, y.sites) && slices.Equal(x.owners, y.owners) {
			return int32(i)
		}
	}
	e.masks = append(e.masks, x)
	return int32(len(e.masks) - 1)
}

func (m *mask) allows(n *node) bool {
	return (m.sites == nil || slices.Contains(m.sites, n.site)) &&
		(m.owners == nil || slices.Contains(m.owners, n.contributor)) &&
		(m.data == 0 || m.data == n.site)
}

// suits says whether a job may be on a node by site, trust and maintenance.
func (e *engine) suits(j *job, n *node) bool { return e.reaches(j, n) && e.trusts(j, n) }

// reaches is suits whoever is there.
func (e *engine) reaches(j *job, n *node) bool {
	if j.mask != 0 && !e.masks[j.mask].allows(n) {
		return false
	}
	if n.maintenance.Start > e.now && e.boundOf(j) > n.maintenance.Start {
		return false
	}
	return true
}

// trusts: work of a project that shares no node stands only beside work of its
// own organisation, and nobody else comes beside it.
func (e *engine) trusts(j *job, n *node) bool {
	if !e.anyPrivate {
		return true
	}
	private := e.projects[j.account].private
	for _, i := range n.runs {
		r := &e.runs[i]
		if r.org != j.org && (private || e.projects[r.account].private) && (!r.gone || r.holds) {
			return false
		}
	}
	return true
}

// anywhere tells whether a job needs no look at single nodes.
func (e *engine) anywhere(j *job, c int32) bool {
	return j.mask == 0 && !e.anyPrivate && !e.anyMaintenance && !e.reserved[c].set
}

// allowed counts the nodes of a class that the mask allows.
func (e *engine) allowed(m, c int32) int {
	r := &e.racks[c]
	if m == 0 {
		return int(r.hi - r.lo)
	}
	k := &e.masks[m]
	if k.allowed == nil {
		k.allowed = make([]int, len(e.classes))
		for i := range e.nodes {
			if k.allows(&e.nodes[i]) {
				k.allowed[e.nodes[i].class]++
			}
		}
	}
	return k.allowed[c]
}
