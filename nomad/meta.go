package nomad

import (
	"strconv"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// Keys of the job meta by which we know our own jobs again. They are written
// once at registration: changing meta restarts a job.
const (
	metaPool    = "gpupool.pool"
	metaOrg     = "gpupool.org"
	metaProject = "gpupool.project"
	metaUser    = "gpupool.user"
	metaJob     = "gpupool.job"
	metaAttempt = "gpupool.attempt"
)

// task and group are the names in every job that we render.
const (
	task  = "main"
	group = "run"
)

// namespace is where an organisation's jobs live.
func (c *Client) namespace(org pool.OrgID) string { return c.cfg.Prefix + "-" + string(org) }

func (c *Client) meta(s domain.RunSpec) map[string]string {
	m := map[string]string{
		metaPool:    c.cfg.Prefix,
		metaOrg:     string(s.Org),
		metaProject: string(s.Project),
		metaUser:    string(s.User),
		metaJob:     string(s.Attempt.Job),
		metaAttempt: strconv.Itoa(s.Attempt.N),
	}
	if c.cfg.Sim && s.Spec.Sim != nil {
		simMeta(m, *s.Spec.Sim)
	}
	return m
}

// simMeta tells the embedded cluster how the simulated job behaves.
func simMeta(m map[string]string, s domain.Sim) {
	if s.LengthMs > 0 {
		m["sim_length_ms"] = strconv.FormatInt(s.LengthMs, 10)
	}
	if s.Exit != 0 {
		m["sim_exit"] = strconv.Itoa(s.Exit)
	}
	if s.OOM {
		m["sim_oom"] = "gpu"
	}
	if s.Idle {
		m["sim_util"] = "0"
	}
	if s.Log != "" {
		m["sim_log"] = s.Log
	}
}

// owner reads our meta; false for a job that isn't this pool's.
func (c *Client) owner(m map[string]string) (pool.OrgID, pool.AttemptID, bool) {
	n, err := strconv.Atoi(m[metaAttempt])
	if m[metaPool] != c.cfg.Prefix || m[metaOrg] == "" || m[metaJob] == "" || err != nil || n < 1 {
		return "", pool.AttemptID{}, false
	}
	return pool.OrgID(m[metaOrg]), pool.AttemptID{Job: pool.JobID(m[metaJob]), N: n}, true
}
