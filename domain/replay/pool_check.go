package replay

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// Bounds of a pool file: beyond them a number is a mistake, and sums in
// GPU-milliseconds could overflow.
const (
	mostGPUs  = 1_000_000
	mostHours = 1_000_000_000
	mostDays  = 10_000
)

// check finds what a run or an invoice would stumble over; an error begins
// with the path of the field.
func (p *Pool) check() error {
	if _, err := money.CurrencyOf(p.Currency); err != nil {
		return fmt.Errorf("currency: %w", err)
	}
	if _, err := time.LoadLocation(p.Zone); err != nil || p.Zone == "" || p.Zone == "Local" {
		return fmt.Errorf("zone: %q is not a time zone", p.Zone)
	}
	for _, step := range []func() error{p.checkClasses, p.checkNodes, p.checkPlans, p.checkOrgs, p.checkPrices, p.checkTrace} {
		if err := step(); err != nil {
			return err
		}
	}
	_, err := p.Terms(0, pool.Never)
	return err
}

func (p *Pool) hasClass(id pool.ClassID) bool {
	return slices.ContainsFunc(p.Classes, func(c Class) bool { return c.ID == id })
}

func (p *Pool) checkClasses() error {
	if len(p.Classes) == 0 {
		return fmt.Errorf("classes: a pool needs at least one GPU class")
	}
	for i, c := range p.Classes {
		if pool.CheckSlugClass(string(c.ID)) != nil || slices.ContainsFunc(p.Classes[:i], func(x Class) bool { return x.ID == c.ID }) {
			return fmt.Errorf("classes[%d].id: %q is empty, doubled or no identifier", i, c.ID)
		}
	}
	return nil
}

func (p *Pool) checkNodes() error {
	gpus := 0
	for i, n := range p.Nodes {
		if !p.hasClass(n.Class) {
			return fmt.Errorf("nodes[%d].class: there is no class %q", i, n.Class)
		}
		if n.GPUs < 1 || n.GPUs > 1024 || n.Count < 0 || n.Count > 100_000 || n.Name == "" {
			return fmt.Errorf("nodes[%d]: needs a name, 1 to 1024 gpus and a count of at most 100000", i)
		}
		if gpus += n.GPUs * max(n.Count, 1); gpus > mostGPUs {
			return fmt.Errorf("nodes[%d]: more than %d GPUs in all", i, mostGPUs)
		}
	}
	seen := map[pool.NodeID]bool{}
	for _, n := range p.NodeList() {
		if seen[n.ID] {
			return fmt.Errorf("nodes: the name %q stands twice", n.ID)
		}
		seen[n.ID] = true
	}
	return nil
}

func (p *Pool) checkPlans() error {
	for i, pl := range p.Plans {
		if pl.ID == "" || slices.ContainsFunc(p.Plans[:i], func(x Plan) bool { return x.ID == pl.ID }) {
			return fmt.Errorf("plans[%d].id: %q is empty or doubled", i, pl.ID)
		}
		for _, c := range slices.Sorted(maps.Keys(pl.Classes)) {
			q := pl.Classes[c]
			if !p.hasClass(c) {
				return fmt.Errorf("plans[%d].classes[%s]: there is no such class", i, c)
			}
			if min(q.Guaranteed, q.Borrow, q.Lend) < 0 || max(q.Guaranteed, q.Borrow, q.Lend) > mostGPUs || q.Included < 0 || q.Included > mostHours {
				return fmt.Errorf("plans[%d].classes[%s]: numbers go from 0 to %d GPUs and %d hours", i, c, mostGPUs, mostHours)
			}
		}
	}
	return nil
}

func (p *Pool) checkOrgs() error {
	tenants, projects := map[string]pool.OrgID{}, map[pool.ProjectID]bool{}
	for i, o := range p.Orgs {
		if pool.CheckSlug(string(o.ID)) != nil || slices.ContainsFunc(p.Orgs[:i], func(x Org) bool { return x.ID == o.ID }) {
			return fmt.Errorf("organisations[%d].id: %q is empty, doubled or no identifier", i, o.ID)
		}
		if !slices.ContainsFunc(p.Plans, func(x Plan) bool { return x.ID == o.Plan }) {
			return fmt.Errorf("organisations[%d].plan: there is no plan %q", i, o.Plan)
		}
		if o.Weight != nil && (*o.Weight < 0 || *o.Weight > mostGPUs) {
			return fmt.Errorf("organisations[%d].weight: %d is not from 0 to %d", i, *o.Weight, mostGPUs)
		}
		for _, name := range append([]string{string(o.ID)}, o.Trace...) {
			if other, ok := tenants[name]; ok && other != o.ID {
				return fmt.Errorf("organisations[%d].trace: the tenant %q is %s's already", i, name, other)
			}
			tenants[name] = o.ID
		}
		own := o.Projects
		if len(own) == 0 {
			own = []Project{{ID: pool.ProjectID(o.ID)}} // as a run makes it
		}
		for k, x := range own {
			if x.ID == "" || projects[x.ID] {
				return fmt.Errorf("organisations[%d].projects[%d].id: %q is empty or doubled", i, k, x.ID)
			}
			projects[x.ID] = true
		}
	}
	return nil
}

func (p *Pool) checkPrices() error {
	for i, l := range p.Prices {
		for k, r := range l.Rows {
			if !p.hasClass(r.Class) {
				return fmt.Errorf("prices[%d].rows[%d].class: there is no class %q", i, k, r.Class)
			}
			if r.Lender < 0 || r.Lender > 10_000 {
				return fmt.Errorf("prices[%d].rows[%d].lender_share_bp: %d is not from 0 to 10000", i, k, r.Lender)
			}
		}
	}
	return nil
}

func (p *Pool) checkTrace() error {
	for _, kind := range slices.Sorted(maps.Keys(p.Trace.Tiers)) {
		if t := p.Trace.Tiers[kind]; !t.Valid() {
			return fmt.Errorf("trace.tiers[%q]: %q is not guaranteed, burst or spot", kind, t)
		}
	}
	for _, model := range slices.Sorted(maps.Keys(p.Trace.Classes)) {
		if c := p.Trace.Classes[model]; !p.hasClass(c) {
			return fmt.Errorf("trace.classes[%q]: there is no class %q", model, c)
		}
	}
	if p.Trace.Days < 0 || p.Trace.Days > mostDays {
		return fmt.Errorf("trace.days: %d is not from 0 to %d", p.Trace.Days, mostDays)
	}
	if p.Trace.LimitFactor < 0 || p.Trace.LimitFactor > 1000 {
		return fmt.Errorf("trace.synthetic_limit_factor: %d is not from 0 to 1000", p.Trace.LimitFactor)
	}
	if m := p.Trace.LimitModel; m != "" && m != "factor" && m != "habit" {
		return fmt.Errorf("trace.synthetic_limit_model: %q is not factor or habit", m)
	}
	sum := 0
	for _, t := range slices.Sorted(maps.Keys(p.Trace.TierPercent)) {
		if n := p.Trace.TierPercent[t]; !t.Valid() || n < 0 || n > 100 {
			return fmt.Errorf("trace.synthetic_tier_percent[%q]: %d is no percentage of a tier", t, n)
		}
		sum += p.Trace.TierPercent[t]
	}
	if sum != 100 && len(p.Trace.TierPercent) > 0 {
		return fmt.Errorf("trace.synthetic_tier_percent: the shares sum to %d, not to 100", sum)
	}
	if p.Trace.Start != "" {
		if _, err := instant(p.Trace.Start); err != nil {
			return fmt.Errorf("trace.start: %w", err)
		}
	}
	return nil
}
