package main

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gpupool/domain"
)

func demoPortal(dir string) *portal {
	return &portal{config: config{Addr: "127.0.0.1:0", Data: dir}, log: slog.New(slog.DiscardHandler), pace: demoPace}
}

// openedDemo opens the demo of a folder as the program does, up to its pages.
func openedDemo(t *testing.T, dir string) (*portal, string) {
	t.Helper()
	var said bytes.Buffer
	s, err := loadStory()
	if err != nil {
		t.Fatal(err)
	}
	p := demoPortal(dir)
	if err := p.openDemoStore(t.Context(), &said); err != nil {
		t.Fatal(err)
	}
	if err := p.openDemo(t.Context(), s, 7, &said); err != nil {
		t.Fatal(err)
	}
	return p, said.String()
}

func TestTheDemoTellsItsStoryKeepsItAndIsMadeAnewWhenItWasLeftHalfMade(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, said := openedDemo(t, dir)
	if !strings.Contains(said, "verify: 0 differences") {
		t.Errorf("the start says %q", said)
	}
	if err := p.service.Cycle(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	told, err := p.service.Happenings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[domain.HappeningKind]string{domain.OwnerClaims: "md-kinase-07", domain.BorrowerYield: "drive-sim", domain.CapReached: "ft-chat-7b",
		domain.GangWaits: "gang-12", domain.MemoryShort: "llm-ft-13b", domain.GPUsIdle: "nb-thesis", domain.PaidShort: ""}
	got := map[domain.HappeningKind]string{}
	for _, h := range told {
		got[h.Kind] = h.Job.Name
		if h.Viewer.Email == "" || h.Org.Name == "" {
			t.Errorf("%s has nobody who looks at it", h.Kind)
		}
	}
	for kind, job := range want {
		if name, ok := got[kind]; !ok || name != job {
			t.Errorf("%s is told of %q, want %q", kind, name, job)
		}
	}
	if i := slices.IndexFunc(told, func(h domain.Happening) bool { return h.Kind == domain.PaidShort }); i >= 0 && told[i].Amount != 1500 {
		t.Errorf("%d cents are missing", told[i].Amount)
	}
	theMonthOfTheDemoIsBusy(t, p)
	jobs := countJobs(t, p)
	p.close()

	p, said = openedDemo(t, dir)
	if n := countJobs(t, p); !strings.Contains(said, "goes on where it was") || n != jobs {
		t.Errorf("the second start says %q and has %d jobs of %d", said, n, jobs)
	}
	// As after kill -9 while the history was made.
	if err := p.store.Update(t.Context(), func(tx domain.Tx) error { return tx.SetFlag(demoMarker, "building") }); err != nil {
		t.Fatal(err)
	}
	p.close()
	if err := os.WriteFile(filepath.Join(dir, demoFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	p = demoPortal(dir)
	if err := p.openDemoStore(t.Context(), &again); err != nil {
		t.Fatal(err)
	}
	defer p.close()
	if n := countJobs(t, p); !strings.Contains(again.String(), "made anew") || n != 0 {
		t.Errorf("after a half-made history it says %q and %d jobs are left", again.String(), n)
	}
}

func theMonthOfTheDemoIsBusy(t *testing.T, p *portal) {
	t.Helper()
	m, err := p.service.PoolMonth(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if share := int64(m.Used) * 100 / int64(m.Capacity); share < 40 || share > 80 {
		t.Errorf("%d %% of the month is allocated", share)
	}
	if len(m.Lent) < 2 || m.Saved == nil || m.Saved.Low <= 0 || m.Saved.High <= m.Saved.Low {
		t.Errorf("lent %v, saved %v", m.Lent, m.Saved)
	}
}

func countJobs(t *testing.T, p *portal) (n int64) {
	t.Helper()
	err := p.store.View(t.Context(), func(tx domain.Tx) error {
		n = 0
		orgs, err := tx.Orgs()
		for _, o := range orgs {
			states, err := tx.CountJobs(o.ID)
			if err != nil {
				return err
			}
			for _, c := range states {
				n += c
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTheStoryMomentIsTheLatestThursdayFromThe20thToThe26thThatHasPassed(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for now, want := range map[string]string{
		"2026-11-26 14:05": "2026-11-26 14:05",
		"2026-11-26 14:04": "2026-10-22 14:05",
		"2026-12-01 00:00": "2026-11-26 14:05",
		"2027-01-02 09:00": "2026-12-24 14:05",
	} {
		at, err := time.ParseInLocation("2006-01-02 15:04", now, zone)
		if err != nil {
			t.Fatal(err)
		}
		if got := storyMoment(at, zone).In(zone).Format("2006-01-02 15:04"); got != want {
			t.Errorf("at %s it is %s, want %s", now, got, want)
		}
	}
}

func TestAStartThatCantBeIsRefusedInOneLine(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	foreign := filepath.Join(dir, "foreign")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(foreign, "gpupool.db"), []byte("somebody's"), 0o600); err != nil {
		t.Fatal(err)
	}
	running := filepath.Join(t.TempDir(), "new")
	if err := claimFolder(running); err != nil {
		t.Fatal(err)
	}
	first := demoPortal(running)
	defer first.close()
	if err := first.hold(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(running, "gpupool.db"), []byte("the first's"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		cfg  config
		f    demoFlags
		want string
	}{
		"a taken port":                     {config{Addr: taken.Addr().String(), Data: dir + "/a"}, demoFlags{}, "is taken by another program"},
		"an address that others reach":     {config{Addr: "0.0.0.0:0", Data: dir + "/b"}, demoFlags{}, "--demo-public"},
		"a folder that can't be made":      {config{Addr: "127.0.0.1:0", Data: file + "/data"}, demoFlags{}, "can't be made"},
		"a folder of another pool":         {config{Addr: "127.0.0.1:0", Data: foreign}, demoFlags{}, "holds a pool that is not the demo"},
		"--fresh in a folder without mark": {config{Addr: "127.0.0.1:0", Data: foreign}, demoFlags{fresh: true}, "holds a pool that is not the demo"},
		"a folder with other files":        {config{Addr: "127.0.0.1:0", Data: dir}, demoFlags{}, "a new or an empty folder only; choose one with GPUPOOL_DATA"},
		"--fresh in a folder of others":    {config{Addr: "127.0.0.1:0", Data: dir}, demoFlags{fresh: true}, "holds other files (file)"},
		"a folder that a demo has":         {config{Addr: "127.0.0.1:0", Data: running}, demoFlags{}, "is in use by another gpupool process"},
		"--fresh under a running demo":     {config{Addr: "127.0.0.1:0", Data: running}, demoFlags{fresh: true}, "is in use by another gpupool process"},
	} {
		var out bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := runDemo(ctx, c.cfg, c.f, &out)
		cancel()
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(running, "gpupool.db")); string(b) != "the first's" {
		t.Errorf("the running demo's database is %q %v", b, err)
	}
	if b, err := os.ReadFile(filepath.Join(foreign, "gpupool.db")); string(b) != "somebody's" {
		t.Errorf("the other pool's database is %q %v", b, err)
	}
}

func TestFreshDeletesTheDatabasesOfAMarkedFolderAndNothingElse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{demoFile, "gpupool.db", "gpupool.db-wal", "cluster.db", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := startOver(dir); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 2 {
		t.Errorf("left: %v %v", left, err)
	}
}

// Not parallel: it sets the environment.
func TestTheDemoTouchesNoAmbientDatabase(t *testing.T) {
	t.Setenv("GPUPOOL_DATABASE_URL", "postgres://somewhere/else")
	if _, err := demoConfig(); err == nil || !strings.Contains(err.Error(), "gpupool serve") {
		t.Errorf("with a database in the environment: %v", err)
	}
	t.Setenv("GPUPOOL_DATABASE_URL", "")
	t.Setenv("NOMAD_ADDR", "http://somewhere:4646")
	t.Setenv("STRIPE_API_KEY", "sk_test")
	if c, err := demoConfig(); err != nil || c.NomadAddr != "" || c.StripeKey != "" {
		t.Errorf("the demo reads %v %v", c, err)
	}
}
