package web

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/views"
	"gpupool/views/ui"
)

// opClasses lists the GPU types and the devices of the cluster that belong to none.
func (s *Server) opClasses(v *visit) error {
	in := domain.ClassInput{Type: "gpu", PerCard: "1"}
	if m := v.query("model"); m != "" { // from a suggestion
		in.Model, in.Vendor, in.MemoryMiB, in.Name = m, v.query("vendor"), v.query("memory"), m
		in.ID = slugOf(m)
	}
	return v.classesPage(in, refusal{status: http.StatusOK})
}

// slugOf proposes an identifier for a device name: "NVIDIA A100-SXM4-80GB" becomes "a100-sxm4-80gb".
func slugOf(model string) string {
	s := strings.ToLower(strings.TrimPrefix(model, "NVIDIA "))
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return '-'
	}, s)
	return strings.Trim(s[:min(len(s), pool.MaxSlug)], "-.")
}

func (v *visit) classesPage(in domain.ClassInput, r refusal) error {
	classes, err := v.server.service.Classes(v.ctx)
	if err != nil {
		return err
	}
	t := ui.Table{ID: "classes", Caption: v.T("GPU types"), Columns: v.columns("GPU type", "Devices", "#Memory, MiB", "#Per card", "#Longest run"),
		Empty: ui.Empty{Title: v.T("No GPU type yet"), Text: v.T("A GPU type is what plans, prices and jobs speak of. Create one for each kind of device of the cluster.")}}
	for _, c := range classes {
		t.Rows = append(t.Rows, row(sub(head(c.Name, "/op/classes/"+string(c.ID)), string(c.ID)), text(c.Vendor+"/"+c.Type+"/"+c.Model), num(v.count(c.MemoryMiB)),
			num(v.count(int64(c.PerCard))), num(v.span(c.MaxRun))))
	}
	form := v.classForm(in, r, "/op/classes", v.T("Create the GPU type"), true)
	return v.show(r.status, views.Page{Title: v.T("GPU types"), Heading: v.T("GPU types")}, views.Arrange(t.Show(), v.suggestions(),
		views.Block(ui.Panel{ID: "new", Title: v.T("New GPU type")}, form.Show())))
}

// suggestions are the devices that no GPU type selects. The cluster may be away: then that is said.
func (v *visit) suggestions() templ.Component {
	groups, lines, err := v.server.service.Unclassed(v.ctx, v.actor)
	if err != nil {
		v.server.log.Warn("unclassed devices", "error", err)
		return ui.Notice{Tone: ui.Warn, Text: v.T("The cluster does not answer, so new devices can't be suggested.")}.Show()
	}
	if len(groups) == 0 {
		return views.Prose()
	}
	t := ui.Table{ID: "unclassed", Caption: v.T("Devices of the cluster without a GPU type"), Columns: v.columns("Device", "#Memory, MiB", "Next"), Note: strings.Join(lines, "; ")}
	for _, g := range groups {
		href := "/op/classes?" + encode("model", g.Model, "vendor", g.Vendor, "memory", strconv.FormatInt(g.MemoryMiB, 10)) + "#new"
		t.Rows = append(t.Rows, row(head(g.Model, ""), num(v.count(g.MemoryMiB)), ui.Cell{Text: v.T("Make a GPU type of it"), Href: href}))
	}
	return t.Show()
}

func (v *visit) classForm(in domain.ClassInput, r refusal, action, submit string, create bool) views.Form {
	f := views.Form{ID: "class", Action: action, Nonce: newNonce(), Submit: submit, Problem: r.whole}
	if create {
		f.Fields = append(f.Fields, views.Input{Field: ui.Field{Name: "id", Label: v.T("Short name"), Hint: v.T("For example a100-80g; it never changes."), Value: in.ID, Error: r.at["id"], Required: true, Mono: true}})
	}
	hours := v.T("hours")
	f.Fields = append(f.Fields,
		views.Input{Field: ui.Field{Name: "name", Label: v.T("Name"), Value: in.Name, Error: r.at["name"], Required: true}},
		views.Input{Kind: "heading", Field: ui.Field{Label: v.T("Devices"), Hint: v.T("As Nomad reports them: vendor/type/model.")}},
		views.Input{Field: ui.Field{Name: "vendor", Label: v.T("Vendor"), Value: in.Vendor, Error: r.at["vendor"], Required: true, Mono: true}},
		views.Input{Field: ui.Field{Name: "type", Label: v.T("Type"), Value: in.Type, Error: r.at["type"], Mono: true}},
		views.Input{Field: ui.Field{Name: "model", Label: v.T("Model"), Value: in.Model, Error: r.at["model"], Required: true, Mono: true}},
		views.Input{Kind: "number", Field: ui.Field{Name: "memory_mib", Label: v.T("Memory"), Unit: "MiB", Value: in.MemoryMiB, Error: r.at["memory_mib"], Required: true}},
		views.Input{Kind: "number", Field: ui.Field{Name: "per_card", Label: v.T("Of these make one card"), Value: in.PerCard, Error: r.at["per_card"], Hint: v.T("1, or 7 for the smallest slice.")}},
		views.Input{Kind: "heading", Field: ui.Field{Label: v.T("Share of the node for each GPU")}},
		views.Input{Kind: "number", Field: ui.Field{Name: "cpu_per_gpu", Label: v.T("Processor"), Unit: "MHz", Value: in.CPUPerGPU, Error: r.at["cpu_per_gpu"]}},
		views.Input{Kind: "number", Field: ui.Field{Name: "mem_per_gpu", Label: v.T("Main memory"), Unit: "MiB", Value: in.MemPerGPU, Error: r.at["mem_per_gpu"]}},
		views.Input{Kind: "heading", Field: ui.Field{Label: v.T("Maximum run time"), Hint: v.T("Empty: as in the settings.")}},
		views.Input{Kind: "number", Field: ui.Field{Name: "default_max_run_hour", Label: v.T("If a job names none"), Unit: hours, Value: in.DefaultMaxRunHour, Error: r.at["default_max_run_hour"]}},
		views.Input{Kind: "number", Field: ui.Field{Name: "max_run_hour", Label: v.T("Longest"), Unit: hours, Value: in.MaxRunHour, Error: r.at["max_run_hour"]}},
		views.Input{Kind: "heading", Field: ui.Field{Label: v.T("Cloud list prices, to compare with")}},
		views.Input{Kind: "number", Field: ui.Field{Name: "cloud_low", Label: v.T("From"), Unit: v.T("%s per GPU-hour", v.currency.Code), Value: in.CloudLow, Error: r.at["cloud_low"]}},
		views.Input{Kind: "number", Field: ui.Field{Name: "cloud_high", Label: v.T("To"), Unit: v.T("%s per GPU-hour", v.currency.Code), Value: in.CloudHigh, Error: r.at["cloud_high"]}},
		views.Input{Field: ui.Field{Name: "cloud_note", Label: v.T("Source and date"), Value: in.CloudNote, Error: r.at["cloud_note"]}},
	)
	return f
}

func (v *visit) readClass() domain.ClassInput {
	return domain.ClassInput{ID: v.text("id"), Name: v.text("name"), Vendor: v.text("vendor"), Type: v.text("type"), Model: v.text("model"), MemoryMiB: v.text("memory_mib"),
		PerCard: v.text("per_card"), CPUPerGPU: v.text("cpu_per_gpu"), MemPerGPU: v.text("mem_per_gpu"), DefaultMaxRunHour: v.text("default_max_run_hour"),
		MaxRunHour: v.text("max_run_hour"), CloudLow: v.text("cloud_low"), CloudHigh: v.text("cloud_high"), CloudNote: v.text("cloud_note")}
}

func (s *Server) opClassCreate(v *visit) error {
	in := v.readClass()
	c, err := s.service.CreateClass(v.ctx, v.actor, in)
	if err != nil {
		if r, ok := v.refused(err); ok {
			return v.classesPage(in, r)
		}
		return err
	}
	return v.done("/op/classes", "The GPU type %s was created.", c.Name)
}

// opClass is the form of one GPU type.
func (s *Server) opClass(v *visit) error {
	c, err := v.class()
	if err != nil {
		return err
	}
	hours := func(d time.Duration) string { return strconv.FormatInt(int64(d/time.Hour), 10) }
	whole := func(n int64) string { return strconv.FormatInt(n, 10) }
	in := domain.ClassInput{Name: c.Name, Vendor: c.Vendor, Type: c.Type, Model: c.Model, MemoryMiB: whole(c.MemoryMiB), PerCard: whole(int64(c.PerCard)),
		CPUPerGPU: whole(int64(c.CPUPerGPU)), MemPerGPU: whole(int64(c.MemPerGPU)), DefaultMaxRunHour: hours(c.DefaultMaxRun), MaxRunHour: hours(c.MaxRun), CloudNote: c.CloudNote}
	if c.CloudHigh > 0 {
		in.CloudLow, in.CloudHigh = v.currency.FormatPrice(money.Price(c.CloudLow)), v.currency.FormatPrice(money.Price(c.CloudHigh))
	}
	return v.classPage(c, in, refusal{status: http.StatusOK})
}

// class is the one of the path.
func (v *visit) class() (domain.GPUClass, error) {
	classes, err := v.server.service.Classes(v.ctx)
	for _, c := range classes {
		if string(c.ID) == v.param("class") {
			return c, nil
		}
	}
	if err == nil {
		err = domain.Errf(domain.NotFound, "There is no such GPU type.")
	}
	return domain.GPUClass{}, err
}

func (v *visit) classPage(c domain.GPUClass, in domain.ClassInput, r refusal) error {
	form := v.classForm(in, r, "/op/classes/"+string(c.ID), v.T("Save"), false)
	return v.show(r.status, views.Page{Title: c.Name, Heading: c.Name, Lead: string(c.ID), Crumbs: crumbs(v.T("GPU types"), "/op/classes", c.Name, "")}, form.Show())
}

func (s *Server) opClassUpdate(v *visit) error {
	c, err := v.class()
	if err != nil {
		return err
	}
	in := v.readClass()
	if c, err = s.service.UpdateClass(v.ctx, v.actor, c.ID, in); err != nil {
		if r, ok := v.refused(err); ok {
			if c, err = v.class(); err != nil {
				return err
			}
			return v.classPage(c, in, r)
		}
		return err
	}
	return v.done("/op/classes", "The GPU type %s was saved.", c.Name)
}
