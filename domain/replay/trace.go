package replay

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gpupool/domain/pool"
)

// Job is one job of a trace, in our words.
type Job struct {
	ID       pool.JobID
	Tenant   string // as the trace names it
	Org      pool.OrgID
	Project  pool.ProjectID
	User     pool.UserID
	Name     string
	Class    pool.ClassID
	Nodes    int
	GPUs     int // on each node
	Tier     pool.Tier
	Priority int
	Submit   pool.Instant
	Length   time.Duration // how long it runs when nothing stops it
	Limit    time.Duration // declared maximum; 0 none
	Exit     int           // exit code at its end
	OOM      bool
	Idle     bool // holds GPUs without using them
}

// Units is the number of GPUs that the job holds.
func (j Job) Units() int { return j.Nodes * j.GPUs }

// Skipped counts rows that could not be used, by cause.
type Skipped struct {
	Cause string
	Rows  int
	First int // line number of the first
}

// Trace is what was read of a file.
type Trace struct {
	Format  string
	Jobs    []Job // by Submit, then ID
	Rows    int
	Skipped []Skipped
}

func (t *Trace) skip(cause string, line int) {
	i := slices.IndexFunc(t.Skipped, func(s Skipped) bool { return s.Cause == cause })
	if i < 0 {
		t.Skipped = append(t.Skipped, Skipped{Cause: cause, First: line})
		i = len(t.Skipped) - 1
	}
	t.Skipped[i].Rows++
}

// Useless says of a trace without a job why it has none.
func (t Trace) Useless() string {
	if t.Rows == 0 {
		return fmt.Sprintf("the trace (%s) has a header and no rows", t.Format)
	}
	s := slices.MaxFunc(t.Skipped, func(a, b Skipped) int { return a.Rows - b.Rows })
	return fmt.Sprintf("none of the %d rows of the trace (%s) can be used; %d of them: %s (first in line %d)", t.Rows, t.Format, s.Rows, s.Cause, s.First)
}

// format is how a trace's columns are called.
type format struct {
	name                                  string
	tenant, gpus, workers, submit, length string
	kind, model, id                       string
	limitColumn, user, project, exit      string
}

func (f format) columns() []string {
	return []string{f.tenant, f.gpus, f.workers, f.submit, f.length, f.kind, f.model, f.id, f.limitColumn, f.user, f.project, f.exit}
}

var formats = []format{
	{name: "Philly (Gavel)", tenant: "vc", gpus: "gpus", submit: "arrival_s_since_vc_first_job", length: "duration_s_estimated", id: "job_index"},
	{name: "spot 2026", tenant: "organization", gpus: "gpu_request", workers: "worker_num", submit: "submit_time", length: "duration",
		kind: "job_type", model: "gpu_model", id: "job_name"},
	{name: "GPU Pool", tenant: "organisation", gpus: "gpus_per_node", workers: "nodes", submit: "submit_s", length: "length_s", kind: "tier",
		model: "class", id: "name", limitColumn: "limit_s", user: "user", project: "project", exit: "exit"},
}

// ErrTrace says that a file is no trace that can be read.
var ErrTrace = errors.New("trace")

// most is the largest number of seconds or GPUs that a row may name: beyond
// it, it is no job but a mistake.
const most = 1_000_000_000

// longest is the number of bytes that a line of a trace may have.
const longest = 1 << 20

// Read reads a trace; the format is told by the header. Rows that can't be
// used are counted by cause and left out. A row is a line: a quote that nobody
// closes costs its own row, never those after it.
func Read(r io.Reader, p Pool) (Trace, error) {
	m, err := newMapper(p)
	if err != nil {
		return Trace{}, err
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longest)
	var t Trace
	var f format
	var at map[string]int
	line := 0
	for lines.Scan() {
		line++
		text := lines.Text()
		if line == 1 {
			text = strings.TrimPrefix(text, "\ufeff")
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		row, err := csv.NewReader(strings.NewReader(text)).Read()
		if at == nil {
			if err != nil {
				return Trace{}, fmt.Errorf("%w: no header: line %d is no CSV", ErrTrace, line)
			}
			if f, at, err = formatOf(row); err != nil {
				return Trace{}, err
			}
			t.Format = f.name
			continue
		}
		t.Rows++
		if err != nil {
			t.skip("not readable as CSV", line)
			continue
		}
		j, cause := m.job(f, at, row)
		if cause != "" {
			t.skip(cause, line)
			continue
		}
		t.Jobs = append(t.Jobs, j)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return Trace{}, fmt.Errorf("%w: line %d is longer than %d bytes", ErrTrace, line+1, longest)
	} else if err != nil {
		return Trace{}, fmt.Errorf("%w: %w", ErrTrace, err)
	}
	if at == nil {
		return Trace{}, fmt.Errorf("%w: no header: the file is empty", ErrTrace)
	}
	slices.SortStableFunc(t.Jobs, func(a, b Job) int {
		return cmp.Or(cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.ID, b.ID))
	})
	return t, nil
}

func formatOf(head []string) (format, map[string]int, error) {
	at := map[string]int{}
	var twice []string
	for i, h := range head {
		h = strings.TrimSpace(h)
		if _, ok := at[h]; ok {
			twice = append(twice, h)
		}
		at[h] = i
	}
	var wants []string
	for _, f := range formats {
		var missing []string
		for _, col := range []string{f.tenant, f.gpus, f.submit, f.length} {
			if _, ok := at[col]; !ok {
				missing = append(missing, col)
			}
		}
		if len(missing) == 0 {
			for _, h := range twice {
				if h != "" && slices.Contains(f.columns(), h) {
					return f, nil, fmt.Errorf("%w: the header has the column %q twice", ErrTrace, h)
				}
			}
			return f, at, nil
		}
		wants = append(wants, fmt.Sprintf("%s lacks %s", f.name, strings.Join(missing, ", ")))
	}
	return format{}, nil, fmt.Errorf("%w: no known format fits the header (%s)", ErrTrace, strings.Join(wants, "; "))
}

// mapper turns rows into jobs.
type mapper struct {
	pool  Pool
	start pool.Instant
	orgs  map[string]Org
	n     int
}

func newMapper(p Pool) (*mapper, error) {
	m := &mapper{pool: p, start: pool.At(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), orgs: map[string]Org{}}
	if p.Trace.Start != "" {
		var err error
		if m.start, err = instant(p.Trace.Start); err != nil {
			return nil, fmt.Errorf("%w: trace.start: %w", ErrPool, err)
		}
	}
	for _, o := range p.Orgs {
		m.orgs[string(o.ID)] = o
		for _, name := range o.Trace {
			m.orgs[name] = o
		}
	}
	return m, nil
}

func (m *mapper) job(f format, at map[string]int, row []string) (Job, string) {
	get := func(col string) string {
		if i, ok := at[col]; ok && col != "" && i < len(row) {
			return strings.TrimSpace(row[i])
		}
		return ""
	}
	m.n++
	j := Job{Tenant: get(f.tenant), Nodes: 1, Tier: pool.Burst, Name: get(f.id)}
	o, ok := m.orgs[j.Tenant]
	if !ok {
		return j, "tenant is of no organisation of the pool"
	}
	j.Org = o.ID
	if n, ok := whole(get(f.gpus)); !ok || n < 1 || n > most {
		return j, "no whole number of GPUs of at least 1"
	} else {
		j.GPUs = int(n)
	}
	if w := get(f.workers); w != "" {
		n, ok := whole(w)
		if !ok || n < 1 || n > most {
			return j, "no whole number of workers of at least 1"
		}
		j.Nodes = int(n)
	}
	submit, ok := whole(get(f.submit))
	if !ok || submit < 0 || submit > most {
		return j, "no submit time"
	}
	length, ok := whole(get(f.length))
	if !ok || length < 0 || length > most {
		return j, "no duration"
	}
	if length == 0 {
		return j, "duration zero"
	}
	if d := m.pool.Trace.Days; d > 0 && submit >= int64(d)*86_400 {
		return j, fmt.Sprintf("submitted after day %d", d)
	}
	j.Submit = m.start + pool.Instant(submit*1000)
	j.Length = time.Duration(length) * time.Second
	if k, ok := m.pool.Trace.LimitFactor, f.limitColumn == ""; ok && k > 0 {
		j.Limit = time.Duration(min(length*int64(k), most)) * time.Second
	}
	if text := get(f.limitColumn); text != "" {
		s, ok := whole(text)
		if !ok || s < 0 || s > most {
			return j, "limit is no number of seconds"
		}
		j.Limit = time.Duration(s) * time.Second // 0: none
	}
	return m.place(f, get, o, j)
}

// place gives the job its class, tier, project and person.
func (m *mapper) place(f format, get func(string) string, o Org, j Job) (Job, string) {
	class, ok := m.pool.Trace.Classes[get(f.model)]
	if !ok {
		class, ok = m.pool.Trace.Classes[""]
	}
	if !ok && slices.ContainsFunc(m.pool.Classes, func(c Class) bool { return string(c.ID) == get(f.model) }) {
		class, ok = pool.ClassID(get(f.model)), true
	}
	if !ok {
		return j, "GPU model is no class of the pool"
	}
	j.Class = class
	if t, ok := m.pool.Trace.Tiers[get(f.kind)]; ok {
		j.Tier = t
	} else if t, ok := m.pool.Trace.Tiers[""]; ok {
		j.Tier = t
	} else if kind := get(f.kind); kind != "" {
		j.Tier = pool.Tier(kind)
	}
	if !j.Tier.Valid() {
		return j, "tier is not guaranteed, burst or spot"
	}
	j.ID = pool.JobID(fmt.Sprintf("t%06d", m.n))
	j.Project = pool.ProjectID(o.ID)
	if p := get(f.project); slices.ContainsFunc(o.Projects, func(x Project) bool { return string(x.ID) == p }) {
		j.Project = pool.ProjectID(p)
	} else if len(o.Projects) > 0 {
		j.Project = o.Projects[m.n%len(o.Projects)].ID
	}
	switch e := get(f.exit); e {
	case "":
	case "oom":
		j.OOM, j.Exit = true, 1
	case "idle":
		j.Idle = true
	default:
		n, ok := whole(e)
		if !ok || n < 0 || n > 255 {
			return j, "exit is no code from 0 to 255, oom or idle"
		}
		j.Exit = int(n)
	}
	j.User = pool.UserID(get(f.user))
	if j.User == "" {
		j.User = pool.UserID(string(o.ID) + "-user")
	}
	return j, ""
}

// whole reads a whole number; one with a decimal point is rounded.
func whole(s string) (int64, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) || math.Abs(x) > most*10 {
		return 0, false
	}
	return int64(math.Round(x)), true
}
