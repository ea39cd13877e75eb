package replay

import (
	"fmt"
	"slices"
	"strings"

	"gpupool/domain/pool"
)

// Setting is one way to run a trace: a pool, and what is switched on and off.
type Setting struct {
	Name      string
	Pool      Pool
	NoLending bool
	Restart   bool
	First     Serving
	Check     bool // of the law
	Calibrate int  // about how many waiting jobs is asked when they start; 0: none
}

// Serving says who decides.
type Serving int

const (
	ByEngine   Serving = iota
	InOrder            // first come, first served, without quotas
	InOrderFit         // the same, but what fits may pass what doesn't
)

// Switches are what With and Without take, and what they mean.
var Switches = []struct{ Name, Meaning string }{
	{"lending", "idle guaranteed GPUs are lent and borrowed"},
	{"fair_reclaim", "borrowers with less may take from those with more"},
	{"checkpoints", "stopped jobs go on from their checkpoint instead of from the beginning"},
	{"notice", "between the signal and the stop"},
	{"minimum_run", "borrowers are safe for a while"},
	{"quotas", "the engine decides; without: first come, first served"},
}

// With is the setting with some switches on.
func (s Setting) With(names string) (Setting, error) { return s.switched(names, true) }

// Without is the setting with some switches off.
func (s Setting) Without(names string) (Setting, error) { return s.switched(names, false) }

func (s Setting) switched(names string, on bool) (Setting, error) {
	for _, name := range strings.Split(names, ",") {
		switch name = strings.TrimSpace(name); name {
		case "lending":
			s.NoLending = !on
		case "fair_reclaim":
			s.Pool.Fair = on
		case "checkpoints":
			s.Restart = !on
		case "notice", "minimum_run", "quotas":
			if on {
				return s, fmt.Errorf("%s can only be switched off; the pool file says how long or how much", name)
			}
			switch name {
			case "notice":
				s.Pool.Notice = 0
			case "minimum_run":
				s.Pool.MinRun = 0
			default:
				s.First = InOrder
			}
		default:
			var all []string
			for _, x := range Switches {
				all = append(all, x.Name)
			}
			return s, fmt.Errorf("%q is none of %s", name, strings.Join(all, ", "))
		}
	}
	s.Name = "without " + names
	if on {
		s.Name = "with " + names
	}
	return s, nil
}

// Baseline is first come, first served on the same pool.
func (s Setting) Baseline(skip bool) Setting {
	s.Name, s.First = "first come", InOrder
	if skip {
		s.Name, s.First = "first fit", InOrderFit
	}
	return s
}

// Run runs the trace and counts what came of it. Without quotas nothing is
// charged, and there is no law to check.
func (s Setting) Run(jobs []Job) (Result, Report, error) {
	if s.First != ByEngine {
		res := FirstCome(s.Pool, jobs, s.First == InOrderFit, pool.Never)
		r := figures(s.Pool, res)
		r.Name = s.Name
		return res, r, nil
	}
	res, err := Run(s.Pool, jobs, Options{Until: pool.Never, NoLending: s.NoLending, Restart: s.Restart, Calibrate: s.Calibrate})
	if err != nil {
		return res, Report{}, err
	}
	r, err := Summarise(s.Pool, res)
	r.Expected = res.Expected
	if r.Name = s.Name; err == nil && s.Check {
		l := CheckLaw(s.Pool, res)
		r.Law = &l
	}
	return res, r, err
}

// sameMembers lists the members of all reports in the order of the first.
func sameMembers(rs []Report) []pool.OrgID {
	var out []pool.OrgID
	for _, r := range rs {
		for _, m := range r.Members {
			if !slices.Contains(out, m.Org) {
				out = append(out, m.Org)
			}
		}
	}
	return out
}
