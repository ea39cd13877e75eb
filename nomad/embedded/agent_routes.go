package embedded

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

func (c *Cluster) agentSelf(query) answer {
	version, pre, _ := strings.Cut(c.opt.Version, "-")
	return plain(map[string]any{
		"config": map[string]any{
			"Version":    map[string]any{"BuildDate": nil, "Revision": "", "Version": version, "VersionMetadata": "", "VersionPrerelease": pre},
			"Region":     c.opt.Region,
			"Datacenter": "dc1",
			"ACL":        map[string]any{"Enabled": c.opt.Management != ""},
		},
		"member": map[string]any{
			"Addr": "127.0.0.1", "DelegateCur": 4, "DelegateMax": 5, "DelegateMin": 2, "Name": "embedded." + c.opt.Region,
			"Port": 4648, "ProtocolCur": 2, "ProtocolMax": 5, "ProtocolMin": 1, "Status": "alive",
			"Tags": map[string]string{"bootstrap": "1", "build": c.opt.Version, "dc": "dc1", "expect": "1", "id": uuidOf("server", c.opt.Seed),
				"port": "4647", "raft_vsn": "3", "region": c.opt.Region, "revision": "", "role": "nomad", "rpc_addr": "127.0.0.1", "vsn": "1"},
		},
		"stats": map[string]map[string]string{"nomad": {"bootstrap": "true", "known_regions": "1", "leader": "true",
			"leader_addr": "127.0.0.1:4647", "server": "true"}},
	})
}

func (c *Cluster) agentHealth(query) answer {
	ok := map[string]any{"message": "ok", "ok": true}
	return plain(map[string]any{"client": ok, "server": ok})
}

type schedulerConfig struct {
	CreateIndex                   uint64
	MemoryOversubscriptionEnabled bool
	ModifyIndex                   uint64
	NodeLimitForFeasibilityChecks int
	PauseEvalBroker               bool
	PreemptionConfig              struct {
		BatchSchedulerEnabled    bool
		ServiceSchedulerEnabled  bool
		SysBatchSchedulerEnabled bool
		SystemSchedulerEnabled   bool
	}
	RejectJobRegistration bool
	SchedulerAlgorithm    string
}

func (c *Cluster) readScheduler(query) answer {
	return readOf(c.s.Scheduler.ModifyIndex, struct {
		Index           uint64
		KnownLeader     bool
		LastContact     int
		NextToken       string
		SchedulerConfig schedulerConfig
	}{c.s.Scheduler.ModifyIndex, true, 0, "", c.s.Scheduler})
}

func (c *Cluster) writeScheduler(q query) answer {
	next := c.s.Scheduler
	if err := json.Unmarshal(q.body, &next); err != nil {
		return failed(http.StatusBadRequest, err.Error())
	}
	if a := next.SchedulerAlgorithm; a != "binpack" && a != "spread" {
		return failed(http.StatusBadRequest, "invalid scheduler algorithm: "+strconv.Quote(a))
	}
	updated := true
	if cas := q.params.Get("cas"); cas != "" {
		want, _ := strconv.ParseUint(cas, 10, 64)
		updated = want == c.s.Scheduler.ModifyIndex
	}
	if updated {
		next.CreateIndex, next.ModifyIndex = c.s.Scheduler.CreateIndex, c.bump("scheduler")
		c.s.Scheduler = next
	}
	return wrote(c.s.Index, struct {
		Index   uint64
		Updated bool
	}{c.s.Index, updated})
}
