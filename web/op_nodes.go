package web

import (
	"net/http"
	"strconv"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/views"
	"gpupool/views/ui"
)

// opNodes is the inventory, and the sites where nodes stand.
func (s *Server) opNodes(v *visit) error {
	return v.nodesPage(domain.Site{}, refusal{status: http.StatusOK})
}

func (v *visit) nodesPage(in domain.Site, r refusal) error {
	s := v.server.service
	nodes, err := s.Nodes(v.ctx, v.actor)
	if err != nil {
		return err
	}
	sites, err := s.Sites(v.ctx, v.actor)
	if err != nil {
		return err
	}
	t := ui.Table{ID: "nodes", Caption: v.T("Nodes"), Topics: "pool", Columns: v.columns("Node", "State", "GPU type", "#GPUs", "#Unhealthy", "Site", "Put in by"),
		Empty: ui.Empty{Title: v.T("No node yet"), Text: v.T("Nodes come from Nomad. Check that the cluster answers and that a GPU type selects its devices.")}}
	away, err := s.Maintenance(v.ctx, v.actor)
	if err != nil {
		return err
	}
	orgs, err := s.Organisations(v.ctx, v.actor)
	if err != nil {
		return err
	}
	owners, where := memberNames(orgs), map[pool.SiteID]string{}
	for _, x := range sites {
		where[x.ID] = x.Name
	}
	for _, n := range nodes {
		class := v.typeName(n.Class)
		if class == "" {
			class = v.T("none selects its devices")
		}
		t.Rows = append(t.Rows, row(sub(head(n.Name, "/op/nodes/"+string(n.ID)), string(n.ID)), v.nodeCell(n, away[n.ID]), text(class), num(v.count(int64(n.GPUs))),
			num(v.count(int64(len(n.Unhealthy)))), text(named(where, n.Site)), text(v.contributor(n.Contributor, owners))))
	}
	places := ui.Table{ID: "sites", Caption: v.T("Sites"), Hidden: true, Columns: v.columns("Site", "Short name"), Empty: ui.Empty{Title: v.T("No site yet")}}
	for _, x := range sites {
		places.Rows = append(places.Rows, row(head(x.Name, ""), mono(string(x.ID))))
	}
	form := views.Form{ID: "site", Title: v.T("Add or rename a site"), Action: "/op/sites", Nonce: newNonce(), Submit: v.T("Save the site"), Problem: r.whole, Fields: []views.Input{
		{Field: ui.Field{Name: "id", Label: v.T("Short name"), Value: string(in.ID), Error: r.at["id"], Required: true, Mono: true}},
		{Field: ui.Field{Name: "name", Label: v.T("Name"), Value: in.Name, Error: r.at["name"], Required: true}},
	}}
	page := views.Page{Title: v.T("Nodes"), Heading: v.T("Nodes"), Live: v.live()}
	if h := s.ClusterHealth(); !h.OK {
		page.Notices = append(page.Notices, ui.Notice{Tone: ui.Warn, Text: v.T("The cluster does not answer; the inventory may be old.")})
	} else {
		page.Lead = v.T("Nomad %s answers.", h.Info.Version)
		for _, w := range h.Info.Warnings {
			page.Notices = append(page.Notices, ui.Notice{Tone: ui.Warn, Text: w})
		}
	}
	return v.show(r.status, page, views.Arrange(t.Show(), v.suggestions(), views.Block(ui.Panel{ID: "places", Title: v.T("Sites")}, places.Show(), form.Show())))
}

func (v *visit) nodeState(n domain.Node) ui.Badge {
	if n.Cordoned && n.State != domain.NodeDown {
		return v.state("cordoned")
	}
	return v.state(string(n.State))
}

// nodeCell is its state, with a maintenance that is planned or under way.
func (v *visit) nodeCell(n domain.Node, away pool.Interval) ui.Cell {
	zone := v.settings.Location()
	switch {
	case away.Empty():
		return badge(v.nodeState(n))
	case away.Contains(v.now):
		return sub(badge(v.nodeState(n), ui.ToneBadge(ui.Warn, v.T("In maintenance"))), v.T("until %s", v.business(away.End, zone).Text))
	}
	return sub(badge(v.nodeState(n)), v.T("Maintenance from %s to %s", v.business(away.Start, zone).Text, v.business(away.End, zone).Text))
}

func (v *visit) contributor(o pool.OrgID, names map[pool.OrgID]string) string {
	if o == pool.Consortium || o == "" {
		return v.T("the consortium")
	}
	return named(names, o)
}

func (s *Server) opSiteSave(v *visit) error {
	in := domain.Site{ID: pool.SiteID(v.text("id")), Name: v.text("name")}
	x, err := s.service.SaveSite(v.ctx, v.actor, string(in.ID), in.Name)
	if err != nil {
		if r, ok := v.refused(err); ok {
			return v.nodesPage(in, r)
		}
		return err
	}
	return v.done("/op/nodes", "The site %s was saved.", x.Name)
}

// node is the one of the path.
func (v *visit) node() (domain.Node, error) {
	nodes, err := v.server.service.Nodes(v.ctx, v.actor)
	for _, n := range nodes {
		if string(n.ID) == v.param("node") {
			return n, nil
		}
	}
	if err == nil {
		err = domain.Errf(domain.NotFound, "There is no such node.")
	}
	return domain.Node{}, err
}

type nodeForms struct {
	assign        domain.NodeInput
	contribution  domain.ContributionInput
	status        int
	assigned, put refusal
}

func (s *Server) opNode(v *visit) error {
	n, err := v.node()
	if err != nil {
		return err
	}
	return v.nodePage(n, nodeForms{assign: assigned(n), status: http.StatusOK, contribution: domain.ContributionInput{Org: n.Contributor, GPUs: strconv.Itoa(n.GPUs), Quota: "0"}})
}

func assigned(n domain.Node) domain.NodeInput {
	return domain.NodeInput{Site: n.Site, Contributor: n.Contributor, Cordoned: n.Cordoned}
}

func (v *visit) nodePage(n domain.Node, f nodeForms) error {
	s := v.server.service
	sites, err := s.Sites(v.ctx, v.actor)
	if err != nil {
		return err
	}
	orgs, err := s.Organisations(v.ctx, v.actor)
	if err != nil {
		return err
	}
	contributions, err := s.Contributions(v.ctx, v.actor, "")
	if err != nil {
		return err
	}
	facts := []ui.Fact{{Name: v.T("GPU type"), Text: v.typeName(n.Class)}, {Name: v.T("Healthy GPUs"), Text: v.count(int64(n.GPUs))}, {Name: v.T("Unhealthy GPUs"), Text: v.count(int64(len(n.Unhealthy)))},
		{Name: v.T("Held by others than the pool"), Text: v.count(int64(n.Foreign))}, {Name: v.T("Last seen"), Time: v.clock(n.SeenAt)}, {Name: v.T("Id in Nomad"), Text: string(n.ID), Mono: true}}
	held := ui.Table{ID: "contributions", Caption: v.T("Contributions"), Hidden: true, Columns: v.columns("Member", "#GPUs", "#Added to its quota", "From"), Empty: ui.Empty{Title: v.T("No member put this node in")}}
	for _, c := range contributions {
		if c.Node == n.ID {
			held.Rows = append(held.Rows, row(head(string(c.Org), ""), num(v.count(int64(c.GPUs))), num(v.count(int64(c.Quota))), when(v.clock(c.From))))
		}
	}
	page := views.Page{Title: n.Name, Heading: n.Name, Badges: []ui.Badge{v.nodeState(n)}, Crumbs: crumbs(v.T("Nodes"), "/op/nodes", n.Name, "")}
	return v.show(f.status, page, views.Arrange(ui.Facts(facts),
		views.Block(ui.Panel{ID: "assign", Title: v.T("Site, owner and new jobs")}, v.assignForm(n, f, sites, orgs).Show()),
		views.Block(ui.Panel{ID: "put-in", Title: v.T("Contributions"), Hint: v.T("Hardware that a member puts in. Its GPUs can add to the member's guaranteed ones.")}, held.Show(), v.contributionForm(n, f, orgs).Show())))
}

func (v *visit) assignForm(n domain.Node, f nodeForms, sites []domain.Site, orgs []domain.Organisation) views.Form {
	r := f.assigned
	places := []ui.Option{}
	for _, x := range sites {
		places = append(places, option(string(x.ID), x.Name))
	}
	return views.Form{ID: "node", Action: "/op/nodes/" + string(n.ID), Nonce: newNonce(), Submit: v.T("Save"), Problem: r.whole, Fields: []views.Input{
		{Kind: "select", Field: ui.Field{Name: "site", Label: v.T("Site"), Value: string(f.assign.Site), Options: places, Error: r.at["site"], Required: true}},
		{Kind: "select", Field: ui.Field{Name: "contributor", Label: v.T("Put in by"), Value: string(f.assign.Contributor), Options: v.contributors(orgs), Error: r.at["contributor"], Required: true}},
		{Kind: "check", Field: ui.Field{Name: "cordoned", Label: v.T("Takes no new job (what runs goes on)"), Value: onIf(f.assign.Cordoned)}},
	}}
}

func (v *visit) contributors(orgs []domain.Organisation) []ui.Option {
	out := []ui.Option{option(string(pool.Consortium), v.T("the consortium"))}
	for _, o := range orgs {
		out = append(out, option(string(o.ID), o.Name))
	}
	return out
}

func (v *visit) contributionForm(n domain.Node, f nodeForms, orgs []domain.Organisation) views.Form {
	r := f.put
	return views.Form{ID: "contribution", Title: v.T("Record a contribution"), Action: "/op/nodes/" + string(n.ID) + "/contribution", Nonce: newNonce(), Submit: v.T("Record it from now on"), Problem: r.whole + r.at["node"], Fields: []views.Input{
		{Kind: "select", Field: ui.Field{Name: "org", Label: v.T("Member"), Value: string(f.contribution.Org), Options: v.contributors(orgs)[1:], Error: r.at["org"], Required: true}},
		{Kind: "number", Field: ui.Field{Name: "gpus", Label: v.T("GPUs put in"), Unit: v.T("GPUs"), Value: f.contribution.GPUs, Error: r.at["gpus"], Required: true}},
		{Kind: "number", Field: ui.Field{Name: "quota", Label: v.T("Of these added to its guaranteed ones"), Unit: v.T("GPUs"), Value: f.contribution.Quota, Error: r.at["quota"], Required: true, Hint: v.T("The rest is in its plan already.")}},
	}}
}

func (s *Server) opNodeAssign(v *visit) error {
	n, err := v.node()
	if err != nil {
		return err
	}
	in := domain.NodeInput{Site: pool.SiteID(v.text("site")), Contributor: pool.OrgID(v.text("contributor")), Cordoned: v.text("cordoned") != ""}
	if _, err := s.service.AssignNode(v.ctx, v.actor, n.ID, in); err != nil {
		if r, ok := v.refused(err); ok {
			return v.nodePage(n, nodeForms{assign: in, status: r.status, assigned: r, contribution: domain.ContributionInput{Org: n.Contributor, GPUs: strconv.Itoa(n.GPUs), Quota: "0"}})
		}
		return err
	}
	return v.done("/op/nodes/"+string(n.ID), "%s was saved.", n.Name)
}

func (s *Server) opContribution(v *visit) error {
	n, err := v.node()
	if err != nil {
		return err
	}
	in := domain.ContributionInput{Org: pool.OrgID(v.text("org")), Node: n.ID, GPUs: v.text("gpus"), Quota: v.text("quota")}
	if _, err := s.service.AddContribution(v.ctx, v.actor, in); err != nil {
		if r, ok := v.refused(err); ok {
			return v.nodePage(n, nodeForms{assign: assigned(n), contribution: in, status: r.status, put: r})
		}
		return err
	}
	return v.done("/op/nodes/"+string(n.ID), "The contribution was recorded.")
}
