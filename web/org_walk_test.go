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

func onlyOwner(status int) expected { return expected{303, 403, 403, 403, status, 403, 403, 404} }

func whoBills(status int) expected { return expected{303, 403, 403, status, status, 403, 403, 404} }

func whoSeesBills(status int) expected {
	return expected{303, 403, 403, status, status, status, status, 404}
}

// orgWalks are the expectations of the routes of organisations; see walks.
var orgWalks = map[string]expected{
	"GET /o/:org":                                  allMay(200),
	"GET /o/:org/quota":                            allMay(200),
	"POST /o/:org/quota/:class":                    {303, 403, 403, 403, 303, 403, 403, 404},
	"GET /o/:org/usage":                            allMay(200),
	"GET /o/:org/usage.csv":                        allMay(200),
	"GET /o/:org/audit":                            {303, 403, 403, 403, 200, 200, 200, 404},
	"GET /o/:org/projects":                         allMay(200),
	"POST /o/:org/projects":                        onlyOwner(422),
	"GET /o/:org/projects/:project":                allMay(200),
	"POST /o/:org/projects/:project":               onlyOwner(422),
	"POST /o/:org/projects/:project/budget":        onlyOwner(422), // and the leads of the project
	"POST /o/:org/projects/:project/quota":         onlyOwner(422), // and the leads of the project
	"POST /o/:org/projects/:project/account":       whoBills(422),
	"POST /o/:org/projects/:project/archive":       onlyOwner(409),
	"POST /o/:org/projects/:project/people":        onlyOwner(422),
	"POST /o/:org/projects/:project/people/remove": onlyOwner(422),
	"GET /o/:org/team":                             allMay(200),
	"POST /o/:org/team/invite":                     onlyOwner(422),
	"POST /o/:org/team/role":                       onlyOwner(422),
	"POST /o/:org/team/remove":                     onlyOwner(404), // and everybody themselves
	"POST /o/:org/team/revoke":                     onlyOwner(404),
	"GET /o/:org/billing":                          whoSeesBills(200),
	"GET /o/:org/billing/plan":                     whoSeesBills(422),
	"POST /o/:org/billing/plan":                    onlyOwner(422),
	"POST /o/:org/billing/cancel":                  onlyOwner(303),
	"POST /o/:org/billing/keep":                    onlyOwner(303),
	"POST /o/:org/billing/cap":                     whoBills(422),
	"POST /o/:org/billing/orders":                  whoBills(422),
	"GET /o/:org/billing/accounts/new":             whoBills(200),
	"POST /o/:org/billing/accounts":                whoBills(422),
	"GET /o/:org/billing/accounts/:account":        whoBills(200),
	"POST /o/:org/billing/accounts/:account":       whoBills(422),
	"GET /o/:org/invoices":                         whoSeesBills(200),
	"GET /o/:org/invoices/:number":                 whoSeesBills(200),
	"GET /o/:org/jobs":                             allMay(200),
	"GET /o/:org/jobs.csv":                         allMay(200),
	"POST /o/:org/jobs":                            whoSubmits(422),
	"GET /o/:org/jobs/new":                         whoSubmits(200),
	"POST /o/:org/jobs/quote":                      whoSubmits(422),
	"GET /o/:org/jobs/:job":                        allMay(200),
	"POST /o/:org/jobs/:job/change":                whoSubmits(303),
	"POST /o/:org/jobs/:job/stop":                  whoSubmits(303),
	"GET /o/:org/jobs/:job/log":                    allMay(200),
	"GET /o/:org/jobs/:job/log/stream":             allMay(200),
	"GET /o/:org/jobs/:job/segments.csv":           allMay(200),
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
