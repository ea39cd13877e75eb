package web

import (
	"gpupool/domain"
	"gpupool/domain/pool"
)

// Who may what inside an organisation, in the order of roles. The operator sees everything of every member and
// changes nothing inside one; a foreign member finds nothing.
func allMay(status int) expected {
	return expected{303, status, status, status, status, status, status, 404}
}

func whoSubmits(status int) expected {
	return expected{303, status, status, 403, status, 403, 403, 404}
}

// orgWalks are the expectations of the routes of organisations; see walks.
var orgWalks = map[string]expected{
	"GET /o/:org":                        allMay(200),
	"GET /o/:org/quota":                  allMay(200),
	"POST /o/:org/quota/:class":          {303, 403, 403, 403, 303, 403, 403, 404},
	"GET /o/:org/usage":                  allMay(200),
	"GET /o/:org/usage.csv":              allMay(200),
	"GET /o/:org/audit":                  {303, 403, 403, 403, 200, 200, 200, 404},
	"GET /o/:org/jobs":                   allMay(200),
	"GET /o/:org/jobs.csv":               allMay(200),
	"POST /o/:org/jobs":                  whoSubmits(422),
	"GET /o/:org/jobs/new":               whoSubmits(200),
	"POST /o/:org/jobs/quote":            whoSubmits(200),
	"GET /o/:org/jobs/:job":              allMay(200),
	"POST /o/:org/jobs/:job/stop":        whoSubmits(303),
	"GET /o/:org/jobs/:job/log":          allMay(200),
	"GET /o/:org/jobs/:job/log/stream":   allMay(200),
	"GET /o/:org/jobs/:job/segments.csv": allMay(200),
}

// orgValues are what stands in a path for parameters that only these routes have: a job that waits.
func (b *bundle) orgValues() map[string]string {
	b.t.Helper()
	if b.job == "" {
		j, err := b.Service.SubmitJob(b.ctx, b.Member, b.Org, domain.JobInput{Project: b.Project.ID, Name: "walked", Classes: []pool.ClassID{b.Class},
			Nodes: 1, GPUsPerNode: 1, Tier: pool.Burst, Spec: domain.JobSpec{Image: "example/train"}})
		b.must(err)
		b.job = string(j.ID)
	}
	return map[string]string{":job": b.job}
}
