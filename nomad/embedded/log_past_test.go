package embedded

import (
	"strings"
	"testing"
	"time"

	"gpupool/domain/pool"
)

func TestTheLogOfAPastRunIsTheEndOfWhatARunHereWouldHaveWritten(t *testing.T) {
	t.Parallel()
	start := pool.Instant(1_700_000_000_000)
	for name, p := range map[string]PastRun{
		"finished":          {},
		"out of GPU memory": {OOM: true, Exit: 1},
		"exit code":         {Exit: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p.Job, p.Name, p.Length, p.Start, p.End = "j-1", "j-1.run[0]", time.Hour, start, start.Add(time.Hour)
			a := &alloc{JobID: p.Job, Name: p.Name, Fate: fate{Length: time.Hour.Milliseconds(), LogEvery: 9000, Exit: p.Exit}}
			if p.OOM {
				a.Fate.OOM = "gpu"
			}
			a.Tries = []try{{Start: start, End: p.End, Last: lastWords(a)}}
			whole := (&Cluster{}).logText(a, "stdout", p.End)
			for _, lines := range []int{5, 30, 1000} {
				if tail := string(p.LogTail(lines)); !strings.HasSuffix(whole, tail) || strings.Count(tail, "\n") < lines && tail != whole {
					t.Errorf("%d lines are\n%s", lines, tail)
				}
			}
		})
	}
}

func TestAPastRunThatWasStoppedSaysThatItWroteItsCheckpoint(t *testing.T) {
	t.Parallel()
	at := pool.Instant(1_700_000_000_000)
	p := PastRun{Job: "j-1", Length: time.Hour, Start: at, End: at.Add(20 * time.Minute), Signal: "SIGUSR1", At: at.Add(10 * time.Minute), Cut: true}
	text := string(p.LogTail(1000))
	if strings.Count(text, "received SIGUSR1: checkpoint written") != 1 || strings.Contains(text, "finished") {
		t.Error(text)
	}
}
