package web

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// A project is restricted to nodes of some contributors by a form that gives
// away the name of nobody who hides it.
func TestAProjectIsRestrictedToNodesOfSome(t *testing.T) {
	t.Parallel()
	p := open(t)
	nodes, err := p.Service.Nodes(p.ctx, p.pool.Operator)
	p.must(err)
	p.pool.Update(func(tx domain.Tx) error {
		other, err := tx.Org("kestrelis")
		if err != nil {
			return err
		}
		other.ShowAs = "member"
		return tx.UpdateOrg(other)
	})
	_, err = p.Service.AssignNode(p.ctx, p.pool.Operator, nodes[0].ID, domain.NodeInput{Site: nodes[0].Site, Contributor: "kestrelis"})
	p.must(err)
	w, page := p.owner(), "/o/rheinau/projects/"+string(p.pool.Project.ID)
	d := w.get(page).want(200).doc()
	boxes := d.Find(`#project [name="node_owners"]`)
	if boxes.Length() != 2 || d.Find(`#project [name="node_owners"][checked]`).Length() != 0 {
		t.Fatalf("%d boxes", boxes.Length())
	}
	html, _ := d.Find("#project").Html()
	for _, secret := range []string{"kestrelis", "Kestrelis"} {
		if strings.Contains(html, secret) {
			t.Errorf("the form gives away %q: %s", secret, html)
		}
	}
	hidden := ""
	for _, x := range boxes.EachIter() {
		if k := x.AttrOr("value", ""); strings.HasPrefix(k, "#") {
			hidden = k
		}
	}
	form := func(nodes string, owners ...string) url.Values {
		return url.Values{"name": {p.pool.Project.Name}, "budget_period": {"month"}, "nodes": {nodes}, "node_owners": owners}
	}
	w.post(page, form("any", hidden, string(pool.Consortium))).want(303)
	v, err := p.Service.Project(p.ctx, p.pool.Owner, p.pool.Org, p.pool.Project.ID)
	p.must(err)
	if !slices.Equal(slices.Sorted(slices.Values(v.NodeOwners)), slices.Sorted(slices.Values([]pool.OrgID{"kestrelis", pool.Consortium}))) {
		t.Errorf("kept %v", v.NodeOwners)
	}
	if text := w.get("/o/rheinau/audit").want(200).text(); !strings.Contains(text, "project.update") || strings.Contains(strings.ToLower(text), "kestrelis") {
		t.Errorf("the audit gives the name away: %s", text)
	}
	d = w.get(page).want(200).doc()
	if n := d.Find(`#project [name="node_owners"][checked]`).Length(); n != 2 {
		t.Errorf("%d boxes are checked, want 2", n)
	}
	for _, at := range []string{page, "/o/rheinau/projects"} {
		if text := w.get(at).want(200).text(); !strings.Contains(text, "put in by: the consortium, a member (no. ") {
			t.Errorf("%s doesn't say whose nodes: %s", at, text)
		}
	}
	for says, bad := range map[string]url.Values{
		"Nobody known as \"kestrelis\" has put nodes in.": form("any", "kestrelis"),
		"leaves no choice": form("own", hidden),
	} {
		if a := w.post(page, bad).want(422); !strings.Contains(a.at("node_owners"), says) {
			t.Errorf("%v says %q, want %q", bad, a.at("node_owners"), says)
		}
	}
	w.post(page, form("any")).want(303)
	v, err = p.Service.Project(p.ctx, p.pool.Owner, p.pool.Org, p.pool.Project.ID)
	p.must(err)
	if len(v.NodeOwners) != 0 {
		t.Errorf("nobody chosen keeps %v", v.NodeOwners)
	}
}
