package nomad

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/nomad/api"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// pageSize of a list; a cluster that doesn't page answers with everything.
const pageSize = "500"

// pages reads a list to its end.
func pages[T any](ctx context.Context, c *Client, path string, params map[string]string) ([]T, error) {
	var all []T
	next := ""
	for {
		p := map[string]string{"per_page": pageSize}
		for k, v := range params {
			p[k] = v
		}
		if next != "" {
			p["next_token"] = next
		}
		var page []T
		meta, err := c.read(ctx, path, "*", p, &page)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if meta.NextToken == "" || meta.NextToken == next {
			return all, nil
		}
		next = meta.NextToken
	}
}

// jobKey names a job: ids are unique in a namespace only.
type jobKey struct{ ns, id string }

type owned struct {
	org     pool.OrgID
	attempt pool.AttemptID
	stopped bool
}

// ourJobs lists the jobs with this pool's meta.
func (c *Client) ourJobs(ctx context.Context) (map[jobKey]owned, error) {
	stubs, err := pages[*api.JobListStub](ctx, c, "/v1/jobs", map[string]string{"meta": "true"})
	if err != nil {
		return nil, err
	}
	jobs := map[jobKey]owned{}
	for _, j := range stubs {
		if org, a, ok := c.owner(j.Meta); ok {
			jobs[jobKey{j.Namespace, j.ID}] = owned{org, a, j.Stop || j.Status == "dead"}
		}
	}
	return jobs, nil
}

// Registered lists the attempts that the cluster has as jobs; true: it is
// stopped or over and will start nothing any more.
func (c *Client) Registered(ctx context.Context) (map[pool.AttemptID]bool, error) {
	jobs, err := c.ourJobs(ctx)
	if err != nil {
		return nil, err
	}
	out := make(map[pool.AttemptID]bool, len(jobs))
	for _, o := range jobs {
		out[o.attempt] = o.stopped
	}
	return out, nil
}

// allocations lists all allocations of all namespaces with devices and events.
func (c *Client) allocations(ctx context.Context) ([]*api.AllocationListStub, error) {
	return pages[*api.AllocationListStub](ctx, c, "/v1/allocations", map[string]string{"resources": "true", "task_states": "true"})
}

// Runs lists every allocation whose job carries our meta, ordered by id.
func (c *Client) Runs(ctx context.Context) ([]domain.Run, error) {
	// Allocations first: a job registered in between has none in the list, so
	// every allocation of ours finds its job unless that was purged meanwhile.
	allocs, err := c.allocations(ctx)
	if err != nil {
		return nil, err
	}
	jobs, err := c.ourJobs(ctx)
	if err != nil {
		return nil, err
	}
	var runs []domain.Run
	for _, a := range allocs {
		o, ok := jobs[jobKey{a.Namespace, a.JobID}]
		if !ok {
			continue
		}
		r := run(a)
		r.Org, r.Attempt = o.org, o.attempt
		if r.Status == domain.RunLost || r.Status == domain.RunUnknown {
			if r.Heartbeat, err = c.missed(ctx, a.NodeID); err != nil {
				return nil, err
			}
		}
		runs = append(runs, r)
	}
	slices.SortFunc(runs, func(x, y domain.Run) int { return compare(x.Alloc, y.Alloc) })
	return runs, nil
}

func compare(a, b pool.AllocID) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// run translates an allocation; whose it is and the heartbeat come from
// elsewhere.
func run(a *api.AllocationListStub) domain.Run {
	r := domain.Run{
		Alloc:       pool.AllocID(a.ID),
		ModifyIndex: a.ModifyIndex,
		Node:        pool.NodeID(a.NodeID),
		Status:      domain.RunStatus(a.ClientStatus),
		Desired:     a.DesiredStatus,
		Created:     instant(a.CreateTime),
		Modified:    instant(a.ModifyTime),
		Devices:     devices(a.AllocatedResources, nil),
	}
	for _, ts := range a.TaskStates {
		if ts == nil {
			continue
		}
		if !ts.FinishedAt.IsZero() {
			r.Finished = max(r.Finished, pool.At(ts.FinishedAt))
		}
		for _, e := range ts.Events {
			r.Events = append(r.Events, event(e))
		}
	}
	slices.SortStableFunc(r.Events, func(x, y domain.RunEvent) int {
		return int(min(1, max(-1, x.At-y.At)))
	})
	return r
}

func event(e *api.TaskEvent) domain.RunEvent {
	out := domain.RunEvent{
		Type: e.Type, At: instant(e.Time), Message: e.DisplayMessage,
		Exit: e.ExitCode, Signal: e.Signal, OOM: e.Details["oom_killed"] == "true",
	}
	// Since 0.9 the details are meant to be read and the fields are leftovers.
	if n, err := strconv.Atoi(e.Details["exit_code"]); err == nil {
		out.Exit = n
	}
	if n, err := strconv.Atoi(e.Details["signal"]); err == nil {
		out.Signal = n
	}
	if out.Message == "" {
		out.Message = e.Message
	}
	return out
}

// instant floors Nomad's nanoseconds; 0 stays "not known".
func instant(ns int64) pool.Instant {
	if ns <= 0 {
		return 0
	}
	return pool.At(time.Unix(0, ns))
}

// devices lists distinct device ids, sorted, and counts them per model.
func devices(r *api.AllocatedResources, perModel map[string]map[string]bool) []string {
	if r == nil {
		return nil
	}
	var ids []string
	for _, t := range r.Tasks {
		if t == nil {
			continue
		}
		for _, d := range t.Devices {
			for _, id := range d.DeviceIDs {
				ids = append(ids, id)
				if perModel == nil {
					continue
				}
				if perModel[d.Name] == nil {
					perModel[d.Name] = map[string]bool{}
				}
				perModel[d.Name][id] = true
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// missed is when the servers last missed the node's heartbeat: the latest
// moment at which the node can have been heard of. 0: not known.
func (c *Client) missed(ctx context.Context, id string) (pool.Instant, error) {
	var n api.Node
	if _, err := c.read(ctx, "/v1/node/"+url.PathEscape(id), "", nil, &n); err != nil {
		return 0, ignoreNotFound(err)
	}
	var at pool.Instant
	for _, e := range n.Events {
		if e.Message == "Node heartbeat missed" {
			at = max(at, pool.At(e.Timestamp))
		}
	}
	if at == 0 && n.Status != api.NodeStatusReady && n.StatusUpdatedAt > 0 {
		at = pool.At(time.Unix(n.StatusUpdatedAt, 0))
	}
	return at, nil
}
