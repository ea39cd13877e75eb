package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/domaintest"
	"gpupool/domain/pool"
	"gpupool/nomad"
	"gpupool/nomad/embedded"
	"gpupool/web"
)

// shell is a portal with a full pool on an embedded cluster, and a person with a token at a terminal.
type shell struct {
	*domaintest.Pool
	t     *testing.T
	url   string
	files map[pool.UserID]string // token files
}

// lateCluster is made after the service that uses it.
type lateCluster struct{ *nomad.Client }

func openShell(t *testing.T) *shell {
	t.Helper()
	late := &lateCluster{}
	p := domaintest.New(t, func(c *domain.Config) { c.Cluster = late })
	p.Update(func(tx domain.Tx) error {
		st, err := tx.Settings()
		if err != nil {
			return err
		}
		st.TestPool = true // simulated jobs are allowed
		return tx.SaveSettings(st)
	})
	c, err := embedded.Open(embedded.Options{Now: p.Clock.Now, Poll: time.Millisecond, Nodes: []embedded.NodeSpec{{ID: string(p.Node), Name: string(p.Node),
		Meta: map[string]string{"gpupool_site": string(p.Site)}, Devices: []embedded.DeviceSpec{{Model: domaintest.Class().Model, IDs: embedded.DeviceIDs("GPU", string(p.Node), 8)}}}}})
	s := &shell{Pool: p, t: t, files: map[pool.UserID]string{}}
	s.must(err)
	t.Cleanup(func() { s.must(c.Close()) })
	addr, err := c.Serve("127.0.0.1:0")
	s.must(err)
	late.Client, err = nomad.New(nomad.Config{Addr: addr, Driver: "docker", Sim: true})
	s.must(err)
	t.Cleanup(late.Close)
	w, err := web.New(web.Options{Service: p.Service, Store: p.Store, Wall: func() time.Time { return p.Clock.Now().Time() }, Version: "test"})
	s.must(err)
	srv := httptest.NewServer(w)
	s.url = srv.URL
	t.Cleanup(func() { w.Close(); srv.Close() })
	s.must(p.Service.SyncInventory(t.Context()))
	return s
}

func (s *shell) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// live lets time pass and the portal work, a second of the pool's clock with every turn, until the test ends.
func (s *shell) live() {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			s.Clock.Add(time.Second)
			if err := s.Service.Cycle(context.Background(), true); err != nil {
				s.t.Error(err)
			}
		}
	})
	s.t.Cleanup(func() { close(stop); wg.Wait() })
}

// run is a command as a person types it; it returns what was printed and the exit code.
func (s *shell) run(who domain.Actor, args ...string) (out, errs string, code int) {
	s.t.Helper()
	file, ok := s.files[who.User]
	if !ok {
		_, secret, err := s.Service.CreateToken(s.t.Context(), who, domain.TokenInput{Name: "cli", Scopes: []string{domain.ScopeJobs}, Days: "30"})
		s.must(err)
		file = filepath.Join(s.t.TempDir(), "token")
		s.must(os.WriteFile(file, []byte(secret+"\n"), 0o600))
		s.files[who.User] = file
	}
	// The flags of the portal go before a job's own command.
	all := append([]string{args[0], "--url", s.url, "--token-file", file}, args[1:]...)
	return typed(s.t, all...)
}

func typed(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	root := rootCommand()
	root.SetArgs(args)
	root.SetOut(&o)
	root.SetErr(&e)
	err := root.ExecuteContext(t.Context())
	if err != nil && err.Error() != "" {
		e.WriteString("gpupool: " + err.Error() + "\n")
	}
	return o.String(), e.String(), exitCode(err)
}

// wants fails unless a command ended with the code and printed every text.
func (s *shell) wants(code int, texts []string, out, errs string, got int) string {
	s.t.Helper()
	if got != code {
		s.t.Errorf("exit code %d, want %d:\n%s%s", got, code, out, errs)
	}
	for _, x := range texts {
		if !strings.Contains(out+errs, x) {
			s.t.Errorf("%q is not said:\n%s%s", x, out, errs)
		}
	}
	return out
}

func TestAJobFromTheCommandLine(t *testing.T) {
	t.Parallel()
	s := openShell(t)
	s.live()
	out, errs, code := s.run(s.Member, "job", "quote", "--gpus", "4", "--max-run", "2h", "busybox")
	s.wants(0, []string{"Up to 10.00 EUR; starts at once", "cheaper: --tier spot, up to 3.60 EUR"}, out, errs, code)
	out, errs, code = s.run(s.Member, "job", "run", "--gpus", "2", "--max-run", "1h", "--simulate", "10s", "--max-cost", "2.50", "--project", "llm", "--env", "SEED=1", "--wait", "ghcr.io/x/train:1", "python", "train.py", "--epochs", "3")
	s.wants(0, []string{"Up to 2.50 EUR; starts at once", "begins on 2 GPUs", "finished", "train: Finished"}, out, errs, code)
	for _, line := range strings.Split(strings.TrimSpace(errs), "\n") {
		if strings.Count(errs, line+"\n") != 1 {
			t.Errorf("%q is said twice:\n%s", line, errs)
		}
	}
	if strings.Contains(out, "Up to") || !strings.Contains(out, "try 1 of") {
		t.Errorf("standard output is the log only: %q", out)
	}
	out, errs, code = s.run(s.Member, "job", "run", "--simulate", "5s", "--simulate-exit", "17", "--wait", "busybox")
	s.wants(17, []string{"ended with code 17"}, out, errs, code)
	out, errs, code = s.run(s.Member, "job", "run", "--simulate", "8h", "--name", "long", "busybox")
	s.wants(0, []string{"long: "}, out, errs, code)
	id := strings.TrimSpace(out)
	if !strings.HasPrefix(id, "j-") || strings.ContainsAny(id, " \n") {
		t.Fatalf("standard output is the id: %q", out)
	}
	out, errs, code = s.run(s.Member, "job", "list", "--state", "starting,running")
	s.wants(0, []string{id, "long", "flexible"}, out, errs, code)
	out, errs, code = s.run(s.Member, "job", "show", id)
	s.wants(0, []string{id + " long: ", "1 x 1 GPUs of a100-80g, flexible", "of at most 30.00 EUR"}, out, errs, code)
	out, errs, code = s.run(s.Member, "job", "stop", id)
	s.wants(0, []string{id}, out, errs, code)
	out, errs, code = s.run(s.Member, "job", "logs", "--wait", id)
	s.wants(130, []string{"Stopped"}, out, errs, code)
	out, errs, code = s.run(s.Member, "job", "show", "--json", id)
	var j job
	if err := json.Unmarshal([]byte(out), &j); err != nil || j.State != "ended" || code != 0 {
		t.Errorf("%v, %d: %s%s", err, code, out, errs)
	}
	out, errs, code = s.run(s.Member, "usage", "--month", "2026-11")
	s.wants(0, []string{"LLM", "a100-80g", "included", "2026-11 so far"}, out, errs, code)
	out, errs, code = s.run(s.Member, "usage", "--csv")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) < 2 || !strings.HasPrefix(lines[0], "month,project_id") || code != 0 {
		t.Errorf("csv: %s%s", out, errs)
	}
}

func TestWhatTheCommandLineRefusesNamesFieldAndLimit(t *testing.T) {
	t.Parallel()
	s := openShell(t)
	tests := []struct {
		sentence string
		who      domain.Actor
		args     []string
		code     int
		says     string
	}{
		{"too dear", s.Member, []string{"job", "run", "--gpus", "4", "--max-run", "2h", "--max-cost", "9.99", "busybox"}, exitRefused, "--max-cost: it may cost up to 10.00 EUR, more than the 9.99 EUR"},
		{"an amount that is none", s.Member, []string{"job", "run", "--max-cost", "12,50", "busybox"}, exitUsage, "--max-cost: "},
		{"no image", s.Member, []string{"job", "run"}, exitUsage, "requires at least 1 arg(s)"},
		{"an unknown flag", s.Member, []string{"job", "run", "--cpus", "4", "busybox"}, exitUsage, "unknown flag: --cpus"},
		{"an unknown command", s.Member, []string{"job", "--url", "x"}, 0, "Available Commands"},
		{"too many GPUs", s.Member, []string{"job", "run", "--gpus", "65", "busybox"}, exitUsage, "--gpus: A number from 1 to 64."},
		{"two wrong fields", s.Member, []string{"job", "quote", "--nodes", "0", "--priority", "101", "busybox"}, exitUsage, "--priority: A number from -100 to 100."},
		{"a project that there isn't", s.Member, []string{"job", "run", "--project", "nope", "busybox"}, exitUsage, "--project: there is no project \"nope\"; there are LLM"},
		{"a variable without a value", s.Member, []string{"job", "run", "--env", "SEED", "busybox"}, exitUsage, "--env: \"SEED\" is not NAME=value"},
		{"another organisation", s.Member, []string{"job", "list", "--org", "kestrelis"}, exitNotFound, "There is no such thing here."},
		{"an unknown job", s.Member, []string{"job", "show", "j-nowhere"}, exitNotFound, "There is no such thing here."},
		{"a job of nobody's log", s.Member, []string{"job", "logs", "--wait", "j-nowhere"}, exitNotFound, "There is no such thing here."},
		{"what the role does not allow", s.Viewer, []string{"job", "run", "busybox"}, exitNotAllowed, "Your role does not allow this."},
		{"invoices of a member", s.Member, []string{"invoice", "list"}, exitNotAllowed, "Your role does not allow this."},
		{"an operator without an organisation", s.Operator, []string{"job", "list"}, exitUsage, "--org: the token's owner belongs to no organisation; name one of the pool's: kestrelis, rheinau"},
		{"an unknown invoice", s.Finance, []string{"invoice", "show", "NB-2026-999999"}, exitNotFound, "There is no such thing here."},
		{"a month that is none", s.Member, []string{"usage", "--month", "November"}, exitUsage, "month: Write it as 2026-11."},
	}
	for _, tt := range tests {
		t.Run(tt.sentence, func(t *testing.T) {
			out, errs, code := s.run(tt.who, tt.args...)
			s.wants(tt.code, []string{tt.says}, out, errs, code)
		})
	}
	if jobs, _, err := s.Service.Jobs(t.Context(), s.Owner, domain.JobFilter{Org: s.Org}); err != nil || len(jobs) != 0 {
		t.Errorf("%d jobs were sent, %v", len(jobs), err)
	}
}

func TestAPortalThatIsNotThere(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("gpupool_pat_x"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := httptest.NewServer(nil) // answers 404 in its own way
	gone := httptest.NewServer(nil)
	gone.Close()
	defer other.Close()
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"job", "list", "--url", gone.URL, "--token-file", file}, exitUnavailable, "can't be reached"},
		{[]string{"job", "list", "--url", other.URL, "--token-file", file}, exitUnavailable, "is the address right?"},
		{[]string{"job", "list", "--url", "pool.example.org", "--token-file", file}, exitUsage, "is not an address"},
		{[]string{"job", "list", "--url", other.URL, "--token-file", file + "x"}, exitUsage, "--token-file: "},
		{[]string{"jobs"}, exitUsage, "unknown command"},
	} {
		if out, errs, code := typed(t, tt.args...); code != tt.code || !strings.Contains(errs, tt.says) || strings.Contains(out+errs, "gpupool_pat_x") {
			t.Errorf("%v: %d, %s%s", tt.args, code, out, errs)
		}
	}
}

func TestInvoicesFromTheCommandLine(t *testing.T) {
	t.Parallel()
	s := openShell(t)
	s.Clock.Set(pool.At(time.Date(2026, 12, 2, 12, 0, 0, 0, time.UTC)))
	_, err := s.Service.CloseMonth(t.Context(), s.Operator, pool.Month{Year: 2026, Month: 11})
	s.must(err)
	rows, err := s.Service.Invoices(t.Context(), s.Finance, s.Org)
	s.must(err)
	number := rows[0].Invoice.Number
	out, errs, code := s.run(s.Finance, "invoice", "list")
	s.wants(0, []string{number, "2026-11", "regular", "issued"}, out, errs, code)
	out, errs, code = s.run(s.Finance, "invoice", "show", number)
	s.wants(0, []string{number + " for 2026-11", "fee", "campus-v1", "hash " + rows[0].Invoice.Hash}, out, errs, code)
	out, errs, code = s.run(s.Finance, "invoice", "show", "--json", number)
	if s.wants(0, nil, out, errs, code); !json.Valid([]byte(out)) {
		t.Errorf("no JSON: %s", out)
	}
}

func TestCasesSayWhichCameOutWrong(t *testing.T) {
	t.Parallel()
	out, errs, code := typed(t, "cases", "domain/quota/testdata/quota_cases.json")
	if code != 0 || !strings.Contains(out, "15 cases, 15 ok") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	wrong := filepath.Join(t.TempDir(), "wrong.json")
	if err := os.WriteFile(wrong, []byte(`{"cases":[{"id":"W1","title":"wrong","classes":{"gpu":1},"expect":{"admit":["nobody"]}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _, code := typed(t, "cases", wrong); code != exitFailed || !strings.Contains(out, "differs W1") {
		t.Errorf("%d: %s", code, out)
	}
	if _, errs, code := typed(t, "cases", wrong+"x"); code != exitUsage || !strings.Contains(errs, "no such file") {
		t.Errorf("%d: %s", code, errs)
	}
}
