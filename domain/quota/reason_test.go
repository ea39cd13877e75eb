package quota

import (
	"slices"
	"testing"
	"time"

	"gpupool/domain/pool"
)

// Reasons that need more than one job, each with its numbers.
func TestAWaitBesideOthersNamesItsReason(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Snapshot)
		want   pool.Reason
	}{
		"jobs like it are before it": {func(s *Snapshot) {
			s.Running = []Attempt{holds("x", "lab", "n1", 4), holds("y", "lab", "n2", 4)}
			s.Running[0].Fixed, s.Running[1].Fixed = true, true
			s.Pending = []Job{ask("a", "uni", 2), ask("b", "uni", 2), ask("j", "uni", 2)}
		}, pool.Reason{Code: pool.Behind, Need: 3, Have: 2, Limit: 3}},
		"borrowers inside their minimum run time": {func(s *Snapshot) {
			s.Running = []Attempt{holds("x", "lab", "n1", 4), holds("y", "lab", "n2", 4)}
			s.Running[1].MinRunUntil = noon + 500
			s.Running[1].Started++
			s.Running[0].Fixed = true
			s.Pending = []Job{ask("j", "uni", 2)}
		}, pool.Reason{Code: pool.MinimumRun, Class: "a100", Need: 2, Have: 4, Until: noon + 500}},
		"borrowers under notice for it": {func(s *Snapshot) {
			s.Policy.Notice = time.Minute
			s.Running = []Attempt{holds("x", "lab", "n1", 4), holds("y", "lab", "n2", 4)}
			s.Pending = []Job{ask("j", "uni", 4)}
		}, pool.Reason{Code: pool.WaitingForDrain, Class: "a100", Need: 4, Have: 1, Until: noon.Add(time.Minute)}},
		"free but reserved": {func(s *Snapshot) {
			s.Running = []Attempt{holds("x", "uni", "n1", 3)}
			s.Running[0].Fixed = true
			s.Orgs[1].Quotas = []Quota{{Class: "a100", Nominal: 8}}
			s.Orgs[0].Quotas = nil
			wide := ask("wide", "lab", 4)
			wide.Nodes = 2
			long := ask("j", "uni", 4)
			long.MaxRun, long.Fixed = 9*time.Hour, true
			s.Pending = []Job{wide, long}
		}, pool.Reason{Code: pool.Reserved, Class: "a100", Need: 4, Have: 5, Until: noon.Add(time.Hour), Ref: "wide"}},
		"a project's budget": {func(s *Snapshot) {
			s.Budgets = []Budget{{ID: "b", Kind: pool.Budget, Ref: "LLM", Limit: 100}}
			j := ask("j", "uni", 2)
			j.Charges = []Charge{{Budget: "b", Price: 150_000_000}}
			s.Pending = []Job{j}
		}, pool.Reason{Code: pool.Budget, Class: "a100", Need: 300, Have: 100, Limit: 100, Ref: "LLM"}},
		"a purchase order": {func(s *Snapshot) {
			s.Budgets = []Budget{{ID: "b", Kind: pool.OrderExhausted, Ref: "PO-7", Limit: 100}}
			j := ask("j", "uni", 2)
			j.Charges = []Charge{{Budget: "b", Price: 150_000_000}}
			s.Pending = []Job{j}
		}, pool.Reason{Code: pool.OrderExhausted, Class: "a100", Need: 300, Have: 100, Limit: 100, Ref: "PO-7"}},
		"nodes that are shared": {func(s *Snapshot) {
			s.Projects = []Project{{ID: "p", Org: "uni", NoSharedNode: true}}
			s.Running = []Attempt{holds("x", "lab", "n1", 1), holds("y", "lab", "n2", 1)}
			s.Running[0].Fixed, s.Running[1].Fixed = true, true
			j := ask("j", "uni", 2)
			j.Project = "p"
			s.Pending = []Job{j}
		}, pool.Reason{Code: pool.ClassFull, Class: "a100", Need: 2, Quota: 4, Elsewhere: 6}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := two()
			c.change(&s)
			p := Decide(s, noon)
			i := slices.IndexFunc(p.Wait, func(w Waiting) bool { return w.Job == "j" })
			if i < 0 || !slices.Contains(p.Wait[i].Reasons, c.want) {
				t.Errorf("want %+v; %+v, admitted %+v", c.want, p.Wait, p.Admit)
			}
		})
	}
}
