package domain

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"gpupool/domain/pool"
)

// NodeOwner put nodes in, as a member may see it. The key of one that doesn't
// show its name says only when it joined: its id would give the name away.
type NodeOwner struct {
	Key    string // what a form sends
	Name   string // empty: the consortium, or one that shows no name
	Number int    // place among the members by the day they joined, from 1; 0: the consortium
}

// NodeOwners are those on whose nodes a project of the organisation may be
// restricted to run, the consortium first.
func (s *Service) NodeOwners(ctx context.Context, a Actor, org pool.OrgID) ([]NodeOwner, error) {
	if err := a.Need(org, ActView); err != nil {
		return nil, err
	}
	var out []NodeOwner
	err := s.store.View(ctx, func(tx Tx) error {
		all, err := nodeOwners(tx, org)
		out = nil
		for _, x := range all {
			out = append(out, x.NodeOwner)
		}
		return err
	})
	return out, err
}

type nodeOwner struct {
	NodeOwner
	org pool.OrgID
}

func nodeOwners(tx Tx, viewer pool.OrgID) ([]nodeOwner, error) {
	nodes, err := tx.Nodes()
	if err != nil {
		return nil, err
	}
	puts := map[pool.OrgID]bool{pool.Consortium: true}
	for _, n := range nodes {
		puts[cmp.Or(n.Contributor, pool.Consortium)] = true
	}
	all, err := shownOrgs(tx, viewer)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(x nodeOwner) bool { return !puts[x.org] }), nil
}

// shownOrgs are the consortium and all members, as the viewer's people see them.
func shownOrgs(tx Tx, viewer pool.OrgID) ([]nodeOwner, error) {
	orgs, err := tx.Orgs()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(orgs, func(x, y Organisation) int {
		return cmp.Or(cmp.Compare(x.CreatedAt, y.CreatedAt), cmp.Compare(x.ID, y.ID))
	})
	out := []nodeOwner{{NodeOwner{Key: string(pool.Consortium)}, pool.Consortium}}
	for i, o := range orgs {
		x := nodeOwner{NodeOwner{Key: fmt.Sprintf("#%d", i+1), Number: i + 1}, o.ID}
		switch {
		case o.ID == viewer || o.ShowAs == "name" || o.ShowAs == "":
			x.Key, x.Name = string(o.ID), o.Name
		case o.ShowAs == "pseudonym":
			x.Name = o.Pseudonym
		}
		out = append(out, x)
	}
	return out, nil
}

// checkNodeOwners turns the keys of a form into ids.
func checkNodeOwners(tx Tx, f *Fields, p *Project, keys []string) error {
	before := p.NodeOwners
	p.NodeOwners = nil
	if len(keys) == 0 {
		return nil
	}
	if p.Nodes == "own" {
		f.Add("node_owners", "“Own nodes only” leaves no choice of other nodes: choose none, or another answer there.")
		return nil
	}
	shown, err := shownOrgs(tx, p.Org)
	if err != nil {
		return err
	}
	put, err := nodeOwners(tx, p.Org)
	if err != nil {
		return err
	}
	for _, key := range keys {
		at := slices.IndexFunc(shown, func(x nodeOwner) bool { return x.Key == key })
		if at < 0 || !slices.Contains(put, shown[at]) && !slices.Contains(before, shown[at].org) {
			f.Add("node_owners", "Nobody known as %.63q has put nodes in.", key)
			continue
		}
		p.NodeOwners = append(p.NodeOwners, shown[at].org)
	}
	slices.Sort(p.NodeOwners)
	p.NodeOwners = slices.Compact(p.NodeOwners)
	return nil
}

// shown is the project as its organisation's trail keeps it: contributors that
// show no name by their keys.
func (p Project) shown(tx Tx) (Project, error) {
	if len(p.NodeOwners) == 0 {
		return p, nil
	}
	all, err := shownOrgs(tx, p.Org)
	var keys []pool.OrgID
	for _, x := range all {
		if slices.Contains(p.NodeOwners, x.org) {
			keys = append(keys, pool.OrgID(x.Key))
		}
	}
	p.NodeOwners = keys
	return p, err
}
