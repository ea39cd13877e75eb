package web

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// jobForm is what was typed, so that it comes back as it was.
type jobForm struct {
	Template, Project, Name, Nodes, GPUs, Tier, MaxRun, Image, Command, Args, Env string
	Sim, SimMinutes                                                               string
	Interruptible                                                                 bool
	Classes                                                                       []string
	jobWishes
	DependsOn string
}

// jobWishes are what may also be changed while the job waits. Times are the clock of the person's zone.
type jobWishes struct{ Priority, NotBefore, Deadline string }

// choices is how many GPU types a form takes, in order.
const choices = 3

// jobTemplates are where a form may begin. The images are examples that exist.
var jobTemplates = []struct {
	name, label string
	form        jobForm
}{
	{"train", "Train", jobForm{Name: "train", Nodes: "1", GPUs: "4", MaxRun: "24", Image: "pytorch/pytorch:2.6.0-cuda12.6-cudnn9-runtime", Command: "torchrun", Args: "--nproc-per-node=gpu\ntrain.py"}},
	{"fine-tune", "Fine-tune", jobForm{Name: "fine-tune", Nodes: "1", GPUs: "1", MaxRun: "8", Image: "pytorch/pytorch:2.6.0-cuda12.6-cudnn9-runtime", Command: "python", Args: "finetune.py\n--epochs=3"}},
	{"batch", "Batch", jobForm{Name: "batch", Nodes: "1", GPUs: "1", MaxRun: "2", Image: "python:3.13-slim", Command: "python", Args: "run.py"}},
	{"notebook", "Notebook", jobForm{Name: "notebook", Nodes: "1", GPUs: "1", MaxRun: "8", Image: "quay.io/jupyter/pytorch-notebook:cuda12-latest", Command: "start-notebook.py"}},
	{"inference", "Inference", jobForm{Name: "inference", Nodes: "1", GPUs: "1", MaxRun: "24", Image: "vllm/vllm-openai:latest", Args: "--port=8000"}},
}

// newJobForm begins with a template, the first one when the name is not known.
func newJobForm(template string) jobForm {
	at := max(0, slices.IndexFunc(jobTemplates, func(t struct {
		name, label string
		form        jobForm
	}) bool {
		return t.name == template
	}))
	f := jobTemplates[at].form
	f.Template, f.Tier, f.Interruptible = jobTemplates[at].name, string(pool.Burst), true
	return f
}

// sentJobForm is the form as it was sent.
func (v *visit) sentJobForm() jobForm {
	f := jobForm{Template: v.text("template"), Project: v.text("project"), Name: v.text("name"), Nodes: v.text("nodes"), GPUs: v.text("gpus"), Tier: v.text("tier"),
		MaxRun: v.text("max_run"), Image: v.text("image"), Command: v.text("command"), Args: v.text("args"), Env: v.text("env"), Sim: v.text("sim"),
		SimMinutes: v.text("sim_minutes"), Interruptible: v.text("interruptible") != "", Classes: v.texts("class"), jobWishes: v.sentWishes(), DependsOn: v.text("depends_on")}
	if as := pool.Tier(v.text("as")); as.Valid() { // an alternative was pressed, which says what may happen to it
		f.Tier, f.Interruptible = string(as), as != pool.Guaranteed
	}
	return f
}

func (v *visit) sentWishes() jobWishes {
	return jobWishes{v.text("priority"), v.text("not_before"), v.text("deadline")}
}

func (f format) wishesOf(j domain.Job) jobWishes {
	w := jobWishes{NotBefore: f.moment(j.NotBefore), Deadline: f.moment(j.Deadline)}
	if j.Priority != 0 {
		w.Priority = number(j.Priority)
	}
	return w
}

// read makes numbers and instants of what was typed.
func (w jobWishes) read(bad *domain.Fields, zone *time.Location) (priority int, notBefore, deadline pool.Instant) {
	if strings.TrimSpace(w.Priority) != "" {
		priority = wholeNumber(bad, "priority", w.Priority)
	}
	return priority, momentOf(bad, "not_before", w.NotBefore, zone), momentOf(bad, "deadline", w.Deadline, zone)
}

// moments are how a time is typed: what browsers send, and what people write. The first one is how it is shown.
var moments = []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", time.RFC3339}

// momentOf reads a time of the zone; 0 when none was typed.
func momentOf(bad *domain.Fields, field, s string, zone *time.Location) pool.Instant {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0
	}
	for _, layout := range moments {
		if t, err := time.ParseInLocation(layout, s, zone); err == nil && t.Year() >= 1970 && t.Year() <= 9999 {
			return pool.At(t)
		}
	}
	bad.Add(field, "Write the time as 2026-11-02 09:00.")
	return 0
}

// moment is an instant as it is typed; empty for none.
func (f format) moment(i pool.Instant) string {
	if i == 0 {
		return ""
	}
	return i.In(f.zoneOrUTC()).Format(moments[0])
}

// formOf is a job as the form that would make it again. Times that are over are left out.
func (v *visit) formOf(j domain.Job) jobForm {
	f := jobForm{Template: j.Spec.Template, Project: string(j.Project), Name: j.Name, Nodes: number(j.Nodes), GPUs: number(j.GPUsPerNode), Tier: string(j.Tier),
		MaxRun: hoursText(j.MaxRun), Image: j.Spec.Image, Command: j.Spec.Command, Args: strings.Join(j.Spec.Args, "\n"), Interruptible: j.Tier != pool.Guaranteed}
	if j.NotBefore <= v.now {
		j.NotBefore = 0
	}
	if j.Deadline <= v.now {
		j.Deadline = 0
	}
	f.jobWishes, f.DependsOn = v.wishesOf(j), string(j.DependsOn)
	for _, c := range j.Classes {
		f.Classes = append(f.Classes, string(c))
	}
	keys := make([]string, 0, len(j.Spec.Env))
	for k := range j.Spec.Env {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		f.Env += k + "=" + j.Spec.Env[k] + "\n"
	}
	f.Env = strings.TrimSuffix(f.Env, "\n")
	if s := j.Spec.Sim; s != nil {
		if s.LengthMs >= 60_000 {
			f.SimMinutes = strconv.FormatInt(s.LengthMs/60_000, 10)
		}
		f.Sim = map[bool]string{true: "oom", false: "finish"}[s.OOM]
		if s.Exit != 0 {
			f.Sim = "exit"
		} else if s.Idle {
			f.Sim = "idle"
		}
	}
	return f
}

// parse reads the form into the use case's input; what a number or a line of it can't mean is said at the field.
func (f jobForm) parse(demo bool, zone *time.Location) (domain.JobInput, domain.Fields) {
	var bad domain.Fields
	in := domain.JobInput{Project: pool.ProjectID(f.Project), Name: f.Name, Tier: pool.Tier(f.Tier),
		Nodes: wholeNumber(&bad, "nodes", f.Nodes), GPUsPerNode: wholeNumber(&bad, "gpus", f.GPUs), MaxRun: hoursOf(&bad, "max_run", f.MaxRun),
		Spec: domain.JobSpec{Template: f.Template, Image: strings.TrimSpace(f.Image), Command: strings.TrimSpace(f.Command), Args: textLines(f.Args), Env: map[string]string{}}}
	in.Priority, in.NotBefore, in.Deadline = f.read(&bad, zone)
	in.DependsOn = pool.JobID(f.DependsOn)
	for _, c := range f.Classes {
		if c != "" {
			in.Classes = append(in.Classes, pool.ClassID(c))
		}
	}
	if in.Tier.Valid() && in.Tier != pool.Guaranteed && !f.Interruptible {
		bad.Add("interruptible", "Flexible and spot jobs can be interrupted. Allow it, or choose guaranteed.")
	}
	for _, l := range textLines(f.Env) {
		name, value, ok := strings.Cut(l, "=")
		if !ok {
			bad.Add("env", "Each line is NAME=value; this one is not: %s", short(l, 40))
			continue
		}
		if _, twice := in.Spec.Env[name]; twice {
			bad.Add("env", "%s stands there twice.", short(name, 40))
		}
		in.Spec.Env[name] = value
	}
	if demo && (f.Sim != "" || strings.TrimSpace(f.SimMinutes) != "") {
		in.Spec.Sim = simOf(&bad, f.Sim, f.SimMinutes)
	}
	return in, bad
}

// simOf is how a job of the simulated cluster behaves. Either answer may be left to the demo.
func simOf(bad *domain.Fields, what, minutes string) *domain.Sim {
	s := &domain.Sim{}
	if strings.TrimSpace(minutes) != "" {
		n := wholeNumber(bad, "sim_minutes", minutes)
		if n < 0 || n > 31*24*60 {
			bad.Add("sim_minutes", "A number from 0 to %d.", 31*24*60)
		}
		s.LengthMs = int64(min(max(n, 0), 31*24*60)) * 60_000
	}
	switch what {
	case "":
	case "finish":
	case "exit":
		s.Exit = 1
	case "oom":
		s.OOM = true
	case "idle":
		s.Idle = true
	default:
		bad.Add("sim", "Choose one of the list.")
	}
	return s
}

// wholeNumber reads a count; its range is the use case's to check.
func wholeNumber(bad *domain.Fields, field, s string) int {
	s = strings.TrimSpace(s)
	if s == "" {
		bad.Add(field, "Please fill in this field.")
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		bad.Add(field, "Write a whole number such as %d.", 4)
	}
	return int(n)
}

// hoursOf reads a length: a number of hours, or with units as in 1h30m.
func hoursOf(bad *domain.Fields, field, s string) time.Duration {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0 // the GPU type's default
	}
	if strings.Trim(s, "0123456789.") == "" {
		s += "h"
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		bad.Add(field, "Write a number of hours such as 24, or a length such as 1h30m.")
		return time.Hour
	}
	return d
}

func hoursText(d time.Duration) string {
	if d%time.Hour == 0 {
		return strconv.FormatInt(int64(d/time.Hour), 10)
	}
	return strings.TrimSuffix(d.String(), "0s")
}

// textLines are the lines of a text that are not empty.
func textLines(s string) []string {
	var out []string
	for _, l := range strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n") {
		if strings.TrimSpace(l) != "" {
			out = append(out, l)
		}
	}
	return out
}

// short cuts a text that is quoted in a sentence.
func short(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}
