package web

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/views"
	"gpupool/views/ui"
)

// spareRows are the empty lines of the form for prices of a part of the day.
const spareRows = 4

// maxTyped bounds how many rows of a form are read.
const maxTyped = 500

// opPrices lists the price lists: what is in force, what is announced, drafts.
func (s *Server) opPrices(v *visit) error {
	lists, err := s.service.PriceLists(v.ctx, v.actor)
	if err != nil {
		return err
	}
	t := ui.Table{ID: "lists", Caption: v.T("Price lists"), Columns: v.columns("Price list", "State", "In force from", "#Prices"),
		Empty: ui.Empty{Title: v.T("No price list yet"), Text: v.T("Without prices in force no job can start."), Link: ui.Link{Label: v.T("New price list"), Href: "/op/prices/new"}}}
	for _, l := range slices.Backward(lists) {
		t.Rows = append(t.Rows, row(head(l.Name, "/op/prices/"+string(l.ID)), badge(v.listState(l, lists)), when(v.business(l.From, v.settings.Location())), num(v.count(int64(len(l.Rows))))))
	}
	return v.page(views.Page{Title: v.T("Prices"), Heading: v.T("Prices"), Lead: v.T("All prices are net, per GPU-hour. A published list never changes; a newer one follows it."),
		Actions: ui.LinkButton(v.T("New price list"), "/op/prices/new", "primary", "plus")}, t.Show())
}

func (v *visit) listState(l domain.PriceList, all []domain.PriceList) ui.Badge {
	switch {
	case l.PublishedAt == 0:
		return v.state("draft")
	case l.From > v.now:
		return ui.ToneBadge(ui.Info, v.T("Announced"))
	}
	for _, x := range all {
		if x.PublishedAt != 0 && x.From > l.From && x.From <= v.now {
			return ui.ToneBadge(ui.Neutral, v.T("Replaced"))
		}
	}
	return ui.ToneBadge(ui.Good, v.T("In force"))
}

// priceForm is the form of a draft as typed.
type priceForm struct {
	Name, From string // a date in the billing zone; empty: when published
	Rows       []domain.PriceRowInput
}

// opPriceNew begins a draft: every GPU type with own, borrowed and spot, filled in from the list in force.
func (s *Server) opPriceNew(v *visit) error {
	classes, err := s.service.Classes(v.ctx)
	if err != nil {
		return err
	}
	lists, err := s.service.PriceLists(v.ctx, v.actor)
	if err != nil {
		return err
	}
	var last domain.PriceList
	for _, l := range lists {
		if l.PublishedAt != 0 {
			last = l
		}
	}
	f := priceForm{Rows: v.typedRows(last.Rows)}
	for _, c := range classes {
		for _, cover := range pool.Covers {
			if !slices.ContainsFunc(f.Rows, func(r domain.PriceRowInput) bool { return r.Class == c.ID && r.Cover == cover }) {
				f.Rows = append(f.Rows, domain.PriceRowInput{Class: c.ID, Cover: cover})
			}
		}
	}
	return v.pricePage(domain.PriceList{}, f, refusal{status: http.StatusOK})
}

// typedRows are stored prices as a person would type them: by GPU type, then own, borrowed and spot.
func (v *visit) typedRows(rows []domain.PriceRow) []domain.PriceRowInput {
	var out []domain.PriceRowInput
	rows = slices.SortedFunc(slices.Values(rows), func(a, b domain.PriceRow) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), slices.Index(pool.Covers, a.Cover)-slices.Index(pool.Covers, b.Cover), a.FromMinute-b.FromMinute)
	})
	for _, r := range rows {
		x := domain.PriceRowInput{Class: r.Class, Cover: r.Cover, Price: v.currency.FormatPrice(r.Price)}
		if r.LenderShare != 0 {
			x.LenderShare = money.BasisPoints(r.LenderShare).String()
		}
		if r.FromMinute != 0 || r.ToMinute != 1440 {
			x.From, x.To = minute(r.FromMinute), minute(r.ToMinute%1440)
		}
		out = append(out, x)
	}
	return out
}

func minute(m int) string { return fmt.Sprintf("%02d:%02d", m/60, m%60) }

// list is the price list of the path.
func (v *visit) list() (domain.PriceList, error) {
	lists, err := v.server.service.PriceLists(v.ctx, v.actor)
	for _, l := range lists {
		if string(l.ID) == v.param("list") {
			return l, nil
		}
	}
	if err == nil {
		err = domain.Errf(domain.NotFound, "There is no such price list.")
	}
	return domain.PriceList{}, err
}

// opPrice is a published list as a table, or the form of a draft.
func (s *Server) opPrice(v *visit) error {
	l, err := v.list()
	if err != nil {
		return err
	}
	if l.PublishedAt == 0 {
		return v.pricePage(l, v.typedList(l), refusal{status: http.StatusOK})
	}
	t := ui.Table{ID: "rows", Caption: v.T("Prices per GPU-hour, net"), Columns: v.columns("GPU type", "Charged as", "Time of day", "#Price", "#Lender's share")}
	for _, r := range l.Rows {
		day := v.T("all day")
		if r.FromMinute != 0 || r.ToMinute != 1440 {
			day = minute(r.FromMinute) + "–" + minute(r.ToMinute%1440)
		}
		t.Rows = append(t.Rows, row(head(v.typeName(r.Class), ""), badge(v.coverage(r.Cover)), text(day), num(v.price(r.Price)), num(money.BasisPoints(r.LenderShare).String()+" %")))
	}
	return v.page(views.Page{Title: l.Name, Heading: l.Name, Badges: []ui.Badge{ui.ToneBadge(ui.Good, v.T("Published"))},
		Lead: v.T("In force from %s.", v.business(l.From, v.settings.Location()).Text), Crumbs: crumbs(v.T("Prices"), "/op/prices", l.Name, "")}, t.Show())
}

func (v *visit) typedList(l domain.PriceList) priceForm {
	f := priceForm{Name: l.Name, Rows: v.typedRows(l.Rows)}
	if l.From != 0 {
		f.From = l.From.In(v.settings.Location()).Format(time.DateOnly)
	}
	return f
}

func (v *visit) pricePage(l domain.PriceList, f priceForm, r refusal) error {
	classes, err := v.server.service.Classes(v.ctx)
	if err != nil {
		return err
	}
	title, action, publish := v.T("New price list"), "/op/prices/new", views.Prose()
	if l.ID != "" {
		title, action = l.Name, "/op/prices/"+string(l.ID)+"/draft"
		publish = ui.Confirm{ID: "publish", Label: v.T("Publish"), Title: v.T("Publish %s?", l.Name), Plain: true, Do: v.T("Publish"), Nonce: newNonce(),
			Loses:  []string{v.T("A published list never changes."), v.T("Jobs that run now never pay more than they were promised.")},
			Action: "/op/prices/" + string(l.ID) + "/publish",
			Ask:    []ui.Field{{Name: "override", Label: v.T("Reason, if a price is unsound"), Hint: v.T("Needed only when spot is not below borrowed, or borrowed above own."), Value: v.text("override"), Error: r.at["override"]}},
			Error:  r.at["override"]}.Show()
	}
	page := views.Page{Title: title, Heading: title, Badges: []ui.Badge{v.state("draft")}, Crumbs: crumbs(v.T("Prices"), "/op/prices", title, "")}
	return v.show(r.status, page, views.Arrange(v.priceForm(action, f, classes, r).Show(), publish))
}

func (v *visit) priceForm(action string, f priceForm, classes []domain.GPUClass, r refusal) views.Form {
	form := views.Form{ID: "prices", Action: action, Nonce: newNonce(), Submit: v.T("Save the draft"), Problem: strings.TrimSpace(r.whole + " " + r.at["rows"]), Fields: []views.Input{
		{Field: ui.Field{Name: "name", Label: v.T("Name"), Value: f.Name, Error: r.at["name"], Required: true}},
		{Field: ui.Field{Name: "from", Label: v.T("In force from"), Type: "date", Hint: v.T("At 00:00 in %s. Empty: as soon as it is published.", v.settings.Zone), Value: f.From, Error: r.at["from"], Short: true}},
	}}
	rows := slices.Clone(f.Rows)
	for range spareRows {
		rows = append(rows, domain.PriceRowInput{})
	}
	ids := []ui.Option{option("", v.T("(not used)"))}
	for _, c := range classes {
		ids = append(ids, option(string(c.ID), c.Name))
	}
	covers := []ui.Option{option("", v.T("(not used)"))}
	for _, c := range pool.Covers {
		covers = append(covers, option(string(c), v.word(string(c))))
	}
	for i, x := range rows {
		name := func(s string) string { return s + "." + strconv.Itoa(i) }
		form.Fields = append(form.Fields, views.Input{Kind: "heading", Field: ui.Field{Label: v.rowTitle(i, x)}},
			views.Input{Kind: "select", Field: ui.Field{Name: name("class"), Label: v.T("GPU type"), Value: string(x.Class), Options: ids, Error: r.at[name("class")]}},
			views.Input{Kind: "select", Field: ui.Field{Name: name("cover"), Label: v.T("Charged as"), Value: string(x.Cover), Options: covers, Error: r.at[name("cover")]}},
			views.Input{Kind: "number", Field: ui.Field{Name: name("price"), Label: v.T("Price, net"), Unit: v.T("%s per GPU-hour", v.currency.Code), Value: x.Price, Error: r.at[name("price")]}},
			views.Input{Kind: "number", Field: ui.Field{Name: name("share"), Label: v.T("Lender's share"), Unit: "%", Value: x.LenderShare, Error: r.at[name("share")]}},
			views.Input{Field: ui.Field{Name: name("from"), Label: v.T("From, time of day"), Placeholder: "00:00", Value: x.From, Error: r.at[name("from")], Short: true}},
			views.Input{Field: ui.Field{Name: name("to"), Label: v.T("To, time of day"), Placeholder: "24:00", Value: x.To, Error: r.at[name("to")], Short: true}})
	}
	return form
}

func (v *visit) rowTitle(i int, x domain.PriceRowInput) string {
	if x.Class == "" {
		return v.T("One more price, %d", i+1)
	}
	return string(x.Class) + ", " + v.word(string(x.Cover))
}

// readPrices reads the form. Rows in which nothing is chosen or typed are left out.
func (v *visit) readPrices() (f priceForm, in domain.PriceListInput, err error) {
	f = priceForm{Name: v.text("name"), From: v.text("from")}
	for i := range maxTyped {
		at := func(s string) string { return v.text(s + "." + strconv.Itoa(i)) }
		if _, sent := v.echo.Request().PostForm["class."+strconv.Itoa(i)]; !sent {
			break
		}
		x := domain.PriceRowInput{Class: pool.ClassID(at("class")), Cover: pool.Cover(at("cover")), Price: at("price"), LenderShare: at("share"), From: at("from"), To: at("to")}
		if x != (domain.PriceRowInput{}) {
			f.Rows = append(f.Rows, x)
		}
	}
	in = domain.PriceListInput{Name: f.Name, Rows: f.Rows}
	in.From, err = v.dateOf("from", f.From)
	return f, in, err
}

// dateOf is the first instant of a typed date in the billing zone; 0 for an empty one.
func (v *visit) dateOf(field, typed string) (pool.Instant, error) {
	if strings.TrimSpace(typed) == "" {
		return 0, nil
	}
	t, err := time.ParseInLocation(time.DateOnly, strings.TrimSpace(typed), v.settings.Location())
	if err != nil || t.Year() < 2000 || t.Year() > 2999 {
		return 0, domain.Fields{{Field: field, Message: "Write a date as 2026-11-26."}}.Err()
	}
	return pool.At(t), nil
}

func (s *Server) opPriceCreate(v *visit) error { return v.savePrices(domain.PriceList{}) }

func (s *Server) opPriceDraft(v *visit) error {
	l, err := v.list()
	if err != nil {
		return err
	}
	return v.savePrices(l)
}

func (v *visit) savePrices(l domain.PriceList) error {
	f, in, err := v.readPrices()
	if err == nil {
		in.ID = l.ID
		var saved domain.PriceList
		if saved, err = v.server.service.SavePriceListDraft(v.ctx, v.actor, in); err == nil {
			return v.done("/op/prices/"+string(saved.ID), "The draft %s was saved.", saved.Name)
		}
	}
	if r, ok := v.refused(err); ok {
		return v.pricePage(l, f, r)
	}
	return err
}

func (s *Server) opPricePublish(v *visit) error {
	l, err := v.list()
	if err != nil {
		return err
	}
	out, warnings, err := s.service.PublishPriceList(v.ctx, v.actor, l.ID, v.text("override"))
	if err != nil {
		if r, ok := v.refused(err); ok && l.PublishedAt == 0 {
			return v.pricePage(l, v.typedList(l), r)
		}
		return err
	}
	for _, w := range warnings {
		v.warn(v.warning(w))
	}
	return v.done("/op/prices/"+string(l.ID), "%s is published.", out.Name)
}
