package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gpupool/domain/pool"
	"gpupool/views"
	"gpupool/views/ui"
)

// place is a possible entry of the navigation: it is shown when its route exists and the person may use it.
type place struct {
	path  string // pattern of the route
	label string
	icon  string
	key   string
}

var orgPlaces = []struct {
	title  string
	places []place
}{
	{"", []place{{"/o/:org", "Overview", "home", "o"}, {"/o/:org/jobs", "Jobs", "box", "j"}, {"/o/:org/quota", "Quota", "gauge", "q"}, {"/o/:org/usage", "Usage", "chart", "u"}}},
	{"Money", []place{{"/o/:org/billing", "Billing", "card", "b"}, {"/o/:org/invoices", "Invoices", "file", "i"}}},
	{"Organisation", []place{{"/o/:org/projects", "Projects", "folder", "p"}, {"/o/:org/team", "Team", "people", "t"}, {"/o/:org/contribution", "Contributed hardware", "node", ""}, {"/o/:org/audit", "Audit", "history", ""}}},
}

var operatorPlaces = []place{
	{"/op", "Pool", "pool", "h"}, {"/op/queue", "Queue", "queue", "w"}, {"/op/quota", "Quota", "gauge", "q"}, {"/op/policies", "Time policies", "wait", "y"}, {"/op/announcements", "Announcements", "bell", "a"}, {"/op/nodes", "Nodes", "node", "n"},
	{"/op/members", "Members", "building", "m"}, {"/op/classes", "GPU types", "box", "c"}, {"/op/plans", "Plans", "card", ""},
	{"/op/prices", "Prices", "price", ""}, {"/op/closing", "Closing", "lock", "l"}, {"/op/invoices", "Invoices", "file", ""},
	{"/op/settings", "Settings", "gear", "s"}, {"/op/audit", "Audit", "history", ""},
}

var publicPlaces = []place{{"/marketplace", "GPUs and prices", "market", ""}, {"/status", "Status", "pool", ""}}

// frame fills in what every page has.
func (v *visit) frame(p *views.Page) {
	p.Home = v.home()
	p.Path = v.echo.Request().URL.RequestURI()
	p.Footer = v.footer()
	p.Demo = v.demoBanner()
	if p.Live.Src != "" && p.Live.Updated.Text == "" {
		p.Live.Updated = v.clock(v.server.now())
	}
	if !v.actor.SignedIn() {
		p.Public = v.publicLinks()
		return
	}
	p.User = &views.User{Name: v.user.Name, Initials: initials(v.user.Name), Email: v.user.Email, Account: "/account", SignOut: "/signout", Nonce: newNonce()}
	p.Notices = slices.Concat(v.said(), v.announced(), p.Notices)
	org := v.org
	if org == "" && len(v.orgs) > 0 && !v.actor.Operator {
		org = v.orgs[0].ID
	}
	if org != "" && v.actor.Knows(org) {
		v.orgFrame(p, org)
	}
	if v.actor.Operator {
		p.Nav = append(p.Nav, views.NavGroup{Title: v.T("Operator"), Links: v.places(operatorPlaces, "")})
	}
	if links := v.places(publicPlaces, ""); len(links) > 0 {
		p.Nav = append(p.Nav, views.NavGroup{Title: v.T("Pool"), Links: links})
	}
}

// orgFrame has the organisation's navigation, the switch to others and the search of its jobs.
func (v *visit) orgFrame(p *views.Page, org pool.OrgID) {
	p.Org = views.OrgSwitch{Name: string(org), Role: v.word(string(v.actor.Roles[org]))}
	for _, o := range v.orgs {
		if o.ID == org {
			p.Org.Name = o.Name
		} else {
			p.Org.Others = append(p.Org.Others, ui.Link{Label: o.Name, Href: "/o/" + string(o.ID)})
		}
	}
	if v.actor.Operator && v.actor.Roles[org] == "" {
		p.Org.Role = v.word("operator")
	}
	for _, g := range orgPlaces {
		if links := v.places(g.places, org); len(links) > 0 {
			title := ""
			if g.title != "" {
				title = v.T(g.title)
			}
			p.Nav = append(p.Nav, views.NavGroup{Title: title, Links: links})
		}
	}
	if v.server.has("/o/:org/jobs") && p.Search == nil {
		p.Search = &views.Search{Action: "/o/" + string(org) + "/jobs", Label: v.T("Search jobs")}
	}
}

// places are the links that exist and are open to the person.
func (v *visit) places(all []place, org pool.OrgID) []views.NavLink {
	var out []views.NavLink
	for _, x := range all {
		r, ok := v.server.routes[http.MethodGet+" "+x.path]
		if !ok || v.server.check(r.who, v.actor, org) != nil {
			continue
		}
		out = append(out, views.NavLink{Label: v.T(x.label), Href: strings.Replace(x.path, ":org", string(org), 1), Icon: x.icon, Key: x.key, Current: v.within(x.path)})
	}
	return out
}

// within tells whether the page lies under a place; the first page of a part holds only itself.
func (v *visit) within(path string) bool {
	if path == "/op" || path == "/o/:org" {
		return v.route.path == path
	}
	return v.route.path == path || strings.HasPrefix(v.route.path, path+"/")
}

func (v *visit) publicLinks() []ui.Link {
	var out []ui.Link
	for _, l := range v.places(publicPlaces, "") {
		out = append(out, ui.Link{Label: l.Label, Href: l.Href})
	}
	return append(out, ui.Link{Label: v.T("Sign in"), Href: "/signin"})
}

func (v *visit) footer() views.Footer {
	f := views.Footer{Version: v.server.opts.Version}
	if v.settings.Zone != "" {
		f.Zone = v.T("All periods are in %s.", v.settings.Zone)
	}
	for _, x := range []struct{ path, label string }{{"/docs", "Help"}, {"/status", "Status"}, {"/api/openapi.json", "API"}} {
		if v.server.has(x.path) {
			f.Links = append(f.Links, ui.Link{Label: v.T(x.label), Href: x.path})
		}
	}
	return f
}

// has tells whether a page exists.
func (s *Server) has(path string) bool { _, ok := s.routes[http.MethodGet+" "+path]; return ok }

// home is where a person begins.
func (v *visit) home() string {
	switch {
	case v.actor.Operator:
		return "/op"
	case len(v.orgs) > 0 && v.server.has("/o/:org"):
		return "/o/" + string(v.orgs[0].ID)
	}
	return "/"
}

// live makes a page follow the server: topics are those of events.go.
func (v *visit) live() views.Live {
	src := "/events?since=" + strconv.FormatInt(v.mark, 10)
	if v.org != "" {
		src += "&org=" + string(v.org)
	}
	return views.Live{Src: src}
}

func initials(name string) string {
	var out []rune
	for _, w := range strings.Fields(name) {
		r, _ := utf8.DecodeRuneInString(w)
		out = append(out, r)
	}
	if len(out) > 2 {
		out = slices.Concat(out[:1], out[len(out)-1:])
	}
	return strings.ToUpper(string(out))
}
