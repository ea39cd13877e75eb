package web

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/views/ui"
)

// orgPath is a page of the organisation of the visit.
func (v *visit) orgPath(rest string) string { return "/o/" + string(v.org) + rest }

func (v *visit) jobPath(id pool.JobID, rest string) string {
	return v.orgPath("/jobs/" + string(id) + rest)
}

// jobState is the word of a job's state: an ended one is finished, stopped or failed.
func (v *visit) jobState(j domain.Job) string {
	if j.State != domain.JobEnded {
		return string(j.State)
	}
	switch j.End {
	case domain.EndFinished:
		return "finished"
	case domain.EndStopped, domain.EndNeverStarts:
		return "stopped"
	}
	return "failed"
}

// ends has the sentence of each end reason and what helps.
var ends = map[domain.EndReason]struct{ sentence, advice string }{
	domain.EndFinished:    {"Finished", ""},
	domain.EndExitCode:    {"Ended with an error", "The program itself ended it: the last lines of the log say why."},
	domain.EndGPUMemory:   {"Out of GPU memory", "Try a smaller batch, more GPUs for the same model, or a GPU type with more memory."},
	domain.EndMemory:      {"Out of memory", "The node's memory was not enough: load less at once, or ask for more GPUs, which bring memory with them."},
	domain.EndTimeLimit:   {"Reached its time limit", "Rerun it with a longer maximum run time, or write checkpoints and continue from the last one."},
	domain.EndTakenBack:   {"Taken back", "Its GPUs belong to another organisation. Guaranteed jobs are never taken back by others."},
	domain.EndGPULost:     {"Its node lost GPUs", "It starts again where there is room. The time from the notice on is free."},
	domain.EndOverBudget:  {"The money for it ran out", "It starts again when finance raises the limit, or when the next month or order begins."},
	domain.EndMaintenance: {"Stopped for maintenance", "It starts again elsewhere, or when the maintenance is over. The time from the notice on is free."},
	domain.EndClosedHours: {"These hours are closed to it", "It starts again when they are over. The time from the notice on is free."},
	domain.EndStopped:     {"Stopped", ""},
	domain.EndNodeFault:   {"A node failed", "Nobody is charged for the failed time. Rerun it: the node takes no more jobs."},
	domain.EndImage:       {"Image not found", "Check the name and the tag of the image, and that the nodes may pull it."},
	domain.EndSetup:       {"Set-up took too long", "A smaller image or data that is there already starts sooner."},
	domain.EndGang:        {"Its nodes did not start together", "The time costs nothing. A smaller image starts sooner; fewer nodes are free together sooner."},
	domain.EndNotPlaced:   {"Could not be placed", "The cluster refused it: the reason stands in the timeline."},
	domain.EndVanished:    {"Lost by the cluster", "The cluster no longer knows of it. Rerun it; only the time that it was seen is charged."},
	domain.EndNeverStarts: {"Stopped while it waited", ""},
	domain.EndDeadline:    {"Missed its deadline", "It did not get its GPUs in time to end by then, so it was not started. Rerun it with a later deadline, a shorter run, or more GPU types to choose from."},
}

// ended says why something ended, with who or what it was.
func (f format) ended(e domain.EndReason, detail string) string {
	x, ok := ends[e]
	if !ok {
		return string(e)
	}
	if detail == "" {
		return f.T(x.sentence)
	}
	return f.T(x.sentence) + ": " + detail
}

// advice is what helps after such an end; empty where nothing is wrong.
func (f format) advice(e domain.EndReason) string {
	if x := ends[e]; x.advice != "" {
		return f.T(x.advice)
	}
	return ""
}

// shape is how many GPUs of what a job asks for.
func (f format) shape(j domain.Job) string {
	if j.Nodes > 1 {
		return f.T("%d × %d %s", j.Nodes, j.GPUsPerNode, f.typeNames(j.Classes))
	}
	return f.T("%d %s", j.GPUsPerNode, f.typeNames(j.Classes))
}

func classText(ids []pool.ClassID) string {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = string(id)
	}
	return strings.Join(all, " / ")
}

// jobChoices are the GPU types and the projects that the person sees, by id.
func (v *visit) jobChoices() ([]domain.GPUClass, map[pool.ProjectID]string, error) {
	var classes []domain.GPUClass
	projects := map[pool.ProjectID]string{}
	err := v.server.store.View(v.ctx, func(tx domain.Tx) (err error) {
		if classes, err = tx.Classes(); err != nil {
			return err
		}
		all, err := tx.Projects(v.org)
		for _, p := range all {
			if v.actor.SeesProject(v.org, p.ID) {
				projects[p.ID] = p.Name
			}
		}
		return err
	})
	return classes, projects, err
}

// options of a select, by label.
func options[K ~string](names map[K]string) []ui.Option {
	var out []ui.Option
	for id, name := range names {
		out = append(out, ui.Option{Value: string(id), Label: name})
	}
	slices.SortFunc(out, func(a, b ui.Option) int { return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.Value, b.Value)) })
	return out
}

func memberNames(orgs []domain.Organisation) map[pool.OrgID]string {
	names := make(map[pool.OrgID]string, len(orgs))
	for _, o := range orgs {
		names[o.ID] = o.Name
	}
	return names
}

// named is the name of an id, or the id where it has none any more.
func named[K ~string](names map[K]string, id K) string {
	if n := names[id]; n != "" {
		return n
	}
	return string(id)
}

func number(n int) string { return strconv.Itoa(n) }

func isoOrEmpty(i pool.Instant) string {
	if i == 0 || i == pool.Never {
		return ""
	}
	return iso(i)
}
