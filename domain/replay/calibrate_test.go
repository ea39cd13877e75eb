package replay

import (
	"testing"

	"pgregory.net/rapid"

	"gpupool/domain/pool"
)

// Every job that was asked about counts once, and none starts after its latest
// start unless an owner claimed or later work went first.
func TestACalibrationCountsEachStartOnce(t *testing.T) {
	t.Parallel()
	asked, bounds := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p, jobs := drawn(t)
		if err := p.check(); err != nil {
			t.Fatal(err)
		}
		res, err := Run(p, jobs, Options{Until: pool.Never, Calibrate: 5})
		if err != nil {
			t.Fatal(err)
		}
		c := res.Expected
		if c.Before+c.Inside+c.After != c.Likely || c.Claimed+c.Overtook+c.Broken != c.Late || c.Likely > c.Asked || c.Late > c.Bounds || c.Bounds > c.Asked {
			t.Fatalf("the counts don't add up: %+v", *c)
		}
		if c.Broken > 0 {
			t.Fatalf("a job started after its latest start without a cause: %+v", *c)
		}
		asked, bounds = asked+c.Asked, bounds+c.Bounds
	})
	if !t.Failed() && (asked == 0 || bounds == 0) {
		t.Errorf("%d jobs were asked about, %d told a latest start", asked, bounds)
	}
}
