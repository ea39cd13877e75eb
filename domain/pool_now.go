package domain

import (
	"cmp"
	"context"
	"slices"
	"time"

	"gpupool/domain/pool"
)

const hour = time.Hour

// ClassNow is a GPU class at this moment, in GPUs.
type ClassNow struct {
	Class                      GPUClass
	Total                      int // healthy
	Own, Loan, Spot, Free, Out int // Out: unhealthy, or on a node that is down
}

// NodeNow is a node with one letter for each GPU.
type NodeNow struct {
	Node    Node
	Squares []string // "own", "loan", "spot", "free", "out", "foreign"; one for each device
}

// PoolNow is the pool at this moment: what everybody may see.
type PoolNow struct {
	Now      pool.Instant
	Settings Settings
	Classes  []ClassNow
	Nodes    []NodeNow
	Waiting  int
	Running  int
	Reasons  []ReasonCount // of the waiting jobs, by their first reason
	Members  int
}

// ReasonCount is how many jobs wait for a reason.
type ReasonCount struct {
	Code pool.ReasonCode
	Jobs int
}

// PoolNow counts what every GPU does now.
func (s *Service) PoolNow(ctx context.Context) (PoolNow, error) {
	var p PoolNow
	err := s.store.View(ctx, func(tx Tx) (err error) { p, err = poolNow(tx); return err })
	return p, err
}

func poolNow(tx Tx) (PoolNow, error) {
	p := PoolNow{Now: tx.Now()}
	t, err := LoadTerms(tx)
	if err != nil {
		return p, err
	}
	p.Settings = t.Settings
	attempts, err := tx.LiveAttempts()
	if err != nil {
		return p, err
	}
	jobs, err := tx.LiveJobs()
	if err != nil {
		return p, err
	}
	p.Members = len(t.Orgs)
	p.count(jobs)
	held := heldByNode(attempts)
	by := map[pool.ClassID]*ClassNow{}
	p.Classes = make([]ClassNow, len(t.Classes))
	for i, c := range t.Classes {
		p.Classes[i].Class = c
		by[c.ID] = &p.Classes[i]
	}
	for _, n := range t.Nodes {
		c := by[n.Class]
		if c == nil {
			continue
		}
		v := NodeNow{Node: n, Squares: squares(n, held[n.ID])}
		p.Nodes = append(p.Nodes, v)
		for _, q := range v.Squares {
			switch q {
			case "own":
				c.Own++
			case "loan":
				c.Loan++
			case "spot":
				c.Spot++
			case "free":
				c.Free++
			default:
				c.Out++
				c.Total--
			}
			c.Total++
		}
	}
	return p, nil
}

func (p *PoolNow) count(jobs []Job) {
	n := map[pool.ReasonCode]int{}
	for _, j := range jobs {
		if j.State != JobWaiting {
			p.Running++
			continue
		}
		p.Waiting++
		if len(j.Reasons) > 0 {
			n[j.Reasons[0].Code]++
		}
	}
	for code, jobs := range n {
		p.Reasons = append(p.Reasons, ReasonCount{code, jobs})
	}
	slices.SortFunc(p.Reasons, func(a, b ReasonCount) int { return cmp.Or(b.Jobs-a.Jobs, cmp.Compare(a.Code, b.Code)) })
}

// heldByNode divides the cover of attempts over their nodes.
func heldByNode(attempts []Attempt) map[pool.NodeID]pool.Split {
	out := map[pool.NodeID]pool.Split{}
	for _, a := range attempts {
		left := a.Split
		for _, p := range a.Placement {
			s := out[p.Node]
			for range p.GPUs {
				switch {
				case left.Own > 0:
					left.Own--
					s.Own++
				case left.Loan > 0:
					left.Loan--
					s.Loan++
				default:
					left.Spot--
					s.Spot++
				}
			}
			out[p.Node] = s
		}
	}
	return out
}

func squares(n Node, held pool.Split) []string {
	total := max(len(n.Devices), n.GPUs)
	var out []string
	add := func(word string, k int) {
		for range k {
			if len(out) < total {
				out = append(out, word)
			}
		}
	}
	if n.State == NodeDown {
		add("out", total)
		return out
	}
	add("own", held.Own)
	add("loan", held.Loan)
	add("spot", held.Spot)
	add("foreign", n.Foreign)
	add("out", len(n.Unhealthy))
	for len(out) < total {
		if n.State == NodeDraining || n.Cordoned {
			out = append(out, "out")
		} else {
			out = append(out, "free")
		}
	}
	return out
}
