package web

import (
	"slices"
	"strings"
	"time"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/views/ui"
)

// mostStories is how many cards the first screen has.
const mostStories = 6

// demoStories are what happens now in a demo, each a button that signs in as the person whom it concerns and opens
// the page where it shows. A story that is over is gone.
func (v *visit) demoStories() ([]ui.Card, error) {
	if v.server.demo == nil || !loopback(v.echo.Request()) {
		return nil, nil
	}
	all, err := v.server.service.Happenings(v.ctx)
	if domain.CodeOf(err) == domain.NotFound {
		return nil, nil // a test pool has a clock but no stories
	}
	if err != nil {
		return nil, err
	}
	var out []ui.Card
	for _, h := range all {
		known := slices.ContainsFunc(v.server.demo.People, func(p DemoPerson) bool { return p.Email == h.Viewer.Email })
		c := v.story(h)
		if !known || c.Title == "" || len(out) == mostStories {
			continue
		}
		next := "/o/" + string(h.Org.ID) + "/jobs/" + string(h.Job.ID)
		if h.Kind == domain.PaidShort {
			next = "/o/" + string(h.Org.ID) + "/invoices/" + h.Invoice.Number
		}
		c.Who, c.Action, c.Nonce = v.T("Look as %s", h.Viewer.Name), "/demo/signin", newNonce()
		c.Fields = []ui.Value{hidden("email", h.Viewer.Email), hidden("next", next)}
		out = append(out, c)
	}
	return out, nil
}

// story is the words of a card.
func (v *visit) story(h domain.Happening) ui.Card {
	name, org := h.Job.Name, h.Org.Name
	switch h.Kind {
	case domain.OwnerClaims:
		return ui.Card{Tone: ui.Info, Title: v.T("An owner takes its GPUs back"),
			Text: v.T("%s of %s needs %s of its guaranteed part. %s lends some of them and gives them back by %s.", name, org, v.shape(h.Job), h.With.Name, v.at(h.Until))}
	case domain.BorrowerYield:
		return ui.Card{Tone: ui.Warn, Title: v.T("A borrower makes room"),
			Text: v.T("%s of %s holds %s and was told to write its checkpoint: it stops by %s, goes back into the queue, and pays nothing from the notice on.", name, org, v.shape(h.Job), v.at(h.Until))}
	case domain.BorrowerWaits:
		return ui.Card{Tone: ui.Warn, Title: v.T("A borrower gave its GPUs back"),
			Text: v.T("%s of %s was taken back on %s and waits for its next try, which goes on from its checkpoint.", name, org, v.at(h.Since))}
	case domain.CapReached:
		spot := v.T("As spot it would cost at most %s.", v.money(h.Amount))
		if h.Starts {
			spot = v.T("As spot it costs at most %s and would start now.", v.money(h.Amount))
		}
		return ui.Card{Tone: ui.Warn, Title: v.T("A spending cap is reached"), Text: v.T("%s of %s waits. %s %s", name, org, v.reason(h.Job.Reasons[0]), spot)}
	case domain.GangWaits:
		return ui.Card{Tone: ui.Info, Title: v.T("A job on several machines waits"),
			Text: v.T("%s of %s wants %s at once. %s", name, org, v.shape(h.Job), v.reason(h.Job.Reasons[0]))}
	case domain.MemoryShort:
		times := v.T("It is the first time this week.")
		if h.Count > 1 {
			times = v.T("It is time %d this week.", h.Count)
		}
		return ui.Card{Tone: ui.Bad, Title: v.T("Out of GPU memory"), Text: v.T("%s of %s failed. %s %s", name, org, times, v.advice(h.Job.End))}
	case domain.GPUsIdle:
		return ui.Card{Tone: ui.Warn, Title: v.T("A notebook nobody uses"),
			Text: v.T("%s of %s has held %s for %s and does nothing with it: %s at list price so far.", name, org, v.shape(h.Job), v.span(v.now.Sub(h.Since)), v.money(h.Amount))}
	case domain.PaidShort:
		return ui.Card{Tone: ui.Warn, Title: v.T("An invoice was paid short"),
			Text: v.T("%s paid %s less than the total of %s.", org, v.money(h.Amount), h.Invoice.Number)}
	}
	return ui.Card{}
}

// monthFigures are the pool's running month: allocated, lent, and what that saves against clouds.
func (v *visit) monthFigures() ([]ui.Stat, error) {
	m, err := v.server.service.PoolMonth(v.ctx)
	if err != nil {
		return nil, err
	}
	var out []ui.Stat
	if m.Capacity > 0 && m.Used > 0 {
		out = append(out, ui.Stat{Label: v.T("Allocated in %s", v.month(m.Month)), Value: v.percent(int64(m.Used), int64(m.Capacity)), Note: v.T("of all GPU-hours so far")})
	}
	for _, l := range m.Lent {
		out = append(out, ui.Stat{Label: v.T("%s lent", l.Class.Name), Value: v.wholeHours(l.Use), Unit: v.T("GPU-hours"), Note: v.T("between members, this month")})
	}
	if s := m.Saved; s != nil {
		var dates []string
		for _, c := range s.Classes {
			source, _, _ := strings.Cut(c.CloudNote, ":")
			dates = append(dates, source)
		}
		out = append(out, ui.Stat{Label: v.T("Saved against clouds"), Value: v.T("%s to %s", v.figure(s.Low), v.money(s.High)),
			Note: v.T("%s borrowed and spot GPU-hours; %s", v.wholeHours(s.Use), strings.Join(dates, "; "))})
	}
	return out, nil
}

// wholeHours leaves out the fraction, for figures to glance at.
func (f format) wholeHours(g pool.GPUMillis) string {
	return f.count(int64(g) / time.Hour.Milliseconds())
}

// tour is what to try in five minutes at 60 times the speed.
func (v *visit) tour() []string {
	if v.server.demo == nil || !loopback(v.echo.Request()) {
		return nil
	}
	return []string{
		v.T("Researcher: submit one A100 for an hour, and watch it queue, run, log, cost and end within a minute."),
		v.T("Two owners: one claims its GPUs, the other has a notice that counts down; both see why."),
		v.T("Owner of a small plan: the cap is reached; choose spot, and the job runs."),
		v.T("Finance: an invoice, its lines, the jobs behind each line; download PDF and CSV."),
		v.T("Operator: the queue explained, the clock to the month's end, closing the month, and the payment."),
		v.T("Anybody: verify all invoices."),
	}
}
