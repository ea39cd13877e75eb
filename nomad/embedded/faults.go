package embedded

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// faults is what tests and the demo's story break. It lives in memory and is
// guarded by the cluster's lock.
type faults struct {
	rules      []*rule
	dropEvents int // batches still to be lost; -1: all
	cuts       uint64
	mute       bool
	stall      bool
	watchers   []func(method, path string, when Moment)
}

// Moment tells where in a request a hook stands.
type Moment int

const (
	// Before anything was done.
	Before Moment = iota
	// After it was done and stands in the file, before the answer.
	After
)

// Match selects requests: a method (empty: any) and a beginning of the path.
type Match struct{ Method, Path string }

func (m Match) hits(r *http.Request) bool {
	return (m.Method == "" || m.Method == r.Method) && strings.HasPrefix(r.URL.Path, m.Path)
}

type rule struct {
	match  Match
	left   int // requests still to be hit; -1: all
	when   Moment
	status int // answer this instead
	text   string
	drop   bool // close the connection without an answer
	delay  time.Duration
}

func (c *Cluster) addRule(r rule) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults.rules = append(c.faults.rules, &r)
}

// FailNext answers the next n matching requests with status and text; nothing is done.
func (c *Cluster) FailNext(n int, m Match, status int, text string) {
	c.addRule(rule{match: m, left: n, status: status, text: text})
}

// DropBefore closes the connection of the next n matching requests with
// nothing done: the caller can't tell.
func (c *Cluster) DropBefore(n int, m Match) { c.addRule(rule{match: m, left: n, drop: true}) }

// DropAfter does the next n matching requests and closes the connection before
// the answer: the caller can't tell.
func (c *Cluster) DropAfter(n int, m Match) {
	c.addRule(rule{match: m, left: n, drop: true, when: After})
}

// Delay holds the next n matching requests for a wall time before they are done.
func (c *Cluster) Delay(n int, m Match, d time.Duration) {
	c.addRule(rule{match: m, left: n, delay: d})
}

// OnRequest calls f around every request, e.g. to end the process between two
// steps. f must not call the cluster.
func (c *Cluster) OnRequest(f func(method, path string, when Moment)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults.watchers = append(c.faults.watchers, f)
}

// Heal takes every rule about requests and streams back. Nodes and GPUs stay as they are.
func (c *Cluster) Heal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults.rules, c.faults.dropEvents, c.faults.mute, c.faults.stall, c.faults.watchers = nil, 0, false, false, nil
	c.broadcast()
}

// hit finds the rule for a request and uses it up.
func (c *Cluster) hit(r *http.Request, when Moment) (rule, bool) {
	c.mu.Lock()
	watchers := c.faults.watchers
	var found rule
	ok := false
	for _, x := range c.faults.rules {
		if x.when == when && x.left != 0 && x.match.hits(r) {
			if x.left > 0 {
				x.left--
			}
			found, ok = *x, true
			break
		}
	}
	c.mu.Unlock()
	for _, f := range watchers {
		f(r.Method, r.URL.Path, when)
	}
	return found, ok
}

// ServeHTTP answers Nomad's HTTP API.
func (c *Cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if x, ok := c.hit(r, Before); ok {
		if x.delay > 0 {
			select {
			case <-time.After(x.delay):
			case <-r.Context().Done():
				return
			case <-c.closed:
				return
			}
		}
		if x.drop {
			panic(http.ErrAbortHandler) // closes the connection
		}
		if x.status != 0 {
			write(w, failed(x.status, x.text))
			return
		}
	}
	c.mux.ServeHTTP(&late{ResponseWriter: w, before: func() {
		if x, ok := c.hit(r, After); ok && x.drop {
			panic(http.ErrAbortHandler)
		}
	}}, r)
}

// late calls before ahead of the first byte of an answer.
type late struct {
	http.ResponseWriter
	before func()
}

func (l *late) once() {
	if f := l.before; f != nil {
		l.before = nil
		f()
	}
}

func (l *late) WriteHeader(status int)      { l.once(); l.ResponseWriter.WriteHeader(status) }
func (l *late) Write(b []byte) (int, error) { l.once(); return l.ResponseWriter.Write(b) }
func (l *late) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// DropEvents loses the next n batches of events silently; -1 loses all until Heal.
func (c *Cluster) DropEvents(n int) { c.fault(func() { c.faults.dropEvents = n }) }

// ForgetEvents empties the ring: who resumes gets a gap and isn't told.
func (c *Cluster) ForgetEvents() { c.fault(func() { c.ring.batches = nil }) }

// CutStreams closes every open event stream.
func (c *Cluster) CutStreams() { c.fault(func() { c.faults.cuts++ }) }

// MuteStreams makes new streams look like denied ones: 200, then silence.
func (c *Cluster) MuteStreams(on bool) { c.fault(func() { c.faults.mute = on }) }

// StallStreams makes open streams go silent, heartbeats included.
func (c *Cluster) StallStreams(on bool) { c.fault(func() { c.faults.stall = on }) }

func (c *Cluster) fault(f func()) {
	_ = c.do(func() error { f(); c.broadcast(); return nil })
}

// ResetIndex makes the cluster's index begin again at n, as after a restored
// snapshot; every table's index is cut to it.
func (c *Cluster) ResetIndex(n uint64) error {
	return c.do(func() error {
		c.s.Index = n
		for k, v := range c.s.Last {
			c.s.Last[k] = min(v, n)
		}
		c.ring.batches = nil
		c.touch(itemKey{"meta", ""})
		return nil
	})
}

// CollectGarbage forgets everything that has ended, silently.
func (c *Cluster) CollectGarbage() error {
	return c.do(func() error { c.collect(c.at); return nil })
}

// BreakGPU marks a device unhealthy for a reason. What runs on it goes on; no event says so.
func (c *Cluster) BreakGPU(nodeName, device, why string) error {
	return c.device(nodeName, device, func(n *node) { n.Sick[device] = why })
}

// RemoveGPU makes a device vanish from its node. What runs on it goes on; no event says so.
func (c *Cluster) RemoveGPU(nodeName, device string) error {
	return c.device(nodeName, device, func(n *node) { n.Gone[device] = true })
}

// AddErrors raises the count of memory errors that a device shows.
func (c *Cluster) AddErrors(nodeName, device string, n int64) error {
	return c.device(nodeName, device, func(x *node) { x.ECC[device] += n })
}

// RepairGPU makes a device whole again.
func (c *Cluster) RepairGPU(nodeName, device string) error {
	return c.device(nodeName, device, func(n *node) {
		delete(n.Sick, device)
		delete(n.Gone, device)
		delete(n.ECC, device)
		c.freed = true
	})
}

func (c *Cluster) device(name, device string, f func(*node)) error {
	return c.onNode(name, func(n *node) error {
		for _, d := range n.Spec.Devices {
			for _, id := range d.IDs {
				if id == device {
					c.bump("nodes")
					f(n)
					c.nodeChanged(n, "")
					return nil
				}
			}
		}
		return fmt.Errorf("embedded cluster: node %s has no device %s", n.Spec.Name, device)
	})
}

// NodeDown cuts a node off: what runs there is lost or unknown, as its job asks.
func (c *Cluster) NodeDown(name string) error {
	return c.onNode(name, func(n *node) error { c.nodeDown(n); return nil })
}

// NodeUp brings a node back with what it did meanwhile.
func (c *Cluster) NodeUp(name string) error {
	return c.onNode(name, func(n *node) error { c.nodeUp(n); return nil })
}

// SkewNode sets a node's own clock ahead by d, or behind where d is negative:
// everything that it reports bears its own times.
func (c *Cluster) SkewNode(name string, d time.Duration) error {
	return c.onNode(name, func(n *node) error {
		n.Skew = d.Milliseconds() * int64(time.Millisecond)
		c.touch(itemKey{"node", n.Spec.ID})
		return nil
	})
}

func (c *Cluster) onNode(name string, f func(*node) error) error {
	return c.do(func() error {
		n := c.findNode(name)
		if n == nil {
			return errors.New("embedded cluster: no node " + name)
		}
		return f(n)
	})
}
