package web

import (
	"net/http"
	"slices"
	"strings"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/views"
	"gpupool/views/ui"
)

// opMembers lists the organisations and has the form for a new one.
func (s *Server) opMembers(v *visit) error {
	return v.membersPage(domain.CreateMemberInput{}, refusal{status: http.StatusOK})
}

func (v *visit) membersPage(in domain.CreateMemberInput, r refusal) error {
	orgs, err := v.server.service.Organisations(v.ctx, v.actor)
	if err != nil {
		return err
	}
	t := ui.Table{ID: "members", Caption: v.T("Members"), Columns: v.columns("Organisation", "Short name", "State", "Member since"),
		Empty: ui.Empty{Title: v.T("No member yet"), Text: v.T("Create the first organisation below; its owner gets an invitation link.")}}
	for _, o := range orgs {
		state := v.state("active")
		if len(o.Pauses) > 0 {
			state = v.state("paused")
		}
		t.Rows = append(t.Rows, row(sub(head(o.Name, "/op/members/"+string(o.ID)), o.NameZH), mono(string(o.ID)), badge(state), when(v.clock(o.CreatedAt))))
	}
	form := views.Form{ID: "create", Title: v.T("New member"), Action: "/op/members", Nonce: newNonce(), Submit: v.T("Create and invite its owner"), Problem: r.whole,
		Lead: v.T("The invitation link is shown once; send it to the owner."),
		Fields: []views.Input{
			{Field: ui.Field{Name: "name", Label: v.T("Name"), Value: in.Name, Error: r.at["name"], Required: true}},
			{Field: ui.Field{Name: "name_zh", Label: v.T("Name in Chinese"), Value: in.NameZH, Error: r.at["name_zh"]}},
			{Field: ui.Field{Name: "slug", Label: v.T("Short name"), Hint: v.T("Small letters, digits and hyphens; it stands in addresses and never changes."), Value: in.Slug, Error: r.at["slug"], Required: true, Mono: true}},
			{Field: ui.Field{Name: "owner_email", Label: v.T("E-mail of its owner"), Type: "email", Value: in.OwnerEmail, Error: r.at["owner_email"], Required: true}},
		}}
	return v.show(r.status, views.Page{Title: v.T("Members"), Heading: v.T("Members")},
		views.Arrange(t.Show(), views.Block(ui.Panel{ID: "new", Title: v.T("New member")}, untitled(form).Show())))
}

// untitled is a form under a heading that says the same.
func untitled(f views.Form) views.Form {
	f.Title = ""
	return f
}

// opMemberCreate makes the organisation and shows its owner's link once.
func (s *Server) opMemberCreate(v *visit) error {
	in := domain.CreateMemberInput{Slug: v.text("slug"), Name: v.text("name"), NameZH: v.text("name_zh"), OwnerEmail: v.text("owner_email")}
	o, _, token, err := s.service.CreateMember(v.ctx, v.actor, in)
	if err != nil {
		if r, ok := v.refused(err); ok {
			return v.membersPage(in, r)
		}
		return err
	}
	v.reveal(s.inviteLink(v, token))
	return v.done("/op/members/"+string(o.ID), "%s is a member now.", o.Name)
}

func (s *Server) inviteLink(v *visit, token string) string {
	return s.base(v.echo.Request()) + "/invite/" + token
}

type memberForms struct {
	reason, email     string
	pauses, invitings refusal
}

// opMember shows one organisation to the operator: pauses, people, invitations.
func (s *Server) opMember(v *visit) error {
	return v.memberPage(http.StatusOK, memberForms{})
}

func (v *visit) memberPage(status int, f memberForms) error {
	s := v.server.service
	o, err := s.Organisation(v.ctx, v.actor, v.org)
	if err != nil {
		return err
	}
	people, err := s.Members(v.ctx, v.actor, v.org)
	if err != nil {
		return err
	}
	invitations, err := s.Invitations(v.ctx, v.actor, v.org)
	if err != nil {
		return err
	}
	link := v.revealed()
	page := views.Page{Title: o.Name, Heading: o.Name, Lead: o.NameZH, Crumbs: crumbs(v.T("Members"), "/op/members", o.Name, "")}
	if len(o.Pauses) > 0 {
		page.Badges = []ui.Badge{v.state("paused")}
	}
	secret := views.Prose()
	if link != "" {
		secret = views.Secret(v.T("Invitation link"), v.T("It is shown once. It works for 14 days and for one person."), link)
	}
	invite := views.Prose()
	if !hasOwner(people) {
		invite = v.ownerForm(f).Show()
	}
	return v.show(status, page, views.Arrange(secret,
		views.Block(ui.Panel{ID: "people", Title: v.T("People"), Flush: true}, v.peopleTable(people).Show()),
		views.Block(ui.Panel{ID: "invitations", Title: v.T("Invitations")}, v.invitationTable(invitations).Show(), invite),
		views.Block(ui.Panel{ID: "pauses", Title: v.T("Pauses"), Hint: v.T("While there is a reason, no new job starts; what runs goes on.")}, v.pauseList(o).Show(), v.pauseForm(o, f).Show())))
}

func (v *visit) peopleTable(people []domain.Member) ui.Table {
	t := ui.Table{ID: "people-table", Caption: v.T("People"), Hidden: true, Columns: v.columns("Name", "E-mail", "Role", "Since"),
		Empty: ui.Empty{Title: v.T("Nobody has accepted an invitation yet")}}
	for _, m := range people {
		t.Rows = append(t.Rows, row(head(m.Name, ""), text(m.Email), text(v.word(string(m.Role))), when(v.clock(m.Since))))
	}
	return t
}

func (v *visit) invitationTable(all []domain.Invitation) ui.Table {
	t := ui.Table{ID: "invitation-table", Caption: v.T("Invitations"), Hidden: true, Columns: v.columns("E-mail", "Role", "State", "Valid until"),
		Empty: ui.Empty{Title: v.T("No invitation")}}
	for _, i := range all {
		state := "open"
		switch {
		case i.AcceptedAt != 0:
			state = "accepted"
		case i.RevokedAt != 0:
			state = "revoked"
		case i.ExpiresAt <= v.server.now():
			state = "expired"
		}
		t.Rows = append(t.Rows, row(head(i.Email, ""), text(v.word(string(i.Role))), badge(v.state(state)), when(v.clock(i.ExpiresAt))))
	}
	return t
}

func hasOwner(people []domain.Member) bool {
	return slices.ContainsFunc(people, func(m domain.Member) bool { return m.Role == pool.RoleOwner })
}

func (v *visit) ownerForm(f memberForms) views.Form {
	r := f.invitings
	return views.Form{ID: "invite", Title: v.T("Invite its owner again"), Action: v.memberPath("/invite"), Nonce: newNonce(), Submit: v.T("Make a new link"), Problem: r.whole,
		Fields: []views.Input{{Field: ui.Field{Name: "email", Label: v.T("E-mail of its owner"), Type: "email", Value: f.email, Error: r.at["email"], Required: true}}}}
}

func (v *visit) memberPath(rest string) string { return "/op/members/" + string(v.org) + rest }

func (v *visit) pauseList(o domain.Organisation) ui.Table {
	t := ui.Table{ID: "pause-table", Caption: v.T("Reasons of the pause"), Hidden: true, Columns: v.columns("Reason", "Lift"),
		Empty: ui.Empty{Title: v.T("Not paused")}}
	for _, p := range o.Pauses {
		b := ui.PostButton{Action: v.memberPath("/resume"), Nonce: newNonce(), Fields: []ui.Value{hidden("reason", p)}, Button: ui.Button{Label: v.T("Lift this reason")}}
		t.Rows = append(t.Rows, row(head(p, ""), ui.Cell{Body: b.Show()}))
	}
	return t
}

func (v *visit) pauseForm(o domain.Organisation, f memberForms) ui.Confirm {
	c := ui.Confirm{ID: "pause", Label: v.T("Pause this member"), Title: v.T("Pause %s?", o.Name), Action: v.memberPath("/pause"), Nonce: newNonce(), Do: v.T("Pause"),
		Loses: []string{v.T("No job of its people starts until the reason is lifted."), v.T("What runs goes on and is charged.")}, Plain: true,
		Ask: []ui.Field{{Name: "reason", Label: v.T("Reason, shown to its people"), Value: f.reason, Error: strings.TrimSpace(f.pauses.at["reason"] + " " + f.pauses.whole), Required: true}}}
	if f.pauses.status != 0 {
		c.Error = v.T("Please correct the marked fields.")
	}
	return c
}

func (s *Server) opMemberInvite(v *visit) error {
	email := v.text("email")
	_, token, err := s.service.InviteMember(v.ctx, v.actor, v.org, domain.InviteInput{Email: email, Role: pool.RoleOwner})
	if err != nil {
		if r, ok := v.refused(err); ok {
			return v.memberPage(r.status, memberForms{email: email, invitings: r})
		}
		return err
	}
	v.reveal(s.inviteLink(v, token))
	return v.done(v.memberPath(""), "A new invitation was made.")
}

func (s *Server) opMemberPause(v *visit) error {
	reason := v.text("reason")
	o, err := s.service.PauseOrganisation(v.ctx, v.actor, v.org, reason)
	if err != nil {
		if r, ok := v.refused(err); ok {
			return v.memberPage(r.status, memberForms{reason: reason, pauses: r})
		}
		return err
	}
	return v.done(v.memberPath(""), "%s is paused.", o.Name)
}

func (s *Server) opMemberResume(v *visit) error {
	o, err := s.service.ResumeOrganisation(v.ctx, v.actor, v.org, v.text("reason"))
	if err != nil {
		return err
	}
	if len(o.Pauses) > 0 {
		return v.done(v.memberPath(""), "The reason was lifted; %d others remain.", len(o.Pauses))
	}
	return v.done(v.memberPath(""), "%s runs again.", o.Name)
}
