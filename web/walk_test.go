package web

import (
	"fmt"
	"net/http"
	"net/url"
	"sort"
	"strings"
	"testing"

	"gpupool/domain"
)

// roles walk every route, in this order. foreign is the owner of another member.
var roles = []string{"stranger", "member", "lead", "finance", "owner", "viewer", "operator", "foreign"}

// expected says which status each role gets on a route, in the order of roles. Forms are sent empty, with the nonce
// of a page, so 422 means "may, and was told what is missing". A stranger is led to the sign-in: 303.
type expected [8]int

func everybody(status int) expected {
	return expected{status, status, status, status, status, status, status, status}
}

func signedIn(status int) expected {
	return expected{303, status, status, status, status, status, status, status}
}

func onlyOperator(status int) expected { return expected{303, 404, 404, 404, 404, 404, status, 404} }

// walks are the expectations of the routes that belong to nobody or to the operator; those of organisations stand in
// orgWalks.
var walks = map[string]expected{
	"GET /healthz": everybody(200),
	"GET /readyz":  everybody(200),
	"GET /version": everybody(200),
	"GET /metrics": everybody(404), // no token is set here: only on a listener of its own

	"GET /":               {200, 303, 303, 303, 303, 303, 303, 303},
	"GET /marketplace":    everybody(200),
	"GET /verify":         everybody(200),
	"GET /signin":         {200, 303, 303, 303, 303, 303, 303, 303},
	"POST /signin":        everybody(401),
	"POST /signout":       signedIn(303),
	"GET /setup":          everybody(200),
	"POST /setup":         everybody(422),
	"GET /invite/:token":  everybody(404),
	"POST /invite/:token": everybody(404),
	"POST /demo/clock":    everybody(404), // not a demo
	"POST /demo/signin":   everybody(404),
	"GET /events":         everybody(200),

	"GET /account":                signedIn(200),
	"POST /account/profile":       signedIn(422),
	"POST /account/password":      signedIn(422),
	"POST /account/sessions/end":  signedIn(404),
	"POST /account/tokens":        signedIn(422),
	"POST /account/tokens/revoke": signedIn(404),

	"GET /op":                           onlyOperator(200),
	"GET /op/members":                   onlyOperator(200),
	"POST /op/members":                  onlyOperator(422),
	"GET /op/members/:org":              onlyOperator(200),
	"POST /op/members/:org/invite":      onlyOperator(422),
	"POST /op/members/:org/pause":       onlyOperator(422),
	"POST /op/members/:org/resume":      onlyOperator(409),
	"GET /op/classes":                   onlyOperator(200),
	"POST /op/classes":                  onlyOperator(422),
	"GET /op/classes/:class":            onlyOperator(200),
	"POST /op/classes/:class":           onlyOperator(422),
	"GET /op/plans":                     onlyOperator(200),
	"POST /op/plans":                    onlyOperator(422),
	"GET /op/plans/:plan":               onlyOperator(200),
	"POST /op/plans/:plan/draft":        onlyOperator(422),
	"POST /op/plans/:plan/publish":      onlyOperator(409),
	"GET /op/prices":                    onlyOperator(200),
	"GET /op/prices/new":                onlyOperator(200),
	"POST /op/prices/new":               onlyOperator(422),
	"GET /op/prices/:list":              onlyOperator(200),
	"POST /op/prices/:list/draft":       onlyOperator(409),
	"POST /op/prices/:list/publish":     onlyOperator(409),
	"GET /op/nodes":                     onlyOperator(200),
	"GET /op/nodes/:node":               onlyOperator(200),
	"POST /op/nodes/:node":              onlyOperator(422),
	"POST /op/nodes/:node/contribution": onlyOperator(422),
	"POST /op/sites":                    onlyOperator(422),
	"GET /op/queue":                     onlyOperator(200),
	"GET /op/queue/whatif":              onlyOperator(422),
	"GET /op/quota":                     onlyOperator(200),
	"POST /op/quota/weight":             onlyOperator(422),
	"POST /op/pause":                    onlyOperator(303),
	"GET /op/closing":                   onlyOperator(200),
	"POST /op/closing":                  onlyOperator(422),
	"GET /op/invoices":                  onlyOperator(200),
	"GET /op/invoices/:number":          onlyOperator(200),
	"POST /op/invoices/:number/payment": onlyOperator(422),
	"GET /op/policies":                  onlyOperator(200),
	"POST /op/policies":                 onlyOperator(422),
	"POST /op/policies/:policy/end":     onlyOperator(404),
	"GET /op/announcements":             onlyOperator(200),
	"POST /op/announcements":            onlyOperator(422),
	"POST /op/announcements/:id/end":    onlyOperator(404),
	"GET /op/settings":                  onlyOperator(200),
	"POST /op/settings":                 onlyOperator(422),
	"GET /op/audit":                     onlyOperator(200),
}

// expectations are all rows.
func expectations() map[string]expected {
	all := map[string]expected{}
	for k, v := range walks {
		all[k] = v
	}
	for k, v := range orgWalks {
		all[k] = v
	}
	return all
}

// walkers signs in one browser for each role.
func (b *bundle) walkers() map[string]*browser {
	who := map[string]domain.Actor{"member": b.Member, "lead": b.Lead, "finance": b.Finance, "owner": b.Owner, "viewer": b.Viewer, "operator": b.Operator, "foreign": b.OtherOwner}
	all := map[string]*browser{"stranger": b.browser()}
	for role, a := range who {
		all[role] = b.as(a.Email)
	}
	return all
}

// walkPath fills in the parameters of a pattern with what exists in rheinau.
func (b *bundle) walkPath(pattern, number string) string {
	values := map[string]string{":org": string(b.Org), ":class": string(b.Class), ":plan": string(b.Campus.Plan), ":list": string(b.Prices.ID), ":node": string(b.Node),
		":number": number, ":token": "no-such-token", ":policy": "tp-none", ":id": "an-none", ":project": string(b.Project.ID), ":account": string(b.Account.ID), ":user": string(b.Member.User)}
	for k, v := range b.orgValues() {
		values[k] = v
	}
	parts := strings.Split(pattern, "/")
	for i, p := range parts {
		if strings.HasPrefix(p, ":") {
			v, ok := values[p]
			if !ok {
				b.t.Fatalf("%s: the walk has no value for %s", pattern, p)
			}
			parts[i] = v
		}
	}
	return strings.Join(parts, "/")
}

func TestEveryRoleGetsExactlyWhatTheTableSaysOnEveryRoute(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	number := b.closed()
	want := expectations()
	browsers := b.walkers()
	routes := b.server.table()
	sort.SliceStable(routes, func(i, j int) bool { return routes[i].path != "/signout" && routes[j].path == "/signout" }) // last: it ends the sessions
	seen := map[string]bool{}
	for _, r := range routes {
		key := r.method + " " + r.path
		seen[key] = true
		row, ok := want[key]
		if !ok {
			t.Errorf("%s has no row: say which role gets which status", key)
			continue
		}
		for i, role := range roles {
			if r.method == http.MethodPost && strings.Contains(r.path, ":job") {
				b.job = "" // each role finds a job of its own as it was
			}
			path, form := b.walkPath(r.path, number), url.Values{}
			if r.method == http.MethodPost {
				form.Set("nonce", newNonce())
			}
			if got := browsers[role].status(r.method, path, form); got != row[i] {
				t.Errorf("%s as %s: %d, want %d", key, role, got, row[i])
			}
		}
	}
	for key := range want {
		if !seen[key] {
			t.Errorf("%s has a row and is no route", key)
		}
	}
}

func TestAForeignOrganisationLooksLikeOneThatIsNotThere(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	number := b.closed()
	for _, r := range b.server.table() {
		if !strings.HasPrefix(r.path, "/o/:org") || r.stream != "" || r.method != http.MethodGet {
			continue
		}
		path := b.walkPath(r.path, number)
		foreign := b.as(b.OtherOwner.Email).get(path)
		missing := b.as(b.OtherOwner.Email).get(strings.Replace(path, "/o/"+string(b.Org), "/o/never-was", 1))
		if foreign.status != 404 || missing.status != 404 || foreign.text() != missing.text() {
			t.Errorf("%s: foreign %d, missing %d", r.path, foreign.status, missing.status)
		}
	}
}

func TestNoGetChangesAnything(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	number := b.closed()
	browsers := b.walkers()
	b.orgValues() // makes what the paths name
	state := func() string {
		var s string
		b.Update(func(tx domain.Tx) error {
			rows, err := tx.Audit("", 0, 1)
			if err != nil {
				return err
			}
			version, err := tx.Version()
			if err != nil {
				return err
			}
			outbox, err := tx.OpenOutbox()
			s = fmt.Sprint(rows[0].Seq, version, outbox)
			return err
		})
		return s
	}
	before := state()
	for _, r := range b.server.table() {
		if r.method != http.MethodGet || r.stream != "" {
			continue
		}
		for _, role := range roles {
			browsers[role].status("GET", b.walkPath(r.path, number), nil)
		}
	}
	if after := state(); after != before {
		t.Errorf("newest change, version and outbox: %s before, %s after", before, after)
	}
}
