package web

import (
	"net/http"

	"gpupool/domain"
	"gpupool/views"
	"gpupool/views/lang"
	"gpupool/views/ui"
)

// accountForms is what was typed and refused on the page.
type accountForms struct {
	status                   int
	profile                  *domain.ProfileInput // nil: as stored
	token                    domain.TokenInput
	profiled, changed, named refusal
}

// account is the signed-in person's own page: profile, password, sessions, tokens.
func (s *Server) account(v *visit) error {
	return v.accountPage(accountForms{status: http.StatusOK, token: domain.TokenInput{Days: "90", Scopes: []string{domain.ScopeRead, domain.ScopeJobs}}})
}

func (v *visit) accountPage(f accountForms) error {
	s := v.server.service
	sessions, err := s.Sessions(v.ctx, v.actor)
	if err != nil {
		return err
	}
	tokens, err := s.Tokens(v.ctx, v.actor)
	if err != nil {
		return err
	}
	p := views.Account{Profile: v.profileForm(f), Password: v.passwordForm(f), Sessions: v.sessionTable(sessions), Tokens: v.tokenTable(tokens), NewToken: v.tokenForm(f)}
	if secret := v.revealed(); secret != "" {
		p.Secret = views.Secret(v.T("New API token"), v.T("It is shown once. Keep it like a password."), secret)
	}
	return v.show(f.status, views.Page{Title: v.T("Account"), Heading: v.T("Account"), Lead: v.user.Email}, p.Show())
}

func (v *visit) profileForm(f accountForms) views.Form {
	in := domain.ProfileInput{Name: v.user.Name, Lang: v.user.Lang, TimeZone: v.user.TimeZone}
	if f.profile != nil {
		in = *f.profile
	}
	r := f.profiled
	langs := []ui.Option{}
	for _, l := range lang.Languages() {
		langs = append(langs, option(string(l), map[lang.Lang]string{lang.English: "English"}[l]))
	}
	if in.Lang == "" {
		in.Lang = string(lang.English)
	}
	return views.Form{ID: "profile", Action: "/account/profile", Nonce: newNonce(), Submit: v.T("Save"), Problem: r.whole, Fields: []views.Input{
		{Field: ui.Field{Name: "name", Label: v.T("Name"), Value: in.Name, Error: r.at["name"], Required: true, Autocomplete: "name"}},
		{Kind: "select", Field: ui.Field{Name: "lang", Label: v.T("Language"), Value: in.Lang, Options: langs, Error: r.at["lang"], Required: true}},
		{Field: ui.Field{Name: "time_zone", Label: v.T("Time zone"), Hint: v.T("For example Europe/Berlin. Empty: that of the pool."), Value: in.TimeZone, Error: r.at["time_zone"]}},
	}}
}

func (v *visit) passwordForm(f accountForms) views.Form {
	r := f.changed
	return views.Form{ID: "password", Action: "/account/password", Nonce: newNonce(), Submit: v.T("Change the password"), Problem: r.whole, Lead: v.T("Every other session of yours ends."), Fields: []views.Input{
		{Field: ui.Field{Name: "current", Label: v.T("Current password"), Type: "password", Error: r.at["current"], Required: true, Autocomplete: "current-password"}},
		{Field: ui.Field{Name: "new", Label: v.T("New password"), Type: "password", Hint: v.T("At least 12 characters."), Error: r.at["new"], Required: true, Autocomplete: "new-password"}},
	}}
}

func (v *visit) sessionTable(all []domain.Session) ui.Table {
	t := ui.Table{ID: "sessions", Caption: v.T("Sessions"), Hidden: true, Columns: v.columns("Browser", "Address", "Signed in", "Ends", "")}
	here := storedToken(v.server.sessions.Token(v.ctx))
	for _, x := range all {
		end := ui.Cell{Body: ui.PostButton{Action: "/account/sessions/end", Nonce: newNonce(), Fields: []ui.Value{hidden("session", domain.HashSecret(x.Token))}, Button: ui.Button{Label: v.T("End it")}}.Show()}
		if x.Token == here {
			end = badge(ui.ToneBadge(ui.Good, v.T("this one")))
		}
		t.Rows = append(t.Rows, row(head(clip(x.Agent), ""), text(x.IP), when(v.clock(x.CreatedAt)), when(v.clock(x.ExpiresAt)), end))
	}
	return t
}

// tokenScopes in words.
var tokenScopes = []struct{ scope, label string }{{domain.ScopeRead, "Read what you may see"}, {domain.ScopeJobs, "Submit and stop jobs"}}

func (v *visit) tokenTable(all []domain.APIToken) ui.Table {
	t := ui.Table{ID: "tokens", Caption: v.T("API tokens"), Hidden: true, Columns: v.columns("Name", "Begins with", "May", "State", "Last used", ""),
		Empty: ui.Empty{Title: v.T("No token yet"), Text: v.T("A token lets the command line and your programs act for you.")}}
	now := v.server.now()
	for _, x := range all {
		var may []ui.Badge
		for _, s := range tokenScopes {
			for _, has := range x.Scopes {
				if has == s.scope {
					may = append(may, ui.ToneBadge(ui.Neutral, v.T(s.label)))
				}
			}
		}
		state, do := v.state("active"), ui.Cell{}
		switch {
		case x.RevokedAt != 0:
			state = v.state("revoked")
		case x.ExpiresAt <= now:
			state = v.state("expired")
		default:
			do.Body = ui.Confirm{ID: "revoke-" + x.ID, Label: v.T("Revoke"), Title: v.T("Revoke the token %s?", x.Name), Loses: []string{v.T("What uses it stops working at once.")},
				Action: "/account/tokens/revoke", Nonce: newNonce(), Fields: []ui.Value{hidden("token", x.ID)}, Do: v.T("Revoke it")}.Show()
		}
		t.Rows = append(t.Rows, row(head(x.Name, ""), mono(x.Prefix+"…"), ui.Cell{Badges: may}, sub(badge(state), v.T("until %s", v.at(x.ExpiresAt))), when(v.clock(x.LastUsed)), do))
	}
	return t
}

func (v *visit) tokenForm(f accountForms) views.Form {
	r := f.named
	var scopes []ui.Option
	for _, s := range tokenScopes {
		o := option(s.scope, v.T(s.label))
		for _, has := range f.token.Scopes {
			o.Checked = o.Checked || has == s.scope
		}
		scopes = append(scopes, o)
	}
	return views.Form{ID: "token", Title: v.T("New token"), Action: "/account/tokens", Nonce: newNonce(), Submit: v.T("Make the token"), Problem: r.whole, Fields: []views.Input{
		{Field: ui.Field{Name: "name", ID: "f-token-name", Label: v.T("Name"), Hint: v.T("What it is for, for example: laptop."), Value: f.token.Name, Error: r.at["name"], Required: true}},
		{Kind: "number", Field: ui.Field{Name: "days", Label: v.T("Valid for"), Unit: v.T("days"), Value: f.token.Days, Error: r.at["days"], Required: true, Hint: v.T("At most 365.")}},
		{Kind: "checks", Field: ui.Field{Name: "scopes", Label: v.T("It may"), Options: scopes, Error: r.at["scopes"]}},
	}}
}

func (s *Server) accountProfile(v *visit) error {
	in := domain.ProfileInput{Name: v.text("name"), Lang: v.text("lang"), TimeZone: v.text("time_zone")}
	if _, err := s.service.UpdateProfile(v.ctx, v.actor, in); err != nil {
		if r, ok := v.refused(err); ok {
			return v.accountPage(accountForms{status: r.status, profile: &in, profiled: r})
		}
		return err
	}
	return v.done("/account", "Your profile was saved.")
}

func (s *Server) accountPassword(v *visit) error {
	in := domain.PasswordInput{Current: v.text("current"), New: v.text("new"), Keep: storedToken(s.sessions.Token(v.ctx))}
	if err := s.service.ChangePassword(v.ctx, v.actor, in); err != nil {
		if r, ok := v.refused(err); ok {
			return v.accountPage(accountForms{status: r.status, changed: r})
		}
		return err
	}
	return v.done("/account", "The password was changed. Your other sessions have ended.")
}

// accountSessionEnd ends another session. The page names it by a hash of what the store has, so that a page that is
// seen by others gives nothing away.
func (s *Server) accountSessionEnd(v *visit) error {
	all, err := s.service.Sessions(v.ctx, v.actor)
	if err != nil {
		return err
	}
	for _, x := range all {
		if domain.HashSecret(x.Token) == v.text("session") {
			if err := s.service.EndSession(v.ctx, v.actor, x.Token); err != nil {
				return err
			}
			return v.done("/account", "The session was ended.")
		}
	}
	return domain.Errf(domain.NotFound, "This session has ended already.")
}

func (s *Server) accountToken(v *visit) error {
	in := domain.TokenInput{Name: v.text("name"), Scopes: v.texts("scopes"), Days: v.text("days")}
	_, secret, err := s.service.CreateToken(v.ctx, v.actor, in)
	if err != nil {
		if r, ok := v.refused(err); ok {
			return v.accountPage(accountForms{status: r.status, token: in, named: r})
		}
		return err
	}
	v.reveal(secret)
	return v.done("/account", "The token was made.")
}

func (s *Server) accountTokenRevoke(v *visit) error {
	if err := s.service.RevokeToken(v.ctx, v.actor, v.text("token")); err != nil {
		return err
	}
	return v.done("/account", "The token was revoked.")
}
