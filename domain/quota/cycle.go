package quota

import (
	"fmt"
	"slices"

	"gpupool/domain/pool"
)

// waitsForItself says whether a job depends, through others that are pending,
// on itself.
func (e *engine) waitsForItself(j *job) bool {
	seen := map[pool.JobID]bool{}
	todo := slices.Clone(j.of.DependsOn)
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if id == j.of.ID {
			return true
		}
		if k, ok := e.jobAt(id); ok && !seen[id] {
			seen[id] = true
			todo = append(todo, e.jobs[k].of.DependsOn...)
		}
	}
	return false
}

// cycle is the reason of a job that waits for itself.
func (e *engine) cycle(j *job) []pool.Reason {
	if len(j.of.DependsOn) == 0 || !e.waitsForItself(j) {
		return nil
	}
	return []pool.Reason{{Code: pool.DependencyCycle, Ref: string(j.of.ID)}}
}

// cycles are the problems of all jobs that wait for themselves.
func (e *engine) cycles() []string {
	var out []string
	e.dependents = slices.DeleteFunc(e.dependents, func(i int32) bool { return e.jobs[i].dead })
	for _, i := range e.dependents {
		if j := &e.jobs[i]; e.waitsForItself(j) {
			out = append(out, fmt.Sprintf("job %s waits for itself, through the jobs it depends on", j.of.ID))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
