package web

import "gpupool/domain"

// memberRoutes are the pages of organisations and of everybody.
func memberRoutes() []route {
	return []route{
		get("/marketplace", anyone, (*Server).marketplace),
		get("/verify", anyone, (*Server).verify).within(closingLimit),

		get("/o/:org", inOrg(domain.ActView), (*Server).orgDashboard),
		get("/o/:org/quota", inOrg(domain.ActView), (*Server).quotaShow),
		post("/o/:org/quota/:class", inOrg(domain.ActQuota), (*Server).quotaLimit),
		get("/o/:org/usage", inOrg(domain.ActView), (*Server).usageShow),
		get("/o/:org/usage.csv", inOrg(domain.ActView), (*Server).usageCSV),
		get("/o/:org/audit", inOrg(domain.ActAudit), (*Server).orgAudit),
		get("/o/:org/projects", inOrg(domain.ActView), (*Server).projectList),
		post("/o/:org/projects", inOrg(domain.ActProjects), (*Server).projectCreate),
		get("/o/:org/projects/:project", inOrg(domain.ActView), (*Server).projectShow),
		post("/o/:org/projects/:project", inOrg(domain.ActProjects), (*Server).projectUpdate),
		post("/o/:org/projects/:project/budget", inOrg(domain.ActView), (*Server).projectBudget),
		post("/o/:org/projects/:project/quota", inOrg(domain.ActView), (*Server).projectQuota),
		post("/o/:org/projects/:project/account", inOrg(domain.ActBilling), (*Server).projectAccount),
		post("/o/:org/projects/:project/archive", inOrg(domain.ActProjects), (*Server).projectArchive),
		post("/o/:org/projects/:project/people", inOrg(domain.ActView), (*Server).projectJoin),
		post("/o/:org/projects/:project/people/remove", inOrg(domain.ActView), (*Server).projectLeave),
		get("/o/:org/team", inOrg(domain.ActView), (*Server).teamShow),
		post("/o/:org/team/invite", inOrg(domain.ActTeam), (*Server).teamInvite),
		post("/o/:org/team/role", inOrg(domain.ActTeam), (*Server).teamRole),
		post("/o/:org/team/remove", inOrg(domain.ActView), (*Server).teamRemove),
		post("/o/:org/team/revoke", inOrg(domain.ActTeam), (*Server).teamRevoke),
		get("/o/:org/billing", inOrg(domain.ActViewBilling), (*Server).billingShow),
		get("/o/:org/billing/plan", inOrg(domain.ActViewBilling), (*Server).billingPlan),
		post("/o/:org/billing/plan", inOrg(domain.ActSubscribe), (*Server).billingSubscribe),
		post("/o/:org/billing/cancel", inOrg(domain.ActSubscribe), (*Server).billingCancel),
		post("/o/:org/billing/keep", inOrg(domain.ActSubscribe), (*Server).billingKeep),
		post("/o/:org/billing/cap", inOrg(domain.ActBilling), (*Server).billingCap),
		post("/o/:org/billing/orders", inOrg(domain.ActBilling), (*Server).billingOrder),
		get("/o/:org/billing/accounts/new", inOrg(domain.ActBilling), (*Server).accountNew),
		post("/o/:org/billing/accounts", inOrg(domain.ActBilling), (*Server).accountCreate),
		get("/o/:org/billing/accounts/:account", inOrg(domain.ActBilling), (*Server).accountEdit),
		post("/o/:org/billing/accounts/:account", inOrg(domain.ActBilling), (*Server).accountUpdate),
		get("/o/:org/invoices", inOrg(domain.ActViewBilling), (*Server).invoiceList),
		get("/o/:org/invoices/:number", inOrg(domain.ActViewBilling), (*Server).invoiceShow),

		// Jobs of an organisation.
		get("/o/:org/jobs", inOrg(domain.ActView), (*Server).jobList),
		get("/o/:org/jobs.csv", inOrg(domain.ActView), (*Server).jobListCSV),
		post("/o/:org/jobs", inOrg(domain.ActSubmit), (*Server).jobSubmit),
		get("/o/:org/jobs/new", inOrg(domain.ActSubmit), (*Server).jobNew),
		ask("/o/:org/jobs/quote", inOrg(domain.ActSubmit), (*Server).jobQuote),
		get("/o/:org/jobs/:job", inOrg(domain.ActView), (*Server).jobShow),
		post("/o/:org/jobs/:job/change", inOrg(domain.ActSubmit), (*Server).jobChange),
		post("/o/:org/jobs/:job/stop", inOrg(domain.ActSubmit), (*Server).jobStop),
		get("/o/:org/jobs/:job/log", inOrg(domain.ActView), (*Server).jobLog),
		streaming("/o/:org/jobs/:job/log/stream", inOrg(domain.ActView), "log", (*Server).jobLogStream),
		get("/o/:org/jobs/:job/segments.csv", inOrg(domain.ActView), (*Server).jobSegmentsCSV),
	}
}
