package web

import (
	"net/http"
	"time"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// access is who may use a route.
type access struct {
	kind string
	act  domain.Act
}

var (
	anyone   = access{kind: "anyone"}   // strangers too
	person   = access{kind: "person"}   // whoever is signed in
	operator = access{kind: "operator"} // everybody else gets "not found"
	machine  = access{kind: "machine"}  // probes: no session, no page
	demoOnly = access{kind: "demo"}     // only in a demo
)

// inOrg is for those who may do act in the organisation of the path's :org. A foreign organisation is not found.
func inOrg(act domain.Act) access { return access{"org", act} }

// check is nil when the actor may go on.
func (s *Server) check(a access, actor domain.Actor, org pool.OrgID) error {
	switch a.kind {
	case "anyone", "machine":
		return nil
	case "demo":
		if s.demo == nil {
			return domain.Errf(domain.NotFound, "There is no such page.")
		}
		return nil
	}
	if !actor.SignedIn() {
		return domain.Errf(domain.Unauthenticated, "Please sign in.")
	}
	switch a.kind {
	case "operator":
		return actor.NeedOperator()
	case "org":
		return actor.Need(org, a.act)
	}
	return nil
}

// route is one row of the table.
type route struct {
	method string
	path   string
	handle func(*Server, *visit) error
	who    access
	asks   bool          // a POST that changes nothing: it is answered as often as it is sent
	stream string        // not empty: an answer without end, named by what it is; no time limit
	limit  time.Duration // 0: the usual one
}

func get(path string, who access, handle func(*Server, *visit) error) route {
	return route{method: http.MethodGet, path: path, who: who, handle: handle}
}

// post is a form. It is done once however often it is sent: see once in nonce.go.
func post(path string, who access, handle func(*Server, *visit) error) route {
	return route{method: http.MethodPost, path: path, who: who, handle: handle}
}

// ask is a form that only asks: it changes nothing and needs no mark of its page.
func ask(path string, who access, handle func(*Server, *visit) error) route {
	return route{method: http.MethodPost, path: path, who: who, handle: handle, asks: true}
}

// streaming is a GET whose answer has no end.
func streaming(path string, who access, what string, handle func(*Server, *visit) error) route {
	return route{method: http.MethodGet, path: path, who: who, handle: handle, stream: what}
}

// within gives a route more time than the usual limit.
func (r route) within(d time.Duration) route {
	r.limit = d
	return r
}
