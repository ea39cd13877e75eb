package web

import (
	"net/http"
	"slices"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/quota"
)

// apiLikely is when a job probably starts: in eight cases of ten between early and late.
type apiLikely struct {
	Early  apiTime `json:"early"`
	Middle apiTime `json:"middle"`
	Late   apiTime `json:"late"`
}

func likely(l quota.Likely) *apiLikely {
	if !l.Known() {
		return nil
	}
	return &apiLikely{apiTime(l.Early), apiTime(l.Middle), apiTime(l.Late)}
}

// apiJobJSON is a job with all that is known of it. In lists the last five are left out.
type apiJobJSON struct {
	ID          string      `json:"id"`
	Org         string      `json:"org"`
	Project     string      `json:"project"`
	User        apiName     `json:"user"`
	Name        string      `json:"name"`
	Classes     []string    `json:"classes"`
	Nodes       int         `json:"nodes"`
	GPUsPerNode int         `json:"gpus_per_node"`
	Tier        string      `json:"tier"`
	Priority    int         `json:"priority"`
	MaxRun      int64       `json:"max_run_seconds"`
	Renewable   bool        `json:"renewable"`
	NotBefore   apiTime     `json:"not_before"`
	Deadline    apiTime     `json:"deadline"`
	DependsOn   *string     `json:"depends_on"`
	State       string      `json:"state"`
	Reasons     []apiReason `json:"reasons"`
	Position    *int        `json:"position"`
	StartsBy    apiTime     `json:"starts_by"`
	UpTo        apiMoney    `json:"up_to"`
	Charged     apiMoney    `json:"charged"`
	Tries       int         `json:"tries"`
	SubmittedAt apiTime     `json:"submitted_at"`
	EndedAt     apiTime     `json:"ended_at"`
	End         *apiEnd     `json:"end"`

	Image    string       `json:"image,omitempty"`
	Command  *apiCommand  `json:"command,omitempty"`
	Attempts []apiAttempt `json:"attempts,omitempty"`
	Use      []apiUse     `json:"use,omitempty"`
	Likely   *apiLikely   `json:"likely,omitempty"` // while it waits, when it can be told
}

// apiCommand is what the container runs. Only who may change the job sees its variables.
type apiCommand struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env,omitempty"`
}

// apiReason is why a job waits: the code is stable, the numbers are GPUs or minor units, as unit says.
type apiReason struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Lifts   string  `json:"lifts"`
	Class   string  `json:"class,omitempty"`
	Unit    string  `json:"unit"`
	Need    int64   `json:"need"`
	Have    int64   `json:"have"`
	Limit   int64   `json:"limit"`
	Until   apiTime `json:"until"`
	Ref     string  `json:"ref,omitempty"`
	Quota   int64   `json:"quota"`     // of the organisation in the class; 0 where it doesn't matter
	Used    int64   `json:"used"`      // of it, what is borrowed added
	Other   int64   `json:"elsewhere"` // free on nodes where the job may not run
}

type apiEnd struct {
	Reason   string `json:"reason"`
	Message  string `json:"message"`
	Detail   string `json:"detail,omitempty"`
	ExitCode *int   `json:"exit_code"` // null where the program did not end by itself
}

type apiAttempt struct {
	Number     int        `json:"number"`
	Class      string     `json:"class"`
	Placement  []apiPlace `json:"placement"`
	Tier       string     `json:"tier"`
	Cover      apiCover   `json:"cover"`
	State      string     `json:"state"`
	AdmittedAt apiTime    `json:"admitted_at"`
	StartedAt  apiTime    `json:"started_at"`
	EndsBy     apiTime    `json:"ends_by"`
	NoticeAt   apiTime    `json:"notice_at"`
	EndedAt    apiTime    `json:"ended_at"`
	End        *apiEnd    `json:"end"`
}

type apiPlace struct {
	Node string `json:"node"`
	Name string `json:"name"`
	GPUs int    `json:"gpus"`
}

// apiCover is as what the GPUs are charged now.
type apiCover struct {
	Own  int `json:"own"`
	Loan int `json:"loan"`
	Spot int `json:"spot"`
}

type apiUse struct {
	Class string   `json:"class"`
	Cover string   `json:"cover"`
	Price apiPrice `json:"price"`
	Use   int64    `json:"gpu_milliseconds"`
	Cost  apiMoney `json:"cost"`
}

// apiJob is one job.
func (s *Server) apiJob(q *call) error {
	v, err := s.service.Job(q.ctx, q.actor, q.org, pool.JobID(q.param("job")))
	if err != nil {
		return err
	}
	return q.answer(http.StatusOK, q.job(v))
}

// job is a job with its attempts and use.
func (q *call) job(v domain.JobView) apiJobJSON {
	j := q.jobRow(domain.JobRow{Job: v.Job, Charged: v.Charged, UserName: v.UserName, Expected: v.Expected})
	spec := v.Job.Spec
	j.Image, j.Command = spec.Image, &apiCommand{Command: spec.Command, Args: append([]string{}, spec.Args...)}
	if v.Job.User == q.actor.User || q.actor.Can(q.org, domain.ActManageJobs) {
		j.Command.Env = spec.Env
	}
	for _, a := range v.Attempts {
		x := apiAttempt{Number: a.ID.N, Class: string(a.Class), Placement: []apiPlace{}, Tier: string(a.Tier), Cover: apiCover(a.Split), State: string(a.State),
			AdmittedAt: apiTime(a.AdmittedAt), StartedAt: apiTime(a.StartedAt), EndsBy: apiTime(a.MaxEnd), NoticeAt: apiTime(a.NoticeAt), EndedAt: apiTime(a.EndedAt)}
		for _, p := range a.Placement {
			x.Placement = append(x.Placement, apiPlace{string(p.Node), named(v.Nodes, p.Node), p.GPUs})
		}
		if a.State == domain.AttemptEnded {
			x.End = q.end(a.End, a.EndDetail, a.ExitCode)
		}
		j.Attempts = append(j.Attempts, x)
	}
	if n := len(v.Attempts); v.Job.State == domain.JobEnded && n > 0 && v.Attempts[n-1].End == v.Job.End {
		j.End = q.end(v.Job.End, v.Job.EndDetail, v.Attempts[n-1].ExitCode)
	}
	for _, u := range v.Use {
		j.Use = append(j.Use, apiUse{string(u.Class), string(u.Cover), q.price(u.Price), int64(u.Use), q.amount(u.Cost)})
	}
	return j
}

// jobRow is a job as lists have it.
func (q *call) jobRow(r domain.JobRow) apiJobJSON {
	j := r.Job
	out := apiJobJSON{ID: string(j.ID), Org: string(j.Org), Project: string(j.Project), User: apiName{string(j.User), r.UserName}, Name: j.Name, Classes: []string{},
		Nodes: j.Nodes, GPUsPerNode: j.GPUsPerNode, Tier: string(j.Tier), Priority: j.Priority, MaxRun: int64(j.MaxRun.Seconds()), Renewable: j.Renewable,
		NotBefore: apiTime(j.NotBefore), Deadline: apiTime(j.Deadline), State: string(j.State), Reasons: q.reasons(j.Reasons), UpTo: q.amount(j.UpTo), Charged: q.amount(r.Charged),
		Tries: j.Attempts, SubmittedAt: apiTime(j.SubmittedAt), EndedAt: apiTime(j.EndedAt)}
	for _, c := range j.Classes {
		out.Classes = append(out.Classes, string(c))
	}
	if j.DependsOn != "" {
		id := string(j.DependsOn)
		out.DependsOn = &id
	}
	if j.State == domain.JobWaiting {
		out.StartsBy, out.Likely = apiTime(r.Expected.Latest), likely(r.Expected.Likely)
		if j.Position > 0 {
			out.Position = &j.Position
		}
	}
	if j.State == domain.JobEnded {
		out.End = q.end(j.End, j.EndDetail, 0)
	}
	return out
}

// end says why something ended. The exit code counts only where the program ended by itself.
func (q *call) end(e domain.EndReason, detail string, exit int) *apiEnd {
	out := &apiEnd{Reason: string(e), Message: q.ended(e, detail), Detail: detail}
	if e == domain.EndFinished || e == domain.EndExitCode && exit != 0 {
		out.ExitCode = &exit
	}
	return out
}

func (q *call) reasons(all []pool.Reason) []apiReason {
	out := []apiReason{}
	for _, r := range all {
		unit := "gpus"
		if moneyReasons[r.Code] {
			unit = "minor"
		}
		out = append(out, apiReason{string(r.Code), q.reason(r), q.lifts(r.Code), string(r.Class), unit, r.Need, r.Have, r.Limit, apiTime(r.Until), r.Ref, r.Quota, r.Used, r.Elsewhere})
	}
	return out
}

// apiJobs is a page of jobs, newest first.
func (s *Server) apiJobs(q *call) error {
	f := domain.JobFilter{Org: q.org, Project: pool.ProjectID(q.query("project")), User: pool.UserID(q.query("user")), Class: pool.ClassID(q.query("class")),
		Search: q.query("q"), Before: q.query("cursor")}
	var err error
	if f.Limit, err = q.limit(); err != nil {
		return err
	}
	states := []domain.JobState{domain.JobWaiting, domain.JobStarting, domain.JobRunning, domain.JobStopping, domain.JobEnded}
	for _, x := range q.echo.QueryParams()["state"] {
		if !slices.Contains(states, domain.JobState(x)) {
			return badParameter("state", "One of waiting, starting, running, stopping, ended.")
		}
		f.States = append(f.States, domain.JobState(x))
	}
	rows, more, err := s.service.Jobs(q.ctx, q.actor, f)
	if f.Before != "" && domain.CodeOf(err) == domain.NotFound {
		return badParameter("cursor", "There is no such place in this list.")
	}
	if err != nil {
		return err
	}
	p := apiPage[apiJobJSON]{Items: []apiJobJSON{}}
	for _, r := range rows {
		p.Items = append(p.Items, q.jobRow(r))
	}
	if more {
		p.Next = q.next(string(rows[len(rows)-1].Job.ID))
	}
	return q.answer(http.StatusOK, p)
}
