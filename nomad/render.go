package nomad

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"gpupool/domain"
)

// render makes the one pinned batch job of an attempt. It is a function of its
// arguments alone, so rendering again gives the same job. master is the
// address of the gang's first node, empty for a job on one node.
func (c *Client) render(s domain.RunSpec, master string) (*api.Job, error) {
	if err := c.CheckSpec(s.Spec, len(s.Placement)); err != nil {
		return nil, err
	}
	gpus, err := perNode(s)
	if err != nil {
		return nil, err
	}
	id := s.Attempt.NomadID()
	g := api.NewTaskGroup(group, len(s.Placement))
	g.Constraints = c.pin(s.Placement)
	g.RestartPolicy = &api.RestartPolicy{Attempts: new(0), Mode: new("fail")} // a further try is a new attempt
	g.ReschedulePolicy = &api.ReschedulePolicy{Attempts: new(0), Unlimited: new(false)}
	g.Disconnect = &api.DisconnectStrategy{LostAfter: new(c.cfg.LostAfter), Replace: new(false), Reconcile: new("keep_original")}
	g.MaxRunDuration = new(s.MaxRun)
	g.Tasks = []*api.Task{c.task(s, gpus)}
	if len(s.Placement) > 1 {
		c.gang(g, s, gpus, master)
	}
	job := api.NewBatchJob(id, id, c.cfg.Region, 50) // one priority for all: Nomad itself never preempts
	if c.cfg.Region == "" {
		job.Region = nil
	}
	job.Namespace = new(c.namespace(s.Org))
	job.Datacenters = []string{"*"} // the nodes are named one by one
	job.NodePool = new("all")
	job.Meta = c.meta(s)
	job.TaskGroups = []*api.TaskGroup{g}
	return job, nil
}

// perNode is the GPUs on each node of the plan, which are equal.
func perNode(s domain.RunSpec) (int, error) {
	if len(s.Placement) == 0 || s.MaxRun <= 0 {
		return 0, domain.Errf(domain.Internal, "The attempt %s has no nodes or no end.", s.Attempt.NomadID())
	}
	gpus := s.Placement[0].GPUs
	for _, p := range s.Placement {
		if p.GPUs != gpus || gpus < 1 || p.Node == "" {
			return 0, domain.Errf(domain.Internal, "The attempt %s is not placed with equal GPUs on named nodes.", s.Attempt.NomadID())
		}
	}
	return gpus, nil
}

// pin holds the job to the nodes of the plan, one run on each.
func (c *Client) pin(on []domain.NodeGPUs) []*api.Constraint {
	if len(on) == 1 {
		return []*api.Constraint{api.NewConstraint("${node.unique.id}", "=", string(on[0].Node))}
	}
	ids := make([]string, len(on))
	for i, p := range on {
		ids[i] = regexp.QuoteMeta(string(p.Node))
	}
	return []*api.Constraint{
		api.NewConstraint("${node.unique.id}", "regexp", "^("+strings.Join(ids, "|")+")$"),
		api.NewConstraint("", "distinct_hosts", "true"),
	}
}

func (c *Client) task(s domain.RunSpec, gpus int) *api.Task {
	t := api.NewTask(task, c.cfg.Driver)
	t.Config = c.driverConfig(s.Spec)
	t.Env = maps.Clone(s.Spec.Env)
	t.KillTimeout = new(c.cfg.KillTimeout)
	t.Resources = &api.Resources{
		// Exactly one device block: two would allocate both and show one.
		Devices: []*api.RequestedDevice{{
			Name:        s.Class.Vendor + "/" + s.Class.Type,
			Count:       new(uint64(gpus)),
			Constraints: []*api.Constraint{api.NewConstraint("${device.model}", "=", s.Class.Model)},
		}},
	}
	if s.Class.CPUPerGPU > 0 {
		t.Resources.CPU = new(s.Class.CPUPerGPU * gpus)
	}
	if s.Class.MemPerGPU > 0 {
		t.Resources.MemoryMB = new(s.Class.MemPerGPU * gpus)
	}
	return t
}

func (c *Client) driverConfig(s domain.JobSpec) map[string]any {
	command, args := s.Command, s.Args
	if len(args) == 0 && strings.ContainsAny(command, " \t\n|&;<>$") {
		// A line as one types it, not the name of a program.
		command, args = "/bin/sh", []string{"-c", s.Command}
	}
	switch c.cfg.Driver {
	case "mock_driver":
		return mockConfig(s)
	case "docker", "podman":
		cfg := map[string]any{"image": s.Image}
		if command != "" {
			cfg["command"] = command
		}
		if len(args) > 0 {
			cfg["args"] = args
		}
		return cfg
	default:
		return map[string]any{"command": command, "args": args}
	}
}

// mockConfig lets Nomad's own test driver behave as the simulation says.
func mockConfig(s domain.JobSpec) map[string]any {
	cfg := map[string]any{"run_for": "10m"}
	if s.Sim == nil {
		return cfg
	}
	if s.Sim.LengthMs > 0 {
		cfg["run_for"] = strconv.FormatInt(s.Sim.LengthMs, 10) + "ms"
	}
	if s.Sim.Exit != 0 {
		cfg["exit_code"] = s.Sim.Exit
	}
	if s.Sim.Log != "" {
		cfg["stdout_string"] = s.Sim.Log
	}
	return cfg
}

// gang gives the runs of a job on several nodes what they need to meet. The
// rank follows the node, because Nomad's own index isn't bound to one.
func (c *Client) gang(g *api.TaskGroup, s domain.RunSpec, gpus int, master string) {
	port := masterPort(s)
	g.Networks = []*api.NetworkResource{{
		Mode:          c.cfg.GangNetwork,
		ReservedPorts: []api.Port{{Label: "master", Value: port, To: port}},
	}}
	t := g.Tasks[0]
	if t.Env == nil {
		t.Env = map[string]string{}
	}
	t.Env["NNODES"] = strconv.Itoa(len(s.Placement))
	t.Env["GPUS_PER_NODE"] = strconv.Itoa(gpus)
	t.Env["MASTER_ADDR"] = master
	t.Env["MASTER_PORT"] = strconv.Itoa(port)
	t.Templates = []*api.Template{{
		EmbeddedTmpl: new(rankTemplate(s)),
		DestPath:     new("local/gpupool.env"),
		Envvars:      new(true),
		ChangeMode:   new("noop"),
	}}
}

// rankTemplate holds nothing but node ids and numbers; no word of a tenant
// ever enters a template.
func rankTemplate(s domain.RunSpec) string {
	var b strings.Builder
	for i, p := range s.Placement {
		fmt.Fprintf(&b, "{{ if eq (env \"node.unique.id\") %q }}NODE_RANK=%d{{ end }}\n", string(p.Node), i)
	}
	return b.String()
}

// masterPort is below Nomad's dynamic range and differs between attempts, so
// that two gangs that share a node rarely want the same.
func masterPort(s domain.RunSpec) int {
	h := fnv.New32a()
	h.Write([]byte(s.Attempt.NomadID()))
	return 10000 + int(h.Sum32()%10000)
}

// masterAddr is the address of the first node of a gang.
func (c *Client) masterAddr(ctx context.Context, s domain.RunSpec) (string, error) {
	if len(s.Placement) < 2 {
		return "", nil
	}
	d, err := c.node(ctx, string(s.Placement[0].Node), 0)
	if err != nil {
		return "", err
	}
	if d.address == "" {
		return "", domain.Errf(domain.Unavailable, "The cluster does not know the address of the node %s.", d.name)
	}
	return d.address, nil
}

// nanos is a duration as Nomad's JSON has it.
func nanos(d time.Duration) int64 { return d.Nanoseconds() }
