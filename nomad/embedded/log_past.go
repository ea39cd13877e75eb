package embedded

import (
	"strings"
	"time"

	"gpupool/domain/pool"
)

// PastRun is a run that had ended before this cluster was: of a history. It
// writes by the rule of the runs here.
type PastRun struct {
	Job    string // its id in the cluster
	Name   string // of its allocation
	GPUs   int
	Length time.Duration // of the work, which paces the log
	Start  pool.Instant
	End    pool.Instant
	Signal string       // that told it to write its checkpoint; empty: none
	At     pool.Instant // when
	OOM    bool
	Exit   int
	Cut    bool // it did not end by itself
}

// LogTail is the end of what it wrote to stdout: at most so many lines.
func (p PastRun) LogTail(lines int) []byte {
	every := pool.Instant(max(1, 5000, p.Length.Milliseconds()/400, p.Length.Milliseconds()/maxLines))
	steps := int(min(max(0, (p.End-p.Start-1)/every), maxLines))
	var b strings.Builder
	line := func(at pool.Instant, text string) {
		b.WriteString(at.Time().Format(time.RFC3339) + " " + text + "\n")
	}
	if steps < lines {
		line(p.Start, firstWords(0, p.Name, p.GPUs))
	}
	signalled := p.Signal == ""
	for i := max(0, steps-lines); i < steps; i++ {
		at := p.Start + every*pool.Instant(i+1)
		if !signalled && at > p.At {
			line(p.At, "received "+p.Signal+checkpointed)
			signalled = true
		}
		line(at, stepWords(p.Job, i))
	}
	if !signalled {
		line(p.At, "received "+p.Signal+checkpointed)
	}
	switch {
	case p.Cut:
	case p.OOM:
		line(p.End, outOfMemory)
	case p.Exit != 0:
		line(p.End, failedWords(p.Exit))
	default:
		line(p.End, "finished")
	}
	return []byte(b.String())
}
