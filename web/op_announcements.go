package web

import (
	"net/http"
	"strings"

	"github.com/a-h/templ"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/views"
	"gpupool/views/ui"
)

// opAnnouncements is what everybody is told, and the maintenance that is planned.
func (s *Server) opAnnouncements(v *visit) error {
	return v.announcementsPage(domain.AnnouncementInput{}, refusal{status: http.StatusOK})
}

func (v *visit) announcementsPage(in domain.AnnouncementInput, r refusal) error {
	s := v.server.service
	coming, err := s.Announcements(v.ctx, v.actor)
	if err != nil {
		return err
	}
	past, err := s.AnnouncementsPast(v.ctx, v.actor)
	if err != nil {
		return err
	}
	nodes, err := s.Nodes(v.ctx, v.actor)
	if err != nil {
		return err
	}
	sites, err := s.Sites(v.ctx, v.actor)
	if err != nil {
		return err
	}
	classes, err := s.Classes(v.ctx)
	if err != nil {
		return err
	}
	w := wares{v, nodes, sites, classes}
	t := ui.Table{ID: "announcements", Caption: v.T("Now and to come"), Topics: "pool", Columns: v.columns("Text", "Nodes", "From", "To", "State", ""),
		Empty: ui.Empty{Title: v.T("Nothing is announced"), Text: v.T("What you announce below stands on every page; a maintenance also drains its nodes.")}}
	for _, x := range coming {
		end := ui.Confirm{ID: "end-" + x.ID, Label: v.T("End"), Title: v.T("Call it off?"), Do: v.T("Call it off"), Action: "/op/announcements/" + x.ID + "/end", Nonce: newNonce(), Plain: true,
			Loses: []string{v.T("It no longer stands on the pages.")}}
		state := ui.ToneBadge(ui.Info, v.T("Planned"))
		if x.Start <= v.now {
			state = ui.ToneBadge(ui.Good, v.T("Now"))
		}
		if x.Maintenance {
			end.Loses = append(end.Loses, v.T("Its nodes take jobs again at once; notices that were given for it are taken back."))
		}
		if x.Maintenance && x.Start <= v.now {
			end.Label, end.Title, end.Do = v.T("It is over"), v.T("Is the maintenance over?"), v.T("It is over")
			state = ui.ToneBadge(ui.Warn, v.T("In maintenance"))
		}
		t.Rows = append(t.Rows, plus(v.announcementRow(w, x), badge(state), ui.Cell{Body: end.Show()}))
	}
	old := ui.Table{ID: "past", Caption: v.T("Over"), Columns: v.columns("Text", "Nodes", "From", "To", "Ended"), Empty: ui.Empty{Title: v.T("None yet")}}
	for i, x := range past {
		if i == 50 {
			old.Note = v.T("The latest 50.")
			break
		}
		old.Rows = append(old.Rows, plus(v.announcementRow(w, x), when(v.business(x.Interval().End, v.settings.Location()))))
	}
	page := views.Page{Title: v.T("Announcements"), Heading: v.T("Announcements"), Live: v.live(), Wide: true, Lead: v.T("What stands on every page, and maintenance that is planned.")}
	forms := []templ.Component{v.maintenanceForm(in, r, w, "").Show(), v.bannerForm(in, r, "-2").Show()}
	if !in.Maintenance && r.at != nil { // what was refused stands first
		forms = []templ.Component{v.bannerForm(in, r, "").Show(), v.maintenanceForm(in, r, w, "-2").Show()}
	}
	return v.show(r.status, page, views.Arrange(t.Show(), forms[0], forms[1], old.Show()))
}

// plus adds cells to a row.
func plus(r ui.Row, more ...ui.Cell) ui.Row {
	r.Cells = append(r.Cells, more...)
	return r
}

func (v *visit) announcementRow(w wares, x domain.Announcement) ui.Row {
	zone := v.settings.Location()
	what := ""
	if x.Maintenance {
		what = w.of(x)
	}
	return row(head(x.Text, ""), text(what), when(v.business(x.Start, zone)), when(v.business(x.End, zone)))
}

// wares are names of hardware.
type wares struct {
	*visit
	nodes   []domain.Node
	sites   []domain.Site
	classes []domain.GPUClass
}

// of says which nodes a maintenance takes away.
func (w wares) of(x domain.Announcement) string {
	var out []string
	for _, n := range w.nodes {
		if x.Node == n.ID {
			out = append(out, n.Name)
		}
	}
	for _, s := range w.sites {
		if x.Site == s.ID {
			out = append(out, w.T("site %s", s.Name))
		}
	}
	for _, c := range w.classes {
		if x.Class == c.ID {
			out = append(out, c.Name)
		}
	}
	if len(out) == 0 {
		return w.T("the whole pool")
	}
	return strings.Join(out, ", ")
}

func (v *visit) moments(in domain.AnnouncementInput, at map[string]string, id string, start bool) []views.Input {
	zone := v.T("In %s.", v.settings.Zone)
	one := func(name, label, value, hint string, required bool) views.Input {
		return views.Input{Field: ui.Field{Name: name, ID: "f-" + name + id, Label: label, Value: value, Type: "datetime-local", Hint: hint, Error: at[name], Required: required}}
	}
	hint := zone
	if !start {
		hint = v.T("Empty: now.") + " " + zone
	}
	return []views.Input{one("start", v.T("From"), in.Start, hint, start), one("end", v.T("To"), in.End, zone, true)}
}

func (v *visit) maintenanceForm(in domain.AnnouncementInput, r refusal, w wares, id string) views.Form {
	if !in.Maintenance && r.whole == "" {
		in, r = domain.AnnouncementInput{}, refusal{}
	}
	choose := func(name, label, value, none string, options []ui.Option) views.Input {
		return views.Input{Kind: "select", Field: ui.Field{Name: name, Label: label, Value: value, Options: append([]ui.Option{option("", none)}, options...), Error: r.at[name]}}
	}
	var nodes, sites, classes []ui.Option
	for _, n := range w.nodes {
		nodes = append(nodes, option(string(n.ID), n.Name))
	}
	for _, x := range w.sites {
		sites = append(sites, option(string(x.ID), x.Name))
	}
	for _, c := range w.classes {
		classes = append(classes, option(string(c.ID), c.Name))
	}
	f := views.Form{ID: "maintenance", Title: v.T("Plan a maintenance"), Action: "/op/announcements", Nonce: newNonce(), Problem: r.whole, Submit: v.T("Plan the maintenance"), Hidden: []ui.Value{hidden("maintenance", "on")},
		Lead: v.T("No job is placed there that could still run when it begins. What runs then stops with notice, free of charge from the notice on, and starts again elsewhere or afterwards. Nodes that match all that is chosen are taken away."), Fields: []views.Input{
			{Field: ui.Field{Name: "text", ID: "f-text" + id, Label: v.T("Text for everybody"), Value: in.Text, Error: r.at["text"], Required: true, Autocomplete: "off"}},
			choose("node", v.T("Node"), string(in.Node), v.T("every node"), nodes),
			choose("site", v.T("Site"), string(in.Site), v.T("every site"), sites),
			choose("class", v.T("GPU type"), string(in.Class), v.T("every GPU type"), classes),
		}}
	f.Fields = append(f.Fields, v.moments(in, r.at, id, true)...)
	return f
}

func (v *visit) bannerForm(in domain.AnnouncementInput, r refusal, id string) views.Form {
	if in.Maintenance {
		in, r = domain.AnnouncementInput{}, refusal{}
	}
	f := views.Form{ID: "banner", Title: v.T("Announce something else"), Action: "/op/announcements", Nonce: newNonce(), Submit: v.T("Announce it"), Fields: []views.Input{
		{Field: ui.Field{Name: "text", ID: "f-text" + id, Label: v.T("Text for everybody"), Value: in.Text, Error: r.at["text"], Required: true, Autocomplete: "off"}},
	}}
	f.Fields = append(f.Fields, v.moments(in, r.at, id, false)...)
	return f
}

func (s *Server) opAnnounce(v *visit) error {
	in := domain.AnnouncementInput{Text: v.text("text"), Start: v.text("start"), End: v.text("end"), Maintenance: v.text("maintenance") != "",
		Node: pool.NodeID(v.text("node")), Site: pool.SiteID(v.text("site")), Class: pool.ClassID(v.text("class"))}
	x, err := s.service.Announce(v.ctx, v.actor, in)
	if err != nil {
		if r, ok := v.refused(err); ok {
			return v.announcementsPage(in, r)
		}
		return err
	}
	if x.Maintenance {
		return v.done("/op/announcements", "The maintenance is planned. Everybody sees it from a week before.")
	}
	return v.done("/op/announcements", "It is announced.")
}

func (s *Server) opAnnouncementEnd(v *visit) error {
	x, err := s.service.EndAnnouncement(v.ctx, v.actor, v.param("id"))
	if err != nil {
		if r, ok := v.refused(err); ok {
			return v.announcementsPage(domain.AnnouncementInput{}, r)
		}
		return err
	}
	if x.Maintenance {
		return v.done("/op/announcements", "The maintenance is over. Its nodes take jobs again.")
	}
	return v.done("/op/announcements", "It no longer stands on the pages.")
}

// announced are the notices of every page: what is announced now, and maintenance from a week before.
func (v *visit) announced() []ui.Notice {
	var out []ui.Notice
	for _, x := range v.news {
		n := ui.Notice{Tone: ui.Info, Text: x.Text}
		if x.Maintenance {
			n.Tone = ui.Warn
			from, to := v.at(x.Start), v.at(x.End)
			if n.Title = v.T("Maintenance from %s to %s", from, to); x.Start <= v.now {
				n.Title = v.T("Maintenance until %s", to)
			}
			if v.actor.Operator {
				n.Link = ui.Link{Label: v.T("Announcements"), Href: "/op/announcements"}
			}
		}
		out = append(out, n)
	}
	return out
}
