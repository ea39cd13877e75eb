package quota

import (
	"math"
	"math/bits"
	"time"

	"gpupool/domain/pool"
)

// ln2 in parts of 2^62.
const ln2 = 3196577161300663915

// Advance is the decayed use at a later time: what was fades with the half-life
// and the loan GPUs held since are added, exactly and without sampling. The
// same input gives the same bits on every processor. A half-life that isn't
// positive forgets everything.
func (d DecayedUse) Advance(now pool.Instant, halfLife time.Duration) DecayedUse {
	h := halfLife.Milliseconds()
	if h <= 0 {
		d.Use, d.At = 0, now
		return d
	}
	if now <= d.At {
		return d
	}
	left := halve(int64(now-d.At), h) // in parts of 2^62
	kept := mulShift(max(0, int64(d.Use)), left)
	// rate * (h / ln2) * (1 - left)
	whole, _ := bits.Div64(uint64(h)>>2, uint64(h)<<62, ln2) // h/ln2 in ms
	grown := mulShift(int64(min(whole, math.MaxInt64>>21))*int64(min(max(0, d.Rate), maxGPUs)), 1<<62-left)
	d.Use, d.At = pool.GPUMillis(kept+grown), now
	return d
}

// Mean is the mean loan that the use stands for, in thousandths of a GPU.
func (d DecayedUse) Mean(halfLife time.Duration) int64 {
	h := halfLife.Milliseconds()
	if h <= 0 || d.Use <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(min(int64(d.Use), math.MaxInt64/1000))*1000, ln2)
	hi, lo = hi>>62, hi<<2|lo>>62
	q, _ := bits.Div64(0, lo, uint64(h))
	if hi > 0 {
		q = math.MaxInt64 / 4
	}
	return int64(min(q, math.MaxInt64/4))
}

// halve is 2^(-dt/h) in parts of 2^62.
func halve(dt, h int64) int64 {
	whole := dt / h
	if whole >= 62 {
		return 0
	}
	x := int64(1) << 62
	hi, lo := bits.Mul64(uint64(dt%h), 1<<32)
	part, _ := bits.Div64(hi, lo, uint64(h))
	for i, root := range roots {
		if part&(1<<(31-i)) != 0 {
			x = mulShift(x, root)
		}
	}
	return x >> whole
}

// mulShift is a*b/2^62, floored.
func mulShift(a, b int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return int64(hi<<2 | lo>>62)
}

// LoansAfter is the decayed use of those organisations and classes whose loan
// GPUs are others than their rows say, once the plan is carried out: what they
// held until now is added, and the use goes on with what they hold from now on.
func LoansAfter(s Snapshot, p Plan, now pool.Instant) []DecayedUse {
	type key struct {
		org   pool.OrgID
		class pool.ClassID
	}
	rates := map[key]int{}
	rows := map[key]DecayedUse{}
	for _, d := range s.Decayed {
		k := key{d.Org, d.Class}
		rows[k], rates[k] = d, 0
	}
	covers := make(map[pool.AttemptID]pool.Split, len(p.Covers))
	for _, c := range p.Covers {
		covers[c.Attempt] = c.Split
	}
	for i := range s.Running {
		a := &s.Running[i]
		split, ok := covers[a.ID]
		if !ok {
			split = a.Split
		}
		if split.Loan > 0 {
			rates[key{a.Org, a.Class}] += split.Loan
		}
	}
	if len(p.Admit) > 0 {
		orgs := make(map[pool.JobID]pool.OrgID, len(s.Pending))
		for i := range s.Pending {
			orgs[s.Pending[i].ID] = s.Pending[i].Org
		}
		for _, a := range p.Admit {
			if a.Split.Loan > 0 {
				rates[key{orgs[a.Job], a.Class}] += a.Split.Loan
			}
		}
	}
	var out []DecayedUse
	for k, rate := range rates {
		d, known := rows[k]
		if !known {
			d = DecayedUse{Org: k.org, Class: k.class, At: now}
		}
		if d.Rate == rate {
			continue
		}
		d = d.Advance(now, s.Policy.HalfLife)
		d.Rate = rate
		out = append(out, d)
	}
	sortBy(out, func(x, y DecayedUse) bool {
		if x.Org != y.Org {
			return x.Org < y.Org
		}
		return x.Class < y.Class
	})
	return out
}

func (e *engine) indexDecay() {
	if e.policy.HalfLife < 0 {
		e.problem("the half-life of loan use is negative: past use doesn't count")
	}
	if e.policy.HalfLife <= 0 {
		return
	}
	for _, d := range e.in.Decayed {
		c, okc := e.classAt[d.Class]
		o, oko := e.orgAt[d.Org]
		if !okc || !oko {
			e.problem("loan use of organisation %q in class %q, which aren't known", d.Org, d.Class)
			continue
		}
		if d.Use < 0 || d.Rate < 0 || d.Rate > maxGPUs {
			e.problem("loan use of %s in %s is %d at rate %d: taken as none", d.Org, d.Class, d.Use, d.Rate)
			continue
		}
		e.loanMean[e.oc(c, o)] = min(d.Advance(e.now, e.policy.HalfLife).Mean(e.policy.HalfLife), maxGPUs*1000)
	}
}

// roots is 2^(-1/2), 2^(-1/4), ... in parts of 2^62.
var roots = [32]int64{
	3260954456333195553, 3877950241171266237, 4228934724888366668, 4416165660797809419,
	4512867096753504463, 4562008997483360349, 4586780255215411731, 4599216278082138665,
	4605446927862164404, 4608565417332308035, 4610125453837388245, 4610905670110601999,
	4611295827762151833, 4611490918967884501, 4611588467665893036, 4611637242788701951,
	4611661630543559956, 4611673824469352645, 4611679921444339948, 4611682969934856344,
	4611684494180870228, 4611685256304066092, 4611685637365711255, 4611685827896545643,
	4611685923161965790, 4611685970794676601, 4611685994611032191, 4611686006519210032,
	4611686012473298964, 4611686015450343433, 4611686016938865668, 4611686017683126786,
}
