package domain

import (
	"time"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// JobState is the lifecycle of a job. It moves forward, except that a
// preempted job goes from running back to waiting for its next attempt.
type JobState string

const (
	JobWaiting  JobState = "waiting"  // queued, with reasons
	JobStarting JobState = "starting" // admitted, its attempt is on the way to Nomad
	JobRunning  JobState = "running"
	JobStopping JobState = "stopping" // under notice or being stopped
	JobEnded    JobState = "ended"
)

// EndReason is why a job or an attempt ended.
type EndReason string

const (
	EndFinished    EndReason = "finished"
	EndExitCode    EndReason = "exit_code"
	EndGPUMemory   EndReason = "gpu_memory"
	EndMemory      EndReason = "memory"
	EndTimeLimit   EndReason = "time_limit"
	EndTakenBack   EndReason = "taken_back"   // by whom and the rule stand in EndDetail
	EndGPULost     EndReason = "gpu_lost"     // the node stands in EndDetail
	EndOverBudget  EndReason = "over_budget"  // which limit of money stands in EndDetail
	EndMaintenance EndReason = "maintenance"  // the operator's text stands in EndDetail
	EndClosedHours EndReason = "closed_hours" // the name of the time policy stands in EndDetail
	EndStopped     EndReason = "stopped"      // by whom stands in EndDetail
	EndNodeFault   EndReason = "node_fault"
	EndImage       EndReason = "image_not_found"
	EndSetup       EndReason = "setup_too_long"
	EndGang        EndReason = "gang_incomplete" // not every node started in time; how many did stands in EndDetail
	EndNotPlaced   EndReason = "not_placed"
	EndVanished    EndReason = "vanished"
	EndNeverStarts EndReason = "cancelled" // stopped while it waited
	EndDeadline    EndReason = "deadline"  // it could not end by its deadline any more
)

// ByEngine tells whether the engine stops an attempt for the reason: with
// notice that it may take back, free of charge from the signal on, and the job
// queues again with its old submit time.
func (r EndReason) ByEngine() bool {
	return r == EndTakenBack || r == EndOverBudget || r == EndGPULost || r.planned()
}

// planned tells whether the calendar ends it: a maintenance, or closed hours.
func (r EndReason) planned() bool { return r == EndMaintenance || r == EndClosedHours }

// JobSpec is what runs: rendered by us into Nomad's job specification.
type JobSpec struct {
	Template string            `json:"template,omitempty"` // train, notebook, …
	Image    string            `json:"image"`
	Command  string            `json:"command,omitempty"`
	Args     []string          `json:"args,omitempty"`
	Env      map[string]string `json:"env,omitempty"`
	// Sim steers the embedded cluster only: length in ms, exit code, whether
	// GPU memory overflows. A real Nomad never sees it.
	Sim *Sim `json:"sim,omitempty"`
}

// Sim is how a simulated job behaves.
type Sim struct {
	LengthMs int64  `json:"length_ms,omitempty"`
	Exit     int    `json:"exit,omitempty"`
	OOM      bool   `json:"oom,omitempty"`
	Idle     bool   `json:"idle,omitempty"` // shows no GPU use
	Log      string `json:"log,omitempty"`
}

// Job is what a person submits.
type Job struct {
	ID          pool.JobID
	Org         pool.OrgID
	Project     pool.ProjectID
	User        pool.UserID
	Name        string
	Classes     []pool.ClassID // acceptable, in order
	Nodes       int            // n of n x g
	GPUsPerNode int            // g
	Tier        pool.Tier
	Priority    int
	MaxRun      time.Duration
	Renewable   bool
	NotBefore   pool.Instant // 0: at once
	Deadline    pool.Instant // it starts only where it ends by then; 0: none
	DependsOn   pool.JobID   // empty: nothing
	Spec        JobSpec
	State       JobState
	Reasons     []pool.Reason // while waiting
	Position    int           // in its queue, from 1; 0 unknown
	StartsBy    pool.Instant  // upper bound of the start, 0 unknown
	UpTo        money.Amount  // the promise shown at submit
	Attempts    int
	SubmittedAt pool.Instant
	EndedAt     pool.Instant // 0 while not ended
	End         EndReason
	EndDetail   string // names the person, organisation, rule or code
	StopBy      string // who asked to stop; empty: nobody
	StopAsked   pool.Instant
	LogTail     []byte // last 64 KiB, kept at the end
}

// GPUs of the whole job.
func (j Job) GPUs() int { return j.Nodes * j.GPUsPerNode }

// Live tells whether the job has not ended.
func (j Job) Live() bool { return j.State != JobEnded }

// NodeGPUs is GPUs on one node.
type NodeGPUs struct {
	Node pool.NodeID `json:"node"`
	GPUs int         `json:"gpus"`
}

// AttemptState is the lifecycle of one pinned Nomad job.
type AttemptState string

const (
	AttemptPlaced   AttemptState = "placed"   // admitted; Submit is in the outbox
	AttemptRunning  AttemptState = "running"  // Nomad has started it
	AttemptStopping AttemptState = "stopping" // notice given, or stop sent
	AttemptEnded    AttemptState = "ended"    // terminal and metered to its end
)

// Attempt is one try of a job: one pinned Nomad batch job.
type Attempt struct {
	ID         pool.AttemptID
	Org        pool.OrgID
	Project    pool.ProjectID
	User       pool.UserID
	Class      pool.ClassID
	Placement  []NodeGPUs
	Tier       pool.Tier
	Priority   int
	Split      pool.Split // cover now; its history is in CoverRow
	State      AttemptState
	AdmittedAt pool.Instant
	StartedAt  pool.Instant // 0: not yet
	MaxEnd     pool.Instant // declared and enforced end
	NoticeAt   pool.Instant // 0: no notice
	StopAt     pool.Instant // when Stop is due, 0: none
	// GuaranteedUntil is set while it is above a quota that was cut: then it
	// goes on as flexible work. 0: its quota holds it.
	GuaranteedUntil pool.Instant
	StopReason      EndReason // why we stop it
	StopDetail      string
	StopSent        pool.Instant // 0: not yet
	EndedAt         pool.Instant
	End             EndReason
	ExitCode        int
	EndDetail       string
}

// GPUs of the attempt.
func (a Attempt) GPUs() int {
	n := 0
	for _, p := range a.Placement {
		n += p.GPUs
	}
	return n
}

// PromiseState is open until the victims are gone or it is withdrawn.
type PromiseState string

const (
	PromiseOpen      PromiseState = "open"
	PromiseKept      PromiseState = "kept"
	PromiseWithdrawn PromiseState = "withdrawn"
	PromiseLapsed    PromiseState = "lapsed"
)

// Promise is GPUs of victims under notice that belong to a waiting job.
type Promise struct {
	ID        string
	Job       pool.JobID
	Class     pool.ClassID
	Placement []NodeGPUs
	Victims   []pool.AttemptID
	Rule      string
	MadeAt    pool.Instant
	StopAt    pool.Instant
	State     PromiseState
}
