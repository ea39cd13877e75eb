// Package replay runs a trace of jobs through the real core, without a
// database or a cluster: quota.Decide at every event, meter.Fold for what
// ran, rating and invoice for what it costs. It makes the demo's history,
// answers what-if, and measures the engine.
package replay
