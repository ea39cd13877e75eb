package quota

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"gpupool/domain/pool"
)

// met counts the hard things that the histories came across.
type met struct {
	mu                                                                                       sync.Mutex
	histories, decisions, admissions, reclaims, victims, straddles, gangs, guaranteed, spots int
	withdrawn, elsewhere, cancelled, overdue, lost, unfounded, slow, recovers, cuts          int
	reservations, fair, priority, promisesKept, minimal, grounds, owners, sets, metered      int
	resumed, toSpot, above, toBurst, shed, unpaid, stepped                                   int
	overSpot, backfills, scaled, weightless, more, shares, claims, stopped, least, fewer     int
	reasons                                                                                  map[pool.ReasonCode]int // that were lifted
}

func (m *met) reason(c pool.ReasonCode) {
	if m.reasons == nil {
		m.reasons = map[pool.ReasonCode]int{}
	}
	m.reasons[c]++
}

// counts names what must be met.
func (m *met) counts() map[string]*int {
	return map[string]*int{"shares compared": &m.shares, "checked claims": &m.claims, "their victims": &m.stopped, "the fewest that would do": &m.least, "claims with a smaller set": &m.fewer,
		"scaled pools": &m.scaled, "weightless pools": &m.weightless, "pools with more": &m.more,
		"histories": &m.histories, "decisions": &m.decisions, "admissions": &m.admissions, "reclaims": &m.reclaims, "victims": &m.victims,
		"straddled victims": &m.straddles, "gangs": &m.gangs, "guaranteed": &m.guaranteed, "spot victims": &m.spots, "withdrawn notices": &m.withdrawn,
		"places found elsewhere": &m.elsewhere, "promises of cancelled jobs": &m.cancelled, "overdue victims": &m.overdue, "promises on lost nodes": &m.lost, "unfounded promises": &m.unfounded,
		"victims slow to stop": &m.slow, "covers changed": &m.recovers, "quotas cut": &m.cuts, "reservations": &m.reservations, "backfills": &m.backfills,
		"fair moves": &m.fair, "moves by priority": &m.priority, "moves over spot work": &m.overSpot, "promises kept": &m.promisesKept, "minimal sets": &m.minimal, "grounds": &m.grounds,
		"owners that wait": &m.owners, "sets of victims": &m.sets, "metered attempts": &m.metered,
		"notices taken back": &m.resumed, "burst work that went on as spot": &m.toSpot, "guaranteed work above a cut": &m.above,
		"guaranteed work that went on as burst": &m.toBurst, "stops for lost GPUs": &m.shed, "stops for money": &m.unpaid, "waits for a step of a quota": &m.stepped}
}

func (m *met) add(o *met) {
	m.mu.Lock()
	defer m.mu.Unlock()
	theirs := o.counts()
	for what, n := range m.counts() {
		*n += *theirs[what]
	}
	if m.reasons == nil {
		m.reasons = map[pool.ReasonCode]int{}
	}
	for c, n := range o.reasons {
		m.reasons[c] += n
	}
}

// enough fails when the histories met nothing of some kind.
func (m *met) enough(t *testing.T) {
	var all []string
	counts := m.counts()
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%d %s", *counts[what], what))
		if rare := what == "unfounded promises" || what == "overdue victims"; *counts[what] < max(1, m.histories/2000) && (!rare || m.histories > 20_000) {
			t.Errorf("the generator met %d %s", *counts[what], what)
		}
	}
	for _, r := range pool.Reasons { // of one job alone nothing is reserved, and it is behind nobody; deadlines have a test of their own
		if beside := r.Code == pool.Deadline || r.Code == pool.Behind || r.Code == pool.Reserved || r.Code == pool.DependencyCycle; !beside && m.reasons[r.Code] < max(1, m.histories/2000) {
			t.Errorf("the generator lifted %d %s", m.reasons[r.Code], r.Code)
		}
	}
	t.Logf("met %s; lifted %v", strings.Join(all, ", "), m.reasons)
}

func (l laws) count() {
	m := l.met
	m.decisions++
	l.turn++
	m.admissions += len(l.plan.Admit)
	m.reclaims += len(l.plan.Reclaim)
	m.withdrawn += len(l.plan.Withdrawn)
	m.recovers += len(l.plan.Covers)
	m.reservations += len(l.plan.Reserved)
	for _, a := range l.plan.Admit {
		m.gangs += when(len(a.Placement) > 1, 1)
		m.guaranteed += when(l.jobs[a.Job].Tier == pool.Guaranteed, 1)
		m.promisesKept += when(slices.ContainsFunc(l.before.Promises, func(p Promise) bool { return p.Job == a.Job }), 1)
		m.backfills += when(slices.ContainsFunc(l.plan.Reserved, func(r Reservation) bool { return r.Class == a.Class }), 1)
	}
	for _, w := range l.plan.Withdrawn {
		switch w.Why {
		case Elsewhere:
			m.elsewhere++
		case Cancelled:
			m.cancelled++
		case Overdue:
			m.overdue++
		case NodeLost:
			m.lost++
		case Unfounded:
			m.unfounded++
		}
	}
	for _, p := range l.plan.Reclaim {
		m.victims += len(p.Victims)
		switch p.Rule {
		case ByFairness:
			m.fair++
		case ByPriority:
			m.priority++
		case OverSpot:
			m.overSpot++
		}
		for _, v := range p.Victims {
			m.spots += when(l.jobs[v.Job].Tier == pool.Spot, 1)
		}
	}
}
