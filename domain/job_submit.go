package domain

import (
	"context"
	"regexp"
	"slices"
	"time"

	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/quota"
	"gpupool/domain/rating"
)

// JobInput is what a person submits.
type JobInput struct {
	Project     pool.ProjectID
	Name        string
	Classes     []pool.ClassID
	Nodes       int
	GPUsPerNode int
	Tier        pool.Tier
	Priority    int
	MaxRun      time.Duration // 0: the default of the first class
	NotBefore   pool.Instant
	Deadline    pool.Instant
	DependsOn   pool.JobID
	Renewable   bool
	Spec        JobSpec
	MaxCost     *money.Amount // refuse to submit what may cost more; nil: any promise is taken
}

// Limits of a job's input.
const (
	MaxNodes       = 64
	MaxGPUsPerNode = 64
	MaxPriority    = 100
	MaxArgs        = 64
	MaxEnv         = 64
	MaxText        = 4096
)

// JobQuote is the answer before a job is sent: what it can cost at most and
// when it probably starts.
type JobQuote struct {
	UpTo         money.Amount // promise: the charge never exceeds it
	AtOwn        money.Amount // if it runs to its limit inside own quota
	Price        money.Price  // dearest, per GPU-hour
	GPUs         int
	MaxRun       time.Duration
	Answer       quota.Answer
	Alternatives []Alternative // cheaper ways to run the same
	Payer        Payer
	CapLeft      *money.Amount // of the organisation's cap, what is reserved deducted, before this job
	Now          pool.Instant
}

// Payer is who pays for the use of a project now.
type Payer struct {
	Account string       // name of the billing account; empty: none
	Order   string       // the purchase orders in force that limit it; empty: none
	Left    money.Amount // of the orders, what is used deducted
}

// payer of a project: its billing account and what its purchase orders leave.
func (v *view) payer(tx Tx, org pool.OrgID, project pool.ProjectID) (Payer, error) {
	id := v.terms.AccountOf(project, v.now)
	if id == "" {
		return Payer{}, nil
	}
	a, err := tx.Account(org, id)
	p := Payer{Account: a.Name}
	for _, b := range v.snap.Budgets {
		if b.ID == orderBudget(id) {
			p.Order, p.Left = b.Ref, max(0, b.Limit-b.Spent)
		}
	}
	return p, err
}

// Alternative is the same job in another tier.
type Alternative struct {
	Tier     pool.Tier
	UpTo     money.Amount
	Admitted bool
	Start    pool.Instant
}

// QuoteJob tells what SubmitJob would do, and changes nothing.
func (s *Service) QuoteJob(ctx context.Context, a Actor, org pool.OrgID, in JobInput) (JobQuote, error) {
	var q JobQuote
	if err := a.Need(org, ActSubmit); err != nil {
		return q, err
	}
	err := s.store.View(ctx, func(tx Tx) error {
		j, err := s.checkJob(tx, a, org, in)
		if err != nil {
			return err
		}
		q, err = quoteJob(tx, j, &s.habits)
		return err
	})
	return q, err
}

// quoteJob asks the engine about one more job, and prices it. Without habits it
// tells no likely start.
func quoteJob(tx Tx, j Job, h *habits) (JobQuote, error) {
	v, err := snapshot(tx)
	if err != nil {
		return JobQuote{}, err
	}
	snap := v.snap
	if h != nil {
		if snap.Habits, err = h.of(tx, v.snap.Orgs); err != nil {
			return JobQuote{}, err
		}
	}
	q := JobQuote{GPUs: j.GPUs(), MaxRun: j.MaxRun, Now: v.now}
	if q.UpTo, q.Price, err = v.terms.upTo(j, v.now); err != nil {
		return q, err
	}
	q.AtOwn = q.UpTo
	if p, ok := v.terms.At(j.Classes[0], rating.Reach(j.Tier)[0], v.now); ok {
		q.AtOwn = money.Charge(j.fullUse(), p.Price)
	}
	if h != nil { // a person asks
		if q.Payer, err = v.payer(tx, j.Org, j.Project); err != nil {
			return q, err
		}
	}
	j.ID = "quote"
	q.Answer = quota.Quote(snap, v.pending(j, 0, v.live()), v.now)
	for _, b := range v.snap.Budgets {
		if b.ID == capBudget(j.Org) {
			left := max(0, b.Limit-b.Spent-v.committed(j.Org))
			q.CapLeft = &left
		}
	}
	for _, r := range q.Answer.Reasons {
		if r.Code == pool.Cap { // the engine has counted it exactly
			left := money.Amount(r.Have)
			q.CapLeft = &left
		}
	}
	for _, tier := range pool.Tiers {
		if tier == j.Tier {
			continue
		}
		o := j
		o.Tier = tier
		up, _, err := v.terms.upTo(o, v.now)
		if err != nil || up >= q.UpTo {
			continue
		}
		ans := quota.Quote(v.snap, v.pending(o, 0, v.live()), v.now)
		q.Alternatives = append(q.Alternatives, Alternative{Tier: tier, UpTo: up, Admitted: ans.Admitted, Start: ans.Start})
	}
	return q, nil
}

// live are the jobs of the snapshot that have not ended.
func (v *view) live() map[pool.JobID]bool {
	out := map[pool.JobID]bool{}
	for _, a := range v.snap.Running {
		out[a.ID.Job] = true
	}
	for _, j := range v.snap.Pending {
		out[j.ID] = true
	}
	return out
}

// committed is what running work of a member may still cost this month, at
// the dearest it can fall to.
func (v *view) committed(org pool.OrgID) money.Amount {
	end := pool.MonthOf(v.now, v.terms.Zone).Bounds(v.terms.Zone).End
	var sum money.Amount
	for _, a := range v.snap.Running {
		if a.Org != org {
			continue
		}
		gpus := 0
		for _, p := range a.Placement {
			gpus += p.GPUs
		}
		left := pool.Interval{Start: v.now, End: min(a.MaxEnd, end)}
		if up, ok := rating.UpTo(v.terms.Prices(), a.Class, a.Tier, pool.GPUMillis(int64(gpus)*left.Millis()), v.now); ok {
			sum += up
		}
	}
	return sum
}

// fullUse is the use of a job that runs to its limit.
func (j Job) fullUse() pool.GPUMillis {
	return pool.GPUMillis(int64(j.GPUs()) * j.MaxRun.Milliseconds())
}

// upTo is the most that a job can be charged, over all its attempts, at the
// dearest class, cover and price row that it can fall to. What rounding or a
// later price list would charge beyond it is waived on the invoice.
func (t Terms) upTo(j Job, now pool.Instant) (money.Amount, money.Price, error) {
	var top money.Amount
	var price money.Price
	for _, c := range j.Classes {
		up, ok := rating.UpTo(t.Prices(), c, j.Tier, j.fullUse(), now)
		if !ok {
			return 0, 0, Errf(Conflict, "There is no price for %s as %s yet.", c, j.Tier)
		}
		top = max(top, up)
		p, _ := t.Dearest(c, pool.Interval{Start: now, End: pool.Never}, rating.Reach(j.Tier)...)
		price = max(price, p)
	}
	return top, price, nil
}

// SubmitJob stores a job and wakes the engine. What it returns waits; the
// engine's answer follows in a moment (see AwaitDecision).
func (s *Service) SubmitJob(ctx context.Context, a Actor, org pool.OrgID, in JobInput) (Job, error) {
	var j Job
	if err := a.Need(org, ActSubmit); err != nil {
		return j, err
	}
	id := pool.JobID(s.newID("j-"))
	err := s.update(ctx, org, func(tx Tx) error {
		var err error
		if j, err = s.checkJob(tx, a, org, in); err != nil {
			return err
		}
		j.ID = id
		q, err := quoteJob(tx, j, nil)
		if err != nil {
			return err
		}
		if in.MaxCost != nil && q.UpTo > *in.MaxCost {
			st, err := tx.Settings()
			if err != nil {
				return err
			}
			var f Fields
			cur := st.Currency
			f.Add("max_cost", "It may cost up to %s, more than the %s that you allow.", inCurrency(cur, q.UpTo), inCurrency(cur, *in.MaxCost))
			return f.Err()
		}
		j.UpTo, j.Reasons, j.Position = q.UpTo, q.Answer.Reasons, q.Answer.Position
		j.StartsBy = startsBy(q.Answer.Start)
		if err := tx.InsertJob(j); err != nil {
			return err
		}
		return audit(tx, a, org, "job.submit", string(j.ID), nil, map[string]any{"name": j.Name, "project": j.Project, "classes": j.Classes,
			"nodes": j.Nodes, "gpus_per_node": j.GPUsPerNode, "tier": j.Tier, "max_run_s": int64(j.MaxRun.Seconds()), "up_to": j.UpTo})
	})
	return j, err
}

// AwaitDecision returns the job as soon as the engine has looked at it, or as
// it is when ctx ends.
func (s *Service) AwaitDecision(ctx context.Context, a Actor, org pool.OrgID, id pool.JobID) (Job, error) {
	changes, cancel := s.hub.Subscribe(string(org))
	defer cancel()
	var j Job
	for {
		err := s.store.View(context.WithoutCancel(ctx), func(tx Tx) (err error) { j, err = tx.Job(org, id); return err })
		if err != nil || j.State != JobWaiting {
			return j, err
		}
		select {
		case <-ctx.Done():
			return j, nil
		case <-changes:
		}
	}
}

var envKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
var refusedEnv = regexp.MustCompile(`^(NVIDIA_|NOMAD_|LD_|DOCKER_)|^CUDA_VISIBLE_DEVICES$`)
var imageRef = regexp.MustCompile(`^[a-z0-9][a-zA-Z0-9._/:@-]{0,254}$`)

// checkJob validates an input against what the pool has, and makes the job.
func (s *Service) checkJob(tx Tx, a Actor, org pool.OrgID, in JobInput) (Job, error) {
	var f Fields
	st, err := tx.Settings()
	if err != nil {
		return Job{}, err
	}
	in.Name = trimmed(in.Name)
	checkLine(&f, "name", in.Name, true, 120)
	p, err := tx.Project(org, in.Project)
	switch {
	case in.Project == "":
		f.Add("project", "Please choose a project.")
	case CodeOf(err) == NotFound || err == nil && (!a.SeesProject(org, p.ID) || p.Archived):
		f.Add("project", "There is no such project.")
	case err != nil:
		return Job{}, err
	}
	classes, err := tx.Classes()
	if err != nil {
		return Job{}, err
	}
	j := Job{Org: org, Project: in.Project, User: a.User, Name: in.Name, Nodes: in.Nodes, GPUsPerNode: in.GPUsPerNode, Tier: in.Tier,
		Priority: in.Priority, MaxRun: in.MaxRun, NotBefore: in.NotBefore, Deadline: in.Deadline, DependsOn: in.DependsOn, Renewable: in.Renewable, Spec: in.Spec,
		State: JobWaiting, SubmittedAt: tx.Now()}
	longest := checkClasses(&f, &j, in, classes, st)
	checkShape(&f, in)
	switch {
	case in.MaxRun == 0 && len(j.Classes) == 0: // its default is that of the GPU type, which is asked for already
	case j.MaxRun < maxRunFloor:
		f.Add("max_run", "At least 1 minute.")
	case j.MaxRun > longest:
		f.Add("max_run", "At most %d hours for this GPU type.", int64(longest.Hours()))
	}
	checkWishes(&f, j, tx.Now())
	if in.DependsOn != "" {
		if _, err := seenJob(tx, a, org, in.DependsOn); CodeOf(err) == NotFound {
			f.Add("depends_on", "There is no such job in your organisation.")
		} else if err != nil {
			return Job{}, err
		}
	}
	checkSpec(&f, in.Spec, st)
	if err := f.Err(); err != nil {
		return Job{}, err
	}
	return j, checkAccount(tx, j)
}

// checkAccount refuses a job whose project has nobody who pays.
func checkAccount(tx Tx, j Job) error {
	rows, err := tx.ProjectAccounts(j.Project)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return Errf(Conflict, "The project has no billing account yet; the owner or the finance officer adds one.")
	}
	return nil
}

func checkClasses(f *Fields, j *Job, in JobInput, classes []GPUClass, st Settings) (longest time.Duration) {
	longest = st.LongestMaxRun
	if len(in.Classes) == 0 {
		f.Add("class", "Please choose a GPU type.")
	}
	for k, id := range in.Classes {
		i := slices.IndexFunc(classes, func(c GPUClass) bool { return c.ID == id })
		if i < 0 {
			f.Add("class", "There is no such GPU type.")
			continue
		}
		if slices.Contains(j.Classes, id) {
			continue
		}
		j.Classes = append(j.Classes, id)
		if k == 0 && j.MaxRun == 0 {
			j.MaxRun = classes[i].DefaultMaxRun
		}
		if classes[i].MaxRun > 0 {
			longest = min(longest, classes[i].MaxRun)
		}
	}
	return longest
}

func checkShape(f *Fields, in JobInput) {
	if in.Nodes < 1 || in.Nodes > MaxNodes {
		f.Add("nodes", "A number from 1 to %d.", MaxNodes)
	}
	if in.GPUsPerNode < 1 || in.GPUsPerNode > MaxGPUsPerNode {
		f.Add("gpus", "A number from 1 to %d.", MaxGPUsPerNode)
	}
	if !in.Tier.Valid() {
		f.Add("tier", "Please choose guaranteed, flexible or spot.")
	}
}

// checkWishes is what a person may also change while the job waits.
func checkWishes(f *Fields, j Job, now pool.Instant) {
	const year = 366 * 24 * time.Hour
	if j.Priority < -MaxPriority || j.Priority > MaxPriority {
		f.Add("priority", "A number from %d to %d.", -MaxPriority, MaxPriority)
	}
	if j.NotBefore != 0 && j.NotBefore.Sub(now) > year {
		f.Add("not_before", "At most a year ahead.")
	}
	switch soonest := max(now, j.NotBefore).Add(j.MaxRun); {
	case j.Deadline == 0:
	case j.Deadline < soonest:
		f.Add("deadline", "Too soon: it may run for %d minutes, and could not end by then.", int64(j.MaxRun.Minutes()))
	case j.Deadline.Sub(now) > year:
		f.Add("deadline", "At most a year ahead.")
	}
}

// checkSpec is the law of tenant jobs for what our own form can express.
func checkSpec(f *Fields, sp JobSpec, st Settings) {
	switch {
	case sp.Image == "":
		f.Add("image", "Please name a container image.")
	case !imageRef.MatchString(sp.Image):
		f.Add("image", "An image reference: letters, digits and . _ / : @ - only, at most 255 characters.")
	}
	checkText(f, "command", sp.Command, false, MaxText)
	if len(sp.Args) > MaxArgs {
		f.Add("args", "At most %d arguments; these are %d.", MaxArgs, len(sp.Args))
	}
	for _, x := range append([]string{sp.Command}, sp.Args...) {
		checkInterpolation(f, "command", x)
	}
	for _, x := range sp.Args {
		checkText(f, "args", x, false, MaxText)
	}
	if len(sp.Env) > MaxEnv {
		f.Add("env", "At most %d variables; these are %d.", MaxEnv, len(sp.Env))
	}
	for k, v := range sp.Env {
		switch {
		case !envKey.MatchString(k):
			f.Add("env", "%q is not a name of a variable.", k)
		case refusedEnv.MatchString(k):
			f.Add("env", "%s is set by the pool and can't be given.", k)
		}
		checkText(f, "env", v, false, MaxText)
		checkInterpolation(f, "env", v)
	}
	if sp.Sim != nil {
		if !st.Demo && !st.TestPool {
			f.Add("sim", "Simulated behaviour is for demo pools only.")
		}
		if sp.Sim.LengthMs < 0 || sp.Sim.LengthMs > int64(31*24*time.Hour/time.Millisecond) {
			f.Add("sim", "At most 31 days.")
		}
	}
}

var interpolation = regexp.MustCompile(`\$\{|\{\{`)

func checkInterpolation(f *Fields, field, s string) {
	if interpolation.MatchString(s) {
		f.Add(field, "${…} and {{…}} are not allowed here.")
	}
}
