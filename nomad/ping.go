package nomad

import (
	"context"
	"time"

	"gpupool/domain"
)

// self is the part of the agent's answer about itself that we read.
type self struct {
	Config struct {
		Version struct {
			Version           string
			VersionPrerelease string
		}
		ACL    *struct{ Enabled bool }
		Server *struct {
			JobGCThreshold       string
			BatchEvalGCThreshold string
		}
	} `json:"config"`
}

// Ping asks the agent who it is. Warnings are sentences for the operator.
func (c *Client) Ping(ctx context.Context) (domain.ClusterInfo, error) {
	info := domain.ClusterInfo{Embedded: c.cfg.Sim}
	var leader string
	if _, err := c.read(ctx, "/v1/status/leader", "", nil, &leader); err != nil {
		return info, err
	}
	info.Leader = leader != ""
	var s self
	if _, err := c.read(ctx, "/v1/agent/self", "", nil, &s); err != nil {
		return info, err
	}
	info.Version = s.Config.Version.Version
	c.version.Store(info.Version)
	if p := s.Config.Version.VersionPrerelease; p != "" {
		info.Version += "-" + p
	}
	info.Warnings = c.warnings(s, info.Leader)
	return info, nil
}

// ACLOff tells whether the cluster checks no tokens, so that every member who
// reaches it can go around the pool. It needs the right to read the agent.
func (c *Client) ACLOff(ctx context.Context) (bool, error) {
	var s self
	if _, err := c.read(ctx, "/v1/agent/self", "", nil, &s); err != nil {
		return false, err
	}
	return aclOff(s), nil
}

func aclOff(s self) bool { return s.Config.ACL != nil && !s.Config.ACL.Enabled }

func (c *Client) warnings(s self, leader bool) []string {
	var w []string
	if !leader {
		w = append(w, "The cluster has no leader: nothing is placed until it has one.")
	}
	if c.denied.Load() {
		w = append(w, "The cluster refuses its event stream to our token: changes are seen within "+c.cfg.PollEvery.String()+".")
	}
	if c.cfg.Sim {
		return w
	}
	v := s.Config.Version.Version
	switch {
	case olderThan(v, 2, 0, 3):
		w = append(w, "Nomad "+v+" does not end jobs at their maximum run time by itself: the pool stops them, which needs the pool to run. Use 2.0.4 or later.")
	case olderThan(v, 2, 0, 4):
		w = append(w, "Nomad "+v+" has known flaws with host namespaces and volumes. Use 2.0.4 or later.")
	}
	if aclOff(s) {
		w = append(w, "The cluster checks no tokens (ACL is off): whoever reaches it can use GPUs past the pool.")
	}
	if s.Config.Server != nil {
		for _, t := range []string{s.Config.Server.JobGCThreshold, s.Config.Server.BatchEvalGCThreshold} {
			if d, err := time.ParseDuration(t); err == nil && d > 0 && d < time.Hour {
				w = append(w, "The cluster forgets ended jobs after "+t+": if the pool is down for longer, use is lost. Raise the collection thresholds to a day.")
				break
			}
		}
	}
	return w
}
