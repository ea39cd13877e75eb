package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// withStore runs work on the store that serve would use, beside a running portal or without one. It makes no new pool.
func withStore(ctx context.Context, cmd *cobra.Command, cfg config, work func(p *portal) error) error {
	if cfg.DatabaseURL == "" {
		if _, err := os.Stat(filepath.Join(cfg.Data, "gpupool.db")); errors.Is(err, fs.ErrNotExist) {
			return failed(exitNotFound, "there is no pool in %s: set GPUPOOL_DATA to its folder, or GPUPOOL_DATABASE_URL", cfg.Data)
		}
	}
	p := &portal{config: cfg, log: newLog(cfg, cmd.ErrOrStderr())}
	defer p.close()
	if err := p.openStore(ctx, false); err != nil {
		return err
	}
	if err := p.openService(p.currency(ctx)); err != nil {
		return err
	}
	return work(p)
}

func closeCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "close MONTH",
		Short: "Close a month: one invoice per billing account (safe to repeat)",
		Long: "Close a month, e.g. `gpupool close 2026-11`, in the store that serve uses (GPUPOOL_DATABASE_URL or GPUPOOL_DATA).\n" +
			"Accounts that fail are named and the rest goes on; a second run does what is left. Exit code 1: an account failed.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := pool.ParseMonth(args[0])
			if err != nil {
				return failed(exitUsage, "%v", err)
			}
			cfg, err := readConfig()
			if err != nil {
				return err
			}
			return withStore(cmd.Context(), cmd, cfg, func(p *portal) error {
				a := domain.System("gpupool close")
				done, err := p.service.CloseMonth(cmd.Context(), a, m)
				if err != nil {
					return refusedByCore(err)
				}
				return printClosed(cmd, p.currency(cmd.Context()), done, asJSON)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}

// refusedByCore gives a refusal of a use case its exit code.
func refusedByCore(err error) error {
	switch domain.CodeOf(err) {
	case domain.Invalid:
		return failed(exitUsage, "%v", err)
	case domain.NotFound:
		return failed(exitNotFound, "%v", err)
	case domain.Conflict:
		return failed(exitRefused, "%v", err)
	}
	return err
}

// closedRow is an account's part of a closing.
type closedRow struct {
	Org     string `json:"org"`
	Account string `json:"billing_account"`
	Result  string `json:"result"` // issued, closed_before, nothing, failed
	Number  string `json:"number,omitempty"`
	Total   amount `json:"total"`
	Error   string `json:"error,omitempty"`
}

func printClosed(cmd *cobra.Command, cur money.Currency, done []domain.Closed, asJSON bool) error {
	rows, bad := []closedRow{}, 0
	for _, c := range done {
		r := closedRow{Org: string(c.Account.Org), Account: c.Account.Name, Result: "issued", Number: c.Invoice.Number, Total: amount{int64(c.Invoice.Total), cur.Code}}
		switch {
		case c.Err != nil:
			r.Result, r.Error = "failed", c.Err.Error()
			bad++
		case c.Again:
			r.Result = "closed_before"
		case c.Invoice.Number == "":
			r.Result = "nothing"
		}
		rows = append(rows, r)
	}
	if err := printRows(cmd, rows, asJSON); err != nil {
		return err
	}
	if bad > 0 {
		return failed(exitFailed, "%d of %d accounts failed; close the month again when the cause is gone", bad, len(rows))
	}
	return nil
}

func printRows(cmd *cobra.Command, rows []closedRow, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(rows)
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, r := range rows {
		what := map[string]string{"issued": "issued", "closed_before": "closed before", "nothing": "nothing to bill", "failed": r.Error}[r.Result]
		total := ""
		if r.Number != "" {
			total = r.Total.String()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.Org, oneLine(r.Account), r.Number, total, what)
	}
	return w.Flush()
}
