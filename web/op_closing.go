package web

import (
	"slices"

	"github.com/a-h/templ"

	"gpupool/domain"
	"gpupool/domain/invoice"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/views"
	"gpupool/views/ui"
)

// closingState is what is known of the months: per account and month its regular invoice.
type closingState struct {
	accounts []domain.BillingAccount
	rows     map[pool.Month]map[pool.AccountID]domain.InvoiceRow
	months   []pool.Month // newest first, the open one too
}

func (v *visit) closingState() (closingState, error) {
	c := closingState{rows: map[pool.Month]map[pool.AccountID]domain.InvoiceRow{}}
	rows, err := v.server.service.Invoices(v.ctx, v.actor, "")
	if err != nil {
		return c, err
	}
	zone, first := v.settings.Location(), v.now
	err = v.server.store.View(v.ctx, func(tx domain.Tx) error {
		subscriptions, err := tx.Subscriptions("")
		if err != nil {
			return err
		}
		for _, x := range subscriptions {
			first = min(first, x.Start)
		}
		c.accounts, err = tx.Accounts("")
		return err
	})
	for _, r := range rows {
		if r.Invoice.Kind != string(invoice.Regular) {
			continue
		}
		if c.rows[r.Invoice.Month] == nil {
			c.rows[r.Invoice.Month] = map[pool.AccountID]domain.InvoiceRow{}
		}
		c.rows[r.Invoice.Month][r.Invoice.Account] = r
	}
	for m := pool.MonthOf(v.now, zone); !m.Before(pool.MonthOf(first, zone)); m = m.Prev() {
		c.months = append(c.months, m)
	}
	return c, err
}

// due is when a month can be closed.
func (v *visit) due(m pool.Month) pool.Instant {
	return m.Bounds(v.settings.Location()).End.Add(v.settings.Grace)
}

// opClosing lists the months; ?month= shows the accounts of one.
func (s *Server) opClosing(v *visit) error {
	c, err := v.closingState()
	if err != nil {
		return err
	}
	page := views.Page{Title: v.T("Closing"), Heading: v.T("Closing"), Live: v.live(), Lead: v.T("Closing a month makes one invoice for each billing account. It can be repeated: what is closed stays as it is.")}
	m, err := pool.ParseMonth(v.query("month"))
	if err != nil || !slices.Contains(c.months, m) {
		return v.page(page, v.monthTable(c).Show())
	}
	page.Heading, page.Crumbs = v.T("Closing %s", v.month(m)), crumbs(v.T("Closing"), "/op/closing", v.month(m), "")
	return v.page(page, views.Arrange(v.closeButton(c, m), v.accountTable(c, m).Show()))
}

func (v *visit) monthTable(c closingState) ui.Table {
	t := ui.Table{ID: "months", Caption: v.T("Months"), Topics: "pool", Columns: v.columns("Month", "State", "#Invoices", "#Total"), Note: v.T("Months are those of %s.", v.settings.Zone)}
	for _, m := range c.months {
		var sum money.Amount
		for _, r := range c.rows[m] {
			sum += r.Invoice.Total
		}
		t.Rows = append(t.Rows, row(head(v.month(m), "/op/closing?month="+m.String()), sub(badge(v.monthState(c, m)), v.monthNote(m)), num(v.T("%d of %d accounts", len(c.rows[m]), len(c.accounts))), num(v.money(sum))))
	}
	return t
}

// monthState of a month: an account without use and fee gets no invoice, so a month with any counts as closed.
func (v *visit) monthState(c closingState, m pool.Month) ui.Badge {
	switch {
	case v.now < m.Bounds(v.settings.Location()).End:
		return v.state("open")
	case v.now < v.due(m):
		return ui.StateBadge("grace", v.T("In grace"))
	case len(c.rows[m]) > 0:
		return v.state("closed")
	}
	return ui.StateBadge("waiting", v.T("Ready to close"))
}

func (v *visit) monthNote(m pool.Month) string {
	if v.now < v.due(m) {
		return v.T("can be closed from %s", v.business(v.due(m), v.settings.Location()).Text)
	}
	return ""
}

func (v *visit) closeButton(c closingState, m pool.Month) templ.Component {
	if v.now < v.due(m) {
		return ui.Notice{Tone: ui.Info, Text: v.T("%s can be closed from %s on, when its grace has ended.", v.month(m), v.business(v.due(m), v.settings.Location()).Text)}.Show()
	}
	label := v.T("Close %s", v.month(m))
	if len(c.rows[m]) > 0 {
		label = v.T("Close %s again", v.month(m))
	}
	return ui.Confirm{ID: "close", Label: label, Title: v.T("Close %s for all billing accounts?", v.month(m)), Plain: true, Do: label, Action: "/op/closing", Nonce: newNonce(), Fields: []ui.Value{hidden("month", m.String())},
		Loses: []string{v.T("Invoices are numbered and sent; an issued invoice never changes."), v.T("Accounts that are closed already stay as they are.")}}.Show()
}

func (v *visit) accountTable(c closingState, m pool.Month) ui.Table {
	t := ui.Table{ID: "accounts", Caption: v.T("Billing accounts"), Topics: "pool", Columns: v.columns("Billing account", "Member", "Result", "#Net", "#Total"),
		Empty: ui.Empty{Title: v.T("No billing account yet"), Text: v.T("The owner of a member makes one before subscribing.")}}
	for _, a := range c.accounts {
		cells := []ui.Cell{head(a.Name, ""), text(string(a.Org))}
		if r, ok := c.rows[m][a.ID]; ok {
			cells = append(cells, ui.Cell{Text: r.Invoice.Number, Href: "/op/invoices/" + r.Invoice.Number, Badges: []ui.Badge{v.state(r.State)}}, num(v.money(r.Invoice.Net)), num(v.money(r.Invoice.Total)))
		} else {
			cells = append(cells, text(v.T("no invoice")), num(""), num(""))
		}
		t.Rows = append(t.Rows, row(cells...))
	}
	return t
}

// opClose closes a month. An account that fails is named and does not stop the others.
func (s *Server) opClose(v *visit) error {
	m, err := pool.ParseMonth(v.text("month"))
	if err != nil {
		return domain.Errf(domain.Invalid, "Choose a month.")
	}
	all, err := s.service.CloseMonth(v.ctx, v.actor, m)
	if err != nil {
		return err
	}
	fresh, again, nothing := 0, 0, 0
	for _, c := range all {
		switch {
		case c.Err != nil:
			v.warn(v.T("%s: %s", c.Account.Name, v.say(s.refusalOf(c.Err, v.echo))))
		case c.Again:
			again++
		case c.Invoice.ID == "":
			nothing++
		default:
			fresh++
		}
	}
	return v.done("/op/closing?month="+m.String(), "%s: %d invoices issued, %d were there already, %d accounts had nothing to bill.", v.month(m), fresh, again, nothing)
}
