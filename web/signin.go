package web

import (
	"net/http"

	"gpupool/domain"
	"gpupool/views"
	"gpupool/views/ui"
)

type signInForm struct{ Email, Next string }

// signIn shows the form, and in a demo on this machine the people to sign in as.
func (s *Server) signIn(v *visit) error {
	if v.actor.SignedIn() {
		return v.redirect(local(v.query("next"), v.home()))
	}
	return v.signInPage(signInForm{Next: v.query("next")}, refusal{status: http.StatusOK})
}

func (v *visit) signInPage(f signInForm, r refusal) error {
	p := views.SignIn{Form: views.Form{ID: "signin", Action: "/signin", Problem: r.whole, Submit: v.T("Sign in"),
		Hidden: []ui.Value{{Name: "next", Value: local(f.Next, "")}},
		Fields: []views.Input{
			{Field: ui.Field{Name: "email", Label: v.T("E-mail"), Type: "email", Autocomplete: "username", Value: f.Email, Required: true, AutoFocus: true, Error: r.at["email"]}},
			{Field: ui.Field{Name: "password", Label: v.T("Password"), Type: "password", Autocomplete: "current-password", Required: true, Error: r.at["password"]}},
		}}, People: v.demoPeople(f.Next)}
	return v.show(r.status, views.Page{Title: v.T("Sign in"), Heading: v.T("Sign in"), Plain: true}, p.Show())
}

// signInSend checks e-mail and password. What was typed as password never comes back.
func (s *Server) signInSend(v *visit) error {
	f := signInForm{Email: v.text("email"), Next: v.text("next")}
	u, err := s.service.SignIn(v.ctx, f.Email, v.text("password"), v.actor.IP)
	if err != nil {
		if r, ok := v.refused(err); ok {
			return v.signInPage(f, r)
		}
		return err
	}
	return v.welcome(u, f.Next)
}

// welcome begins the person's session and leads on.
func (v *visit) welcome(u domain.User, next string) error {
	if err := v.enter(u); err != nil {
		return err
	}
	return v.redirect(local(next, "/"))
}

// signOut ends this session here and in the store.
func (s *Server) signOut(v *visit) error {
	if err := s.sessions.Destroy(v.ctx); err != nil {
		return err
	}
	return v.redirect("/")
}
