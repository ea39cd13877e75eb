package web

import (
	"gpupool/views"
	"gpupool/views/ui"
)

// demoBanner is nil in a real pool.
func (v *visit) demoBanner() *views.Demo {
	return nil
}

// demoPeople are those to sign in as with one click; none outside of a demo on this machine.
func (v *visit) demoPeople(next string) []ui.Card {
	if v.server.demo == nil || !loopback(v.echo.Request()) {
		return nil
	}
	var out []ui.Card
	for _, p := range v.server.demo.People {
		out = append(out, ui.Card{Title: p.Name, Text: v.T(p.Role), Who: v.T("Sign in as %s", p.Name), Action: "/demo/signin", Nonce: newNonce(),
			Fields: []ui.Value{{Name: "email", Value: p.Email}, {Name: "next", Value: local(next, "")}}})
	}
	return out
}
