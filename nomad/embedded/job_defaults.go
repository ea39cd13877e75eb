package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	second = int64(time.Second)
	day    = 24 * int64(time.Hour)

	maxCount = 10_000 // members of a group
)

// decodeJob reads one job object and fills what a server fills.
func (c *Cluster) decodeJob(body []byte) (*jobText, error) {
	j := new(jobText)
	if err := json.Unmarshal(body, j); err != nil {
		return nil, fmt.Errorf("job: %w", err)
	}
	for _, g := range j.TaskGroups {
		if g == nil || slices.Contains(g.Tasks, nil) {
			return nil, errors.New("job: a task group or task is null")
		}
	}
	c.fill(j)
	return j, nil
}

// fill sets the defaults that Nomad's server sets at registration.
func (c *Cluster) fill(j *jobText) {
	if j.Name == "" {
		j.Name = j.ID
	}
	if j.Region == "" {
		j.Region = c.opt.Region
	}
	if j.NodePool == "" {
		j.NodePool = "default"
	}
	if j.Type == "" {
		j.Type = "service"
	}
	if j.Priority == 0 {
		j.Priority = 50
	}
	if len(j.Datacenters) == 0 {
		j.Datacenters = []string{"*"}
	}
	if j.Type == "service" && j.Update == (updateText{}) {
		j.Update = updateText{MaxParallel: 1, Stagger: 30 * second}
	}
	for _, g := range j.TaskGroups {
		fillGroup(j, g)
	}
}

func fillGroup(j *jobText, g *groupText) {
	if g.Count == nil {
		one := 1
		g.Count = &one
	}
	if g.EphemeralDisk == nil {
		g.EphemeralDisk = &diskText{SizeMB: 300}
	}
	if g.RestartPolicy == nil {
		g.RestartPolicy = &restartText{Attempts: 3, Mode: "fail"}
	}
	fillRestart(g.RestartPolicy)
	if g.ReschedulePolicy == nil {
		g.ReschedulePolicy = &rescheduleText{Attempts: 1}
	}
	if p := g.ReschedulePolicy; p.Delay == 0 {
		p.Delay, p.DelayFunction, p.Interval = 5*second, "constant", day
	}
	for _, t := range g.Tasks {
		fillTask(g, t)
	}
}

func fillRestart(p *restartText) {
	if p.Delay == 0 {
		p.Delay = 15 * second
	}
	if p.Interval == 0 {
		p.Interval = day
	}
	if p.Mode == "" {
		p.Mode = "fail"
	}
}

func fillTask(g *groupText, t *taskText) {
	if t.KillTimeout == 0 {
		t.KillTimeout = 5 * second
	}
	if t.LogConfig == nil {
		t.LogConfig = &logConfigText{MaxFiles: 10, MaxFileSizeMB: 10}
	}
	if t.Resources == nil {
		t.Resources = &resourcesText{}
	}
	if t.Resources.CPU == 0 && t.Resources.Cores == 0 {
		t.Resources.CPU = 100
	}
	if t.Resources.MemoryMB == 0 {
		t.Resources.MemoryMB = 300
	}
	for i := range t.Resources.Devices {
		if t.Resources.Devices[i].Count == 0 {
			t.Resources.Devices[i].Count = 1
		}
	}
	if t.RestartPolicy == nil {
		p := *g.RestartPolicy
		t.RestartPolicy = &p
	}
	fillRestart(t.RestartPolicy)
	if t.Identity == nil {
		t.Identity = &identityText{Name: "default", Audience: []string{"nomadproject.io"}}
	}
}

// validate lists what a server would refuse, one sentence each.
func (j *jobText) validate() []string {
	var bad []string
	say := func(f string, a ...any) { bad = append(bad, fmt.Sprintf(f, a...)) }
	if j.ID == "" {
		say("Missing job ID")
	}
	if strings.ContainsAny(j.ID, " \x00") {
		say("Job ID contains a space or null character")
	}
	if j.Priority < 1 || j.Priority > 100 {
		say("Job priority must be between [1, 100]")
	}
	if j.Type != "batch" && j.Type != "service" {
		say("Invalid job type: %q (this cluster runs batch and service jobs)", j.Type)
	}
	if !isNull(j.Periodic) || !isNull(j.ParameterizedJob) {
		say("Periodic and parameterized jobs are not run by this cluster")
	}
	if len(j.TaskGroups) == 0 {
		say("Missing job task groups")
	}
	seen := map[string]bool{}
	for i, g := range j.TaskGroups {
		if g.Name == "" {
			say("Job task group %d missing name", i+1)
		}
		if seen[g.Name] {
			say("Job task group %d redefines '%s'", i+1, g.Name)
		}
		seen[g.Name] = true
		bad = append(bad, g.validate(j.Type)...)
	}
	return bad
}

func (g *groupText) validate(kind string) []string {
	var bad []string
	say := func(f string, a ...any) {
		bad = append(bad, "Task group "+g.Name+" validation failed: "+fmt.Sprintf(f, a...))
	}
	if g.count() < 0 {
		say("Task group count can't be negative")
	}
	if g.count() > maxCount {
		say("Task group count is %d; this cluster takes at most %d", g.count(), maxCount)
	}
	if len(g.Tasks) == 0 {
		say("Missing tasks for task group")
	}
	if g.MaxRunDuration != nil && kind != "batch" {
		say("max_run_duration is only allowed for batch jobs")
	}
	if g.MaxRunDuration != nil && *g.MaxRunDuration <= 0 {
		say("max_run_duration must be greater than zero")
	}
	for _, t := range g.Tasks {
		if t.Name == "" {
			say("Missing task name")
		}
		if t.Driver == "" {
			say("Task %s: Missing task driver", t.Name)
		}
		if t.KillTimeout < 0 {
			say("Task %s: KillTimeout must be a positive value", t.Name)
		}
		for _, d := range t.Resources.Devices {
			if d.Name == "" {
				say("Task %s: device name must be given as one of the following: type, vendor/type, or vendor/type/name", t.Name)
			}
		}
	}
	return bad
}

func isNull(r raw) bool { return len(r) == 0 || string(r) == "null" }
