package quota

import (
	"encoding/json"
	"fmt"
	"io"
)

// CaseResult is how one scenario came out.
type CaseResult struct {
	ID, Title string
	Diffs     []string // what differs; empty = ok
}

// The schema of a file of scenarios; the README of the package describes it.
type (
	caseFile struct {
		Cases     []scenario `json:"cases"`
		MoreCases []scenario `json:"more_cases"`
	}
	scenario struct {
		ID      string         `json:"id"`
		Title   string         `json:"title"`
		Classes map[string]int `json:"classes"`
		Nodes   []caseNode     `json:"nodes"`
		Orgs    []caseOrg      `json:"orgs"`
		Running []caseJob      `json:"running"`
		Pending []caseJob      `json:"pending"`
		Policy  casePolicy     `json:"policy"`
		Expect  caseExpect     `json:"expect"`
		Steps   []caseStep     `json:"steps"`
		Settled *caseSettled   `json:"settled"`
	}
	caseNode struct {
		Name    string `json:"name"`
		Class   string `json:"class"`
		GPUs    int    `json:"gpus"`
		Site    string `json:"site"`
		Owner   string `json:"owner"`
		State   string `json:"state"`
		Foreign int    `json:"foreign"`
	}
	caseOrg struct {
		Name     string               `json:"name"`
		Weight   *int                 `json:"weight"`
		Quota    map[string]caseQuota `json:"quota"`
		Projects []caseProject        `json:"projects"`
	}
	caseProject struct {
		Name  string               `json:"name"`
		Quota map[string]caseQuota `json:"quota"`
	}
	caseQuota struct {
		Nominal     int  `json:"nominal"`
		BorrowLimit *int `json:"borrow_limit"`
		LendLimit   *int `json:"lend_limit"`
		Weight      *int `json:"weight"`
	}
	caseJob struct {
		ID           string         `json:"id"`
		Owner        string         `json:"owner"`
		Class        string         `json:"class"`
		Classes      []string       `json:"classes"`
		Units        int            `json:"units"`
		Nodes        int            `json:"nodes"`
		Placement    map[string]int `json:"placement"`
		Tier         string         `json:"tier"`
		Preemptible  *bool          `json:"preemptible"`
		Priority     int            `json:"priority"`
		StartedMin   int            `json:"started_min"`
		SubmittedMin *int           `json:"submitted_min"`
		MaxRunMin    int            `json:"max_run_min"`
		MinUntilMin  *int           `json:"min_run_until_min"`
		NotBeforeMin *int           `json:"not_before_min"`
		DeadlineMin  *int           `json:"deadline_min"`
		Count        int            `json:"count"`
	}
	casePolicy struct {
		FairReclaim     bool `json:"fair_reclaim"`
		OrgPriority     bool `json:"org_priority_preemption"`
		AdmissionPaused bool `json:"admission_paused"`
		ReserveAfterMin int  `json:"reserve_after_min"`
	}
	caseExpect struct {
		Admit          *[]string         `json:"admit"`
		Preempt        *[]string         `json:"preempt"`
		After          *[]string         `json:"admit_after_preemption"`
		Hold           map[string]string `json:"hold"`
		PreemptCount   *int              `json:"preempt_count"`
		PreemptOwner   string            `json:"preempt_owner"`
		AdmitUnits     map[string]int    `json:"admit_total_units"`
		PreemptedUnits map[string]int    `json:"preempt_total_units"`
	}
	caseStep struct {
		AdvanceMin int        `json:"advance_min"`
		Finish     []string   `json:"finish"`
		Expect     caseExpect `json:"expect"`
	}
	caseSettled struct {
		Running        *[]string      `json:"running"`
		Pending        *[]string      `json:"pending"`
		RunningUnits   map[string]int `json:"running_units"`
		PendingUnits   map[string]int `json:"pending_units"`
		MaxPreemptions *int           `json:"max_preemptions"`
		MaxCycles      int            `json:"max_cycles"`
	}
)

// RunCases reads a file of scenarios (lists "cases" and "more_cases", either
// may be absent), runs each to its end and compares. The error is for a file
// that can't be read at all.
func RunCases(r io.Reader) ([]CaseResult, error) {
	var f caseFile
	if err := json.NewDecoder(r).Decode(&f); err != nil {
		return nil, fmt.Errorf("cases: %w", err)
	}
	var out []CaseResult
	for _, s := range append(f.Cases, f.MoreCases...) {
		out = append(out, CaseResult{ID: s.ID, Title: s.Title, Diffs: s.run()})
	}
	return out, nil
}

// run plays a scenario to its end and lists what differs.
func (s *scenario) run() []string {
	p, err := s.start()
	if err != nil {
		return []string{err.Error()}
	}
	var diffs []string
	plan := p.decide()
	diffs = append(diffs, p.compare("first decision", s.Expect, plan)...)
	p.apply(plan)
	for i, step := range s.Steps {
		p.advance(step.AdvanceMin)
		what := fmt.Sprintf("step %d", i+1)
		for _, id := range step.Finish {
			if !p.finish(id) {
				diffs = append(diffs, fmt.Sprintf("%s: %s doesn't run, so it can't finish", what, id))
			}
		}
		plan := p.decide()
		diffs = append(diffs, p.compare(what, step.Expect, plan)...)
		p.apply(plan)
	}
	if s.Settled != nil {
		diffs = append(diffs, p.settle(*s.Settled)...)
	}
	return diffs
}
