package quota

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gpupool/domain/pool"
)

func TestJobsOfAboutTheSameLengthShareABucket(t *testing.T) {
	t.Parallel()
	s := two()
	for i, minutes := range []int{16, 20, 29, 30, 31, 45, 0} {
		j := ask(pool.JobID(fmt.Sprintf("job-%d", i)), "uni", 1)
		j.MaxRun = time.Duration(minutes) * time.Minute
		s.Pending = append(s.Pending, j)
	}
	e := build(&s, noon)
	if len(e.buckets) != 3 {
		t.Errorf("%d buckets, want 3: up to 30 minutes, up to 45, without a limit", len(e.buckets))
	}
}

func TestTheBoundOfALaneIsNeverBelowAJobsEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		j := job{maxRun: pool.Instant(rapid.Int64Range(0, int64(pool.Never)).Draw(rt, "maximum run"))}
		j.longest = roundUp(j.maxRun)
		e := engine{now: noon}
		end, bound := e.endOf(&j), e.boundOf(&j)
		if bound < end || bound-end >= runStep && bound != pool.Never || (j.maxRun == 0) != (j.longest == 0) {
			rt.Fatalf("a run of %d ends at %d, its bound is %d", j.maxRun, end, bound)
		}
	})
}

func TestAnAdmittedJobKeepsItsOwnLimit(t *testing.T) {
	t.Parallel()
	s := two()
	j := ask("j", "uni", 1)
	j.MaxRun = 17 * time.Minute
	s.Pending = []Job{j}
	if p := Decide(s, noon); len(p.Admit) != 1 || p.Admit[0].MaxEnd != noon.Add(17*time.Minute) {
		t.Errorf("admitted %+v", p.Admit)
	}
}

func TestAJobStartsBeforeAWindowOnlyWhenItsLaneEndsByThen(t *testing.T) {
	t.Parallel()
	for minutes, want := range map[int]int{29: 0, 30: 1} {
		s := two()
		j := ask("j", "uni", 1)
		j.Tier, j.MaxRun = pool.Guaranteed, 17*time.Minute
		s.Pending = []Job{j}
		s.Windows = []Window{{Closed: pool.Interval{Start: noon.Add(time.Duration(minutes) * time.Minute), End: noon.Add(time.Hour)}}}
		if p := Decide(s, noon); len(p.Admit) != want {
			t.Errorf("a window in %d minutes: admitted %+v, want %d", minutes, p.Admit, want)
		}
	}
}
