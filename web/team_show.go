package web

import (
	"net/http"

	"github.com/a-h/templ"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/views"
	"gpupool/views/ui"
)

type inviteForm struct{ Email, Role, Project string }

// teamShow lists the people of the organisation; the owner invites, changes roles and takes people out.
func (s *Server) teamShow(v *visit) error {
	return v.teamPage(inviteForm{Role: string(pool.RoleMember)}, refusal{status: http.StatusOK}, "")
}

func (v *visit) teamPage(f inviteForm, r refusal, problem string) error {
	members, err := v.server.service.Members(v.ctx, v.actor, v.org)
	if err != nil {
		return err
	}
	owner := v.actor.Can(v.org, domain.ActTeam)
	t := ui.Table{ID: "people", Caption: v.T("People"), Hidden: true, Columns: v.columns("Person", "Role", "Since", "")}
	for _, m := range members {
		end := text("")
		if owner || m.User == v.actor.User && v.actor.Roles[v.org] != "" {
			end = ui.Cell{Body: v.removeQuestion(m).Show()}
		}
		role := text(v.word(string(m.Role)))
		if owner {
			role = ui.Cell{Body: v.roleForm(m).Show()}
		}
		t.Rows = append(t.Rows, row(sub(head(m.Name, ""), m.Email), role, when(v.clock(m.Since)), end))
	}
	var blocks []templ.Component
	if problem != "" {
		blocks = append(blocks, ui.Notice{Tone: ui.Bad, Text: problem}.Show())
	}
	if owner {
		if link := v.revealed(); link != "" {
			blocks = append(blocks, views.Secret(v.T("Invitation link"), v.T("It is shown once. It works for 14 days and for one person."), link))
		}
	}
	blocks = append(blocks, t.Show(), v.rolesHelp())
	if owner {
		more, err := v.invitations(f, r)
		if err != nil {
			return err
		}
		blocks = append(blocks, more...)
	}
	return v.show(r.status, views.Page{Title: v.T("Team"), Heading: v.T("Team")}, views.Arrange(blocks...))
}

func (v *visit) removeQuestion(m domain.Member) ui.Confirm {
	c := ui.Confirm{ID: "remove-" + string(m.User), Label: v.T("Remove"), Title: v.T("Remove %s?", m.Name), Action: v.orgPath("/team/remove"), Nonce: newNonce(), Do: v.T("Remove"),
		Fields: []ui.Value{hidden("user", string(m.User))}, Loses: []string{v.T("They see nothing of the organisation any more."), v.T("Their jobs keep running, and are charged.")}}
	if m.User == v.actor.User {
		c.Label, c.Title, c.Do, c.Loses = v.T("Leave"), v.T("Leave the organisation?"), v.T("Leave"), []string{v.T("You see nothing of it any more."), v.T("Your jobs keep running, and are charged.")}
	}
	return c
}

func (v *visit) roleForm(m domain.Member) views.Form {
	return views.Form{ID: "role-" + string(m.User), Action: v.orgPath("/team/role"), Nonce: newNonce(), Submit: v.T("Change"), Hidden: []ui.Value{hidden("user", string(m.User))},
		Fields: []views.Input{{Kind: "select", Field: ui.Field{Name: "role", ID: "f-role-" + string(m.User), Label: v.T("Role of %s", m.Name), Value: string(m.Role), Required: true, Options: v.roles()}}}}
}

func (v *visit) roles() []ui.Option {
	var out []ui.Option
	for _, x := range pool.Roles {
		out = append(out, option(string(x), v.word(string(x))))
	}
	return out
}

func (v *visit) rolesHelp() templ.Component {
	return views.Block(ui.Panel{ID: "roles", Title: v.T("What each role may do")}, ui.Facts([]ui.Fact{
		{Name: v.word("member"), Text: v.T("Submits jobs and stops their own.")},
		{Name: v.word("lead"), Text: v.T("Also stops jobs of others; leads projects.")},
		{Name: v.word("finance"), Text: v.T("Billing accounts, purchase orders, caps, invoices.")},
		{Name: v.word("owner"), Text: v.T("Everything: plan, quota limits, projects, people.")},
		{Name: v.word("viewer"), Text: v.T("Reads everything, changes nothing.")}}))
}

// invitations are the open and closed ones with the form for another.
func (v *visit) invitations(f inviteForm, r refusal) ([]templ.Component, error) {
	all, err := v.server.service.Invitations(v.ctx, v.actor, v.org)
	if err != nil {
		return nil, err
	}
	_, projects, err := v.jobChoices()
	if err != nil {
		return nil, err
	}
	t := ui.Table{ID: "invitations", Caption: v.T("Invitations"), Columns: v.columns("E-mail", "Role", "Made", "State", ""), Empty: ui.Empty{Title: v.T("Nobody is invited."), Text: v.T("Invite people below: each gets a link of their own.")}}
	for _, i := range all {
		state, end := v.invitationState(i), text("")
		if state == "open" {
			end = ui.Cell{Body: ui.PostButton{Action: v.orgPath("/team/revoke"), Nonce: newNonce(), Fields: []ui.Value{hidden("invitation", i.ID)}, Button: ui.Button{Label: v.T("Take back")}}.Show()}
		}
		t.Rows = append(t.Rows, row(head(i.Email, ""), text(v.word(string(i.Role))), when(v.clock(i.CreatedAt)), badge(v.state(state)), end))
	}
	form := views.Form{ID: "invite", Title: v.T("Invite a person"), Action: v.orgPath("/team/invite"), Nonce: newNonce(), Problem: r.whole, Submit: v.T("Make the invitation"), Fields: []views.Input{
		{Field: ui.Field{Name: "email", Label: v.T("E-mail"), Type: "email", Value: f.Email, Error: r.at["email"], Required: true, Autocomplete: "off"}},
		{Kind: "select", Field: ui.Field{Name: "role", Label: v.T("Role"), Value: f.Role, Error: r.at["role"], Required: true, Options: v.roles()}},
		{Kind: "select", Field: ui.Field{Name: "project", Label: v.T("Only this project"), Value: f.Project, Error: r.at["project"], Options: append([]ui.Option{option("", v.T("all projects"))}, options(projects)...)}},
	}}
	return []templ.Component{t.Show(), form.Show()}, nil
}

func (v *visit) invitationState(i domain.Invitation) string {
	switch {
	case i.AcceptedAt != 0:
		return "accepted"
	case i.RevokedAt != 0:
		return "revoked"
	case i.ExpiresAt <= v.server.now():
		return "expired"
	}
	return "open"
}

// teamInvite makes an invitation; its link is shown once.
func (s *Server) teamInvite(v *visit) error {
	f := inviteForm{v.text("email"), v.text("role"), v.text("project")}
	_, token, err := s.service.InviteMember(v.ctx, v.actor, v.org, domain.InviteInput{Email: f.Email, Role: pool.Role(f.Role), Project: pool.ProjectID(f.Project)})
	if err != nil {
		if r, ok := v.refused(err); ok {
			return v.teamPage(f, r, "")
		}
		return err
	}
	v.reveal(s.inviteLink(v, token))
	return v.done(v.orgPath("/team"), "The invitation was made. Send the link to the person.")
}

// teamChanged goes back to the team after a change, or says why it was refused.
func (v *visit) teamChanged(err error, path, sentence string) error {
	if err != nil {
		r, ok := v.refused(err)
		if !ok {
			return err
		}
		for _, s := range r.at {
			r.whole = s
		}
		return v.teamPage(inviteForm{Role: string(pool.RoleMember)}, refusal{status: r.status}, r.whole)
	}
	return v.done(path, sentence)
}

// teamRole gives a person another role.
func (s *Server) teamRole(v *visit) error {
	err := s.service.ChangeRole(v.ctx, v.actor, v.org, pool.UserID(v.text("user")), pool.Role(v.text("role")))
	return v.teamChanged(err, v.orgPath("/team"), "The role was changed.")
}

// teamRemove takes a person out; people may leave themselves.
func (s *Server) teamRemove(v *visit) error {
	user := pool.UserID(v.text("user"))
	_, err := s.service.RemoveMember(v.ctx, v.actor, v.org, user)
	if user == v.actor.User {
		return v.teamChanged(err, "/", "You have left the organisation.")
	}
	return v.teamChanged(err, v.orgPath("/team"), "The person was removed. Their jobs keep running.")
}

// teamRevoke takes an open invitation back.
func (s *Server) teamRevoke(v *visit) error {
	err := s.service.RevokeInvitation(v.ctx, v.actor, v.org, v.text("invitation"))
	return v.teamChanged(err, v.orgPath("/team"), "The invitation was taken back.")
}
