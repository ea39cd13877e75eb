package web

import (
	"net/http"

	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/views"
	"gpupool/views/ui"
)

// sentAccount is a billing account as it was typed.
func (v *visit) sentAccount() domain.AccountInput {
	return domain.AccountInput{Name: v.text("name"), Buyer: domain.Party{Name: v.text("buyer_name"), Address: v.text("buyer_address"), Country: v.text("buyer_country"), TaxID: v.text("buyer_tax_id")},
		BuyerRef: v.text("buyer_ref"), Emails: v.text("emails"), TaxKind: v.text("tax_kind"), TaxRate: v.text("tax_rate"), TaxReason: v.text("tax_reason"),
		TermsDays: v.text("terms_days"), Language: v.text("language"), Issuer: v.text("issuer"), Advance: v.text("fee") == "advance"}
}

// accountNew is the form of a new billing account.
func (s *Server) accountNew(v *visit) error {
	return v.billingAccountPage("", domain.AccountInput{TaxKind: "standard", TermsDays: "30", Language: string(v.Lang()), Issuer: "local"}, refusal{status: http.StatusOK})
}

// accountEdit is the form of one that is there.
func (s *Server) accountEdit(v *visit) error {
	a, err := s.service.Account(v.ctx, v.actor, v.org, pool.AccountID(v.param("account")))
	if err != nil {
		return err
	}
	in := domain.AccountInput{Name: a.Name, Buyer: a.Buyer, BuyerRef: a.BuyerRef, TaxKind: a.TaxKind, TaxReason: a.TaxReason, TermsDays: number(a.TermsDays), Language: a.Language, Issuer: a.Issuer, Advance: a.Advance}
	for i, m := range a.Emails {
		if i > 0 {
			in.Emails += ", "
		}
		in.Emails += m
	}
	if a.TaxKind == "standard" {
		in.TaxRate = money.BasisPoints(a.TaxRate).String()
	}
	return v.billingAccountPage(a.ID, in, refusal{status: http.StatusOK})
}

func (v *visit) billingAccountPage(id pool.AccountID, in domain.AccountInput, r refusal) error {
	f := views.Form{ID: "account", Action: v.orgPath("/billing/accounts"), Nonce: newNonce(), Problem: r.whole, Submit: v.T("Make the account"), Fields: v.billingAccountFields(in, r), Cancel: ui.Link{Label: v.T("Back to billing"), Href: v.orgPath("/billing")}}
	page := views.Page{Title: v.T("New billing account"), Heading: v.T("New billing account"), Lead: v.T("It names who gets the invoice. Projects that have none yet go to it."), Crumbs: crumbs(v.T("Billing"), v.orgPath("/billing"), v.T("New billing account"), "")}
	if id != "" {
		f.Action, f.Submit = v.orgPath("/billing/accounts/"+string(id)), v.T("Save")
		page.Title, page.Heading, page.Lead = in.Name, v.T("Billing account %s", in.Name), v.T("Issued invoices keep what they say.")
		page.Crumbs = crumbs(v.T("Billing"), v.orgPath("/billing"), in.Name, "")
	}
	return v.show(r.status, page, f.Show())
}

func (v *visit) billingAccountFields(in domain.AccountInput, r refusal) []views.Input {
	fee := "arrears"
	if in.Advance {
		fee = "advance"
	}
	issuers := []ui.Option{option("local", v.T("the consortium, paid by transfer"))}
	if _, ok := v.server.service.Issuer("stripe"); ok {
		issuers = append(issuers, option("stripe", v.T("Stripe, paid online")))
	}
	return []views.Input{
		{Field: ui.Field{Name: "name", Label: v.T("Name of the account"), Value: in.Name, Error: r.at["name"], Required: true, Autocomplete: "off", Hint: v.T("For you: faculty, institute, cost centre.")}},
		{Kind: "heading", Field: ui.Field{Label: v.T("Buyer, as printed")}},
		{Field: ui.Field{Name: "buyer_name", Label: v.T("Buyer"), Value: in.Buyer.Name, Error: r.at["buyer_name"], Required: true, Autocomplete: "organization"}},
		{Kind: "area", Field: ui.Field{Name: "buyer_address", Label: v.T("Address"), Value: in.Buyer.Address, Error: r.at["buyer_address"], Required: true, Rows: "3", Autocomplete: "street-address"}},
		{Field: ui.Field{Name: "buyer_country", Label: v.T("Country"), Value: in.Buyer.Country, Error: r.at["buyer_country"], Required: true, Short: true, Hint: v.T("Two letters, such as DE."), Autocomplete: "country"}},
		{Field: ui.Field{Name: "buyer_tax_id", Label: v.T("Tax id"), Value: in.Buyer.TaxID, Error: r.at["buyer_tax_id"], Autocomplete: "off"}},
		{Field: ui.Field{Name: "buyer_ref", Label: v.T("Your reference"), Value: in.BuyerRef, Error: r.at["buyer_ref"], Autocomplete: "off", Hint: v.T("Printed on every invoice, for example a Leitweg-ID.")}},
		{Kind: "area", Field: ui.Field{Name: "emails", Label: v.T("E-mail of invoices"), Value: in.Emails, Error: r.at["emails"], Required: true, Rows: "2", Hint: v.T("One to ten addresses.")}},
		{Kind: "heading", Field: ui.Field{Label: v.T("Tax and terms")}},
		{Kind: "radio", Field: ui.Field{Name: "tax_kind", Label: v.T("Tax"), Value: in.TaxKind, Error: r.at["tax_kind"], Required: true, Options: []ui.Option{
			option("standard", v.T("Taxed at the rate below")), option("exempt", v.T("Exempt")), option("reverse", v.T("Reverse charge: the buyer owes the tax")), option("outside", v.T("Outside the tax area"))}}},
		{Kind: "number", Field: ui.Field{Name: "tax_rate", Label: v.T("Rate"), Unit: "%", Value: in.TaxRate, Error: r.at["tax_rate"]}},
		{Field: ui.Field{Name: "tax_reason", Label: v.T("Reason without tax"), Value: in.TaxReason, Error: r.at["tax_reason"], Hint: v.T("Printed on the invoice when no tax is charged.")}},
		{Kind: "number", Field: ui.Field{Name: "terms_days", Label: v.T("To pay within"), Unit: v.T("days"), Value: in.TermsDays, Error: r.at["terms_days"], Required: true, InputMode: "numeric"}},
		{Kind: "select", Field: ui.Field{Name: "language", Label: v.T("Language of invoices"), Value: in.Language, Error: r.at["language"], Options: []ui.Option{option("en", "English"), option("zh", "中文")}}},
		{Kind: "select", Field: ui.Field{Name: "issuer", Label: v.T("Issued by"), Value: in.Issuer, Error: r.at["issuer"], Options: issuers}},
		{Kind: "select", Field: ui.Field{Name: "fee", Label: v.T("The fee is paid"), Value: fee, Error: r.at["advance"], Options: []ui.Option{option("arrears", v.T("with the month's use, in arrears")), option("advance", v.T("in advance"))}}},
	}
}

// accountCreate makes a billing account.
func (s *Server) accountCreate(v *visit) error {
	in := v.sentAccount()
	_, err := s.service.CreateAccount(v.ctx, v.actor, v.org, in)
	return v.accountSaved("", in, err)
}

// accountUpdate changes one; issued invoices keep what they say.
func (s *Server) accountUpdate(v *visit) error {
	in, id := v.sentAccount(), pool.AccountID(v.param("account"))
	_, err := s.service.UpdateAccount(v.ctx, v.actor, v.org, id, in)
	return v.accountSaved(id, in, err)
}

func (v *visit) accountSaved(id pool.AccountID, in domain.AccountInput, err error) error {
	if err != nil {
		if r, ok := v.refused(err); ok {
			return v.billingAccountPage(id, in, r)
		}
		return err
	}
	return v.done(v.orgPath("/billing"), "The billing account was saved.")
}
