package embedded

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"gpupool/domain/pool"
)

// fate is what a simulated task will do, decided once at placement.
// Times are milliseconds.
type fate struct {
	Setup    int64  // from placement to start
	Length   int64  // from start to end
	Stop     int64  // from the signal to the end; -1: the whole kill timeout
	Exit     int    // exit code at the natural end
	OOM      string // "", "gpu" or "host"
	NoImage  bool
	LogEvery int64
	Log      []string
	Util     int   // percent
	MemMiB   int64 // 0: follows from Util
}

// draw is a number in [0, n) that depends on the words only.
func draw(n int64, words ...string) int64 {
	h := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return int64(binary.BigEndian.Uint64(h[:8]) % uint64(n))
}

// fateOf reads the simulation keys of a group; see the package comment.
func fateOf(j *jobText, g *groupText, slot int) fate {
	s := settings{j: j, g: g}
	f := fate{
		Setup: s.number("sim_setup_ms", 400+draw(1100, j.ID, strconv.Itoa(slot), "setup")),
		Stop:  s.number("sim_stop_ms", -1),
		Exit:  int(s.number("sim_exit", 0)),
		OOM:   s.text("sim_oom"), NoImage: s.text("sim_image") == "missing",
		Util:   int(min(s.number("sim_util", 70+draw(28, j.ID, "util")), 100)),
		MemMiB: s.number("sim_mem_mib", 0),
	}
	length := 120_000 + draw(480_000, j.ID, "length")
	if m := g.MaxRunDuration; m != nil {
		// A drawn length ends by itself; only a length that was asked for meets the limit.
		length = max(1, min(length, *m/int64(time.Millisecond)-f.Setup-1000))
	}
	f.Length = s.number("sim_length_ms", length)
	f.LogEvery = max(1, s.number("sim_log_every_ms", max(5000, f.Length/400)), f.Length/maxLines)
	if t := s.text("sim_log"); t != "" {
		f.Log = strings.Split(strings.TrimRight(t, "\n"), "\n")
	}
	if f.OOM == "gpu" && f.Exit == 0 {
		f.Exit = 1
	}
	return f
}

type settings struct {
	j *jobText
	g *groupText
}

func (s settings) text(key string) string {
	for _, t := range s.g.Tasks {
		for _, m := range []map[string]string{t.Env, t.Meta} {
			for _, k := range []string{key, strings.ToUpper(key)} {
				if v := m[k]; v != "" {
					return v
				}
			}
		}
	}
	if v := s.g.Meta[key]; v != "" {
		return v
	}
	return s.j.Meta[key]
}

// number is the setting, or the default where it is missing, no number or negative.
func (s settings) number(key string, otherwise int64) int64 {
	n, err := strconv.ParseInt(s.text(key), 10, 64)
	if err != nil || n < 0 {
		return otherwise
	}
	return n
}

// sameRun tells whether b may replace a without restarting what runs: only
// priority, kill timeout, max_run_duration and the like differ.
func sameRun(a, b *jobText) bool {
	strip := func(j *jobText) string {
		j = j.copied()
		j.CreateIndex, j.ModifyIndex, j.JobModifyIndex, j.Version, j.SubmitTime = 0, 0, 0, 0, 0
		j.Priority, j.Status, j.Stop = 0, "", false
		for _, g := range j.TaskGroups {
			g.MaxRunDuration, g.Disconnect, g.ReschedulePolicy, g.RestartPolicy = nil, nil, nil, nil
			for _, t := range g.Tasks {
				t.KillTimeout, t.RestartPolicy = 0, nil
			}
		}
		out, _ := json.Marshal(j)
		return string(out)
	}
	return strip(a) == strip(b)
}

// sameText tells whether two texts ask for the same in every word.
func sameText(a, b *jobText) bool {
	strip := func(j *jobText) string {
		j = j.copied()
		j.CreateIndex, j.ModifyIndex, j.JobModifyIndex, j.Version, j.SubmitTime = 0, 0, 0, 0, 0
		j.Status, j.StatusDescription, j.Stop = "", "", false
		out, _ := json.Marshal(j) // it came in as JSON
		return string(out)
	}
	return strip(a) == strip(b)
}

func millis(d time.Duration) pool.Instant { return pool.Instant(d / time.Millisecond) }
