package embedded

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gpupool/domain/pool"
)

// maxLines bounds the lines that one try writes.
const maxLines = 20_000

type logLine struct {
	at   pool.Instant
	text string
}

// logText is what a task has written to stdout or stderr until now. It only
// ever grows.
func (c *Cluster) logText(a *alloc, kind string, now pool.Instant) string {
	var lines []logLine
	for n, t := range a.Tries {
		end := t.End
		if end == 0 {
			end = now
		}
		if kind == "stderr" {
			if t.End != 0 && strings.Contains(t.Last, "Error") {
				lines = append(lines, logLine{t.End, t.Last})
			}
			continue
		}
		lines = append(lines, c.tryLines(a, n, pool.Interval{Start: t.Start, End: end})...)
		if t.End != 0 && t.Last != "" {
			lines = append(lines, logLine{t.End, t.Last})
		}
	}
	if kind == "stdout" {
		for _, s := range a.Signals {
			lines = append(lines, logLine{s.At, "received " + s.Name + checkpointed})
		}
	}
	slices.SortStableFunc(lines, func(x, y logLine) int { return int(x.at - y.at) })
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.at.Time().Format(time.RFC3339))
		b.WriteByte(' ')
		b.WriteString(l.text)
		b.WriteByte('\n')
	}
	return b.String()
}

func (c *Cluster) tryLines(a *alloc, n int, v pool.Interval) []logLine {
	lines := []logLine{{v.Start, firstWords(n, a.Name, len(a.deviceIDs()))}}
	every := pool.Instant(a.Fate.LogEvery)
	for i, at := 0, v.Start+every; at < v.End && i < maxLines; i, at = i+1, at+every {
		text := stepWords(a.JobID, i)
		if len(a.Fate.Log) > 0 {
			text = a.Fate.Log[i%len(a.Fate.Log)]
		}
		lines = append(lines, logLine{at, text})
	}
	return lines
}

func firstWords(n int, name string, gpus int) string {
	return fmt.Sprintf("try %d of %s begins on %d GPUs (simulated: nothing is executed)", n+1, name, gpus)
}

func stepWords(job string, i int) string {
	return fmt.Sprintf("step %d loss %d.%03d", (i+1)*100, 1+300/(100+i), draw(1000, job, fmt.Sprint(i)))
}

const checkpointed = ": checkpoint written to /checkpoint"

const outOfMemory = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. " +
	"GPU 0 has a total capacity of 79.25 GiB of which 112.00 MiB is free."

func failedWords(code int) string {
	return fmt.Sprintf("RuntimeError: the training script ended with code %d", code)
}

// lastWords is the last line of a try that ends by itself.
func lastWords(a *alloc) string {
	switch {
	case a.Fate.OOM == "gpu":
		return outOfMemory
	case a.Fate.OOM == "host":
		return ""
	case a.Fate.Exit != 0:
		return failedWords(a.Fate.Exit)
	}
	return "finished"
}
