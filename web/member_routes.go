package web

import "gpupool/domain"

// memberRoutes are the pages of organisations and of everybody.
func memberRoutes() []route {
	return []route{
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
