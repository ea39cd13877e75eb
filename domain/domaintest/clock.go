// Package domaintest builds pools for tests: a clock that stands still until
// it is moved, people of every role, and a catalogue, all made through the use
// cases that people use.
package domaintest

import (
	"sync"
	"time"

	"gpupool/domain/pool"
)

// Clock is a wall clock that stands still until a test moves it.
type Clock struct {
	mu  sync.Mutex
	now pool.Instant
}

// NewClock stands at an instant.
func NewClock(at pool.Instant) *Clock { return &Clock{now: at} }

func (c *Clock) Now() pool.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Add moves the clock on.
func (c *Clock) Add(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.mu.Unlock()
}

// Set moves the clock to an instant that is not before.
func (c *Clock) Set(to pool.Instant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if to < c.now {
		panic("domaintest: the clock only moves forward")
	}
	c.now = to
}
