package web

import (
	"time"
)

// table is every route of the portal. A test walks it as every role: a row without an expectation there fails.
func (s *Server) table() []route {
	return []route{
		// Probes.
		get("/healthz", machine, (*Server).healthz),
		get("/readyz", machine, (*Server).readyz),
		get("/version", machine, (*Server).version),
		get("/metrics", machine, (*Server).metrics),

		// Everybody.
		get("/", anyone, (*Server).home),
		get("/signin", anyone, (*Server).signIn),
		post("/signin", anyone, (*Server).signInSend),
		post("/signout", person, (*Server).signOut),
		get("/setup", anyone, (*Server).setup),
		post("/setup", anyone, (*Server).setupSend),
		streaming("/events", anyone, "changes", (*Server).events),
	}
}

const closingLimit = 10 * time.Minute // a month of many members is long work
