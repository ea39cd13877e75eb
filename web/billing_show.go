package web

import (
	"net/http"

	"github.com/a-h/templ"

	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/views"
	"gpupool/views/ui"
)

// billing is what the page of billing shows; the forms on it keep what was typed.
type billingForms struct {
	cap   domain.CapInput
	order orderForm
	which string // the form that was refused
	at    refusal
}

type orderForm struct{ Account, Number, Amount, From, To, AtZero string }

// billingShow is the plan, the invoice to come, caps, purchase orders and who gets invoices.
func (s *Server) billingShow(v *visit) error {
	return v.billingPage(billingForms{at: refusal{status: http.StatusOK}})
}

func (v *visit) billingPage(f billingForms) error {
	sub, err := v.server.service.Subscription(v.ctx, v.actor, v.org)
	if err != nil {
		return err
	}
	accounts, err := v.server.service.Accounts(v.ctx, v.actor, v.org)
	if err != nil {
		return err
	}
	market, err := v.server.service.Marketplace(v.ctx, v.actor)
	if err != nil {
		return err
	}
	blocks := []templ.Component{views.Block(ui.Panel{ID: "subscription", Title: v.T("Subscription"), Topics: "org"}, v.subscription(sub)...)}
	drafts, err := v.drafts(accounts, market)
	if err != nil {
		return err
	}
	blocks = append(blocks, drafts...)
	blocks = append(blocks, v.plansToChoose(market, sub).Show(), v.accountsTable(accounts).Show())
	limits, err := v.capAndOrders(f, accounts)
	if err != nil {
		return err
	}
	page := views.Page{Title: v.T("Billing"), Heading: v.T("Billing"), Live: v.live()}
	if v.actor.Can(v.org, domain.ActBilling) {
		page.Actions = ui.LinkButton(v.T("New billing account"), v.orgPath("/billing/accounts/new"), "", "plus")
	}
	return v.show(f.at.status, page, views.Arrange(append(blocks, limits...)...))
}

// subscription is the plan in force, what follows it, and what the owner may do about it.
func (v *visit) subscription(sub domain.SubscriptionView) []templ.Component {
	if sub.Current == nil {
		e := ui.Empty{Title: v.T("No subscription."), Text: v.T("Jobs wait until a plan is chosen. Choose one below; the exact fee shows before anything is confirmed.")}
		if sub.Next != nil {
			e.Title = v.T("%s begins on %s.", sub.Next.Plan.Name, v.at(sub.Next.Start))
		}
		return []templ.Component{e.Show()}
	}
	c := *sub.Current
	facts := []ui.Fact{{Name: v.T("Plan"), Text: v.T("%s, version %d", c.Plan.Name, c.PlanVersion.N)}, {Name: v.T("Monthly fee, net"), Text: v.money(c.PlanVersion.Fee)},
		{Name: v.T("Billing account"), Text: c.AccountName}, {Name: v.T("Since"), Time: v.clock(c.Start)}}
	if c.End != pool.Never {
		facts = append(facts, ui.Fact{Name: v.T("Ends"), Time: v.clock(c.End)})
	}
	if sub.Next != nil {
		facts = append(facts, ui.Fact{Name: v.T("Then"), Text: v.T("%s from %s on", sub.Next.Plan.Name, v.at(sub.Next.Start))})
	}
	out := []templ.Component{ui.Facts(facts)}
	if !v.actor.Can(v.org, domain.ActSubscribe) {
		return out
	}
	if c.End == pool.Never {
		return append(out, ui.Confirm{ID: "cancel", Label: v.T("Cancel the subscription"), Title: v.T("Cancel %s at the end of the month?", c.Plan.Name), Action: v.orgPath("/billing/cancel"), Nonce: newNonce(), Do: v.T("Cancel at the month's end"),
			Loses: []string{v.T("From %s on no GPU is guaranteed and no new job starts.", v.at(v.monthEnd())), v.T("The fee of this month is charged in full."), v.T("Until then it can be taken back.")}}.Show())
	}
	return append(out, ui.PostButton{Action: v.orgPath("/billing/keep"), Nonce: newNonce(), Button: ui.Button{Label: v.T("Keep %s", c.Plan.Name), Kind: "primary"}}.Show())
}

func (v *visit) monthEnd() pool.Instant {
	zone := v.settings.Location()
	return pool.MonthOf(v.now, zone).Bounds(zone).End
}

// drafts are the invoices of the running month as they stand, one for each billing account.
func (v *visit) drafts(accounts []domain.BillingAccount, market domain.Marketplace) ([]templ.Component, error) {
	month := pool.MonthOf(v.now, v.settings.Location())
	var out []templ.Component
	for _, a := range accounts {
		d, err := v.server.service.Draft(v.ctx, v.actor, v.org, a.ID, month)
		if err != nil {
			return nil, err
		}
		t := v.linesTable(d, planNames(market))
		t.ID, t.Caption, t.Topics = "draft-"+string(a.ID), v.T("Next invoice of %s, %s: provisional", a.Name, v.month(month)), "org clock"
		t.Note = v.T("It is made when %s is closed. What runs is counted up to now.", v.month(month))
		t.Empty = ui.Empty{Title: v.T("Nothing to bill to %s so far.", a.Name), Text: v.T("The fee in arrears and the use of the month show here.")}
		out = append(out, t.Show())
	}
	return out, nil
}

func planNames(m domain.Marketplace) map[string]string {
	names := map[string]string{}
	for _, p := range m.Plans {
		names[string(p.Version.ID)] = p.Name
	}
	return names
}

// plansToChoose are the plans on offer; each leads to what it would cost exactly.
func (v *visit) plansToChoose(m domain.Marketplace, sub domain.SubscriptionView) ui.Table {
	t := ui.Table{ID: "choose", Caption: v.T("Plans"), Columns: v.columns("Plan", "#Monthly fee, net", "Guaranteed", ""),
		Empty: ui.Empty{Title: v.T("No plan is offered yet."), Text: v.T("Plans show here as soon as the operator has published one.")}}
	for _, p := range m.Plans {
		guaranteed := ""
		for i, c := range p.Version.Classes {
			if i > 0 {
				guaranteed += ", "
			}
			guaranteed += v.T("%d %s", c.Guaranteed, v.typeName(c.Class))
		}
		act := ui.Cell{Text: v.T("What it would cost"), Href: v.orgPath("/billing/plan?" + encode("version", string(p.Version.ID)))}
		if sub.Current != nil && sub.Current.Version == p.Version.ID {
			act = badge(ui.ToneBadge(ui.Good, v.T("yours")))
		}
		t.Rows = append(t.Rows, row(head(p.Name, ""), num(v.money(p.Version.Fee)), text(guaranteed), act))
	}
	return t
}

func (v *visit) accountsTable(accounts []domain.BillingAccount) ui.Table {
	t := ui.Table{ID: "accounts", Caption: v.T("Billing accounts: who gets invoices"), Columns: v.columns("Account", "Buyer", "Tax", "Terms", "Fee", "Issued by"),
		Empty: ui.Empty{Title: v.T("No billing account yet."), Text: v.T("A plan and every project need one: it names who gets the invoice.")}}
	if v.actor.Can(v.org, domain.ActBilling) {
		t.Empty.Link = ui.Link{Label: v.T("New billing account"), Href: v.orgPath("/billing/accounts/new")}
	}
	for _, a := range accounts {
		tax := v.T(taxWords[a.TaxKind])
		if a.TaxKind == "standard" {
			tax = money.BasisPoints(a.TaxRate).String() + " %"
		}
		fee := v.T("in arrears")
		if a.Advance {
			fee = v.T("in advance")
		}
		name := head(a.Name, "")
		if v.actor.Can(v.org, domain.ActBilling) {
			name.Href = v.orgPath("/billing/accounts/" + string(a.ID))
		}
		t.Rows = append(t.Rows, row(name, text(a.Buyer.Name), text(tax), text(v.T("%d days", a.TermsDays)), text(fee), text(a.Issuer)))
	}
	return t
}

// capAndOrders are the limits of what the organisation spends.
func (v *visit) capAndOrders(f billingForms, accounts []domain.BillingAccount) ([]templ.Component, error) {
	limit, err := v.server.service.Cap(v.ctx, v.actor, v.org)
	if err != nil {
		return nil, err
	}
	orders, err := v.server.service.Orders(v.ctx, v.actor, v.org)
	if err != nil {
		return nil, err
	}
	mine := v.actor.Can(v.org, domain.ActBilling)
	body := []templ.Component{ui.Facts(v.capFacts(limit))}
	if mine {
		body = append(body, v.capForm(f, limit).Show())
	}
	names := map[pool.AccountID]string{}
	for _, a := range accounts {
		names[a.ID] = a.Name
	}
	t := ui.Table{ID: "orders", Caption: v.T("Purchase orders"), Columns: v.columns("Number", "Billing account", "#Amount", "From", "To", "At zero"),
		Empty: ui.Empty{Title: v.T("No purchase order."), Text: v.T("Without one, invoices carry no order number and nothing is limited by an order.")}}
	for _, o := range orders {
		to := v.T("no end")
		if o.To != 0 && o.To != pool.Never {
			to = v.day(o.To - 1)
		}
		t.Rows = append(t.Rows, row(head(o.Number, ""), text(named(names, o.Account)), num(v.money(o.Amount)), text(v.day(o.From)), text(to), text(v.T(zeroWords[o.AtZero]))))
	}
	out := []templ.Component{views.Block(ui.Panel{ID: "cap", Title: v.T("Spending cap"), Hint: v.T("On everything beyond the fee, net, in each month. Checked before a job starts, with what is reserved.")}, body...), t.Show()}
	if mine && len(accounts) > 0 {
		out = append(out, v.orderForm(f, accounts).Show())
	}
	return out, nil
}

func (v *visit) capFacts(c domain.CapView) []ui.Fact {
	facts := []ui.Fact{{Name: v.T("Cap"), Text: v.T("none")}, {Name: v.T("Used this month"), Text: v.money(c.Used)}}
	if c.Cap.Amount != nil {
		facts[0].Text = v.T("%s a month, %s", v.money(*c.Cap.Amount), v.T(capWords[c.Cap.Mode]))
		facts[1].Text = v.T("%s (%s)", v.money(c.Used), v.percent(int64(c.Used), int64(*c.Cap.Amount)))
	}
	return facts
}

// capWords say what happens at the cap.
var capWords = map[domain.CapMode]string{domain.CapStop: "what exceeds it stops", domain.CapDowngrade: "flexible jobs become spot at it", domain.CapBill: "jobs run until it is used up", domain.CapNotify: "people are told at it"}

var zeroWords = map[string]string{"stop": "no new job starts", "next": "the next order", "without": "invoice without an order"}

var taxWords = map[string]string{"standard": "taxed", "exempt": "exempt", "reverse": "reverse charge", "outside": "outside the scope"}

func (v *visit) capForm(f billingForms, limit domain.CapView) views.Form {
	in, at := domain.CapInput{Mode: limit.Cap.Mode}, refusal{}
	if limit.Cap.Amount != nil {
		in.Amount = v.currency.Format(*limit.Cap.Amount)
	}
	if f.which == "cap" {
		in, at = f.cap, f.at
	}
	return views.Form{ID: "cap-form", Action: v.orgPath("/billing/cap"), Nonce: newNonce(), Problem: at.whole, Submit: v.T("Set the cap"), Fields: []views.Input{
		{Kind: "number", Field: ui.Field{Name: "amount", ID: "f-cap", Label: v.T("Cap"), Unit: v.currency.Code, Value: in.Amount, Error: at.at["amount"], Hint: v.T("A month, net. Empty: no cap.")}},
		{Kind: "radio", Field: ui.Field{Name: "mode", Label: v.T("At the cap"), Value: string(in.Mode), Error: at.at["mode"], Required: true, Options: []ui.Option{
			{Value: "stop", Label: v.T("Stop"), Hint: v.T("A job starts only if its whole cost fits. If you lower the cap below what running jobs may still cost, the least important of them stop after notice and wait.")},
			{Value: "downgrade", Label: v.T("Go on as spot"), Hint: v.T("Flexible jobs become spot, new ones and running ones: cheaper, and stopped when somebody else needs the GPUs. What exceeds the cap even so stops.")},
			{Value: "bill", Label: v.T("Run until it is used up"), Hint: v.T("Running jobs go on until what is used comes to the cap, then they stop after notice.")},
			{Value: "notify", Label: v.T("Only notify"), Hint: v.T("The cap may be exceeded without limit.")}}}},
	}}
}

func (v *visit) orderForm(f billingForms, accounts []domain.BillingAccount) views.Form {
	o, at := orderForm{Account: string(accounts[0].ID), AtZero: "stop"}, refusal{}
	if f.which == "order" {
		o, at = f.order, f.at
	}
	var choices []ui.Option
	for _, a := range accounts {
		choices = append(choices, option(string(a.ID), a.Name))
	}
	return views.Form{ID: "order-form", Title: v.T("Add a purchase order"), Action: v.orgPath("/billing/orders"), Nonce: newNonce(), Problem: at.whole, Submit: v.T("Add the order"), Fields: []views.Input{
		{Field: ui.Field{Name: "number", Label: v.T("Number"), Value: o.Number, Error: at.at["number"], Required: true, Autocomplete: "off", Hint: v.T("As your purchasing wrote it.")}},
		{Kind: "select", Field: ui.Field{Name: "account", Label: v.T("Billing account"), Value: o.Account, Error: at.at["account"], Required: true, Options: choices}},
		{Kind: "number", Field: ui.Field{Name: "amount", ID: "f-order-amount", Label: v.T("Amount"), Unit: v.currency.Code, Value: o.Amount, Error: at.at["amount"], Required: true}},
		{Field: ui.Field{Name: "from", Label: v.T("Valid from"), Type: "date", Value: o.From, Error: at.at["from"], Hint: v.T("Empty: now."), Short: true}},
		{Field: ui.Field{Name: "to", Label: v.T("Valid to"), Type: "date", Value: o.To, Error: at.at["to"], Hint: v.T("Its last day. Empty: no end."), Short: true}},
		{Kind: "select", Field: ui.Field{Name: "at_zero", Label: v.T("When it is used up"), Value: o.AtZero, Error: at.at["at_zero"], Options: []ui.Option{option("stop", v.T(zeroWords["stop"])), option("next", v.T(zeroWords["next"])), option("without", v.T(zeroWords["without"]))}}},
	}}
}
