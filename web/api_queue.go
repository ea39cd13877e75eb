package web

import (
	"net/http"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/quota"
)

// apiClassState is a GPU type in the state that the last decision leaves, in GPUs.
type apiClassState struct {
	Class     string      `json:"class"`
	Name      string      `json:"name"`
	Usable    int         `json:"usable"`
	Own       int         `json:"own"`
	Loan      int         `json:"loan"`
	Spot      int         `json:"spot"`
	Freeing   int         `json:"being_freed"`
	Free      int         `json:"free"`
	Scattered int         `json:"free_scattered"`
	Reserved  int         `json:"free_reserved"`
	Promised  int         `json:"promised"`
	Closed    int         `json:"closed"`
	Others    int         `json:"others"`
	Owners    []apiTurn   `json:"inside_quota"`
	Borrowers []apiTurn   `json:"beyond_quota"`
	Victims   []apiVictim `json:"stopped_next"`
}

// apiTurn is an organisation in the order in which it is asked.
type apiTurn struct {
	Org      string   `json:"org"`
	Job      *string  `json:"next_job"`
	GPUs     int      `json:"next_gpus"`
	Waiting  int      `json:"waiting"`
	Use      int      `json:"in_use"`
	Quota    int      `json:"quota"`
	Loan     int      `json:"on_loan"`
	MeanLoan int64    `json:"mean_loan_thousandths"`
	Weight   int      `json:"weight"`
	Score    [2]int64 `json:"score"`
}

type apiVictim struct {
	Job   string  `json:"job"`
	Try   int     `json:"try"`
	Org   string  `json:"org"`
	Tier  string  `json:"tier"`
	GPUs  int     `json:"gpus"`
	Loan  int     `json:"on_loan"`
	Until apiTime `json:"protected_until"`
}

type apiWaiting struct {
	Job      string      `json:"job"`
	Org      string      `json:"org"`
	Tier     string      `json:"tier"`
	Classes  []string    `json:"classes"`
	Nodes    int         `json:"nodes"`
	GPUs     int         `json:"gpus_per_node"`
	Position int         `json:"position"`
	Reasons  []apiReason `json:"reasons"`
	StartsBy apiTime     `json:"starts_by"` // null when it can't be told
	Likely   *apiLikely  `json:"likely"`    // null when it can't be told
}

type apiPromise struct {
	Job       string      `json:"job"`
	Class     string      `json:"class"`
	Placement []apiPlace  `json:"placement"`
	Victims   []apiVictim `json:"victims"`
	Rule      string      `json:"rule"`
	Message   string      `json:"message"`
	StopAt    apiTime     `json:"notice_ends"`
}

type apiReservation struct {
	Job       string     `json:"job"`
	Class     string     `json:"class"`
	At        apiTime    `json:"starts_by"`
	Placement []apiPlace `json:"placement"`
}

// apiQueue explains the last decision to the operator.
func (s *Server) apiQueue(q *call) error {
	all, err := s.service.Queue(q.ctx, q.actor, domain.QueueFilter{Class: pool.ClassID(q.query("class")), Org: pool.OrgID(q.query("member")), Page: pageOf(q.query("page"))})
	if err != nil {
		return err
	}
	type queue struct {
		At       apiTime          `json:"decided_at"` // null before the first
		Version  int64            `json:"version"`
		Total    int              `json:"waiting_total"`
		Waiting  []apiWaiting     `json:"waiting"`
		Classes  []apiClassState  `json:"classes"`
		Promises []apiPromise     `json:"promises"`
		Reserved []apiReservation `json:"reserved"`
		Problems []string         `json:"problems"`
	}
	out := queue{Total: all.Total, Waiting: []apiWaiting{}, Classes: []apiClassState{}, Promises: []apiPromise{}, Reserved: []apiReservation{}, Problems: []string{}}
	d := all.Decision
	if d == nil {
		return q.answer(http.StatusOK, out)
	}
	out.At, out.Version, out.Problems = apiTime(d.At), d.Plan.Version, append(out.Problems, d.Plan.Problems...)
	for _, w := range all.Waiting {
		j := all.Asked[w.Job]
		x := apiWaiting{Job: string(w.Job), Org: string(j.Org), Tier: string(j.Tier), Classes: []string{}, Nodes: j.Nodes, GPUs: j.GPUs, Position: w.Position, Reasons: q.reasons(w.Reasons), StartsBy: apiTime(all.Starts[w.Job].Latest), Likely: likely(all.Starts[w.Job].Likely)}
		for _, c := range j.Classes {
			x.Classes = append(x.Classes, string(c))
		}
		out.Waiting = append(out.Waiting, x)
	}
	for _, c := range all.Classes {
		if f := q.query("class"); f == "" || string(c.Class) == f {
			out.Classes = append(out.Classes, classState(c, all.Names))
		}
	}
	holds := map[pool.AttemptID]quota.Attempt{}
	for _, a := range d.Snapshot.Running {
		holds[a.ID] = a
	}
	for _, p := range all.Promises {
		x := apiPromise{Job: string(p.Job), Class: string(p.Class), Placement: places(p.Placement, all.Names), Victims: []apiVictim{}, Rule: string(p.Rule), Message: q.T(rules[p.Rule]), StopAt: apiTime(p.StopAt)}
		for _, id := range p.Victims {
			a := holds[id]
			v := apiVictim{Job: string(id.Job), Try: id.N, Org: string(a.Org), Tier: string(a.Tier), Loan: a.Split.Loan}
			for _, n := range a.Placement {
				v.GPUs += n.GPUs
			}
			x.Victims = append(x.Victims, v)
		}
		out.Promises = append(out.Promises, x)
	}
	for _, r := range all.Reserved {
		out.Reserved = append(out.Reserved, apiReservation{string(r.Job), string(r.Class), apiTime(r.At), places(r.Placement, all.Names)})
	}
	return q.answer(http.StatusOK, out)
}

func classState(c quota.ClassState, names domain.PoolNames) apiClassState {
	out := apiClassState{Class: string(c.Class), Name: named(names.Classes, c.Class), Usable: c.Capacity, Own: c.Own, Loan: c.Loan, Spot: c.Spot, Freeing: c.Freeing, Free: c.Whole,
		Scattered: c.Scattered, Reserved: c.Reserved, Promised: c.Promised, Closed: c.Closed, Others: c.Foreign, Owners: turns(c.Owners), Borrowers: turns(c.Borrowers), Victims: []apiVictim{}}
	for _, all := range [][]quota.Victim{c.Victims, c.Protected} {
		for _, v := range all[:min(len(all), domain.QueueRows)] {
			out.Victims = append(out.Victims, apiVictim{string(v.Attempt.Job), v.Attempt.N, string(v.Org), string(v.Tier), v.GPUs, v.Loan, apiTime(v.Until)})
		}
	}
	return out
}

func turns(all []quota.Turn) []apiTurn {
	out := []apiTurn{}
	for _, x := range all[:min(len(all), domain.QueueRows)] {
		t := apiTurn{string(x.Org), nil, x.Units, x.Waiting, x.Use, x.Quota, x.Over, x.MeanLoan, x.Weight, [2]int64{x.ScoreNum, x.ScoreDen}}
		if x.Head != "" {
			id := string(x.Head)
			t.Job = &id
		}
		out = append(out, t)
	}
	return out
}

func places(all []quota.NodeGPUs, names domain.PoolNames) []apiPlace {
	out := []apiPlace{}
	for _, p := range all {
		out = append(out, apiPlace{string(p.Node), named(names.Nodes, p.Node), p.GPUs})
	}
	return out
}

// apiFate is what a decision makes of a job.
type apiFate struct {
	State     string      `json:"state"` // runs, starts, waits, stopped, promised, none
	Class     string      `json:"class,omitempty"`
	Placement []apiPlace  `json:"placement"`
	Cover     apiCover    `json:"cover"`
	Rule      string      `json:"rule,omitempty"`
	For       string      `json:"for,omitempty"`
	At        apiTime     `json:"at"`
	Reasons   []apiReason `json:"reasons"`
}

type apiJobChange struct {
	Job    string  `json:"job"`
	Org    string  `json:"org"`
	Before apiFate `json:"before"`
	After  apiFate `json:"after"`
}

// apiWhatIf answers a question about a changed pool. Nothing is stored.
func (s *Server) apiWhatIf(q *call) error {
	w, err := s.service.WhatIf(q.ctx, q.actor, whatIfInput(q.query))
	if err != nil {
		return err
	}
	type start struct {
		Job    string  `json:"job"`
		Org    string  `json:"org"`
		Before apiTime `json:"before"`
		After  apiTime `json:"after"`
	}
	type drained struct {
		Job   string   `json:"job"`
		Try   int      `json:"try"`
		Org   string   `json:"org"`
		Nodes []string `json:"nodes"`
		GPUs  int      `json:"gpus"`
		Ends  apiTime  `json:"ends_by"`
	}
	type cost struct {
		Org    string   `json:"org"`
		Before apiMoney `json:"before"`
		After  apiMoney `json:"after"`
	}
	type answer struct {
		Now     apiTime        `json:"now"`
		Jobs    []apiJobChange `json:"jobs"`
		Starts  []start        `json:"starts"`
		Drained []drained      `json:"drained"`
		Costs   []cost         `json:"costs_an_hour"`
	}
	out := answer{Now: apiTime(w.Now), Jobs: []apiJobChange{}, Starts: []start{}, Drained: []drained{}, Costs: []cost{}}
	for _, j := range w.Jobs {
		out.Jobs = append(out.Jobs, apiJobChange{string(j.Job), string(j.Org), q.fate(j.Before, w.Names), q.fate(j.After, w.Names)})
	}
	for _, x := range w.Starts {
		out.Starts = append(out.Starts, start{string(x.Job), string(x.Org), apiTime(x.Before), apiTime(x.After)})
	}
	for _, x := range w.Drained {
		d := drained{string(x.Attempt.Job), x.Attempt.N, string(x.Org), []string{}, x.GPUs, apiTime(x.Ends)}
		for _, n := range x.Nodes {
			d.Nodes = append(d.Nodes, string(n))
		}
		out.Drained = append(out.Drained, d)
	}
	for _, c := range w.Costs {
		out.Costs = append(out.Costs, cost{string(c.Org), q.amount(c.Before), q.amount(c.After)})
	}
	return q.answer(http.StatusOK, out)
}

func (q *call) fate(f quota.Fate, names domain.PoolNames) apiFate {
	out := apiFate{State: "none", Class: string(f.Class), Placement: places(f.Placement, names), Cover: apiCover(f.Split), Rule: string(f.By), For: string(f.For), At: apiTime(f.At), Reasons: q.reasons(f.Reasons)}
	switch {
	case f.Stopped:
		out.State = "stopped"
	case f.Runs:
		out.State = "runs"
	case f.Admitted:
		out.State = "starts"
	case f.Promised:
		out.State = "promised"
	case f.Position > 0:
		out.State = "waits"
	}
	return out
}
