package replay

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"gpupool/domain/pool"
)

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

// thousandths reads a number of at least 0 in thousandths, rounded up, so that
// a share of a GPU is never nothing.
func thousandths(s string) (int64, bool) {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(x) || x < 0 || x > most*10 {
		return 0, false
	}
	return int64(math.Ceil(x * 1000)), true
}

// unknown are the words that stand for a time that there isn't.
func unknown(s string) bool {
	switch strings.ToLower(s) {
	case "", "unknown", "none", "n/a", "nan", "null":
		return true
	}
	return false
}

// times is the range of instant in words.
func (m *mapper) times() string {
	switch m.f.Time {
	case sinceStart:
		return fmt.Sprintf("from 0 to %d s", most)
	case unix:
		return "in seconds since 1970, up to the year 9999"
	}
	return "like 2026-03-01 12:00:00, from 1970 to 9999"
}

// layouts of a written instant.
var layouts = []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", time.RFC3339, "2006-01-02 15:04:05Z07:00"}

// instant reads a time as the map writes it, between 1970 and the year 9999.
func (m *mapper) instant(s string) (pool.Instant, bool) {
	if n, ok := whole(s); ok {
		if m.f.Time == sinceStart {
			return m.start + pool.Instant(n*1000), n >= 0 && n <= most
		}
		return pool.Instant(n * 1000), n >= 0 && n < 253_402_300_800
	}
	if m.f.Time != written {
		return 0, false
	}
	for _, l := range layouts {
		if t, err := time.ParseInLocation(l, s, m.zone); err == nil {
			return pool.At(t), t.Unix() >= 0 && t.Year() <= 9999
		}
	}
	return 0, false
}

// clockTime reads Slurm's days-hours[:minutes[:seconds]] and
// [hours:]minutes:seconds, up to most seconds.
func clockTime(s string) (time.Duration, bool) {
	days, clock, dated := strings.Cut(s, "-")
	if !dated {
		days, clock = "0", s
	}
	clock, _, _ = strings.Cut(clock, ".") // thousandths of a second
	parts := strings.Split(clock, ":")
	switch {
	case len(parts) > 3 || !dated && len(parts) < 2:
		return 0, false
	case !dated && len(parts) == 2:
		parts = append([]string{"0"}, parts...)
	}
	total, err := strconv.ParseUint(days, 10, 32)
	if err != nil {
		return 0, false
	}
	for i, base := range []uint64{24, 60, 60} {
		var n uint64
		if i < len(parts) {
			if n, err = strconv.ParseUint(parts[i], 10, 32); err != nil || i > 0 && n >= base {
				return 0, false
			}
		}
		total = total*base + n
	}
	return time.Duration(min(total, most+1)) * time.Second, total <= most
}

// request is what a list of trackable resources asks for.
type request struct {
	gpus    string // a number; empty when none is asked for
	kind    string // the GPU type; empty when none is named
	several bool   // GPUs of more than one type
}

// readTRES reads Slurm's list, cpu=8,gres/gpu=4,gres/gpu:a100=4,node=1: the
// entry with a type and the one without it count the same GPUs.
func readTRES(s string) (r request) {
	for _, entry := range strings.Split(s, ",") {
		name, n, _ := strings.Cut(strings.TrimSpace(entry), "=")
		kind, ok := strings.CutPrefix(strings.ToLower(name), "gres/gpu")
		if !ok || kind != "" && kind[0] != ':' || n == "0" { // gres/gpumem, gres/gpuutil are others
			continue
		}
		kind = strings.TrimPrefix(kind, ":")
		switch {
		case kind == "" && r.kind == "":
			r.gpus = n
		case kind == "":
		case r.kind != "" && r.kind != kind:
			r.several = true
		default:
			r.kind, r.gpus = kind, n
		}
	}
	return r
}

// status is the first word of a state, in small letters: Slurm writes
// "CANCELLED by 1000".
func status(s string) string {
	s, _, _ = strings.Cut(strings.ToLower(s), " ")
	return strings.TrimSuffix(s, "+")
}

// open are the states of a job that goes on.
var open = map[string]bool{"pending": true, "running": true, "suspended": true, "requeued": true, "resizing": true, "waiting": true, "completing": true,
	"configuring": true, "ready": true}

// failed are the states that are no success.
var failed = map[string]bool{"failed": true, "cancelled": true, "timeout": true, "node_fail": true, "boot_fail": true, "deadline": true,
	"out_of_memory": true, "preempted": true, "revoked": true, "killed": true}

// habits are the limits that people write, in minutes.
var habits = []int64{10, 30, 60, 120, 240, 480, 720, 1440, 2880, 4320, 7 * 1440, 14 * 1440, 31 * 1440}

// madeLimit makes up a declared limit: the length times the factor, or, by
// habit, the next limit that people write at or above the length times a
// factor drawn from 1 to twice the factor less 1, so that the mean is about it.
func (m *mapper) madeLimit(length time.Duration, factor int64) time.Duration {
	m.made[drawLimit] = true
	longest := time.Duration(most) * time.Second
	tenths := 10 * factor
	if m.pool.Trace.LimitModel == "habit" {
		tenths = int64(10 + m.chance(drawLimit).IntN(int(20*(factor-1)+1)))
	}
	if length > longest/time.Duration(tenths) {
		return longest
	}
	d := length * time.Duration(tenths) / 10
	for _, h := range habits {
		if h := time.Duration(h) * time.Minute; d <= h && m.pool.Trace.LimitModel == "habit" {
			return h
		}
	}
	return d
}

// synthetic says what was made up, by which rule and seed.
func (m *mapper) synthetic() []string {
	var out []string
	t := m.pool.Trace
	if m.made[drawMember] {
		out = append(out, fmt.Sprintf("members: drawn, each of %d as likely, seed %d", len(m.pool.Orgs), t.seed()))
	}
	if m.made[drawTier] {
		out = append(out, fmt.Sprintf("tiers: drawn, %d %% guaranteed, %d %% burst, %d %% spot, seed %d",
			t.TierPercent[pool.Guaranteed], t.TierPercent[pool.Burst], t.TierPercent[pool.Spot], t.seed()))
	}
	if m.made[drawLimit] && t.LimitModel == "habit" {
		out = append(out, fmt.Sprintf("declared limits: drawn, the next usual limit above 1 to %d times the length, seed %d", 2*t.LimitFactor-1, t.seed()))
	} else if m.made[drawLimit] {
		out = append(out, fmt.Sprintf("declared limits: %d times the length, nothing drawn", t.LimitFactor))
	}
	return out
}
