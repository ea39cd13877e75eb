package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"gpupool/domain/pool"
	"gpupool/web"
)

// demoFile marks a data folder as the demo's: only such a one is deleted.
const demoFile = "gpupool-demo"

type demoFlags struct {
	fresh, public bool
	seed          uint64
}

// demoCommand is what the bare command does.
func demoRun(f *demoFlags) func(cmd *cobra.Command, _ []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		cfg, err := demoConfig()
		if err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		return runDemo(ctx, cfg, *f, cmd.OutOrStdout())
	}
}

func runDemo(ctx context.Context, cfg config, f demoFlags, out io.Writer) error {
	if !f.public && !loopback(cfg.Addr) {
		return fmt.Errorf("the demo signs anybody in with one click, so it listens on loopback only; %s is not. Start it with --demo-public to allow it", cfg.Addr)
	}
	l, err := listen(cfg.Addr)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := claimFolder(cfg.Data); err != nil {
		return err
	}
	p := &portal{config: cfg, log: newLog(cfg, os.Stderr), pace: demoPace}
	defer p.close()
	if err := p.hold(); err != nil {
		return err
	}
	if f.fresh {
		if err := startOver(cfg.Data); err != nil {
			return err
		}
	}
	if err := p.openDemoStore(ctx, out); err != nil {
		return err
	}
	story, err := loadStory()
	if err != nil {
		return err
	}
	if err := p.openDemo(ctx, story, f.seed, out); err != nil {
		return err
	}
	if err := p.openWeb(story.web()); err != nil {
		return err
	}
	fmt.Fprintf(out, "Open http://%s\n", l.Addr())
	for _, who := range story.hints() {
		fmt.Fprintln(out, "  "+who)
	}
	return p.serve(ctx, l)
}

// openDemoStore opens the demo's databases. A history that was being made when
// the program ended is not left half: it is made anew.
func (p *portal) openDemoStore(ctx context.Context, out io.Writer) error {
	_, err := os.Stat(filepath.Join(p.config.Data, "gpupool.db"))
	fresh := errors.Is(err, fs.ErrNotExist)
	if err := p.openStore(ctx, true); err != nil || fresh {
		return err
	}
	made, err := demoMade(ctx, p.store)
	if err != nil || made {
		return err
	}
	fmt.Fprintln(out, "The demo's history was not made to its end last time; it is made anew.")
	if err := p.store.Close(); err != nil {
		return err
	}
	if err := startOver(p.config.Data); err != nil {
		return err
	}
	return p.openStore(ctx, true)
}

// loopback tells whether an address can be reached from this machine only.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// claimFolder refuses a folder that holds another pool's data or anything else,
// and marks a new or empty one.
func claimFolder(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, demoFile)); err == nil {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, "gpupool.db")); err == nil {
		return fmt.Errorf("%s holds a pool that is not the demo: choose another folder with GPUPOOL_DATA, or start it with `gpupool serve`", dir)
	}
	if err := writable(dir); err != nil {
		return err
	}
	there, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(there) > 0 {
		return fmt.Errorf("%s holds other files (%s): the demo takes a new or an empty folder only; choose one with GPUPOOL_DATA", dir, there[0].Name())
	}
	return os.WriteFile(filepath.Join(dir, demoFile), []byte("This folder belongs to the demo of GPU Pool. `gpupool --fresh` deletes its databases.\n"), 0o600)
}

// startOver deletes the demo's databases, and only in a folder that carries
// its marker.
func startOver(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, demoFile)); err != nil {
		return fmt.Errorf("%s does not carry the demo's marker (%s), so nothing in it is deleted", dir, demoFile)
	}
	for _, name := range []string{"gpupool.db", "cluster.db"} {
		for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
			if err := os.Remove(filepath.Join(dir, name+suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

func (s story) web() *web.DemoOptions {
	o := &web.DemoOptions{Sentence: "Simulated cluster and mail; no GPU is used; no money moves."}
	for _, p := range s.People {
		o.People = append(o.People, web.DemoPerson{Email: p.Email, Name: p.Name, Role: p.Title})
	}
	o.People = append(o.People, web.DemoPerson{Email: s.Operator.Email, Name: s.Operator.Name, Role: s.Operator.Title})
	return o
}

// hints name an address for researcher, finance and operator.
func (s story) hints() []string {
	var out []string
	for _, want := range []pool.Role{pool.RoleMember, pool.RoleFinance} {
		for _, p := range s.People {
			if p.Role == want {
				out = append(out, fmt.Sprintf("%-10s %s", strings.ToLower(p.Title), p.Email))
				break
			}
		}
	}
	return append(out, fmt.Sprintf("%-10s %s", "operator", s.Operator.Email), "Sign in with one click on the first page; nobody has a password.")
}
