package web

import (
	"slices"

	"gpupool/domain"
	"gpupool/views"
	"gpupool/views/ui"
)

// demoBanner says what is simulated and turns the clock; nil in a real pool.
func (v *visit) demoBanner() *views.Demo {
	if v.server.demo == nil {
		return nil
	}
	d := &views.Demo{Sentence: v.T(v.server.demo.Sentence), Clock: v.business(v.now, v.settings.Location()), Action: "/demo/clock", Nonce: newNonce(), Return: v.echo.Request().URL.RequestURI()}
	if v.speed > 0 {
		d.Speed = v.T("%dx", v.speed)
	}
	if !v.actor.SignedIn() {
		return d // whoever turns the clock is named in the trail
	}
	for _, n := range domain.Speeds {
		d.Buttons = append(d.Buttons, views.DemoButton{Label: v.T("%dx", n), Value: v.T("%dx", n), Pressed: n == v.speed})
	}
	for _, t := range domain.ClockTargets(v.now, v.settings.Location(), v.settings.Grace) {
		d.Buttons = append(d.Buttons, views.DemoButton{Label: v.T(t.Title), Value: t.Code})
	}
	return d
}

// demoClock moves the business clock of a demo, as its banner asks.
func (s *Server) demoClock(v *visit) error {
	back := local(v.text("return"), "/")
	want := v.text("advance")
	for _, n := range domain.Speeds {
		if want == v.T("%dx", n) {
			if err := s.service.SetClockSpeed(v.ctx, v.actor, n); err != nil {
				return err
			}
			return v.redirect(back)
		}
	}
	for _, t := range domain.ClockTargets(v.now, v.settings.Location(), v.settings.Grace) {
		if want == t.Code {
			if err := s.service.AdvanceClock(v.ctx, v.actor, t.At); err != nil {
				return err
			}
			return v.done(back, "The clock stands at %s now.", v.business(t.At, v.settings.Location()).Text)
		}
	}
	return domain.Errf(domain.Invalid, "The clock has no such button.")
}

// demoPeople are those to sign in as with one click; none outside of a demo on this machine.
func (v *visit) demoPeople(next string) []ui.Card {
	if v.server.demo == nil || !loopback(v.echo.Request()) {
		return nil
	}
	var out []ui.Card
	for _, p := range v.server.demo.People {
		out = append(out, ui.Card{Title: p.Name, Text: v.T(p.Role), Who: v.T("Sign in as %s", p.Name), Action: "/demo/signin", Nonce: newNonce(),
			Fields: []ui.Value{hidden("email", p.Email), hidden("next", local(next, ""))}})
	}
	return out
}

// demoSignIn signs in as one of the demo's people, without a password: only in a demo, only from this machine, and
// only as somebody whom the demo names.
func (s *Server) demoSignIn(v *visit) error {
	email := v.text("email")
	known := slices.ContainsFunc(s.demo.People, func(p DemoPerson) bool { return p.Email == email })
	if !loopback(v.echo.Request()) || !known {
		return domain.Errf(domain.NotFound, "There is no such page.")
	}
	var u domain.User
	err := s.store.View(v.ctx, func(tx domain.Tx) (err error) { u, err = tx.UserByEmail(email); return err })
	if err != nil {
		return err
	}
	if u.Disabled {
		return domain.Errf(domain.NotFound, "There is no such page.")
	}
	return v.welcome(u, v.text("next"))
}
