package web

import (
	"net/http"
	"strconv"
	"time"

	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/views"
	"gpupool/views/ui"
)

// signals that may be sent to a job that is taken back.
var signals = []string{"SIGUSR1", "SIGUSR2", "SIGTERM", "SIGINT", "SIGHUP"}

// opSettings is the form of the pool's settings.
func (s *Server) opSettings(v *visit) error {
	st := v.settings
	whole := func(d, of time.Duration) string { return strconv.FormatInt(int64(d/of), 10) }
	return v.settingsPage(domain.SettingsInput{Name: st.Name, NameZH: st.NameZH, Currency: st.Currency.Code, Zone: st.Zone, GraceHours: whole(st.Grace, time.Hour),
		SetupGraceMinutes: whole(st.SetupGrace, time.Minute), SetupLimitMinutes: whole(st.SetupLimit, time.Minute), ForgetAfterHours: whole(st.ForgetAfter, time.Hour), NoticeMinutes: whole(st.Notice, time.Minute), Signal: st.Signal, DefaultMaxRunHours: whole(st.DefaultMaxRun, time.Hour),
		LongestMaxRunHours: whole(st.LongestMaxRun, time.Hour), InvoicePrefix: st.InvoicePrefix, Seller: st.Seller, Bank: st.Bank, Fair: st.Fair, OwnPriority: st.OwnPriority}, refusal{status: http.StatusOK})
}

func (v *visit) settingsPage(in domain.SettingsInput, r refusal) error {
	one := func(kind, name, label, value, unit, hint string) views.Input {
		return views.Input{Kind: kind, Field: ui.Field{Name: name, Label: label, Value: value, Unit: unit, Hint: hint, Error: r.at[name], Required: true}}
	}
	optional := func(x views.Input) views.Input { x.Required = false; return x }
	choice := func(name, label, value string, options []string, hint string) views.Input {
		x := one("select", name, label, value, "", hint)
		for _, o := range options {
			x.Options = append(x.Options, option(o, o))
		}
		return x
	}
	var codes []string
	for _, c := range money.Currencies {
		codes = append(codes, c.Code)
	}
	section := func(label, hint string) views.Input {
		return views.Input{Kind: "heading", Field: ui.Field{Label: label, Hint: hint}}
	}
	form := views.Form{ID: "settings", Action: "/op/settings", Nonce: newNonce(), Submit: v.T("Save the settings"), Problem: r.whole, Fields: []views.Input{
		one("", "name", v.T("Name of the pool"), in.Name, "", ""),
		optional(one("", "name_zh", v.T("Name in Chinese"), in.NameZH, "", "")),
		section(v.T("Money and months"), v.T("Currency and zone are fixed once an invoice is issued.")),
		choice("currency", v.T("Currency"), in.Currency, codes, ""),
		one("", "zone", v.T("Billing time zone"), in.Zone, "", v.T("For example Europe/Berlin. Months and days of every invoice are those of this zone.")),
		one("number", "grace_hours", v.T("Grace after a month's end"), in.GraceHours, v.T("hours"), v.T("A month can be closed when it has passed.")),
		section(v.T("Jobs"), ""),
		one("number", "setup_grace_minutes", v.T("Free set-up"), in.SetupGraceMinutes, v.T("minutes"), v.T("Pulling the image and starting costs nothing for so long.")),
		one("number", "setup_limit_minutes", v.T("Longest set-up"), in.SetupLimitMinutes, v.T("minutes"), v.T("What isn't running by then is stopped and tried again; a job that was too slow three times ends. Jobs on several nodes must run on all of them within the free set-up, and cost nothing when they don't.")),
		one("number", "notice_minutes", v.T("Notice before a job is taken back"), in.NoticeMinutes, v.T("minutes"), ""),
		choice("signal", v.T("Signal of the notice"), in.Signal, signals, ""),
		one("number", "default_max_run_hours", v.T("Maximum run time if a job names none"), in.DefaultMaxRunHours, v.T("hours"), ""),
		one("number", "longest_max_run_hours", v.T("Longest maximum run time"), in.LongestMaxRunHours, v.T("hours"), v.T("At most 744, which is 31 days.")),
		one("number", "forget_after_hours", v.T("Keep ended tries on the cluster for"), in.ForgetAfterHours, v.T("hours"), v.T("Then the cluster forgets them. Their use, and the end of their last log, stay here.")),
		{Kind: "check", Field: ui.Field{Name: "fair", Label: v.T("A borrower that has less may take GPUs from one that has more"), Value: onIf(in.Fair)}},
		{Kind: "check", Field: ui.Field{Name: "own_priority", Label: v.T("A member's job of higher priority may stop flexible jobs of its own of lower priority"), Value: onIf(in.OwnPriority),
			Hint: v.T("With notice, and only inside one member: in the same project, or in another that uses more than its own quota. Off: priority orders what waits, and stops nothing.")}},
		section(v.T("Invoices"), v.T("Printed on every invoice.")),
		optional(one("", "invoice_prefix", v.T("Prefix of invoice numbers"), in.InvoicePrefix, "", "")),
		one("", "seller_name", v.T("Issuer"), in.Seller.Name, "", ""),
		one("area", "seller_address", v.T("Address"), in.Seller.Address, "", ""),
		one("", "seller_country", v.T("Country"), in.Seller.Country, "", v.T("Two capital letters such as DE.")),
		optional(one("", "seller_tax_id", v.T("Tax number"), in.Seller.TaxID, "", "")),
		one("area", "bank", v.T("How to pay"), in.Bank, "", v.T("Bank, IBAN and what to write on the transfer.")),
	}}
	return v.show(r.status, views.Page{Title: v.T("Settings"), Heading: v.T("Settings of the pool")}, form.Show())
}

func (s *Server) opSettingsSave(v *visit) error {
	in := domain.SettingsInput{Name: v.text("name"), NameZH: v.text("name_zh"), Currency: v.text("currency"), Zone: v.text("zone"), GraceHours: v.text("grace_hours"),
		SetupGraceMinutes: v.text("setup_grace_minutes"), SetupLimitMinutes: v.text("setup_limit_minutes"), ForgetAfterHours: v.text("forget_after_hours"), NoticeMinutes: v.text("notice_minutes"), Signal: v.text("signal"), DefaultMaxRunHours: v.text("default_max_run_hours"),
		LongestMaxRunHours: v.text("longest_max_run_hours"), InvoicePrefix: v.text("invoice_prefix"), Bank: v.text("bank"), Fair: v.text("fair") != "", OwnPriority: v.text("own_priority") != "",
		Seller: domain.Party{Name: v.text("seller_name"), Address: v.text("seller_address"), Country: v.text("seller_country"), TaxID: v.text("seller_tax_id")}}
	if _, err := s.service.SaveSettings(v.ctx, v.actor, in); err != nil {
		if r, ok := v.refused(err); ok {
			return v.settingsPage(in, r)
		}
		return err
	}
	return v.done("/op/settings", "The settings were saved.")
}
