package replay

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
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
	Others   []pool.ClassID // it takes these too, in this order
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

// Skipped counts rows of one cause, and shows the first of them.
type Skipped struct {
	Column string `json:"column,omitempty"`
	Cause  string `json:"cause"`
	Rows   int    `json:"rows"`
	First  int    `json:"first_line"`
	Value  string `json:"value,omitempty"` // what the column has there
}

func (s Skipped) String() string {
	out := fmt.Sprintf("%s (first in line %d", s.named(), s.First)
	if s.Value != "" {
		out += fmt.Sprintf(": %q", s.Value)
	}
	return out + ")"
}

func (s Skipped) named() string {
	if s.Column == "" {
		return s.Cause
	}
	return s.Column + ": " + s.Cause
}

// said is the cause with its own value, of one row.
func (s Skipped) said() string {
	if s.Value == "" {
		return s.named()
	}
	return fmt.Sprintf("%s, and is %q", s.named(), short(s.Value))
}

// Trace is what was read of a file.
type Trace struct {
	Format    string
	Jobs      []Job // by Submit, then ID
	Rows      int
	Skipped   []Skipped // rows that are no jobs of the run
	Changed   []Skipped // rows that were read otherwise than they say
	Synthetic []string  // what the trace doesn't say and was made up, by which rule
}

func count1(list *[]Skipped, s Skipped) {
	i := slices.IndexFunc(*list, func(x Skipped) bool { return x.Cause == s.Cause && x.Column == s.Column })
	if i < 0 {
		s.Value = short(s.Value)
		*list = append(*list, s)
		i = len(*list) - 1
	}
	(*list)[i].Rows++
}

// short cuts a value down to what fits a line.
func short(s string) string {
	s = strings.ToValidUTF8(s, "?")
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

// Useless says of a trace without a job why it has none.
func (t Trace) Useless() string {
	if t.Rows == 0 {
		return fmt.Sprintf("the trace (%s) has a header and no rows", t.Format)
	}
	s := slices.MaxFunc(t.Skipped, func(a, b Skipped) int { return a.Rows - b.Rows })
	return fmt.Sprintf("none of the %d rows of the trace (%s) can be used; %d of them: %s", t.Rows, t.Format, s.Rows, s)
}

// ErrTrace says that a file is no trace that can be read.
var ErrTrace = errors.New("trace")

// Limits of what is read: beyond them it is no trace but a mistake.
const (
	most      = 1_000_000_000 // seconds of a row
	longest   = 1 << 20       // bytes of a line
	mostBytes = 1 << 32       // of a trace, unpacked
	mostRows  = 20_000_000
)

// Reading says how a trace is read.
type Reading struct {
	Columns *ColumnMap     // nil: told by the header
	Zone    *time.Location // of instants without an offset; nil: the map's, else the pool's
	Strict  bool           // the first row that can't be used is an error
}

// Read reads a trace whose format is told by its header.
func Read(r io.Reader, p Pool) (Trace, error) { return ReadAs(r, p, Reading{}) }

// ReadAs reads a trace, packed with gzip or not. Rows that can't be used are
// counted by cause and left out. A row is a line: a quote that nobody closes
// costs its own row, never those after it.
func ReadAs(r io.Reader, p Pool, how Reading) (Trace, error) {
	r, err := unpacked(r)
	if err != nil {
		return Trace{}, err
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longest)
	var t Trace
	var m *mapper
	line, width := 0, 0
	for lines.Scan() {
		line++
		row := lines.Text()
		if line == 1 {
			row = strings.TrimPrefix(row, "\ufeff")
		}
		if strings.TrimSpace(row) == "" {
			continue
		}
		if m == nil {
			f, at, err := header(row, line, how)
			if err != nil {
				return Trace{}, err
			}
			if m, err = newMapper(p, f, at, how); err != nil {
				return Trace{}, err
			}
			t.Format, width = f.Name, at.width
			continue
		}
		if t.Rows++; t.Rows > mostRows {
			return Trace{}, fmt.Errorf("%w: more than %d rows", ErrTrace, mostRows)
		}
		cells, err := split(row, m.f.Separator)
		bad := Skipped{First: line}
		switch {
		case err != nil:
			bad.Cause = "not readable as CSV"
		case len(cells) != width:
			bad.Cause = fmt.Sprintf("not as many columns as the header has, which is %d", width)
		default:
			var j Job
			if j, bad = m.job(cells, line, &t); bad.Cause == "" {
				t.Jobs = append(t.Jobs, j)
				continue
			}
			bad.First = line
		}
		if how.Strict && !m.harmless(bad) {
			return Trace{}, fmt.Errorf("%w: line %d: %s", ErrTrace, line, bad.said())
		}
		count1(&t.Skipped, bad)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return Trace{}, fmt.Errorf("%w: line %d is longer than %d bytes", ErrTrace, line+1, longest)
	} else if err != nil {
		return Trace{}, fmt.Errorf("%w: line %d: %w", ErrTrace, line+1, err)
	}
	if m == nil {
		return Trace{}, fmt.Errorf("%w: no header: the file is empty", ErrTrace)
	}
	slices.SortStableFunc(t.Jobs, func(a, b Job) int {
		return cmp.Or(cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.ID, b.ID))
	})
	m.cut(&t)
	t.Synthetic = m.synthetic()
	return t, nil
}

// unpacked opens a file that gzip has packed, and bounds what comes out.
func unpacked(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	if magic, _ := b.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("%w: packed with gzip, and damaged: %w", ErrTrace, err)
		}
		return &bounded{r: z, left: mostBytes}, nil
	}
	return &bounded{r: b, left: mostBytes}, nil
}

// bounded fails, where io.LimitReader would end as if the file did.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("more than %d bytes", int64(mostBytes))
	}
	return n, err
}

// split cuts a line into trimmed cells.
func split(line, separator string) ([]string, error) {
	var cells []string
	if separator == "" || separator == "," {
		var err error
		if cells, err = csv.NewReader(strings.NewReader(line)).Read(); err != nil {
			return nil, err
		}
	} else {
		cells = strings.Split(line, separator)
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells, nil
}

// columnsAt is where the columns of a header stand.
type columnsAt struct {
	at    map[string]int
	width int
}

// header tells the format of a trace by its first line.
func header(line string, number int, how Reading) (ColumnMap, columnsAt, error) {
	candidates := formats
	if how.Columns != nil {
		candidates = []ColumnMap{*how.Columns}
	}
	var wants []string
	for _, f := range candidates {
		cells, err := split(line, f.Separator)
		if err != nil {
			if strings.Contains(line, "|") && how.Columns == nil {
				continue
			}
			return f, columnsAt{}, fmt.Errorf("%w: no header: line %d is no CSV", ErrTrace, number)
		}
		at := columnsAt{at: map[string]int{}, width: len(cells)}
		twice := ""
		for i, h := range cells {
			if _, ok := at.at[h]; ok && h != "" && slices.Contains(f.named(), h) {
				twice = h
			}
			at.at[h] = i
		}
		missing := f.missing(at.at)
		if len(missing) > 0 {
			wants = append(wants, fmt.Sprintf("%s lacks %s", f.Name, strings.Join(missing, ", ")))
			continue
		}
		if twice != "" {
			return f, at, fmt.Errorf("%w: the header has the column %q twice", ErrTrace, twice)
		}
		return f, at, nil
	}
	if how.Columns != nil {
		return ColumnMap{}, columnsAt{}, fmt.Errorf("%w: line %d: the header does not fit the map (%s)", ErrTrace, number, strings.Join(wants, "; "))
	}
	return ColumnMap{}, columnsAt{}, fmt.Errorf("%w: no known format fits the header (%s)", ErrTrace, strings.Join(wants, "; "))
}
