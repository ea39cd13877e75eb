package embedded

import "encoding/json"

// event is one line item of the stream.
type event struct {
	FilterKeys []string
	Index      uint64
	Key        string
	Namespace  string
	Payload    raw
	Topic      string
	Type       string
}

// batch is what one change of the state tells the stream.
type batch struct {
	seq    uint64
	index  uint64
	events []event
}

// ring keeps the last batches in memory, as one server does.
type ring struct {
	next    uint64 // sequence number of the next batch, from 1
	batches []batch
}

func (c *Cluster) emit(topic, kind, key, ns string, filters []string, payload any) {
	b, err := json.Marshal(payload)
	if err != nil {
		panic(err) // only our own structs go in
	}
	c.batch = append(c.batch, event{filters, c.s.Index, key, ns, b, topic, kind})
}

func (c *Cluster) emitJob(j *jobText, kind string) {
	c.emit("Job", kind, j.ID, j.Namespace, nil, struct{ Job *jobText }{j})
}

func (c *Cluster) emitDeregistered(j *jobText, purged bool) {
	c.emit("Job", "JobDeregistered", j.ID, j.Namespace, nil, struct {
		Deleted bool
		Job     *jobText
	}{purged, j})
}

func (c *Cluster) emitEval(e *eval, kind string) {
	c.emit("Evaluation", kind, e.ID, e.Namespace, []string{e.JobID, ""}, struct{ Evaluation *eval }{e})
}

func (c *Cluster) emitAlloc(a *alloc, kind string) {
	c.emit("Allocation", kind, a.ID, a.Namespace, []string{a.JobID, ""}, struct{ Allocation allocWire }{c.allocWire(a, false)})
}

func (c *Cluster) emitNode(n *node, kind string) {
	c.emit("Node", kind, n.Spec.ID, "", nil, struct{ Node nodeWire }{c.nodeWire(n)})
}

// flush closes the batch of the current change.
func (c *Cluster) flush() {
	if len(c.batch) == 0 {
		return
	}
	b := batch{index: c.s.Index, events: c.batch}
	c.batch = nil
	if c.faults.dropEvents != 0 {
		if c.faults.dropEvents > 0 {
			c.faults.dropEvents--
		}
		return
	}
	c.ring.next++
	b.seq = c.ring.next
	c.ring.batches = append(c.ring.batches, b)
	if n := len(c.ring.batches) - c.opt.Ring; n > 0 {
		c.ring.batches = append([]batch(nil), c.ring.batches[n:]...)
	}
}

// from is the sequence number at which a stream that asks for index begins:
// the first batch at or after it; beyond the newest, the newest; 0 means the
// oldest. Nothing tells the reader that something is missing.
func (r *ring) from(index uint64) uint64 {
	for _, b := range r.batches {
		if b.index >= index {
			return b.seq
		}
	}
	if n := len(r.batches); n > 0 {
		return r.batches[n-1].seq
	}
	return r.next + 1
}

// after lists the batches with sequence number at least seq.
func (r *ring) after(seq uint64) []batch {
	for i, b := range r.batches {
		if b.seq >= seq {
			return r.batches[i:]
		}
	}
	return nil
}
