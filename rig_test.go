package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/domaintest"
	"gpupool/domain/pool"
	"gpupool/nomad"
	"gpupool/nomad/embedded"
)

var ctx = context.Background()

// rig is a full pool on an embedded cluster. Both read the pool's clock, which
// stands still until a test moves it; no loop runs.
type rig struct {
	*domaintest.Pool
	path    string // of the cluster's file
	nodes   []embedded.NodeSpec
	now     func() pool.Instant
	cluster *embedded.Cluster
	client  *nomad.Client
}

// gpuNode is a node of the rig with n GPUs of its class.
func gpuNode(name string, n int) embedded.NodeSpec {
	return embedded.NodeSpec{Name: name, Datacenter: "main", Devices: []embedded.DeviceSpec{{
		Model: "NVIDIA A100-SXM4-80GB", IDs: embedded.DeviceIDs("GPU", name, n), MemoryMiB: 81920}}}
}

// onCluster gives a pool of domaintest a cluster: one node of eight GPUs
// unless nodes says otherwise. kestrelis has Starter: guaranteed 1, borrows 2.
func onCluster(t testing.TB, p *domaintest.Pool, nodes ...embedded.NodeSpec) *rig {
	t.Helper()
	if len(nodes) == 0 {
		nodes = []embedded.NodeSpec{gpuNode("gpu-a", 8)}
	}
	r := &rig{Pool: p, path: filepath.Join(t.TempDir(), "cluster.db"), nodes: nodes, now: p.Clock.Now}
	r.Update(func(tx domain.Tx) error {
		st, err := tx.Settings()
		if err != nil {
			return err
		}
		st.TestPool = true
		return tx.SaveSettings(st)
	})
	r.open()
	t.Cleanup(func() { r.shut() })
	r.keep()
	return r
}

// open starts cluster, client and service, as a start of the portal does.
func (r *rig) open() {
	r.T.Helper()
	var err error
	if r.cluster, err = embedded.Open(embedded.Options{Path: r.path, Nodes: r.nodes, Now: r.now}); err != nil {
		r.T.Fatal(err)
	}
	addr, err := r.cluster.Serve("127.0.0.1:0")
	if err != nil {
		r.T.Fatal(err)
	}
	if r.client, err = nomad.New(nomad.Config{Addr: addr, Driver: "docker", Sim: true}); err != nil {
		r.T.Fatal(err)
	}
	r.Service = r.service(r.Store, r.client)
}

// service is a core on the store that remembers nothing of the one before.
func (r *rig) service(s domain.Store, c domain.Cluster) *domain.Service {
	return domain.New(domain.Config{Store: s, Cluster: c, Clock: r.Business, Passwords: domaintest.Passwords{},
		Issuers: map[string]domain.Issuer{"local": domaintest.Issuer("local")}})
}

func (r *rig) shut() {
	r.client.Close()
	if err := r.cluster.Close(); err != nil {
		r.T.Error(err)
	}
}

// restart ends everything but the files and starts it again.
func (r *rig) restart() {
	r.T.Helper()
	r.shut()
	r.open()
}

// turn is one turn of the loop that admits and looks.
func (r *rig) turn() {
	r.T.Helper()
	if err := r.Service.Cycle(ctx, true); err != nil {
		r.T.Fatal(err)
	}
}

func (r *rig) keep() {
	r.T.Helper()
	if err := r.Service.Housekeeping(ctx); err != nil {
		r.T.Fatal(err)
	}
}

// pass lets d go by in steps, with a turn after each.
func (r *rig) pass(d, step time.Duration) {
	r.T.Helper()
	for ; d > 0; d -= step {
		r.Clock.Add(min(d, step))
		r.turn()
	}
}

// starter subscribes kestrelis to Starter and gives it a project that pays.
func (r *rig) starter() (owner domain.Actor, project pool.ProjectID) {
	r.T.Helper()
	acc := must[domain.BillingAccount](r, "account")(r.Service.CreateAccount(ctx, r.OtherOwner, r.Other, domaintest.Account()))
	p := must[domain.Project](r, "project")(r.Service.CreateProject(ctx, r.OtherOwner, r.Other, domain.ProjectInput{Name: "Drive", Account: acc.ID}))
	must[domain.Subscription](r, "subscription")(r.Service.Subscribe(ctx, r.OtherOwner, r.Other, domain.SubscribeInput{Version: r.Starter.ID, Account: acc.ID}))
	owner = r.Actor(r.OtherOwner.User)
	return owner, p.ID
}

func must[T any](r *rig, what string) func(T, error) T {
	return func(v T, err error) T {
		r.T.Helper()
		if err != nil {
			r.T.Fatalf("%s: %v", what, err)
		}
		return v
	}
}

// ask is a job of one node in the member's project.
func (r *rig) ask(tier pool.Tier, gpus int, length, limit time.Duration) domain.JobInput {
	return domain.JobInput{Project: r.Project.ID, Name: "train", Classes: []pool.ClassID{r.Class}, Nodes: 1, GPUsPerNode: gpus, Tier: tier,
		MaxRun: limit, Spec: domain.JobSpec{Image: "pytorch:2", Sim: &domain.Sim{LengthMs: length.Milliseconds()}}}
}

// submit sends a job of rheinau's member.
func (r *rig) submit(in domain.JobInput) domain.Job {
	r.T.Helper()
	return must[domain.Job](r, "submit")(r.Service.SubmitJob(ctx, r.Member, r.Org, in))
}

// price is the row of a cover in the pool's one list.
func (r *rig) price(c pool.Cover) pool.PriceRowID {
	i := slices.IndexFunc(r.Prices.Rows, func(x domain.PriceRow) bool { return x.Cover == c })
	return r.Prices.Rows[i].ID
}

// job as it is stored.
func (r *rig) job(id pool.JobID) (j domain.Job) {
	r.T.Helper()
	r.view(func(tx domain.Tx) (err error) { j, err = tx.JobByID(id); return err })
	return j
}

func (r *rig) attempts(id pool.JobID) (as []domain.Attempt) {
	r.T.Helper()
	r.view(func(tx domain.Tx) (err error) { as, err = tx.Attempts(id); return err })
	return as
}

func (r *rig) view(fn func(tx domain.Tx) error) {
	r.T.Helper()
	if err := r.Store.View(ctx, fn); err != nil {
		r.T.Fatal(err)
	}
}

// ledger are the stored segments of a job.
func (r *rig) ledger(id pool.JobID) (s []domain.Segment) {
	r.T.Helper()
	r.view(func(tx domain.Tx) (err error) { s, err = tx.Segments(domain.SegmentFilter{Job: id}); return err })
	return s
}

// runsOf are the cluster's own records of a job, by attempt and allocation.
func (r *rig) runsOf(id pool.JobID) []domain.Run {
	r.T.Helper()
	all := must[[]domain.Run](r, "runs")(r.client.Runs(ctx))
	all = slices.DeleteFunc(all, func(x domain.Run) bool { return x.Attempt.Job != id })
	slices.SortStableFunc(all, func(a, b domain.Run) int { return a.Attempt.N - b.Attempt.N })
	return all
}

// startOf is when the cluster says that a run started, 0: not.
func startOf(x domain.Run) pool.Instant {
	for _, e := range x.Events {
		if e.Type == "Started" {
			return e.At
		}
	}
	return 0
}

// state of a job in words, for comparison: state, end, detail and attempts.
func (r *rig) state(id pool.JobID) string {
	r.T.Helper()
	j := r.job(id)
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", j.State, j.End, j.EndDetail))
}

func (r *rig) wants(id pool.JobID, state string) {
	r.T.Helper()
	if got := r.state(id); got != state {
		r.T.Fatalf("job %s is %q at %s, want %q; reasons %v", id, got, r.Clock.Now(), state, r.job(id).Reasons)
	}
}

// until turns in steps until the job is in the state, at most d.
func (r *rig) until(id pool.JobID, state string, d, step time.Duration) {
	r.T.Helper()
	for r.turn(); r.state(id) != state && d > 0; d -= step {
		r.pass(step, step)
	}
	r.wants(id, state)
}

// truth compares the ledger with the cluster's own records: every run that
// ended is charged for exactly the milliseconds in which it had its GPUs, each
// once, less what is free; and each attempt was registered once.
func (r *rig) truth() {
	r.T.Helper()
	for _, x := range differences(r) {
		r.T.Error(x)
	}
}

func differences(r *rig) []string {
	r.T.Helper()
	var out []string
	runs := must[[]domain.Run](r, "runs")(r.client.Runs(ctx))
	var segments []domain.Segment
	attempts := map[pool.AttemptID]domain.Attempt{}
	meters := map[pool.AllocID]domain.Meter{}
	r.view(func(tx domain.Tx) error {
		var err error
		if segments, err = tx.Segments(domain.SegmentFilter{}); err != nil {
			return err
		}
		for _, x := range runs {
			t, err := tx.Attempt(x.Attempt)
			if err != nil {
				return fmt.Errorf("the cluster runs %s, which nobody knows: %w", x.Attempt.NomadID(), err)
			}
			attempts[t.ID] = t
			m, err := tx.Meter(x.Alloc)
			if err == nil {
				meters[x.Alloc] = m
			} else if domain.CodeOf(err) != domain.NotFound {
				return err
			}
		}
		return nil
	})
	count := map[pool.AttemptID]int{}
	for _, x := range runs {
		t := attempts[x.Attempt]
		if count[t.ID]++; count[t.ID] > len(t.Placement) {
			out = append(out, fmt.Sprintf("%s runs %d times on %d nodes", t.ID.NomadID(), count[t.ID], len(t.Placement)))
		}
		var of []domain.Segment
		for _, s := range segments {
			if s.Alloc == x.Alloc {
				of = append(of, s)
			}
		}
		want := chargeable(x, t)
		if !x.Status.Terminal() {
			want.End = want.Start
			if m, ok := meters[x.Alloc]; ok {
				want.End = max(m.Until, want.Start)
			}
		} else if t.State != domain.AttemptEnded {
			out = append(out, fmt.Sprintf("%s has ended and its attempt is %s", t.ID.NomadID(), t.State))
			continue
		}
		if why := tiles(of, want, len(x.Devices)); why != "" {
			out = append(out, fmt.Sprintf("%s (%s, ended %s): %s; want [%s,%s) x %d; ledger %s", t.ID.NomadID(), x.Status, t.End, why,
				want.Start, want.End, len(x.Devices), show(of)))
		}
	}
	return out
}

// chargeable is when a run had its GPUs, less what is free, by the law alone.
func chargeable(x domain.Run, t domain.Attempt) pool.Interval {
	v := pool.Interval{Start: startOf(x), End: x.Finished}
	for _, e := range x.Events {
		if free := e.At.Add(10 * time.Minute); e.Type == "Task Setup" && (v.Start == 0 && free < v.End || free < v.Start) {
			v.Start = free // set-up is free for so long in every rig
		}
	}
	if v.Start == 0 || t.End == domain.EndGang {
		return pool.Interval{}
	}
	if x.Status == domain.RunLost {
		v.End = x.Heartbeat
	}
	v.End = min(v.End, v.Start.Add(t.MaxEnd.Sub(t.AdmittedAt)))
	if t.StopReason.ByEngine() {
		v.End = min(v.End, t.NoticeAt)
	}
	return v
}

// tiles says why segments don't cover want with exactly gpus in every
// millisecond; empty when they do.
func tiles(segments []domain.Segment, want pool.Interval, gpus int) string {
	cuts := []pool.Instant{want.Start, want.End}
	for _, s := range segments {
		cuts = append(cuts, s.Start, s.End)
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	for i := 1; i < len(cuts); i++ {
		have, should := 0, 0
		for _, s := range segments {
			if s.Start <= cuts[i-1] && cuts[i] <= s.End {
				have += s.GPUs * s.Sign
			}
		}
		if want.Start <= cuts[i-1] && cuts[i] <= want.End {
			should = gpus
		}
		if have != should {
			return fmt.Sprintf("%d GPUs are charged in [%s,%s), want %d", have, cuts[i-1], cuts[i], should)
		}
	}
	return ""
}

func show(segments []domain.Segment) string {
	var b strings.Builder
	for _, s := range segments {
		fmt.Fprintf(&b, "[%s,%s) %dx%s%+d ", s.Start, s.End, s.GPUs, s.Cover, s.Sign)
	}
	return b.String()
}
