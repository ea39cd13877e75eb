package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/domaintest"
	"gpupool/domain/pool"
	"gpupool/domain/store"
	"gpupool/nomad/embedded"
)

// killRounds is how often the portal is killed: 25, or GPUPOOL_TEST_KILL_ROUNDS.
func killRounds(t testing.TB) int {
	t.Helper()
	v := os.Getenv("GPUPOOL_TEST_KILL_ROUNDS")
	if v == "" {
		return 25
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		t.Fatalf("GPUPOOL_TEST_KILL_ROUNDS=%q is not a number of rounds", v)
	}
	return n
}

var errDied = errors.New("the process died here")

// life is a process that dies after so many steps. A step is a commit or a
// call that changes the cluster; there it may die just before or just after.
type life struct {
	mu   sync.Mutex
	left int
	dead bool
}

// step is false from the moment of death on.
func (l *life) step() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left--; l.left < 0 {
		l.dead = true
	}
	return !l.dead
}

func (l *life) gone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// around does f between two steps.
func (l *life) around(f func() error) error {
	if !l.step() {
		return errDied
	}
	if err := f(); err != nil {
		return err
	}
	if !l.step() {
		return errDied // it was done, and nobody was told
	}
	return nil
}

// mortalStore and mortalCluster do nothing any more once the process is dead.
type mortalStore struct {
	domain.Store
	*life
}

func (s mortalStore) Update(ctx context.Context, fn func(tx domain.Tx) error) error {
	return s.around(func() error { return s.Store.Update(ctx, fn) })
}

func (s mortalStore) View(ctx context.Context, fn func(tx domain.Tx) error) error {
	if s.gone() {
		return errDied
	}
	return s.Store.View(ctx, fn)
}

type mortalCluster struct {
	domain.Cluster
	*life
}

func (c mortalCluster) EnsureNamespace(ctx context.Context, org pool.OrgID) error {
	return c.around(func() error { return c.Cluster.EnsureNamespace(ctx, org) })
}

func (c mortalCluster) Submit(ctx context.Context, s domain.RunSpec) error {
	return c.around(func() error { return c.Cluster.Submit(ctx, s) })
}

func (c mortalCluster) Signal(ctx context.Context, org pool.OrgID, a pool.AttemptID, signal string) error {
	return c.around(func() error { return c.Cluster.Signal(ctx, org, a, signal) })
}

func (c mortalCluster) Stop(ctx context.Context, org pool.OrgID, a pool.AttemptID) error {
	return c.around(func() error { return c.Cluster.Stop(ctx, org, a) })
}

func (c mortalCluster) Runs(ctx context.Context) ([]domain.Run, error) {
	if c.gone() {
		return nil, errDied
	}
	return c.Cluster.Runs(ctx)
}

// crowd is what people do while the portal dies again and again, and what they
// were told.
type crowd struct {
	r        *rig
	rnd      *rand.Rand
	borrower domain.Actor // of kestrelis
	drive    pool.ProjectID
	sent     map[pool.JobID]domain.Sim // acknowledged
	stopped  map[pool.JobID]bool       // asked to stop, whatever the answer
}

func newCrowd(r *rig, seed uint64) *crowd {
	c := &crowd{r: r, rnd: rand.New(rand.NewPCG(seed, 7)), sent: map[pool.JobID]domain.Sim{}, stopped: map[pool.JobID]bool{}}
	c.borrower, c.drive = r.starter()
	return c
}

// act submits or stops one job through s, which may die under it.
func (c *crowd) act(s *domain.Service, unit time.Duration) {
	if c.rnd.IntN(4) == 0 {
		for id := range c.sent {
			if j := c.r.job(id); j.Live() && j.Org == c.r.Org {
				c.stopped[id] = true
				_ = s.StopJob(ctx, c.r.Member, c.r.Org, id) // dead, or ended meanwhile
				break
			}
		}
		return
	}
	tier := []pool.Tier{pool.Guaranteed, pool.Burst, pool.Burst, pool.Spot}[c.rnd.IntN(4)]
	gpus := 1 + c.rnd.IntN(6)
	if tier == pool.Spot {
		gpus = min(gpus, 5) // what owners lend: six would never fit
	}
	in := c.r.ask(tier, gpus, time.Duration(1+c.rnd.IntN(40))*unit, 60*unit)
	if c.rnd.IntN(6) == 0 {
		in.Spec.Sim.Exit = 3
	}
	who, org := c.r.Member, c.r.Org
	if tier != pool.Guaranteed && c.rnd.IntN(2) == 0 {
		who, org, in.Project, in.GPUsPerNode = c.borrower, c.r.Other, c.drive, min(in.GPUsPerNode, 3)
	}
	if j, err := s.SubmitJob(ctx, who, org, in); err == nil {
		c.sent[j.ID] = *in.Spec.Sim
	}
}

// idle tells whether every job has ended.
func (c *crowd) idle() bool {
	live := 0
	c.r.view(func(tx domain.Tx) error {
		jobs, err := tx.LiveJobs()
		live = len(jobs)
		return err
	})
	return live == 0
}

// verdict compares what people were told, the portal's books and the
// cluster's own records.
func (c *crowd) verdict() {
	t := c.r.T
	t.Helper()
	again := 0
	for id, sim := range c.sent {
		j := c.r.job(id) // fails the test when it was lost
		as := c.r.attempts(id)
		for i, a := range as {
			if last := i == len(as)-1; !last && a.End != domain.EndTakenBack {
				t.Errorf("attempt %d of %s ended as %q and was tried again", a.ID.N, id, a.End)
			}
		}
		again += max(0, len(as)-1)
		switch {
		case j.State != domain.JobEnded:
			t.Errorf("job %s is %s", id, j.State)
		case c.stopped[id] && (j.End == domain.EndStopped || j.End == domain.EndNeverStarts):
		case sim.Exit != 0 && j.End == domain.EndExitCode:
		case sim.Exit == 0 && j.End == domain.EndFinished:
		case len(as) > 1 && j.End == domain.EndTimeLimit: // what was left of its time was too short
		default:
			t.Errorf("job %s with %+v ended as %q %q (stopped %v)", id, sim, j.End, j.EndDetail, c.stopped[id])
		}
	}
	c.r.truth()
	open := int64(0)
	c.r.view(func(tx domain.Tx) (err error) { open, err = tx.OpenOutbox(); return err })
	if open != 0 {
		t.Errorf("%d rows of the outbox are open", open)
	}
	t.Logf("%d jobs, %d stopped, %d attempts that were taken back", len(c.sent), len(c.stopped), again)
}

func TestAProcessThatDiesAtAnyLineLosesNothingAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		c := newCrowd(r, seed)
		deaths := 0
		for range killRounds(t) {
			l := &life{left: 1 + c.rnd.IntN(120)}
			s := r.service(mortalStore{r.Store, l}, mortalCluster{r.client, l})
			for turns := 0; !l.gone() && turns < 200; turns++ {
				if c.rnd.IntN(2) == 0 {
					c.act(s, time.Minute)
				}
				_ = s.Cycle(ctx, true) // dead or not: that is the point
				if c.rnd.IntN(5) == 0 {
					_ = s.Housekeeping(ctx)
				}
				r.Clock.Add(time.Duration(c.rnd.IntN(180_000)) * time.Millisecond)
			}
			if l.gone() {
				deaths++
			}
			r.Clock.Add(time.Duration(c.rnd.IntN(900)) * time.Second) // while nobody is there
			r.restart()
		}
		for i := 0; !c.idle(); i++ {
			if i > 2000 {
				t.Fatal("the jobs do not end")
			}
			r.pass(5*time.Minute, 5*time.Minute)
		}
		r.turn()
		if deaths < killRounds(t)*3/4 {
			t.Errorf("it died %d times only", deaths)
		}
		c.verdict()
	})
}

// binary is the portal, built once.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "gpupool-bin-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "gpupool")
	out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// process is a portal of its own.
type process struct {
	cmd  *exec.Cmd
	said chan string // its first line
	log  *strings.Builder
}

func startPortal(t testing.TB, data string) *process {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(path, "serve"), said: make(chan string, 1), log: &strings.Builder{}}
	p.cmd.Env = []string{"GPUPOOL_ADDR=127.0.0.1:0", "GPUPOOL_DATA=" + data, "GPUPOOL_TEST_POOL=1", "PATH=" + os.Getenv("PATH")}
	p.cmd.Stderr = p.log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		p.said <- line
		_, _ = io.Copy(io.Discard, out)
	}()
	return p
}

// up waits until the portal says where it is.
func (p *process) up(t testing.TB) {
	t.Helper()
	select {
	case line := <-p.said:
		if !strings.Contains(line, "http://") {
			p.kill()
			t.Fatalf("the portal says %q; log:\n%s", line, p.log)
		}
	case <-time.After(time.Minute):
		p.kill()
		t.Fatalf("the portal does not start; log:\n%s", p.log)
	}
}

// kill is kill -9.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // says that it was killed
}

// await polls a condition of the wall clock's world.
func await(t testing.TB, what string, limit time.Duration, ok func() bool) {
	t.Helper()
	deadline := time.After(limit)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("%s: not within %s", what, limit)
		case <-tick.C:
		}
	}
}

// onDisk puts a full pool and its cluster into a data folder as serve expects
// it, with a clock that runs speed times as fast, and gives a rig on it whose
// cluster is not open.
func onDisk(t testing.TB, data string, speed int) *rig {
	t.Helper()
	p := domaintest.New(t)
	r := onCluster(t, p)
	copied := filepath.Join(data, "gpupool.db")
	from, err := sql.Open("sqlite", "file:"+p.Config.SQLitePath)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := from.Exec("VACUUM INTO ?", copied); err != nil {
		t.Fatal(err)
	}
	if err := from.Close(); err != nil {
		t.Fatal(err)
	}
	clock := &domain.BusinessClock{}
	st, err := store.Open(ctx, store.Config{SQLitePath: copied, Wall: wallInstant, Business: clock.Business, Relaxed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	now := r.Clock.Now()
	q := *p
	q.Store, q.Business = st, clock
	disk := &rig{Pool: &q, path: filepath.Join(data, "cluster.db"), nodes: []embedded.NodeSpec{gpuNode("gpu-a", 8)},
		now: func() pool.Instant { return clock.Business(wallInstant()) }}
	disk.Service = disk.service(st, nil)
	if err := disk.Service.StartClock(ctx, domain.System("test"), now, speed); err != nil {
		t.Fatal(err)
	}
	c, err := embedded.Open(embedded.Options{Path: disk.path, Nodes: disk.nodes, Now: disk.now})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return disk
}

func TestAPortalThatIsKilledAgainAndAgainLosesNothingAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	r := onDisk(t, data, 600) // ten minutes in a second
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	c := newCrowd(r, seed)
	for range killRounds(t) {
		p := startPortal(t, data)
		p.up(t)
		for range c.rnd.IntN(4) {
			c.act(r.Service, time.Minute)
		}
		<-time.After(time.Duration(c.rnd.IntN(1200)) * time.Millisecond) // any moment will do
		p.kill()
	}
	p := startPortal(t, data)
	p.up(t)
	await(t, "all jobs end", 2*time.Minute, c.idle)
	await(t, "the outbox is empty", time.Minute, func() bool {
		open := int64(0)
		r.view(func(tx domain.Tx) (err error) { open, err = tx.OpenOutbox(); return err })
		return open == 0
	})
	p.kill()
	r.open()
	t.Cleanup(r.shut)
	c.verdict()
	if len(c.sent) < killRounds(t)/2 {
		t.Errorf("only %d jobs were sent", len(c.sent))
	}
	if t.Failed() {
		t.Logf("log of the last portal:\n%s", p.log)
	}
}
