package web

import (
	"net/http"
	"net/url"

	"gpupool/domain"
	"gpupool/views"
	"gpupool/views/ui"
)

// invite is the page behind an invitation's link: a new person says who they are, a known one signs in, somebody
// signed in accepts.
func (s *Server) invite(v *visit) error {
	return v.invitePage(domain.AcceptInput{}, refusal{status: http.StatusOK})
}

func (v *visit) invitePage(in domain.AcceptInput, r refusal) error {
	token := v.param("token")
	i, err := v.server.service.Invitation(v.ctx, token)
	if err != nil {
		return err
	}
	here := "/invite/" + url.PathEscape(token)
	p := views.Invite{Facts: []ui.Fact{{Name: v.T("Organisation"), Text: i.Organisation.Name}, {Name: v.T("Role"), Text: v.word(string(i.Role))}, {Name: v.T("For"), Text: i.Email}}}
	if i.InvitedBy != "" {
		p.Facts = append(p.Facts, ui.Fact{Name: v.T("Invited by"), Text: i.InvitedBy})
	}
	if i.Project != "" {
		p.Facts = append(p.Facts, ui.Fact{Name: v.T("Project"), Text: i.Project})
	}
	form := views.Form{ID: "accept", Action: here, Submit: v.T("Accept and join"), Problem: r.whole}
	switch {
	case v.actor.SignedIn():
		form.Nonce = newNonce()
		p.Form = &form
	case i.Known:
		p.SignIn = "/signin?next=" + url.QueryEscape(here)
	default:
		form.Fields = []views.Input{
			{Field: ui.Field{Name: "name", Label: v.T("Your name"), Value: in.Name, Error: r.at["name"], Required: true, Autocomplete: "name"}},
			{Field: ui.Field{Name: "password", Label: v.T("Choose a password"), Type: "password", Hint: v.T("At least 12 characters."), Error: r.at["password"], Required: true, Autocomplete: "new-password"}},
		}
		p.Form = &form
	}
	heading := v.T("Join %s", i.Organisation.Name)
	return v.show(r.status, views.Page{Title: heading, Heading: heading, Plain: true}, p.Show())
}

func (s *Server) inviteAccept(v *visit) error {
	in := domain.AcceptInput{Name: v.text("name"), Password: v.text("password"), Lang: string(v.Lang())}
	u, err := s.service.AcceptInvitation(v.ctx, v.actor, v.param("token"), in)
	if err != nil {
		if r, ok := v.refused(err); ok {
			if _, gone := s.service.Invitation(v.ctx, v.param("token")); gone == nil {
				return v.invitePage(in, r)
			}
		}
		return err
	}
	if v.actor.SignedIn() {
		return v.done("/", "You have joined.")
	}
	return v.welcome(u, "/")
}
