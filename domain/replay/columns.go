package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// ColumnMap says how the columns of a trace are called and read. Each name may
// give alternatives, "AllocTRES|ReqTRES": of those the first that has a value
// in a row counts.
type ColumnMap struct {
	Name      string   `json:"name"`
	Separator string   `json:"separator,omitempty"` // "," (with CSV's quotes) when empty; else one character without quotes
	ID        string   `json:"id,omitempty"`        // one for each job: a second row with the same one is left out
	Title     string   `json:"title,omitempty"`
	Tenant    string   `json:"tenant,omitempty"`
	User      string   `json:"user,omitempty"`
	Project   string   `json:"project,omitempty"`
	GPUs      string   `json:"gpus,omitempty"`
	Count     string   `json:"gpus_are,omitempty"`        // what GPUs counts: see the constants
	Share     string   `json:"gpu_thousandths,omitempty"` // of the one GPU of a job that shares it
	Nodes     string   `json:"nodes,omitempty"`
	Class     string   `json:"class,omitempty"`
	Tier      string   `json:"tier,omitempty"`
	Priority  string   `json:"priority,omitempty"`
	Submit    string   `json:"submit,omitempty"`
	Start     string   `json:"start,omitempty"` // with End in place of Length
	End       string   `json:"end,omitempty"`
	Length    string   `json:"length,omitempty"`
	Limit     string   `json:"limit,omitempty"`
	LimitUnit string   `json:"limit_unit,omitempty"` // of plain numbers: "seconds" when empty, or "minutes"
	State     string   `json:"state,omitempty"`
	Exit      string   `json:"exit,omitempty"`
	Time      string   `json:"time,omitempty"` // how instants are written: see the constants
	Zone      string   `json:"zone,omitempty"` // of instants without an offset; the pool's when empty
	marks     []string // further columns by which a header is told
	bare      bool     // published without tenants: their column may be absent
	steps     bool     // ids with a dot are parts of a job
}

// What the GPU column counts.
const (
	perNode = ""        // GPUs on each node
	inTotal = "total"   // over all nodes: rounded up to the same number on each
	percent = "percent" // of a GPU on each node: rounded up to whole GPUs
	tres    = "tres"    // Slurm's list: cpu=8,gres/gpu:a100=4,node=1
)

// How instants are written.
const (
	sinceStart = ""     // seconds since the start of the trace
	unix       = "unix" // seconds since 1970
	written    = "text" // 2026-03-01 12:00:00 or 2026-03-01T12:00:00, also with an offset; or seconds since 1970
)

// formats are the maps that we bring along. Where a header fits several, the
// first one counts.
var formats = []ColumnMap{
	{Name: "Philly (Gavel)", Title: "job_index", Tenant: "vc", GPUs: "gpus", Submit: "arrival_s_since_vc_first_job", Length: "duration_s_estimated"},
	{Name: "spot 2026", ID: "job_name", Title: "job_name", Tenant: "organization", GPUs: "gpu_request", Nodes: "worker_num", Class: "gpu_model",
		Tier: "job_type", Submit: "submit_time", Length: "duration"},
	{Name: "GPU Pool", Title: "name", Tenant: "organisation", User: "user", Project: "project", GPUs: "gpus_per_node", Nodes: "nodes", Class: "class",
		Tier: "tier", Submit: "submit_s", Length: "length_s", Limit: "limit_s", Exit: "exit"},
	{Name: "Helios", ID: "job_id", Title: "job_id", Tenant: "vc", User: "user", GPUs: "gpu_num", Count: inTotal, Nodes: "node_num", Submit: "submit_time",
		Start: "start_time", End: "end_time", Length: "duration", State: "state", Time: written, Zone: "Asia/Shanghai", marks: []string{"node_num"}},
	{Name: "Alibaba 2020", Title: "task_name", Tenant: "group|user", User: "user", GPUs: "plan_gpu", Count: percent, Nodes: "inst_num", Class: "gpu_type",
		Submit: "submit_time|start_time", Start: "start_time", End: "end_time", State: "status", marks: []string{"inst_num"}, bare: true},
	{Name: "Alibaba 2023", ID: "name", Title: "name", Tenant: "tenant", GPUs: "num_gpu", Share: "gpu_milli", Class: "gpu_spec", Tier: "qos", Submit: "creation_time",
		Start: "scheduled_time", End: "deletion_time", State: "pod_phase", marks: []string{"gpu_milli"}, bare: true},
	{Name: "Slurm sacct", Separator: "|", ID: "JobID", Title: "JobName|JobID", Tenant: "Account", User: "User", GPUs: "AllocTRES|ReqTRES", Count: tres,
		Nodes: "NNodes", Class: "Partition", Tier: "QOS", Submit: "Submit", Start: "Start", End: "End", Length: "Elapsed|ElapsedRaw", Limit: "Timelimit|TimelimitRaw",
		LimitUnit: "minutes", State: "State", Exit: "ExitCode", Time: written, marks: []string{"JobID"}, steps: true},
}

// Formats are the names of the maps that we bring along, as --format takes them.
func Formats() []string {
	var out []string
	for _, f := range formats {
		out = append(out, f.slug())
	}
	return out
}

// slug is the name of a format as one types it: the first words, joined.
func (f ColumnMap) slug() string {
	name, _, _ := strings.Cut(strings.ToLower(f.Name), " (")
	return strings.ReplaceAll(strings.TrimSuffix(name, " sacct"), " ", "")
}

// FormatNamed finds a map that we bring along.
func FormatNamed(name string) (ColumnMap, error) {
	for _, f := range formats {
		if name == f.slug() {
			return f, nil
		}
	}
	return ColumnMap{}, fmt.Errorf("format: %q is none of %s", name, strings.Join(Formats(), ", "))
}

// ErrColumns says that a map of columns can't be used.
var ErrColumns = errors.New("column map")

// LoadColumns reads a map of columns (JSON); an error names the field.
func LoadColumns(r io.Reader) (ColumnMap, error) {
	var c ColumnMap
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, fmt.Errorf("%w: %w", ErrColumns, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return c, fmt.Errorf("%w: there is more after the closing brace", ErrColumns)
	}
	if err := c.check(); err != nil {
		return c, fmt.Errorf("%w: %w", ErrColumns, err)
	}
	return c, nil
}

func (f ColumnMap) check() error {
	oneOf := func(field, v string, may ...string) error {
		if slices.Contains(may, v) {
			return nil
		}
		return fmt.Errorf("%s: %q is none of %q", field, v, may[1:])
	}
	switch {
	case f.Name == "" || strings.ContainsFunc(f.Name, hidden):
		return errors.New("name: a map needs a name in one line")
	case len(f.Separator) > 1 || f.Separator == "\"" || f.Separator == "\n" || f.Separator == "\r":
		return fmt.Errorf("separator: %q is not one character that can stand between columns", f.Separator)
	case f.GPUs == "":
		return errors.New("gpus: a map needs the column of the GPUs")
	case f.Submit == "":
		return errors.New("submit: a map needs the column of the submit time")
	case f.Length == "" && (f.Start == "" || f.End == ""):
		return errors.New("length: a map needs the column of the length, or both start and end")
	}
	if f.Zone != "" {
		if _, err := time.LoadLocation(f.Zone); err != nil || f.Zone == "Local" {
			return fmt.Errorf("zone: %q is not a time zone", f.Zone)
		}
	}
	return errors.Join(oneOf("gpus_are", f.Count, perNode, inTotal, percent, tres), oneOf("limit_unit", f.LimitUnit, "", "seconds", "minutes"),
		oneOf("time", f.Time, sinceStart, unix, written))
}

func hidden(r rune) bool { return r < ' ' || r == 0x7f }

// needs are the columns without which no job can be read.
func (f ColumnMap) needs() []string {
	out := []string{f.GPUs, f.Submit}
	if f.Tenant != "" {
		out = append([]string{f.Tenant}, out...)
	}
	if f.Length == "" {
		return append(out, f.Start, f.End)
	}
	return append(out, f.Length)
}

// missing lists what a header lacks.
func (f ColumnMap) missing(head map[string]int) []string {
	var out []string
	for _, names := range append(f.needs(), f.marks...) {
		has := slices.ContainsFunc(strings.Split(names, "|"), func(n string) bool { _, ok := head[n]; return ok })
		if !has && names == f.Length && f.Start != "" && f.End != "" {
			has = len(ColumnMap{GPUs: f.GPUs, Submit: f.Submit, Start: f.Start, End: f.End}.missing(head)) == 0
		}
		if !has && !(names == f.Tenant && f.bare) && !slices.Contains(out, names) {
			out = append(out, names)
		}
	}
	return out
}

// named are all columns that a map names.
func (f ColumnMap) named() []string {
	var out []string
	for _, names := range []string{f.ID, f.Title, f.Tenant, f.User, f.Project, f.GPUs, f.Share, f.Nodes, f.Class, f.Tier, f.Priority, f.Submit, f.Start, f.End,
		f.Length, f.Limit, f.State, f.Exit} {
		out = append(out, strings.Split(names, "|")...)
	}
	return out
}
