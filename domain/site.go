package domain

import (
	"context"

	"gpupool/domain/pool"
)

// Sites where nodes stand. Everybody signed in may see them.
func (s *Service) Sites(ctx context.Context, a Actor) ([]Site, error) {
	if !a.SignedIn() && a.Via != ViaSystem {
		return nil, Errf(Unauthenticated, "Please sign in.")
	}
	var out []Site
	err := s.store.View(ctx, func(tx Tx) (err error) { out, err = tx.Sites(); return err })
	return out, err
}

// SaveSite adds a site, or renames it.
func (s *Service) SaveSite(ctx context.Context, a Actor, id, name string) (Site, error) {
	if err := a.NeedOperator(); err != nil {
		return Site{}, err
	}
	var f Fields
	x := Site{ID: pool.SiteID(trimmed(id)), Name: checkName(&f, "name", name)}
	if err := pool.CheckSlug(string(x.ID)); err != nil {
		f.Add("id", "%s", sentence(err))
	}
	if err := f.Err(); err != nil {
		return Site{}, err
	}
	err := s.update(ctx, "", func(tx Tx) error {
		if err := tx.SaveSite(x); err != nil {
			return err
		}
		return audit(tx, a, "", "site.save", string(x.ID), nil, x)
	})
	return x, err
}

// Nodes of the pool, by name, for the operator.
func (s *Service) Nodes(ctx context.Context, a Actor) ([]Node, error) {
	if err := a.NeedOperator(); err != nil {
		return nil, err
	}
	var out []Node
	err := s.store.View(ctx, func(tx Tx) (err error) { out, err = tx.Nodes(); return err })
	return out, err
}

// NodeInput is what the operator decides about a node. Its class follows from
// its devices, see CreateClass.
type NodeInput struct {
	Site        pool.SiteID
	Contributor pool.OrgID // empty: the consortium
	Cordoned    bool       // takes no new job; what runs goes on
}

// AssignNode says where a node stands, who put it in, and whether it takes jobs.
func (s *Service) AssignNode(ctx context.Context, a Actor, id pool.NodeID, in NodeInput) (Node, error) {
	if err := a.NeedOperator(); err != nil {
		return Node{}, err
	}
	if in.Contributor == "" {
		in.Contributor = pool.Consortium
	}
	var n Node
	err := s.update(ctx, "", func(tx Tx) error {
		old, err := findNode(tx, id)
		if err != nil {
			return err
		}
		var f Fields
		sites, err := tx.Sites()
		if err != nil {
			return err
		}
		ok := false
		for _, x := range sites {
			ok = ok || x.ID == in.Site
		}
		if !ok {
			f.Add("site", "There is no site %.63q.", string(in.Site))
		}
		if in.Contributor != pool.Consortium {
			if ok, err := known(second(tx.Org(in.Contributor))); err != nil {
				return err
			} else if !ok {
				f.Add("contributor", "There is no member %.63q.", string(in.Contributor))
			}
		}
		if err := f.Err(); err != nil {
			return err
		}
		n = old
		n.Site, n.Contributor, n.Cordoned = in.Site, in.Contributor, in.Cordoned
		if err := tx.SaveNode(n); err != nil {
			return err
		}
		if err := tx.BumpVersion(); err != nil {
			return err
		}
		return audit(tx, a, "", "node.assign", string(id), nodeAudit(old), nodeAudit(n))
	})
	return n, err
}

func nodeAudit(n Node) map[string]any {
	return map[string]any{"name": n.Name, "site": n.Site, "contributor": n.Contributor, "cordoned": n.Cordoned}
}

func findNode(tx Tx, id pool.NodeID) (Node, error) {
	all, err := tx.Nodes()
	if err != nil {
		return Node{}, err
	}
	for _, n := range all {
		if n.ID == id {
			return n, nil
		}
	}
	return Node{}, Errf(NotFound, "There is no such node.")
}

// ContributionInput records hardware that a member puts in, numbers as typed.
type ContributionInput struct {
	Org   pool.OrgID
	Node  pool.NodeID
	GPUs  string // of the node, at least 1
	Quota string // of these, added to the member's own quota; the rest is in its plan
}

// AddContribution dates a contribution from now on.
func (s *Service) AddContribution(ctx context.Context, a Actor, in ContributionInput) (Contribution, error) {
	if err := a.NeedOperator(); err != nil {
		return Contribution{}, err
	}
	id := s.newID("con-")
	var c Contribution
	err := s.update(ctx, in.Org, func(tx Tx) error {
		if ok, err := known(second(tx.Org(in.Org))); err != nil {
			return err
		} else if !ok {
			return Fields{{Field: "org", Message: "There is no member %.63q.", Args: []any{string(in.Org)}}}.Err()
		}
		n, err := findNode(tx, in.Node)
		if err != nil {
			return err
		}
		var f Fields
		if n.Class == "" {
			f.Add("node", "No GPU type selects the devices of %s yet.", n.Name)
		}
		c = Contribution{ID: id, Org: in.Org, Node: n.ID, Class: n.Class, From: tx.Now(), To: pool.Never}
		c.GPUs = int(checkCount(&f, "gpus", in.GPUs, 1, max(1, int64(len(n.Devices)))))
		c.Quota = int(checkCount(&f, "quota", in.Quota, 0, int64(c.GPUs)))
		all, err := tx.Contributions()
		if err != nil {
			return err
		}
		for _, x := range all {
			if x.Node == n.ID && x.To > tx.Now() {
				f.Add("node", "%s is a contribution of %s already.", n.Name, string(x.Org))
			}
		}
		if err := f.Err(); err != nil {
			return err
		}
		if err := tx.InsertContribution(c); err != nil {
			return err
		}
		if err := tx.BumpVersion(); err != nil {
			return err
		}
		return audit(tx, a, in.Org, "contribution.create", id, nil, c)
	})
	return c, err
}

// Contributions of a member, or of all with "" for the operator.
func (s *Service) Contributions(ctx context.Context, a Actor, org pool.OrgID) ([]Contribution, error) {
	err := a.NeedOperator()
	if org != "" {
		err = a.Need(org, ActContribution)
	}
	if err != nil {
		return nil, err
	}
	var out []Contribution
	err = s.store.View(ctx, func(tx Tx) error {
		all, err := tx.Contributions()
		out = nil
		for _, c := range all {
			if org == "" || c.Org == org {
				out = append(out, c)
			}
		}
		return err
	})
	return out, err
}
