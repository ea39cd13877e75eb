package web

import (
	"net/url"
	"strings"
	"testing"

	"gpupool/domain/pool"
)

func TestAnOwnerInvitesAndTheLinkShowsOnce(t *testing.T) {
	t.Parallel()
	p := open(t)
	w := p.owner()
	for _, bad := range []string{"", "nobody", "a@b", strings.Repeat("x", 300) + "@example.org", "ming@rheinau.example"} {
		if a := w.post("/o/rheinau/team/invite", url.Values{"email": {bad}, "role": {"member"}}); bad != "a@b" && (a.status != 422 || a.at("email") == "" || a.value("email") != bad) {
			t.Errorf("%q: %d %q", bad, a.status, a.at("email"))
		}
	}
	w.post("/o/rheinau/team/invite", url.Values{"email": {"new@rheinau.example"}, "role": {"member"}}).want(303)
	first := w.get("/o/rheinau/team").want(200)
	if link := first.doc().Find("#secret code").Text(); !strings.Contains(link, "/invite/") {
		t.Errorf("the link is %q", link)
	}
	if w.get("/o/rheinau/team").doc().Find("#secret").Length() != 0 {
		t.Error("the link shows twice")
	}
	id := first.doc().Find(`input[name=invitation]`).AttrOr("value", "")
	w.post("/o/rheinau/team/revoke", url.Values{"invitation": {id}}).want(303)
	w.get("/o/rheinau/team").says("Taken back")
	p.member().post("/o/rheinau/team/invite", url.Values{"email": {"x@y.example"}, "role": {"owner"}}).want(403)
}

func TestRolesChangeAndTheLastOwnerStays(t *testing.T) {
	t.Parallel()
	p := open(t)
	w := p.owner()
	role := func(u pool.UserID, r string) url.Values { return url.Values{"user": {string(u)}, "role": {r}} }
	w.post("/o/rheinau/team/role", role(p.pool.Member.User, "lead")).want(303)
	w.post("/o/rheinau/team/role", role(p.pool.Member.User, "king")).want(422)
	w.post("/o/rheinau/team/role", role(p.pool.Owner.User, "member")).want(409).says("is the only owner")
	w.post("/o/rheinau/team/remove", url.Values{"user": {string(p.pool.Viewer.User)}}).want(303)
	w.post("/o/rheinau/team/remove", url.Values{"user": {string(p.pool.OtherOwner.User)}}).want(404)
	if strings.Contains(w.get("/o/rheinau/team").doc().Find("#people").Text(), "jonas") {
		t.Error("a removed person is still listed")
	}
}

func TestAProjectIsMadeAndChangedByThoseWhoMay(t *testing.T) {
	t.Parallel()
	p := open(t)
	w := p.owner()
	form := url.Values{"name": {"Protein 蛋白质"}, "budget": {"500.00"}, "budget_period": {"month"}, "nodes": {"any"}, "sites": {"main"}}
	for field, bad := range map[string]string{"name": "", "budget": "-5", "budget_period": "week", "nodes": "theirs", "sites": "moon"} {
		a := w.post("/o/rheinau/projects", with(form, field, bad)).want(422)
		if a.at(field) == "" {
			t.Errorf("%s=%q says nothing at the field", field, bad)
		}
	}
	at := w.post("/o/rheinau/projects", form).want(303).location()
	w.get(at).want(200).says("Protein 蛋白质", "500.00 EUR a month", "sites: Main hall")
	w.post(at, with(form, "budget", "600.00")).want(303)
	w.post(at+"/people", url.Values{"user": {string(p.pool.Lead.User)}, "lead": {"on"}}).want(303)
	lead := p.as("sara@rheinau.example")
	lead.get(at).want(200).says("leads the project", "Set the budget")
	lead.post(at+"/budget", url.Values{"budget": {"nonsense"}, "budget_period": {"month"}}).want(422)
	lead.post(at+"/budget", url.Values{"budget": {"700.00"}, "budget_period": {"total"}}).want(303)
	w.get(at).says("700.00 EUR in total")
	p.member().post(at+"/budget", url.Values{"budget": {"1.00"}, "budget_period": {"month"}}).want(403)
	p.finance().post(at+"/account", url.Values{"account": {"acc-none"}}).want(422)
	p.finance().post(at+"/account", url.Values{"account": {string(p.pool.Account.ID)}}).want(303)
	w.post(at+"/people/remove", url.Values{"user": {string(p.pool.Lead.User)}}).want(303)
	w.post(at+"/archive", url.Values{"archived": {"yes"}}).want(303)
	w.get("/o/rheinau/projects").want(200).says("Archived")
	p.foreign().get(strings.Replace(at, "rheinau", "kestrelis", 1)).want(404)
}
