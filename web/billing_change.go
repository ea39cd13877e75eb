package web

import (
	"net/http"

	"github.com/a-h/templ"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/views"
	"gpupool/views/ui"
)

// billingPlan tells to the cent what a plan would cost from when on, before anything is confirmed.
func (s *Server) billingPlan(v *visit) error {
	return v.offerPage(v.query("version"), v.query("account"), refusal{status: http.StatusOK})
}

func (v *visit) offerPage(version, account string, r refusal) error {
	page := views.Page{Title: v.T("Plan"), Heading: v.T("What the plan costs"), Crumbs: crumbs(v.T("Billing"), v.orgPath("/billing"), v.T("Plan"), "")}
	p, err := v.server.service.PreviewSubscription(v.ctx, v.actor, v.org, domain.SubscribeInput{Version: pool.PlanVersionID(version), Account: pool.AccountID(account)})
	if err != nil {
		bad, ok := v.refused(err)
		if !ok {
			return err
		}
		return v.offerRefused(page, version, account, bad)
	}
	accounts, err := v.accountOptions()
	if err != nil {
		return err
	}
	page.Heading = v.T("%s: what it costs", p.Plan.Name)
	facts := []ui.Fact{{Name: v.T("Begins"), Text: v.at(p.From)}, {Name: v.T("Fee of this month with it, net"), Text: v.money(p.ThisMonth)}}
	if p.Change {
		facts = append(facts, ui.Fact{Name: v.T("Fee of this month without the change"), Text: v.money(p.Before)}, ui.Fact{Name: v.T("Difference this month"), Text: v.money(p.ThisMonth - p.Before)}, ui.Fact{Name: v.T("Replaces"), Text: p.OldPlan})
	}
	facts = append(facts, ui.Fact{Name: v.T("Fee of each full month, net"), Text: v.money(p.Monthly)})
	t := ui.Table{ID: "fees", Caption: v.T("Fees of this month, net"), Columns: v.columns("Part", "From", "To", "#Amount"), Note: v.T("A part of a month is charged to the millisecond.")}
	for _, l := range p.Lines {
		t.Rows = append(t.Rows, row(head(v.kind(l.Kind), ""), when(v.clock(l.Service.Start)), when(v.clock(l.Service.End)), num(v.money(l.Amount))))
	}
	t.Foot = []ui.Row{{Total: true, Cells: []ui.Cell{{Text: v.T("Total"), Head: true, Span: "3"}, num(v.money(p.ThisMonth))}}}
	blocks := []templ.Component{ui.Facts(facts), t.Show()}
	for _, w := range p.Losing {
		blocks = append(blocks, ui.Notice{Tone: ui.Warn, Text: v.warning(w)}.Show())
	}
	if len(accounts) > 1 {
		blocks = append(blocks, v.offerAccount(version, string(p.Account), accounts).Show())
	}
	if v.actor.Can(v.org, domain.ActSubscribe) {
		label := v.T("Subscribe: %s a month", v.money(p.Monthly))
		if p.Change {
			label = v.T("Change to %s from %s", p.Plan.Name, v.at(p.From))
		}
		blocks = append(blocks, views.Form{ID: "subscribe", Action: v.orgPath("/billing/plan"), Nonce: newNonce(), Problem: r.whole, Submit: label, Hidden: []ui.Value{hidden("version", version), hidden("account", string(p.Account))},
			Cancel: ui.Link{Label: v.T("Back to billing"), Href: v.orgPath("/billing")}}.Show())
	} else {
		blocks = append(blocks, views.Prose(v.T("Only the owner can subscribe or change the plan.")))
	}
	return v.show(r.status, page, views.Arrange(blocks...))
}

func (v *visit) offerAccount(version, account string, accounts []ui.Option) views.Form {
	return views.Form{ID: "payer", Action: v.orgPath("/billing/plan"), Filter: true, Submit: v.T("Show"), Hidden: []ui.Value{hidden("version", version)}, Fields: []views.Input{
		{Kind: "select", Field: ui.Field{Name: "account", Label: v.T("Who gets the invoice"), Value: account, Options: accounts}}}}
}

// planRefused says what is missing, such as a billing account, with the way there.
func (v *visit) offerRefused(page views.Page, version, account string, r refusal) error {
	var blocks []templ.Component
	for _, field := range []string{"version", "account"} {
		if s := r.at[field]; s != "" {
			n := ui.Notice{Tone: ui.Bad, Text: s}
			if field == "account" && v.actor.Can(v.org, domain.ActBilling) {
				n.Link = ui.Link{Label: v.T("New billing account"), Href: v.orgPath("/billing/accounts/new")}
			}
			blocks = append(blocks, n.Show())
		}
	}
	if r.whole != "" {
		blocks = append(blocks, ui.Notice{Tone: ui.Bad, Text: r.whole}.Show())
	}
	if accounts, err := v.accountOptions(); err == nil && len(accounts) > 1 && r.at["version"] == "" {
		blocks = append(blocks, v.offerAccount(version, account, accounts).Show())
	}
	return v.show(r.status, page, views.Arrange(append(blocks, views.Row(ui.LinkButton(v.T("Back to billing"), v.orgPath("/billing"), "", "")))...))
}

// billingSubscribe subscribes, or changes the plan while one runs.
func (s *Server) billingSubscribe(v *visit) error {
	in := domain.SubscribeInput{Version: pool.PlanVersionID(v.text("version")), Account: pool.AccountID(v.text("account"))}
	sub, err := s.service.Subscription(v.ctx, v.actor, v.org)
	if err != nil {
		return err
	}
	if sub.Current == nil {
		_, err = s.service.Subscribe(v.ctx, v.actor, v.org, in)
	} else {
		_, err = s.service.ChangePlan(v.ctx, v.actor, v.org, in)
	}
	if err != nil {
		if r, ok := v.refused(err); ok {
			return v.offerPage(v.text("version"), v.text("account"), r)
		}
		return err
	}
	return v.done(v.orgPath("/billing"), "The plan was chosen.")
}

// billingCancel ends the subscription with the month.
func (s *Server) billingCancel(v *visit) error {
	_, err := s.service.CancelSubscription(v.ctx, v.actor, v.org)
	return v.billed(err, "The subscription ends with the month. Until then it can be taken back.")
}

// billingKeep takes a cancellation or a coming change back.
func (s *Server) billingKeep(v *visit) error {
	_, err := s.service.KeepSubscription(v.ctx, v.actor, v.org)
	return v.billed(err, "The subscription goes on.")
}

func (v *visit) billed(err error, sentence string) error {
	if err != nil {
		return err
	}
	return v.done(v.orgPath("/billing"), sentence)
}

// billingCap sets the cap from now on.
func (s *Server) billingCap(v *visit) error {
	in := domain.CapInput{Amount: v.text("amount"), Mode: domain.CapMode(v.text("mode"))}
	if _, err := s.service.SetCap(v.ctx, v.actor, v.org, in); err != nil {
		if r, ok := v.refused(err); ok {
			return v.billingPage(billingForms{which: "cap", cap: in, at: r})
		}
		return err
	}
	return v.done(v.orgPath("/billing"), "The cap was set.")
}

// billingOrder records a purchase order.
func (s *Server) billingOrder(v *visit) error {
	f := orderForm{v.text("account"), v.text("number"), v.text("amount"), v.text("from"), v.text("to"), v.text("at_zero")}
	from, err := v.dateOf("from", f.From)
	var to pool.Instant
	if err == nil {
		to, err = v.dateOf("to", f.To)
	}
	if err == nil {
		if to != 0 {
			to = pool.NextMidnight(to, v.settings.Location()) // the last day is inside
		}
		_, err = s.service.AddOrder(v.ctx, v.actor, v.org, pool.AccountID(f.Account), domain.OrderInput{Number: f.Number, Amount: f.Amount, From: from, To: to, AtZero: f.AtZero})
	}
	if err != nil {
		r, ok := v.refused(err)
		if domain.CodeOf(err) == domain.NotFound {
			r, ok = refusal{status: http.StatusUnprocessableEntity, at: map[string]string{"account": v.T("There is no such billing account.")}}, true
		}
		if ok {
			return v.billingPage(billingForms{which: "order", order: f, at: r})
		}
		return err
	}
	return v.done(v.orgPath("/billing"), "The purchase order was added.")
}
