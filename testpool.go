package main

import (
	"context"

	"gpupool/domain"
	"gpupool/nomad/embedded"
	"gpupool/web"
)

// testPoolSentence stands in the banner of a pool that GPUPOOL_TEST_POOL made.
const testPoolSentence = "Test pool. The operator turns its clock; nothing of it is real."

// becomeTestPool marks the pool as one for tests and gives it a clock that its
// operator can turn. It runs at every start; a clock that runs is kept.
func (p *portal) becomeTestPool(ctx context.Context) error {
	runs := false
	err := p.store.Update(ctx, func(tx domain.Tx) error {
		st, err := tx.Settings()
		if err != nil {
			return err
		}
		_, err = tx.Clock()
		if runs = err == nil; err != nil && domain.CodeOf(err) != domain.NotFound {
			return err
		}
		if st.TestPool {
			return nil
		}
		st.TestPool = true
		return tx.SaveSettings(st)
	})
	if err != nil || runs {
		return err
	}
	return p.service.StartClock(ctx, domain.System("test pool"), wallInstant(), 1)
}

// testPoolWeb gives the pages of a test pool the banner with the clock.
// Nobody signs in with one click.
func testPoolWeb() *web.DemoOptions { return &web.DemoOptions{Sentence: testPoolSentence} }

// testNodes are the machines of the embedded cluster of a new test pool.
func testNodes() []embedded.NodeSpec {
	var out []embedded.NodeSpec
	for _, name := range []string{"test-01", "test-02"} {
		out = append(out, embedded.NodeSpec{Name: name, Datacenter: "lab", Meta: map[string]string{"gpupool_site": "lab"},
			Devices: []embedded.DeviceSpec{{Model: "NVIDIA H100 80GB HBM3", IDs: embedded.DeviceIDs("GPU", name, 4), MemoryMiB: 81_559, PowerW: 700}}})
	}
	return out
}
