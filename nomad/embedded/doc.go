// Package embedded is a simulated Nomad cluster: an HTTP server that speaks
// the part of Nomad's HTTP API that a portal uses. It is the default cluster
// of the demo and the double of all tests. It never executes anything: a
// simulated job is a function of (placed at, length, exit) and of the business
// clock that the cluster is given. Nothing happens between two looks; every
// look first lets everything happen that would have happened until then, in
// order and with its own time, so that the clock may jump by days.
//
// State lives in one SQLite file (Options.Path), written before an answer is
// given, so the cluster goes on after the process was killed. The ring of
// events lives in memory only, as in Nomad. Variables are stored in the clear:
// this cluster is no place for real secrets.
//
// # What a job may say about its simulation
//
// Keys are looked up in the task's env (also in capitals), the task's meta, the
// group's meta and the job's meta; the nearest wins.
//
//	sim_length_ms     how long the task runs after it started. Default: drawn from
//	                  the job id, 2 to 10 minutes, ending before max_run_duration
//	sim_setup_ms      from placement to start (image pull); default 400 to 1500
//	sim_stop_ms       how long the task lives after the signal to stop; at most the
//	                  kill timeout, which is also the default: it holds its GPUs so long
//	sim_exit          exit code, default 0
//	sim_oom           "gpu": a CUDA out-of-memory line in the log, then exit 1;
//	                  "host": killed by the kernel, exit 137 with oom_killed
//	sim_image         "missing": the image can't be pulled, the task never starts
//	sim_log           lines of the log, separated by \n, repeated until the end
//	sim_log_every_ms  time between two lines; default 5 s or 1/400 of the length
//	sim_util          GPU utilisation in percent; 0 makes an idle job
//	sim_mem_mib       GPU memory in use
//
// # What can be broken
//
// Requests: FailNext, DropBefore, DropAfter (done, but the caller never hears),
// Delay, OnRequest. Streams: DropEvents, ForgetEvents, CutStreams, MuteStreams
// (as denied), StallStreams. State: ResetIndex, CollectGarbage. Machines:
// BreakGPU, RemoveGPU, AddErrors, RepairGPU, NodeDown, NodeUp, SkewNode. Heal
// ends the faults of requests and streams.
//
// # Where it differs
//
// An evaluation is worked off within the request that made it, so it is never
// seen pending in an answer, only in the stream. Times are whole milliseconds
// of the business clock. max_run_duration counts from placement. A node's
// plugin changes raise the index of the nodes but send no event.
//
// # What is not here
//
// No HCL parser (a pasted HCL file needs a real Nomad; JSON is accepted), no
// deployments, periodic, parameterized, system or scaled jobs, no preemption.
package embedded
