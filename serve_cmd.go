package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/nomad/embedded"
	"gpupool/web"
)

func serveCommand() *cobra.Command {
	var show bool
	c := &cobra.Command{
		Use:   "serve",
		Short: "Start a real pool: PostgreSQL, Nomad and Stripe where they are configured",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := readConfig()
			if err != nil {
				return err
			}
			if show {
				_, err := fmt.Fprint(cmd.OutOrStdout(), cfg)
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return serve(ctx, cfg, cmd.OutOrStdout())
		},
	}
	c.Flags().BoolVar(&show, "show-config", false, "print the effective configuration, secrets hidden, and end")
	return c
}

// serve starts an empty or existing pool.
func serve(ctx context.Context, cfg config, out io.Writer) error {
	l, err := listen(cfg.Addr)
	if err != nil {
		return err
	}
	defer l.Close()
	p := &portal{config: cfg, log: newLog(cfg, os.Stderr), pace: servePace}
	defer p.close()
	if cfg.DatabaseURL == "" || cfg.NomadAddr == "" { // then there are files in it
		if err := p.hold(); err != nil {
			return err
		}
	}
	if err := p.openStore(ctx, false); err != nil {
		return err
	}
	if marked, err := isDemo(ctx, p.store); err != nil {
		return err
	} else if marked {
		return fmt.Errorf("%s holds the demo: start it with `gpupool`, or give serve a folder or database of its own", cfg.Data)
	}
	if cfg.NomadAddr != "" {
		err = p.openNomad()
	} else {
		p.pace = demoPace
		var nodes []embedded.NodeSpec
		if cfg.TestPool {
			nodes = testNodes()
		}
		err = p.openEmbedded(nodes)
	}
	if err != nil {
		return err
	}
	if err := p.start(ctx, cfg, out, l); err != nil {
		return err
	}
	return p.serve(ctx, l)
}

// start prepares the pool and says where it is.
func (p *portal) start(ctx context.Context, cfg config, out io.Writer, l net.Listener) error {
	if err := p.openService(p.currency(ctx)); err != nil {
		return err
	}
	code, err := p.service.PrepareOperatorCode(ctx)
	if err != nil {
		return err
	}
	if err := p.clusterReady(ctx, cfg); err != nil {
		return err
	}
	var demo *web.DemoOptions
	if cfg.TestPool {
		if err := p.becomeTestPool(ctx); err != nil {
			return err
		}
		demo = testPoolWeb()
	}
	if err := p.openWeb(demo); err != nil {
		return err
	}
	fmt.Fprintf(out, "gpupool %s: http://%s\n", version, l.Addr())
	if code != "" {
		fmt.Fprintf(out, "First visitor: open /setup and become the operator with the code %s\n", code)
	}
	return nil
}

// currency of the pool, the first of the list for one that is not set up.
func (p *portal) currency(ctx context.Context) money.Currency {
	cur := money.Currencies[0]
	// A new pool has no settings yet; anything else shows at the next read.
	_ = p.store.View(ctx, func(tx domain.Tx) error {
		st, err := tx.Settings()
		if err == nil && st.Currency.Code != "" {
			cur = st.Currency
		}
		return err
	})
	return cur
}

// clusterReady refuses a Nomad with ACL off: tenants would be free to do
// anything. One that is away is no reason not to start.
func (p *portal) clusterReady(ctx context.Context, cfg config) error {
	if cfg.NomadAddr == "" {
		p.log.Info("no NOMAD_ADDR: the embedded cluster is used, which simulates and runs nothing")
		return nil
	}
	off, err := p.client.ACLOff(ctx)
	if err != nil {
		p.log.Warn("Nomad can't be reached yet; the portal starts and tries again", "error", err)
		return nil
	}
	if off && !cfg.TestPool {
		return fmt.Errorf("ACL is off on the Nomad at %s: everybody who reaches it could run anything. Turn ACL on (GPUPOOL_TEST_POOL=1 allows it for tests)", cfg.NomadAddr)
	}
	return nil
}

// isDemo tells whether the store carries the demo's marker.
func isDemo(ctx context.Context, st domain.Store) (bool, error) {
	marked := false
	err := st.View(ctx, func(tx domain.Tx) error {
		v, err := tx.Flag(demoMarker)
		marked = v != ""
		return err
	})
	return marked, err
}

const demoMarker = "demo"
