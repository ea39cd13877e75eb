package web

import "time"

// table is every route of the portal. A test walks it as every role: a row without an expectation there fails.
func (s *Server) table() []route {
	return append([]route{
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
		get("/invite/:token", anyone, (*Server).invite),
		post("/invite/:token", anyone, (*Server).inviteAccept),
		post("/demo/clock", demoOnly, (*Server).demoClock),
		post("/demo/signin", demoOnly, (*Server).demoSignIn),
		streaming("/events", anyone, "changes", (*Server).events),

		// The signed-in person.
		get("/account", person, (*Server).account),
		post("/account/profile", person, (*Server).accountProfile),
		post("/account/password", person, (*Server).accountPassword),
		post("/account/sessions/end", person, (*Server).accountSessionEnd),
		post("/account/tokens", person, (*Server).accountToken),
		post("/account/tokens/revoke", person, (*Server).accountTokenRevoke),

		// The operator.
		get("/op", operator, (*Server).opPool),
		get("/op/members", operator, (*Server).opMembers),
		post("/op/members", operator, (*Server).opMemberCreate),
		get("/op/members/:org", operator, (*Server).opMember),
		post("/op/members/:org/invite", operator, (*Server).opMemberInvite),
		post("/op/members/:org/pause", operator, (*Server).opMemberPause),
		post("/op/members/:org/resume", operator, (*Server).opMemberResume),
		get("/op/classes", operator, (*Server).opClasses),
		post("/op/classes", operator, (*Server).opClassCreate),
		get("/op/classes/:class", operator, (*Server).opClass),
		post("/op/classes/:class", operator, (*Server).opClassUpdate),
		get("/op/plans", operator, (*Server).opPlans),
		post("/op/plans", operator, (*Server).opPlanCreate),
		get("/op/plans/:plan", operator, (*Server).opPlan),
		post("/op/plans/:plan/draft", operator, (*Server).opPlanDraft),
		post("/op/plans/:plan/publish", operator, (*Server).opPlanPublish),
		get("/op/prices", operator, (*Server).opPrices),
		get("/op/prices/new", operator, (*Server).opPriceNew),
		post("/op/prices/new", operator, (*Server).opPriceCreate),
		get("/op/prices/:list", operator, (*Server).opPrice),
		post("/op/prices/:list/draft", operator, (*Server).opPriceDraft),
		post("/op/prices/:list/publish", operator, (*Server).opPricePublish),
		get("/op/nodes", operator, (*Server).opNodes),
		get("/op/nodes/:node", operator, (*Server).opNode),
		post("/op/nodes/:node", operator, (*Server).opNodeAssign),
		post("/op/nodes/:node/contribution", operator, (*Server).opContribution),
		post("/op/sites", operator, (*Server).opSiteSave),
		get("/op/queue", operator, (*Server).opQueue),
		get("/op/queue/whatif", operator, (*Server).opWhatIf),
		get("/op/quota", operator, (*Server).opQuota),
		post("/op/quota/weight", operator, (*Server).opWeight),
		get("/op/policies", operator, (*Server).opPolicies),
		post("/op/policies", operator, (*Server).opPolicyAdd),
		post("/op/policies/:policy/end", operator, (*Server).opPolicyEnd),
		get("/op/announcements", operator, (*Server).opAnnouncements),
		post("/op/announcements", operator, (*Server).opAnnounce),
		post("/op/announcements/:id/end", operator, (*Server).opAnnouncementEnd),
		post("/op/pause", operator, (*Server).opPause),
		get("/op/closing", operator, (*Server).opClosing),
		post("/op/closing", operator, (*Server).opClose).within(closingLimit),
		get("/op/invoices", operator, (*Server).opInvoices),
		get("/op/invoices/:number", operator, (*Server).opInvoice),
		post("/op/invoices/:number/payment", operator, (*Server).opPayment),
		get("/op/settings", operator, (*Server).opSettings),
		post("/op/settings", operator, (*Server).opSettingsSave),
		get("/op/audit", operator, (*Server).opAudit),
	}, memberRoutes()...)
}

const closingLimit = 10 * time.Minute // a month of many members is long work
