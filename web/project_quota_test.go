package web

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"gpupool/domain"
)

func TestAProjectGetsAPartOfTheQuota(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	page := "/o/rheinau/projects/" + string(b.Project.ID)
	owner, lead := b.as(b.Owner.Email), b.as(b.Member.Email)
	form := func(guaranteed, beyond string) url.Values {
		return url.Values{"class": {string(b.Class)}, "guaranteed": {guaranteed}, "borrow": {beyond}}
	}
	if d := lead.get(page).want(200).doc(); d.Find("#share").Length() != 0 || d.Find("#shares tbody tr").Length() != 1 {
		t.Error("a member is offered the form, or sees no quota")
	}
	lead.post(page+"/quota", form("1", "")).want(403)
	b.must(b.Service.SaveProjectMember(b.ctx, b.Owner, b.Org, b.Project.ID, b.Member.User, true))
	lead.post(page+"/quota", form("2", "1")).want(303)
	owner.post(page+"/quota", form("4", "2")).want(303)
	b.Clock.Add(time.Second)
	a := owner.get(page).want(200)
	if cells := strings.Join(strings.Fields(a.doc().Find("#shares tbody tr").Text()), ""); cells != "A10080GB44262" { // 4, counts 4, 2 beyond, of 6, 2 left
		t.Errorf("the row is %q", cells)
	}
	for _, c := range []struct{ field, guaranteed, beyond, says string }{
		{"guaranteed", "7", "", "At most 6: of the 6 guaranteed GPUs of the organisation, other projects have 0."},
		{"guaranteed", "two", "", "Write a whole number from 0"},
		{"share-borrow", "1", "-1", "Write a whole number from 0"},
	} {
		a := owner.post(page+"/quota", form(c.guaranteed, c.beyond)).want(422)
		if !strings.Contains(a.at(c.field), c.says) || a.doc().Find(`#share [name="guaranteed"]`).AttrOr("value", "") != c.guaranteed {
			t.Errorf("%+v says %q", c, a.at(c.field))
		}
	}
	q := owner.get("/o/rheinau/quota").want(200).doc()
	if row := q.Find("#tree-" + string(b.Class) + ` a[href="` + page + `"]`); row.Length() != 1 {
		t.Error("the tree does not lead to the project")
	}
}

func TestTheOperatorSetsAMembersWeight(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.as(b.Operator.Email)
	set := url.Values{"org": {string(b.Org)}, "class": {string(b.Class)}, "weight": {"3"}}
	w.post("/op/quota/weight", set).want(303)
	b.Clock.Add(time.Second)
	if text := w.get("/op/quota").want(200).doc().Find("#tree-" + string(b.Class) + " tbody").Text(); !strings.Contains(text, "TU Rheinau") || !strings.Contains(text, "3") {
		t.Errorf("the tree says %q", text)
	}
	for field, bad := range map[string]string{"org": "nobody", "class": "x", "weight": "1001"} {
		form := url.Values{"org": set["org"], "class": set["class"], "weight": set["weight"]}
		form.Set(field, bad)
		if a := w.post("/op/quota/weight", form).want(422); a.at(field) == "" {
			t.Errorf("%s=%q is refused without a word at the field: %s", field, bad, a.text())
		}
	}
}

func TestTheAPITellsSharesAndWeight(t *testing.T) {
	t.Parallel()
	b := openAPIBench(t)
	p := b.pool
	_, err := b.Service.SetProjectQuota(b.ctx, p.Owner, p.Org, p.Project.ID, domain.ProjectQuotaInput{Class: p.Class, Guaranteed: "4", Borrow: "0"})
	b.must(err)
	_, err = b.Service.SetWeight(b.ctx, p.Operator, p.Org, p.Class, "5")
	b.must(err)
	p.Clock.Add(time.Second)
	r := b.get("/api/v1/orgs/rheinau/quota", b.token(p.Member)).want(200)
	for _, want := range []string{`"weight":5`, `"projects":[{"project":"` + string(p.Project.ID) + `","class":"a100-80g","guaranteed":4,"in_use":0,"beyond_limit":0}]`, `"guaranteed":6`} {
		if !strings.Contains(r.body, want) {
			t.Errorf("no %s in %s", want, r.body)
		}
	}
}
