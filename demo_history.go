package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"strconv"
	"time"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/replay"
	"gpupool/nomad/embedded"
)

// trace draws the crowd, adds the jobs of the story, and reads both back
// through the reader of traces.
func (b *demoBuilder) trace(seed uint64) (replay.Trace, error) {
	var buf bytes.Buffer
	t := b.times
	if err := replay.WriteCrowd(&buf, b.story.Crowd, t.traceStart, t.moment, t.zone, seed); err != nil {
		return replay.Trace{}, err
	}
	w := csv.NewWriter(&buf)
	for _, j := range b.story.Jobs {
		exit := ""
		switch {
		case j.Exit != 0:
			exit = strconv.Itoa(j.Exit)
		case j.OOM:
			exit = "oom"
		case j.Idle:
			exit = "idle"
		}
		err := w.Write([]string{string(j.Org), j.User, j.Project, j.Name, string(j.Class), string(j.Tier), strconv.Itoa(j.Nodes), strconv.Itoa(j.GPUs),
			strconv.FormatInt(int64(t.moment-t.traceStart)/1000-int64(j.Before)*60, 10), strconv.Itoa(j.Minutes * 60), strconv.Itoa(j.Limit * 60), exit})
		if err != nil {
			return replay.Trace{}, err
		}
	}
	w.Flush()
	tr, err := replay.Read(&buf, b.pool)
	if err == nil && len(tr.Skipped) > 0 {
		err = fmt.Errorf("%d rows of the demo's trace were skipped: %s", tr.Skipped[0].Rows, tr.Skipped[0].Cause)
	}
	return tr, err
}

// history turns a run's names into the store's ids.
func (b *demoBuilder) history(res replay.Result) *domain.History {
	h := &domain.History{Result: res, Setup: time.Duration(b.pool.Setup), Devices: map[pool.NodeID][]string{}, Users: map[pool.UserID]pool.UserID{}, Specs: demoSpec, Log: demoLog}
	for email, u := range b.users {
		h.Users[pool.UserID(email)] = u.ID
	}
	for _, n := range b.pool.Nodes {
		kind := "GPU"
		if n.GPUs > 8 {
			kind = "MIG"
		}
		h.Devices[b.node[pool.NodeID(n.Name)]] = embedded.DeviceIDs(kind, n.Name, n.GPUs)
	}
	for i := range h.Result.Jobs {
		o := &h.Result.Jobs[i]
		o.Project = b.projects[string(o.Project)]
		for k := range o.Attempts {
			for n := range o.Attempts[k].Placement {
				g := &o.Attempts[k].Placement[n]
				g.Node = b.node[g.Node]
			}
		}
	}
	return h
}

// demoSpec is what a job of the demo pretends to run.
func demoSpec(j replay.Job) domain.JobSpec {
	sim := &domain.Sim{LengthMs: j.Length.Milliseconds(), Exit: j.Exit, OOM: j.OOM, Idle: j.Idle}
	if j.OOM {
		sim.Exit = 0
	}
	return domain.JobSpec{Template: "train", Image: "ghcr.io/norbridge/pytorch:2.9", Command: "python", Args: []string{"train.py", "--name", j.Name}, Sim: sim}
}

// demoLog is the end of what an ended attempt of the history wrote.
func demoLog(j replay.Job, a replay.Attempt) []byte {
	id := pool.AttemptID{Job: j.ID, N: a.N}.NomadID()
	p := embedded.PastRun{Job: id, Name: id + ".run[0]", GPUs: j.GPUs, Length: j.Length, Start: a.Started, End: a.End, OOM: j.OOM, Exit: j.Exit,
		Cut: !a.Finished || a.TimeLimit}
	if a.Notice != 0 {
		p.Signal, p.At = demoSignal, a.Notice
	}
	return p.LogTail(demoLogLines)
}

const (
	demoSignal   = "SIGUSR1"
	demoLogLines = 30
)

// takeOver hands the jobs in flight to the cluster.
func (b *demoBuilder) takeOver(ctx context.Context, h *domain.History) error {
	classes, err := b.p.service.Classes(ctx)
	if err != nil {
		return err
	}
	var flights []embedded.InFlight
	for _, f := range h.InFlight(classes) {
		if err := b.p.client.EnsureNamespace(ctx, f.Spec.Org); err != nil {
			return err
		}
		job, ns, err := b.p.client.Render(f.Spec)
		if err != nil {
			return fmt.Errorf("job %s: %w", f.Spec.Attempt.NomadID(), err)
		}
		in := embedded.InFlight{Job: job, Namespace: ns}
		for i := range f.Alloc {
			in.Runs = append(in.Runs, embedded.Run{AllocID: string(f.Alloc[i]), Node: string(f.Node[i]), Devices: f.Device[i], Placed: f.Placed, Started: f.Start})
		}
		flights = append(flights, in)
	}
	return b.p.cluster.Import(flights)
}
