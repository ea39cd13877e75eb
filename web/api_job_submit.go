package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// decisionWait is how long the answer to a submitted job waits for the engine.
const decisionWait = 2 * time.Second

// apiJobInput is the body that submits or quotes a job.
type apiJobInput struct {
	Project     string            `json:"project"`
	Name        string            `json:"name"`
	Classes     []string          `json:"classes"`
	Nodes       *int              `json:"nodes"` // 1 when left out
	GPUsPerNode int               `json:"gpus_per_node"`
	Tier        string            `json:"tier"`
	Priority    int               `json:"priority"`
	MaxRun      int64             `json:"max_run_seconds"` // the default of the first class when left out
	NotBefore   string            `json:"not_before"`
	Deadline    string            `json:"deadline"`
	DependsOn   string            `json:"depends_on"`
	Renewable   bool              `json:"renewable"`
	Image       string            `json:"image"`
	Command     string            `json:"command"`
	Args        []string          `json:"args"`
	Env         map[string]string `json:"env"`
	MaxCost     *apiMoney         `json:"max_cost"`
	Simulation  *apiSimulation    `json:"simulation"`
}

// apiSimulation steers a job of the simulated cluster.
type apiSimulation struct {
	Length   int64 `json:"length_seconds"`
	ExitCode int   `json:"exit_code"`
	OOM      bool  `json:"out_of_gpu_memory"`
	Idle     bool  `json:"idle"`
}

// maxSimulated is how long a simulated job may run.
const maxSimulated = 31 * 24 * time.Hour

// parse reads the body into the use case's input.
func (in apiJobInput) parse(st domain.Settings) (domain.JobInput, domain.Fields) {
	var bad domain.Fields
	out := domain.JobInput{Project: pool.ProjectID(clean(in.Project)), Name: in.Name, Nodes: 1, GPUsPerNode: in.GPUsPerNode, Tier: pool.Tier(in.Tier),
		Priority: in.Priority, DependsOn: pool.JobID(clean(in.DependsOn)), Renewable: in.Renewable,
		Spec: domain.JobSpec{Image: in.Image, Command: in.Command, Args: in.Args, Env: in.Env}}
	if in.Nodes != nil {
		out.Nodes = *in.Nodes
	}
	for _, c := range in.Classes {
		out.Classes = append(out.Classes, pool.ClassID(clean(c)))
	}
	if in.MaxRun < 0 || in.MaxRun > int64(st.LongestMaxRun/time.Second) {
		bad.Add("max_run", "From 1 minute to %d hours, the longest of this pool.", int64(st.LongestMaxRun/time.Hour))
	} else {
		out.MaxRun = time.Duration(in.MaxRun) * time.Second
	}
	out.NotBefore, out.Deadline = apiMoment(&bad, "not_before", in.NotBefore), apiMoment(&bad, "deadline", in.Deadline)
	if m := in.MaxCost; m != nil {
		switch {
		case m.Currency != st.Currency.Code:
			bad.Add("max_cost/currency", "The pool's currency is %s.", st.Currency.Code)
		case m.AmountMinor < 0:
			bad.Add("max_cost/amount_minor", "A number from %d on.", 0)
		}
		most := money.Amount(m.AmountMinor)
		out.MaxCost = &most
	}
	if sim := in.Simulation; sim != nil {
		longest := int64(maxSimulated / time.Second)
		if sim.Length < 0 || sim.Length > longest {
			bad.Add("simulation/length_seconds", "From 0 to %d hours.", int64(maxSimulated/time.Hour))
		}
		out.Spec.Sim = &domain.Sim{LengthMs: min(max(sim.Length, 0), longest) * 1000, Exit: sim.ExitCode, OOM: sim.OOM, Idle: sim.Idle}
	}
	return out, bad
}

// apiMoment reads an instant; 0 when there is none.
func apiMoment(bad *domain.Fields, field, s string) pool.Instant {
	if s == "" {
		return 0
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || t.Year() < 1970 || t.Year() > 9999 {
		bad.Add(field, "Write the time as 2026-11-02T09:00:00Z.")
		return 0
	}
	return pool.At(t)
}

// apiWish is an instant of a change: left out it stays, null or empty takes it away.
type apiWish struct {
	said bool
	at   string
}

func (w *apiWish) UnmarshalJSON(b []byte) error {
	w.said = true
	return json.Unmarshal(b, &w.at)
}

// apiJobChange changes what a waiting job wishes: what the body names, as a merge patch.
func (s *Server) apiJobChange(q *call) error {
	var in struct {
		Priority  *int    `json:"priority"`
		NotBefore apiWish `json:"not_before"`
		Deadline  apiWish `json:"deadline"`
	}
	if err := q.decode(&in); err != nil {
		return err
	}
	var bad domain.Fields
	wish := func(field string, w apiWish) *pool.Instant {
		at := apiMoment(&bad, field, w.at)
		if !w.said {
			return nil
		}
		return &at
	}
	c := domain.JobChange{Priority: in.Priority, NotBefore: wish("not_before", in.NotBefore), Deadline: wish("deadline", in.Deadline)}
	if err := bad.Err(); err != nil {
		return err
	}
	id := pool.JobID(q.param("job"))
	if err := s.service.ChangeJob(q.ctx, q.actor, q.org, id, c); err != nil {
		return err
	}
	v, err := s.service.Job(q.ctx, q.actor, q.org, id)
	if err != nil {
		return err
	}
	return q.answer(http.StatusOK, q.job(v))
}

// jobInput is the job of the body; what is wrong with it by itself is said together with what the core refuses.
func (q *call) jobInput() (domain.JobInput, error) {
	var in apiJobInput
	if err := q.decode(&in); err != nil {
		return domain.JobInput{}, err
	}
	out, bad := in.parse(q.settings)
	if len(bad) == 0 {
		return out, nil
	}
	_, err := q.server.service.QuoteJob(q.ctx, q.actor, q.org, out)
	var e *domain.Error
	if errors.As(err, &e) && e.Code == domain.Invalid {
		bad = append(bad, e.Fields...)
	}
	return out, bad.Err()
}

// apiJobSubmit takes a job and waits a moment for the engine's answer.
func (s *Server) apiJobSubmit(q *call) error {
	in, err := q.jobInput()
	if err != nil {
		return err
	}
	j, err := s.service.SubmitJob(q.ctx, q.actor, q.org, in)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(q.ctx, decisionWait)
	defer cancel()
	if _, err := s.service.AwaitDecision(ctx, q.actor, q.org, j.ID); err != nil {
		return err
	}
	v, err := s.service.Job(q.ctx, q.actor, q.org, j.ID)
	if err != nil {
		return err
	}
	q.echo.Response().Header().Set("Location", q.orgPath("/jobs/"+string(j.ID)))
	return q.answer(http.StatusCreated, q.job(v))
}

// apiJobStop stops a job; one that is being stopped already is no error.
func (s *Server) apiJobStop(q *call) error {
	id := pool.JobID(q.param("job"))
	if err := s.service.StopJob(q.ctx, q.actor, q.org, id); err != nil {
		return err
	}
	v, err := s.service.Job(q.ctx, q.actor, q.org, id)
	if err != nil {
		return err
	}
	return q.answer(http.StatusOK, q.job(v))
}

// apiQuoteJSON is what a job would cost and when it would start.
type apiQuoteJSON struct {
	UpTo         apiMoney         `json:"up_to"`
	AtOwn        apiMoney         `json:"at_own"` // wholly inside own quota, to its limit
	Price        apiPrice         `json:"dearest_price"`
	GPUs         int              `json:"gpus"`
	MaxRun       int64            `json:"max_run_seconds"`
	Admitted     bool             `json:"admitted"` // would start now
	Class        string           `json:"class"`
	StartsBy     apiTime          `json:"starts_by"` // null when it can't be told
	Likely       *apiLikely       `json:"likely"`    // null when it can't be told
	Position     *int             `json:"position"`
	Reasons      []apiReason      `json:"reasons"`
	CapLeft      *apiMoney        `json:"cap_left"`
	Alternatives []apiAlternative `json:"alternatives"`
}

type apiAlternative struct {
	Tier     string   `json:"tier"`
	UpTo     apiMoney `json:"up_to"`
	Admitted bool     `json:"admitted"`
	StartsBy apiTime  `json:"starts_by"`
}

// apiJobQuote prices a job without sending it.
func (s *Server) apiJobQuote(q *call) error {
	in, err := q.jobInput()
	if err != nil {
		return err
	}
	x, err := s.service.QuoteJob(q.ctx, q.actor, q.org, in)
	if err != nil {
		return err
	}
	out := apiQuoteJSON{UpTo: q.amount(x.UpTo), AtOwn: q.amount(x.AtOwn), Price: q.price(x.Price), GPUs: x.GPUs, MaxRun: int64(x.MaxRun.Seconds()),
		Admitted: x.Answer.Admitted, Class: string(x.Answer.Class), StartsBy: apiTime(x.Answer.Start), Likely: likely(x.Answer.Likely), Reasons: q.reasons(x.Answer.Reasons), Alternatives: []apiAlternative{}}
	if x.Answer.Position > 0 {
		out.Position = &x.Answer.Position
	}
	if x.CapLeft != nil {
		left := q.amount(*x.CapLeft)
		out.CapLeft = &left
	}
	for _, a := range x.Alternatives {
		out.Alternatives = append(out.Alternatives, apiAlternative{string(a.Tier), q.amount(a.UpTo), a.Admitted, apiTime(a.Start)})
	}
	return q.answer(http.StatusOK, out)
}
