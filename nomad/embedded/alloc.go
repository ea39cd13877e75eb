package embedded

import (
	"strconv"

	"gpupool/domain/pool"
)

// alloc is an allocation as this cluster keeps it: what is needed to go on
// after a restart. The wire form is rendered from it.
type alloc struct {
	ID, Namespace, JobID, Group, Name string
	Slot                              int
	JobCreate                         uint64 // CreateIndex of the job: a purged id may come again
	JobVersion                        uint64 // text that is in force for it
	RunVersion                        uint64 // text that it was placed with
	NodeID                            string
	Devices                           []heldDevices
	EvalID                            string
	Desired, DesiredText              string // run or stop
	Client, ClientText                string // pending, running, complete, failed, lost, unknown
	CreateIndex, ModifyIndex          uint64
	Created, Modified                 pool.Instant
	Fate                              fate
	Phase                             phase
	Started, Finished                 pool.Instant // zero: not yet
	WaitUntil                         pool.Instant // when a restart begins
	Restarts                          int
	LastRestart                       pool.Instant
	Failed                            bool
	StopAt, StopEnd                   pool.Instant // signal to stop, and when it will be obeyed
	StopText                          string       // client text of a stop that wasn't asked for
	Migrate                           bool
	LostAt                            pool.Instant // when an unknown one counts as lost
	States                            []allocState
	Signals                           []sentSignal
	Events                            []taskEvent
	Next, Previous                    string // replacement chain
	Tries                             []try
}

// try is one life of the process; End is zero while it lives.
type try struct {
	Start, End pool.Instant
	Last       string // what it wrote when it ended
}

type phase string

const (
	placed  phase = "placed"  // the client hasn't seen it yet
	setUp   phase = "setup"   // pulling the image
	running phase = "running" //
	waiting phase = "waiting" // between two tries in place
	over    phase = "over"    // the process is gone
)

// heldDevices are devices of one group given to one task.
type heldDevices struct {
	Task                string
	Vendor, Type, Model string
	IDs                 []string
}

type allocState struct {
	At    pool.Instant
	Value string
}

type sentSignal struct {
	At   pool.Instant
	Name string
}

// terminal as the client reports it; lost counts, though it may come back.
func (a *alloc) terminal() bool {
	return a.Client == "complete" || a.Client == "failed" || a.Client == "lost"
}

// event appends a task event and forgets the oldest beyond what a client keeps.
func (a *alloc) event(e ...taskEvent) {
	a.Events = append(a.Events, e...)
	if n := len(a.Events) - keptEvents; n > 0 {
		a.Events = append([]taskEvent(nil), a.Events[n:]...)
	}
}

func (a *alloc) deviceIDs() []string {
	var ids []string
	for _, d := range a.Devices {
		ids = append(ids, d.IDs...)
	}
	return ids
}

// step is what happens next to an allocation.
type step int

const (
	stepNone step = iota
	stepReceive
	stepStart
	stepEnd   // the process ends by itself
	stepLimit // max_run_duration passes
	stepStop  // the process obeys a stop
)

// nextStep is the earliest thing that will happen to a on a connected node.
func (c *Cluster) nextStep(a *alloc) (pool.Instant, step) {
	if a.Phase == over {
		return pool.Never, stepNone
	}
	if a.StopAt != 0 {
		return a.StopEnd, stepStop
	}
	at, s := pool.Never, stepNone
	switch a.Phase {
	case placed:
		at, s = a.Created+2, stepReceive
	case setUp:
		at, s = a.Created+pool.Instant(max(a.Fate.Setup, 3)), stepStart
	case waiting:
		at, s = a.WaitUntil, stepStart
	case running:
		at, s = a.Started+pool.Instant(a.Fate.Length), stepEnd
	}
	if g := c.textOf(a).group(a.Group); g != nil && g.MaxRunDuration != nil {
		if limit := a.Created + pool.Instant(*g.MaxRunDuration/1e6); limit < at {
			return limit, stepLimit
		}
	}
	return at, s
}

// take lets step s happen to a at its time.
func (c *Cluster) take(a *alloc, at pool.Instant, s step) {
	switch s {
	case stepReceive:
		a.Phase = setUp
		a.event(received(a.Created+1), taskSetup(at))
	case stepStart:
		c.start(a, at)
	case stepEnd:
		c.end(a, at)
	case stepLimit:
		a.StopText = "allocation exceeded max_run_duration"
		c.beginStop(a, at)
	case stepStop:
		c.finishStop(a, at)
	}
	c.allocChanged(a, "AllocationUpdated")
	if a.terminal() {
		c.deviceFreed()
	}
}

func (c *Cluster) start(a *alloc, at pool.Instant) {
	if a.Fate.NoImage {
		a.Phase, a.Client, a.ClientText, a.Failed, a.Finished = over, "failed", "Failed tasks", true, at
		a.event(driverFailure(at, "Failed to pull the image: manifest unknown: the registry has no such image"),
			notRestarting(at, c.restartPolicy(a)))
		return
	}
	a.Phase, a.Client, a.ClientText = running, "running", "Tasks are running"
	a.Started = at
	a.Tries = append(a.Tries, try{Start: at})
	a.event(started(at))
}

func (c *Cluster) end(a *alloc, at pool.Instant) {
	code, signal := a.Fate.Exit, 0
	a.closeTry(at, lastWords(a))
	if a.Fate.OOM == "host" {
		code, signal = 137, 9
	}
	a.event(terminated(at, code, signal, a.Fate.OOM == "host"))
	if code == 0 {
		a.Phase, a.Client, a.ClientText, a.Finished = over, "complete", "All tasks have completed", at
		return
	}
	p := c.restartPolicy(a)
	if a.Restarts < p.Attempts {
		a.event(restarting(at, p.Delay))
		a.Restarts++
		a.Phase, a.LastRestart, a.WaitUntil = waiting, at, at+pool.Instant(p.Delay/1e6)
		a.Client, a.ClientText = "pending", "No tasks have started"
		return
	}
	a.event(notRestarting(at, p))
	a.Phase, a.Client, a.ClientText, a.Failed, a.Finished = over, "failed", "Failed tasks", true, at
}

// beginStop sends the signal. The process lives on, and keeps its GPUs, until
// it obeys or its kill timeout is over.
func (c *Cluster) beginStop(a *alloc, at pool.Instant) {
	if a.StopAt != 0 || a.Phase == over {
		return
	}
	if n := c.s.nodes[a.NodeID]; n != nil && !n.connected() {
		return // its client hears of it when it is back
	}
	a.StopAt, a.StopEnd = at, at+1
	timeout := c.killTimeout(a)
	if a.Phase == placed {
		a.event(received(at))
	}
	a.event(killing(at, timeout, a.StopText))
	if a.Phase == running {
		life := timeout / 1e6
		if a.Fate.Stop >= 0 {
			life = min(life, a.Fate.Stop)
		}
		a.StopEnd = at + pool.Instant(max(life, 1))
		// A process that ends by itself first doesn't wait for the kill.
		if natural := a.Started + pool.Instant(a.Fate.Length); natural > at && natural < a.StopEnd {
			a.StopEnd = natural
		}
	}
}

func (c *Cluster) finishStop(a *alloc, at pool.Instant) {
	if a.Phase == running {
		a.closeTry(at, "stopped")
		switch {
		case at == a.Started+pool.Instant(a.Fate.Length):
			a.event(terminated(at, a.Fate.Exit, 0, false))
		case at-a.StopAt >= pool.Instant(c.killTimeout(a)/1e6):
			a.event(terminated(at, 137, 9, false))
		default:
			a.event(terminated(at, 143, 15, false))
		}
	}
	a.event(killed(at))
	a.Phase, a.Client, a.ClientText, a.Finished = over, "complete", "All tasks have completed", at
	if a.StopText != "" {
		a.ClientText = a.StopText
	}
}

func (a *alloc) closeTry(at pool.Instant, last string) {
	if n := len(a.Tries); n > 0 && a.Tries[n-1].End == 0 {
		a.Tries[n-1].End, a.Tries[n-1].Last = at, last
	}
}

func (c *Cluster) restartPolicy(a *alloc) *restartText {
	if g := c.textOf(a).group(a.Group); g != nil {
		return g.RestartPolicy
	}
	return &restartText{Mode: "fail"}
}

// killTimeout in nanoseconds, capped as the client caps it.
func (c *Cluster) killTimeout(a *alloc) int64 {
	g := c.textOf(a).group(a.Group)
	if g == nil || len(g.Tasks) == 0 {
		return 0
	}
	return min(g.Tasks[0].KillTimeout, int64(c.opt.MaxKillTimeout))
}

func allocName(job, group string, slot int) string {
	return job + "." + group + "[" + strconv.Itoa(slot) + "]"
}

// ended tells whether the process is gone for good.
func (a *alloc) ended() bool { return a.Phase == over }
