package replay

import (
	"fmt"
	"strings"
	"time"
)

// times reads when it was submitted and how long it ran.
func (r *row) times(j *Job) Skipped {
	f := r.m.f
	v, column := r.get(f.Submit)
	submit, ok := r.m.instant(v)
	if !ok {
		return r.bad(column, v, "no submit time "+r.m.times())
	}
	j.Submit = submit
	state, stateColumn := r.get(f.State)
	end, endColumn := r.get(f.End)
	start, startColumn := r.get(f.Start)
	length, column := r.get(f.Length)
	if unknown(end) && f.End != "" && (open[status(state)] || length == "") {
		if unknown(start) {
			return r.bad(stateColumn, state, neverStarted)
		}
		return r.bad(endColumn, end, notEnded)
	}
	if length != "" || f.Start == "" {
		d, ok := r.length(length)
		if !ok {
			return r.bad(column, length, fmt.Sprintf("no duration from 1 to %d s", most))
		}
		j.Length = d
	} else if unknown(start) {
		return r.bad(startColumn, start, neverStarted)
	} else {
		from, ok := r.m.instant(start)
		if !ok {
			return r.bad(startColumn, start, "no start time "+r.m.times())
		}
		to, ok := r.m.instant(end)
		if !ok {
			return r.bad(endColumn, end, "no end time "+r.m.times())
		}
		if to < from {
			return r.bad(endColumn, end, "ends before it starts")
		}
		column, length = endColumn, ""
		if j.Length = to.Sub(from); j.Length > most*time.Second {
			return r.bad(endColumn, end, fmt.Sprintf("no duration from 1 to %d s", most))
		}
	}
	if j.Length == 0 {
		return r.bad(column, length, "duration zero")
	}
	return Skipped{}
}

// length reads seconds, or Slurm's days-hours:minutes:seconds.
func (r *row) length(v string) (time.Duration, bool) {
	if strings.Contains(v, ":") {
		return clockTime(v)
	}
	n, ok := whole(v)
	if !ok || n < 0 || n > most {
		return 0, false
	}
	return time.Duration(n) * time.Second, true
}

// limit reads the declared maximum, or makes one up where the trace has none.
func (r *row) limit(j *Job) Skipped {
	m := r.m
	v, column := r.get(m.f.Limit)
	if !m.has(m.f.Limit) {
		if k := m.pool.Trace.LimitFactor; k > 0 {
			j.Limit = m.madeLimit(j.Length, int64(k))
		}
		return Skipped{}
	}
	switch {
	case v == "" || strings.EqualFold(v, "UNLIMITED"):
		return Skipped{}
	case strings.EqualFold(v, "Partition_Limit") || strings.EqualFold(v, "INVALID") || unknown(v):
		r.changed(column, v, "the limit is not told: read as none")
		return Skipped{}
	}
	d, ok := r.length(v)
	if n, is := whole(v); is && m.f.LimitUnit == "minutes" {
		d, ok = time.Duration(n)*time.Minute, n >= 0 && n <= most/60
	}
	if !ok {
		return r.bad(column, v, fmt.Sprintf("limit is no time from 0 to %d s", most))
	}
	j.Limit = d // 0: none
	return Skipped{}
}

// end reads how it ended.
func (r *row) end(j *Job) Skipped {
	v, column := r.get(r.m.f.Exit)
	state, _ := r.get(r.m.f.State)
	s := status(state)
	if failed[s] {
		j.Exit = 1
	}
	if s == "out_of_memory" {
		j.OOM, j.Exit = true, 1
	}
	if j.OOM {
		return Skipped{}
	}
	code, signal, _ := strings.Cut(v, ":") // Slurm writes both
	switch code {
	case "":
		return Skipped{}
	case "oom":
		j.OOM, j.Exit = true, 1
		return Skipped{}
	case "idle":
		j.Idle = true
		return Skipped{}
	}
	n, ok := whole(code)
	if !ok || n < 0 || n > 255 {
		return r.bad(column, v, "exit is no code from 0 to 255, oom or idle")
	}
	if n > 0 {
		j.Exit = int(n)
	} else if k, ok := whole(signal); ok && k > 0 && k < 128 {
		j.Exit = 128 + int(k)
	}
	return Skipped{}
}
