package views

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"

	"gpupool/views/ui"
)

// galleryFolder receives the gallery as gallery.html, to look at: go test ./views -run Gallery -args -gallery DIR
var galleryFolder = flag.String("gallery", "", "folder to write the gallery of all components to")

// row renders one component after the other in an element with a class.
func row(class string, all ...templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		if _, err := fmt.Fprintf(w, "<div class=%q>", class); err != nil {
			return err
		}
		for _, c := range all {
			if err := c.Render(ctx, w); err != nil {
				return err
			}
		}
		_, err := io.WriteString(w, "</div>")
		return err
	})
}

// in renders a component with the others as its children.
func in(parent templ.Component, children ...templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return parent.Render(templ.WithChildren(ctx, templ.Join(children...)), w)
	})
}

func at(text string) ui.Time { return ui.Time{ISO: "2026-11-26T13:05:00Z", Text: text} }

func galleryPage() Page {
	return Page{
		Title: "Gallery", Heading: "llm-ft-70b", Lead: "Submitted by Li Ming for project LLM on Tuesday; it may run until Friday 14:05.",
		Crumbs: []ui.Link{{Label: "Rheinau", Href: "/o/rheinau"}, {Label: "Jobs", Href: "/o/rheinau/jobs"}, {Label: "llm-ft-70b"}},
		Tabs:   []ui.Tab{{Label: "Overview", Href: "#1", Current: true}, {Label: "Log", Href: "#2"}, {Label: "Usage records", Href: "#3", Count: "12"}}, TabsName: "Parts of the job",
		Badges:  []ui.Badge{ui.StateBadge("running", "Running"), ui.TierBadge("burst", "flexible")},
		Actions: templ.Join(ui.LinkButton("Rerun", "#rerun", "", "undo"), ui.LinkButton("New job", "#new", "primary", "plus")),
		Notices: []ui.Notice{{Tone: ui.Good, Text: "The job was admitted: 4 own and 4 borrowed H100."}},
		Live:    Live{Src: "/o/rheinau/events", Updated: at("14:05:07")}, Path: "/o/rheinau/jobs/1",
		Home: "/o/rheinau",
		Org:  OrgSwitch{Name: "Technical University of Rheinau", Role: "Owner", Others: []ui.Link{{Label: "Helixbay Therapeutics B.V.", Href: "/o/helixbay"}}},
		Nav: []NavGroup{
			{Links: []NavLink{{Label: "Overview", Href: "/o/rheinau", Icon: "home", Key: "o"}, {Label: "Jobs", Href: "/o/rheinau/jobs", Icon: "box", Current: true, Count: "7", Key: "j"}, {Label: "Quota", Href: "/o/rheinau/quota", Icon: "gauge", Key: "q"}, {Label: "Usage", Href: "/o/rheinau/usage", Icon: "chart", Key: "u"}}},
			{Title: "Money", Links: []NavLink{{Label: "Billing", Href: "/o/rheinau/billing", Icon: "card"}, {Label: "Invoices", Href: "/o/rheinau/invoices", Icon: "file", Key: "i"}}},
			{Title: "Organisation", Links: []NavLink{{Label: "Projects", Href: "/o/rheinau/projects", Icon: "folder"}, {Label: "Team", Href: "/o/rheinau/team", Icon: "people"}, {Label: "Audit", Href: "/o/rheinau/audit", Icon: "history"}}},
			{Title: "Pool", Links: []NavLink{{Label: "Marketplace", Href: "/marketplace", Icon: "market"}, {Label: "Status", Href: "/status", Icon: "pool"}}},
		},
		User:   &User{Name: "Anna Vogt", Initials: "AV", Email: "anna.vogt@rheinau.example", Account: "/account", SignOut: "/signout", Nonce: "n1"},
		Search: &Search{Action: "/o/rheinau/jobs", Label: "Search jobs"},
		Demo: &Demo{Sentence: "Simulated cluster and mail; no GPU is used; no money moves.", Clock: at("Thu 26 Nov 2026, 14:05 CET"), Speed: "60x", Action: "/demo/clock", Nonce: "n2", Return: "/o/rheinau",
			Buttons: []DemoButton{{"1x", "1x", false}, {"60x", "60x", true}, {"+1 h", "1h", false}, {"to Friday 15:00", "friday", false}, {"to month end", "month", false}}},
		Footer: Footer{Zone: "All periods are in Europe/Berlin.", Version: "0.1.0", Links: []ui.Link{{Label: "Help", Href: "/docs"}, {Label: "API", Href: "/api/openapi.json"}}},
	}
}

func euros(v int64) string { return fmt.Sprintf("%d.%02d", v/100, v%100) }

func galleryCharts() templ.Component {
	days := make([]string, 26)
	own, loan, spot, busy := make([]int64, 26), make([]int64, 26), make([]int64, 26), make([]int64, 26)
	for i := range days {
		days[i] = fmt.Sprintf("%d Nov", i+1)
		own[i], loan[i], spot[i] = int64(90+(i*37)%60), int64((i*23)%48), int64((i*11)%30)
		busy[i] = (own[i] + loan[i]) * 2 / 3
	}
	busy[7], busy[8] = ui.Gap, ui.Gap
	spend, forecast := make([]int64, 26), make([]int64, 26)
	for i := range spend {
		spend[i], forecast[i] = int64(i+1)*1931, ui.Gap
		if i > 18 {
			spend[i] = ui.Gap
		}
		if i >= 18 {
			forecast[i] = int64(i+1) * 1931
		}
	}
	hours := func(v int64) string { return fmt.Sprintf("%d", v) }
	return row("grid charts",
		in(ui.Panel{ID: "hours", Title: "GPU-hours, H100 80 GB"}.Show(), ui.Chart{ID: "hours-chart", Caption: "Allocated GPU-hours a day, November 2026", Kind: ui.Stacked, Axis: "Day", X: days, Unit: "GPU-hours", Total: "all",
			Series: []ui.Series{{Name: "own", Use: "own", Values: own}, {Name: "borrowed", Use: "loan", Values: loan}, {Name: "spot", Use: "spot", Values: spot}}, Format: hours, CSV: "/usage.csv"}.Show()),
		in(ui.Panel{ID: "spend", Title: "Spend this month"}.Show(), ui.Chart{ID: "spend-chart", Caption: "Overage so far and forecast, EUR net", Kind: ui.Areas, Axis: "Day", X: days, Unit: "EUR",
			Series: []ui.Series{{Name: "so far", Use: "own", Values: spend}, {Name: "forecast", Use: "own", Values: forecast, Dashed: true}}, Limit: &ui.Limit{Value: 40000, Label: "cap 400.00"}, Format: euros}.Show()),
		in(ui.Panel{ID: "busy", Title: "Allocated and busy"}.Show(), ui.Chart{ID: "busy-chart", Caption: "GPU-hours a day: allocated, and busy by telemetry", Kind: ui.Lines, Axis: "Day", X: days,
			Series: []ui.Series{{Name: "allocated", Values: own}, {Name: "busy", Values: busy}}, Format: hours}.Show()))
}

func galleryHeat() templ.Component {
	squares := func(uses ...string) []ui.Square {
		var all []ui.Square
		for _, u := range uses {
			all = append(all, ui.Square{Use: u, Title: "gpu " + u})
		}
		return all
	}
	var slices []ui.Square
	for i := range 28 {
		slices = append(slices, ui.Square{Use: []string{"own", "own", "free", "loan", "spot"}[i%5]})
	}
	return ui.Heat{ID: "pool", Caption: "GPUs now: one square each", Groups: []ui.HeatGroup{
		{Label: "gpu-01", Sub: "H100 80 GB", Squares: squares("own", "own", "own", "own", "loan", "loan", "loan", "loan")},
		{Label: "gpu-02", Sub: "H100 80 GB", Squares: squares("own", "own", "loan", "spot", "back", "back", "free", "free")},
		{Label: "gpu-03", Sub: "A100 80 GB", Squares: squares("own", "own", "spot", "spot", "spot", "out", "free", "free")},
		{Label: "gpu-04", Sub: "A100 80 GB", Squares: squares("free", "free", "free", "free", "free", "free", "free", "free")},
		{Label: "gpu-05", Sub: "A100 slice", Squares: slices, PerRow: 14},
	}}.Show()
}

func galleryForm() templ.Component {
	name := ui.Field{Name: "name", Label: "Name", Hint: "Letters, digits and hyphens.", Value: "<b>llm</b> 🦙 微调", Error: "Use only letters, digits and hyphens.", Required: true}
	count := ui.Field{Name: "gpus", Label: "GPUs", Value: "-3", Unit: "GPUs", Error: "At least 1.", Required: true}
	return templ.Join(
		ui.ErrorSummary(ui.Errors(name, count)),
		row("form",
			name.Text(), count.Number(),
			ui.Field{Name: "class", Label: "GPU type", Value: "a100", Required: true, Options: []ui.Option{{Value: "h100", Label: "H100 80 GB", Group: "Whole cards"}, {Value: "a100", Label: "A100 80 GB", Group: "Whole cards"}, {Value: "mig", Label: "A100 slice", Group: "Slices"}}}.Select(),
			ui.Field{Name: "order", Label: "Purchase order", Hint: "Printed on the invoice."}.Text(),
			ui.Field{Name: "command", Label: "Command", Value: "python train.py --epochs 3", Mono: true, Required: true}.TextArea(),
			ui.Field{Name: "tier", Label: "What may happen to the job", Value: "burst", Required: true, Options: []ui.Option{
				{Value: "guaranteed", Label: "Guaranteed", Hint: "Inside your own quota; nobody else can stop it.", Aside: "2.20 EUR per GPU-hour"},
				{Value: "burst", Label: "Flexible", Hint: "Own quota first, beyond it borrows; taken back with 10 minutes' notice.", Aside: "1.80 EUR per GPU-hour"},
				{Value: "spot", Label: "Spot", Hint: "Whatever is idle; may stop at any time.", Aside: "0.80 EUR per GPU-hour", Disabled: true}}}.Radio(),
			ui.Field{Name: "sites", Label: "Sites", Options: []ui.Option{{Value: "rheinau", Label: "Rheinau", Checked: true}, {Value: "lindenholm", Label: "Lindenholm"}}}.Checks(),
			ui.Field{Name: "interrupt", Label: "May be interrupted", Value: "on"}.Checkbox(),
			row("actions wide", ui.Button{Label: "Submit: up to 384.00 EUR", Kind: "primary"}.Show(), ui.Button{Label: "Recalculate", Name: "do", Value: "quote", NoCheck: true}.Show(), ui.Button{Label: "Off", Disabled: true, Reason: "The project is paused."}.Show())))
}

func galleryTables() templ.Component {
	jobs := ui.Table{ID: "jobs", Caption: "Running and waiting jobs", Topics: "jobs", CSV: "/jobs.csv", Note: "Costs are provisional until the month is closed.",
		Columns: []ui.Column{{Label: "Job", Sort: "?sort=name"}, {Label: "State"}, {Label: "GPUs", Num: true}, {Label: "Tier"}, {Label: "Charged as"}, {Label: "Started", Sort: "?sort=-start", Sorted: "descending"}, {Label: "Cost so far, EUR", Num: true}},
		Pager:   ui.Pager{Summary: "1 to 3 of 212 jobs", Next: "?after=3"}}
	add := func(name, sub, state, stateLabel, tier, gpus, cost string, tone ui.Tone, covers ...ui.Badge) {
		jobs.Rows = append(jobs.Rows, ui.Row{Tone: tone, Cells: []ui.Cell{{Text: name, Href: "/jobs/" + name, Sub: sub, Head: true}, {Badges: []ui.Badge{ui.StateBadge(state, stateLabel)}}, {Text: gpus, Num: true}, {Badges: []ui.Badge{ui.TierBadge(tier, tier)}}, {Badges: covers}, {Time: at("Tue 24 Nov 14:05")}, {Text: cost, Num: true}}})
	}
	add("llm-ft-70b", "Li Ming, LLM", "running", "Running", "burst", "8", "384.00", "", ui.CoverBadge("own", "4 own"), ui.CoverBadge("loan", "4 loan"))
	add("gang-12", "waits: 12 H100 on two nodes, 3 are free", "waiting", "Waiting", "guaranteed", "12", "0.00", ui.Warn)
	add("sweep-lanes", "3 of 24 runs at once", "running", "Running", "spot", "3", "11.61", "", ui.CoverBadge("spot", "3 spot"))
	add("llm-ft-13b", "out of GPU memory: 79.1 of 80 GiB", "failed", "Failed", "burst", "1", "2.15", ui.Bad, ui.CoverBadge("own", "1 own"))
	jobs.Foot = []ui.Row{{Total: true, Cells: []ui.Cell{{Text: "Total", Head: true, Span: "6"}, {Text: "397.76", Num: true}}}}
	empty := ui.Table{ID: "cases", Caption: "Cases", Hidden: true, Empty: ui.Empty{Title: "Nothing waits for you", Text: "Questions, disputes and quota requests stand here.", Link: ui.Link{Label: "Ask a question", Href: "/cases/new"}}}
	return row("stack", in(ui.Panel{ID: "job-panel", Title: "Jobs", Flush: true, Actions: ui.LinkButton("All jobs", "/jobs", "small", "")}.Show(), jobsHidden(jobs).Show()), in(ui.Panel{ID: "case-panel", Title: "Cases"}.Show(), empty.Show()))
}

func jobsHidden(t ui.Table) ui.Table {
	t.Hidden = true
	return t
}

func gallery() templ.Component {
	facts := []ui.Fact{{Name: "Job", Text: "8f2c-01", Mono: true}, {Name: "Project", Text: "LLM", Href: "/projects/llm"}, {Name: "Purchase order", Text: "4500-17/B"}, {Name: "May run until", Time: at("Fri 27 Nov 2026, 14:05 CET")}, {Name: "Reserved", Text: "384.00 EUR"}}
	quote := ui.Quote{AtMost: "38.40 EUR", Likely: "21.00 EUR", Starts: "Likely 13:20 CET (12:55 to 14:00). At the latest 14:05 CET unless an owner claims or new work goes first.", Why: "Waits for 2 GPUs that end at 13:18.", Facts: []ui.Fact{{Name: "Tier", Text: "flexible"}, {Name: "Price per hour", Text: "1.80 EUR per GPU-hour"}, {Name: "Reserved now", Text: "38.40 EUR"}},
		Cheaper: []ui.Alternative{{Button: ui.Button{Label: "Spot", Kind: "small", Name: "as", Value: "spot"}, Price: "9.84 EUR", Starts: "starts now; may stop at any time"}, {Button: ui.Button{Label: "Flexible", Kind: "small", Name: "as", Value: "burst"}, Price: "24.00 EUR", Starts: "starts now"}}}
	confirm := ui.Confirm{ID: "cancel", Label: "Cancel the job", Title: "Cancel llm-ft-70b?", Loses: []string{"Everything since the last checkpoint at 13:40.", "Its place in the queue."}, Action: "/cancel", Nonce: "n3", Do: "Cancel the job", TypeIt: "rheinau"}
	body := templ.Join(
		ui.Stats("figures", "usage", []ui.Stat{
			{Label: "Left of your quota", Value: "2", Unit: "of 14 GPUs", Note: "5 borrowed", Href: "#quota"},
			{Label: "Spend per hour", Value: "12.60", Unit: "EUR", Note: "3 running jobs"},
			{Label: "Overage this month", Value: "371.36", Unit: "EUR", Note: "93 % of the cap of 400.00", Tone: ui.Warn, Meter: &ui.Meter{Value: 37136, Max: 40000, Label: "93 % of the cap", Tone: ui.Warn}},
			{Label: "Next invoice, projected", Value: "6 904.10", Unit: "EUR", Note: "1 December, 31 days to pay"}}),
		row("grid",
			in(ui.Panel{ID: "quota", Title: "Quota", Hint: "Guaranteed GPUs, and what is borrowed beyond them"}.Show(),
				ui.QuotaBar{ID: "q1", Label: "H100 80 GB", Summary: "4 of 4 guaranteed in use, 4 borrowed of at most 8", Own: 4, Borrowed: 4, BorrowLimit: 8}.Show(),
				ui.QuotaBar{ID: "q2", Label: "A100 80 GB", Summary: "3 of 6 guaranteed in use, 2 lent", Own: 3, Lent: 2, Free: 1, BorrowLimit: 6}.Show(),
				ui.QuotaBar{ID: "q3", Label: "A100 slice", Summary: "10 free", Free: 10}.Show()),
			in(ui.Panel{ID: "timeline", Title: "What happened"}.Show(), ui.Timeline("Timeline of the job", []ui.Event{
				{Time: at("Tue 24 Nov 13:58"), Title: "Submitted", Text: "Li Ming, from the portal", Tone: ui.Neutral},
				{Time: at("Tue 24 Nov 13:58"), Title: "Waiting", Text: "Needs 8 GPUs on one node; at most 6 on one node.", Tone: ui.Warn},
				{Time: at("Tue 24 Nov 14:05"), Title: "Admitted", Text: "4 own, 4 borrowed from Helixbay", Tone: ui.Good, Link: ui.Link{Label: "Why", Href: "#why"}},
				{Time: at("Tue 24 Nov 14:06"), Title: "Running, try 1", Text: "on gpu-01", Tone: ui.Info, Now: true}}))),
		in(ui.Panel{ID: "pool-panel", Title: "The pool", Wide: true}.Show(), galleryHeat()),
		galleryTables(), galleryCharts(),
		row("split", in(ui.Panel{ID: "form", Title: "New job"}.Show(), galleryForm()), row("stack sticky", quote.Show(), in(ui.Panel{ID: "facts", Title: "Facts"}.Show(), ui.Facts(facts)))),
		in(ui.Panel{ID: "acts", Title: "Acts"}.Show(), row("row", confirm.Show(), ui.PostButton{Action: "/extend", Nonce: "n4", Button: ui.Button{Label: "Extend"}}.Show(), ui.LinkButton("Quiet", "#", "quiet", "")), ui.Code("Command", "gpupool job run --class h100-80g --gpus 8 -- python train.py"), ui.Log("Log of try 1", "", "step 100 loss 2.31\nstep 200 loss 2.11\n微调 checkpoint written\n")),
		ui.Cards([]ui.Card{{Title: "Helixbay takes back four H100", Text: "One is free, three come back with ten minutes' notice; the borrower writes a checkpoint.", Who: "Sign in as Noor de Wit", Action: "/demo/signin", Nonce: "n5", Fields: []ui.Value{{Name: "as", Value: "noor"}}, Tone: ui.Warn}, {Title: "The cap is reached", Text: "411.84 EUR would be over 400.00; as spot it fits.", Who: "Sign in as Chen Yu", Action: "/demo/signin", Nonce: "n6", Tone: ui.Bad}, {Title: "Five-minute tour", Text: "Submit, wait, run, pay.", Href: "/tour"}}),
		in(ui.Panel{ID: "setup", Title: "Pool is being set up"}.Show(), ui.Checklist([]ui.Step{{Title: "Operator code", Done: true}, {Title: "GPU types", Text: "What can be bought.", Link: ui.Link{Label: "Add one", Href: "/op/classes"}}, {Title: "First member"}})),
		ui.Notice{Tone: ui.Bad, Title: "Stripe is not reachable.", Text: "Payments are taken later; jobs go on."}.Show(),
		ui.Notice{Tone: ui.Warn, Text: "Maintenance on Saturday 08:00 to 10:00.", Link: ui.Link{Label: "Details", Href: "#"}}.Show(),
		ui.Notice{Tone: ui.Info, Text: "New prices from 1 December."}.Show(),
		row("row", ui.Badges(ui.StateBadge("queued", "Waiting"), ui.StateBadge("finished", "Finished"), ui.StateBadge("preempted", "Taken back"), ui.StateBadge("stopped", "Stopped"), ui.StateBadge("overdue", "Overdue"), ui.StateBadge("paid", "Paid"), ui.TierBadge("guaranteed", "guaranteed"), ui.TierBadge("burst", "flexible"), ui.TierBadge("spot", "spot"), ui.CoverBadge("own", "own"), ui.CoverBadge("loan", "loan"), ui.CoverBadge("spot", "spot"))),
	)
	return in(Layout(galleryPage()), body)
}

// publicGallery is the frame as a stranger sees it.
func publicGallery() templ.Component {
	p := galleryPage()
	p.Nav, p.Org, p.User, p.Search, p.Crumbs, p.Tabs, p.Badges, p.Actions, p.Notices, p.Heading, p.Lead = nil, OrgSwitch{}, nil, nil, nil, nil, nil, nil, nil, "", ""
	p.Public = []ui.Link{{Label: "Prices", Href: "/marketplace"}, {Label: "Status", Href: "/status"}, {Label: "Help", Href: "/docs"}, {Label: "Sign in", Href: "/signin"}}
	hero := row("hero", templ.Raw("<h1>One GPU cluster. Five organisations. One bill that everyone can check.</h1><p>Every member has a guaranteed share, lends what it does not need and borrows what others leave idle.</p>"),
		row("row", ui.LinkButton("Sign in", "/signin", "primary", ""), ui.LinkButton("Five-minute tour", "/tour", "", "play")))
	return in(Layout(p), hero, in(ui.Panel{ID: "pool-panel", Title: "Now"}.Show(), galleryHeat()))
}

func render(t *testing.T, c templ.Component) (*goquery.Document, []byte) {
	t.Helper()
	var out bytes.Buffer
	if err := c.Render(context.Background(), &out); err != nil {
		t.Fatal(err)
	}
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return doc, out.Bytes()
}

func TestGalleryShowsEveryComponent(t *testing.T) {
	t.Parallel()
	doc, html := render(t, gallery())
	for _, part := range []string{"header.top", "nav.side", "aside.demo", "footer.bottom", "nav.crumbs", "nav.tabs", "dl.stats", ".quota", "ol.timeline", "figure.heat", "figure.chart", "section.table", "div.empty", "#errors", "fieldset", "select optgroup", "textarea", "section.quote", "ul.cards form", "ol.checklist", "confirm-dialog", "copy-button", "log-tail", "live-feed", "dl.facts", ".notice", ".badge"} {
		if doc.Find(part).Length() == 0 {
			t.Errorf("the gallery has no %s", part)
		}
	}
	if *galleryFolder != "" {
		_, public := render(t, publicGallery())
		if err := os.WriteFile(filepath.Join(*galleryFolder, "public.html"), public, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(*galleryFolder, "gallery.html"), html, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
