package replay

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"gpupool/domain/pool"
)

// mapper turns rows into jobs.
type mapper struct {
	pool  Pool
	f     ColumnMap
	at    columnsAt
	start pool.Instant
	zone  *time.Location
	orgs  map[string]Org
	seen  map[string]bool // ids
	lines map[pool.JobID]int
	made  [3]bool // whether members, tiers, limits were made up
	n     int
}

func newMapper(p Pool, f ColumnMap, at columnsAt, how Reading) (*mapper, error) {
	m := &mapper{pool: p, f: f, at: at, start: pool.At(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), zone: how.Zone, orgs: map[string]Org{},
		seen: map[string]bool{}, lines: map[pool.JobID]int{}}
	var err error
	if p.Trace.Start != "" {
		if m.start, err = instant(p.Trace.Start); err != nil {
			return nil, fmt.Errorf("%w: trace.start: %w", ErrPool, err)
		}
	}
	for _, name := range []string{f.Zone, p.Zone} {
		if m.zone == nil && name != "" {
			if m.zone, err = time.LoadLocation(name); err != nil {
				return nil, fmt.Errorf("%w: zone: %w", ErrPool, err)
			}
		}
	}
	for _, o := range p.Orgs {
		m.orgs[string(o.ID)] = o
		for _, name := range o.Trace {
			m.orgs[name] = o
		}
	}
	if f.Tenant == "" || f.bare && !m.has(f.Tenant) {
		if len(p.Orgs) == 0 || !p.Trace.DrawMembers {
			return nil, fmt.Errorf("%w: %s has no column of the tenant: the pool file's trace.draw_members shares its jobs out by chance", ErrTrace, f.Name)
		}
	}
	return m, nil
}

// has tells whether a column, or an alternative of it, stands in the header.
func (m *mapper) has(names string) bool {
	return names != "" && slices.ContainsFunc(strings.Split(names, "|"), func(n string) bool { _, ok := m.at.at[n]; return ok })
}

// row is one line under the eyes of a map.
type row struct {
	m     *mapper
	cells []string
	line  int
	trace *Trace
}

// get is the first alternative that has a value, and the name of its column.
func (r *row) get(names string) (value, column string) {
	for names != "" {
		name, rest, _ := strings.Cut(names, "|")
		if i, ok := r.m.at.at[name]; ok {
			column = name
			if value = r.cells[i]; value != "" {
				return value, column
			}
		} else if column == "" {
			column = name
		}
		names = rest
	}
	return "", column
}

func (r *row) bad(column, value, cause string) Skipped {
	return Skipped{Column: column, Cause: cause, Value: value, First: r.line}
}

func (r *row) changed(column, value, cause string) {
	count1(&r.trace.Changed, r.bad(column, value, cause))
}

// Causes that say nothing against a file: what they leave out is no job, or
// is not asked for.
const (
	aStep        = "a step of a job, counted with its job"
	noGPUs       = "asks for no GPU"
	neverStarted = "never started"
	notEnded     = "has not ended, so that its length is not known"
)

func (m *mapper) harmless(s Skipped) bool {
	return slices.Contains([]string{aStep, noGPUs, neverStarted, notEnded, m.beyond()}, s.Cause)
}

func (m *mapper) beyond() string { return fmt.Sprintf("submitted after day %d", m.pool.Trace.Days) }

// job reads one row; the cause of the second result is empty when it is one.
func (m *mapper) job(cells []string, line int, t *Trace) (Job, Skipped) {
	m.n++
	r := &row{m: m, cells: cells, line: line, trace: t}
	j := Job{ID: pool.JobID(fmt.Sprintf("t%06d", m.n)), Nodes: 1, Tier: pool.Burst}
	j.Name, _ = r.get(m.f.Title)
	id, column := r.get(m.f.ID)
	if m.f.steps && strings.Contains(id, ".") {
		return j, r.bad("", "", aStep)
	}
	for _, step := range []func(*Job) Skipped{r.member, r.size, r.times, r.limit, r.place, r.tier, r.end} {
		if bad := step(&j); bad.Cause != "" {
			return j, bad
		}
	}
	if id != "" {
		if m.seen[id] {
			return j, r.bad(column, id, "stands twice")
		}
		m.seen[id] = true
	}
	if m.pool.Trace.Days > 0 {
		m.lines[j.ID] = line
	}
	return j, Skipped{}
}

// member finds whose job it is, and in which project.
func (r *row) member(j *Job) Skipped {
	m := r.m
	var column string
	j.Tenant, column = r.get(m.f.Tenant)
	o, ok := m.orgs[j.Tenant]
	if !m.has(m.f.Tenant) {
		o, ok = m.pool.Orgs[m.chance(drawMember).IntN(len(m.pool.Orgs))], true
	}
	if !ok {
		return r.bad(column, j.Tenant, "tenant is of no organisation of the pool")
	}
	j.Org = o.ID
	j.Project = pool.ProjectID(o.ID)
	if p, _ := r.get(m.f.Project); slices.ContainsFunc(o.Projects, func(x Project) bool { return string(x.ID) == p }) {
		j.Project = pool.ProjectID(p)
	} else if len(o.Projects) > 0 {
		j.Project = o.Projects[m.n%len(o.Projects)].ID
	}
	user, _ := r.get(m.f.User)
	if j.User = pool.UserID(user); user == "" {
		j.User = pool.UserID(string(o.ID) + "-user")
	}
	return Skipped{}
}

// What is drawn for a row.
const (
	drawMember = iota
	drawTier
	drawLimit
)

// chance is a source of numbers for one row and purpose, the same whatever
// other rows there are.
func (m *mapper) chance(what int) *rand.Rand {
	m.made[what] = true
	return rand.New(rand.NewPCG(m.pool.Trace.seed(), uint64(m.n)<<2|uint64(what)))
}

// size reads how many GPUs on how many nodes.
func (r *row) size(j *Job) Skipped {
	m := r.m
	if w, column := r.get(m.f.Nodes); w != "" {
		n, ok := whole(w)
		if m.f.Count == tres && n == 0 && ok {
			n = 1 // of a job that never had a node; its times tell
		}
		if !ok || n < 1 || n > mostGPUs {
			return r.bad(column, w, fmt.Sprintf("no whole number of nodes from 1 to %d", mostGPUs))
		}
		j.Nodes = int(n)
	}
	v, column := r.get(m.f.GPUs)
	number, per := v, int64(1)
	switch m.f.Count {
	case tres:
		g := readTRES(v)
		if g.several {
			return r.bad(column, v, "asks for GPUs of several types at once")
		}
		if g.gpus == "" {
			return r.bad("", "", noGPUs)
		}
		number, per, j.Class = g.gpus, int64(j.Nodes), pool.ClassID(g.kind)
	case inTotal:
		per = int64(j.Nodes)
	case percent:
		per = 100
	}
	milli, ok := thousandths(number)
	if ok && milli == 0 || v == "" && m.f.Count == percent {
		return r.bad("", "", noGPUs)
	}
	if !ok || milli > mostGPUs*1000*per {
		return r.bad(column, v, fmt.Sprintf("no number of GPUs up to %d", mostGPUs))
	}
	gpus := (milli + per*1000 - 1) / (per * 1000)
	if gpus*per*1000 != milli {
		r.changed(column, v, "rounded up to whole GPUs on each node")
	}
	if v, column := r.get(m.f.Share); v != "" && v != "1000" {
		r.changed(column, v, "rounded up to whole GPUs on each node")
	}
	j.GPUs = int(gpus)
	if j.Units() > mostGPUs {
		return r.bad(column, v, fmt.Sprintf("more than %d GPUs in all", mostGPUs))
	}
	return Skipped{}
}

// place gives the job its GPU classes.
func (r *row) place(j *Job) Skipped {
	m := r.m
	models, column := r.get(m.f.Class)
	if kind := string(j.Class); kind != "" { // told by the request itself
		if _, ok := m.class(kind); ok || models == "" {
			models = kind
		}
	}
	var classes []pool.ClassID
	for _, model := range strings.Split(models, "|") {
		c, ok := m.class(model)
		if !ok {
			if c, ok = m.pool.Trace.Classes[""]; !ok {
				continue
			}
		}
		if !slices.Contains(classes, c) {
			classes = append(classes, c)
		}
	}
	if len(classes) == 0 {
		return r.bad(column, models, "GPU model is no class of the pool")
	}
	j.Class, j.Others = classes[0], classes[1:]
	if len(j.Others) == 0 {
		j.Others = nil
	}
	return Skipped{}
}

func (m *mapper) class(model string) (pool.ClassID, bool) {
	if c, ok := m.pool.Trace.Classes[model]; ok {
		return c, true
	}
	return pool.ClassID(model), m.pool.hasClass(pool.ClassID(model))
}

// tier reads the tier, or draws it by the shares of the pool file.
func (r *row) tier(j *Job) Skipped {
	m := r.m
	kind, column := r.get(m.f.Tier)
	t, ok := m.pool.Trace.Tiers[kind]
	if !ok {
		t, ok = m.pool.Trace.Tiers[""]
	}
	shares := m.pool.Trace.TierPercent
	switch {
	case len(shares) > 0 && !m.has(m.f.Tier):
		at := m.chance(drawTier).IntN(100)
		for _, t := range pool.Tiers {
			if at -= shares[t]; at < 0 {
				j.Tier = t
				break
			}
		}
	case ok:
		j.Tier = t
	case kind != "":
		j.Tier = pool.Tier(kind)
	}
	if !j.Tier.Valid() {
		return r.bad(column, kind, "tier is not guaranteed, burst or spot")
	}
	if v, column := r.get(m.f.Priority); v != "" {
		n, ok := whole(v)
		if !ok || n < -most || n > most {
			return r.bad(column, v, fmt.Sprintf("no whole number from -%d to %d", most, most))
		}
		j.Priority = int(n)
	}
	return Skipped{}
}

// cut leaves out what was submitted after the days that the pool file asks
// for: of the trace's own start, or of its first job where it has dates.
func (m *mapper) cut(t *Trace) {
	days := m.pool.Trace.Days
	if days == 0 || len(t.Jobs) == 0 {
		return
	}
	from := m.start
	if m.f.Time != sinceStart {
		from = t.Jobs[0].Submit
	}
	end := from.Add(time.Duration(days) * 24 * time.Hour)
	i := slices.IndexFunc(t.Jobs, func(j Job) bool { return j.Submit >= end })
	if i < 0 {
		return
	}
	first := m.lines[t.Jobs[i].ID]
	for _, j := range t.Jobs[i:] {
		first = min(first, m.lines[j.ID])
	}
	t.Skipped = append(t.Skipped, Skipped{Cause: m.beyond(), Rows: len(t.Jobs) - i, First: first})
	t.Jobs = t.Jobs[:i:i]
}
