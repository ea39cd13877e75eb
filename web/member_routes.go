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

		// Jobs of an organisation.
		get("/o/:org/jobs", inOrg(domain.ActView), (*Server).jobList),
		get("/o/:org/jobs.csv", inOrg(domain.ActView), (*Server).jobListCSV),
		post("/o/:org/jobs", inOrg(domain.ActSubmit), (*Server).jobSubmit),
		get("/o/:org/jobs/new", inOrg(domain.ActSubmit), (*Server).jobNew),
		ask("/o/:org/jobs/quote", inOrg(domain.ActSubmit), (*Server).jobQuote),
		get("/o/:org/jobs/:job", inOrg(domain.ActView), (*Server).jobShow),
		post("/o/:org/jobs/:job/stop", inOrg(domain.ActSubmit), (*Server).jobStop),
		get("/o/:org/jobs/:job/log", inOrg(domain.ActView), (*Server).jobLog),
		streaming("/o/:org/jobs/:job/log/stream", inOrg(domain.ActView), "log", (*Server).jobLogStream),
		get("/o/:org/jobs/:job/segments.csv", inOrg(domain.ActView), (*Server).jobSegmentsCSV),
	}
}
