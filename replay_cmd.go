package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/replay"
)

func replayCommand() *cobra.Command {
	var poolFile string
	var noLending, restart bool
	c := &cobra.Command{
		Use:   "replay FILE",
		Short: "Run a trace of jobs through the engine and show waits, preemptions and invoices",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := loadPool(poolFile)
			if err != nil {
				return err
			}
			f, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			t, err := replay.Read(f, p)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if len(t.Jobs) == 0 {
				return fmt.Errorf("%s: %s", args[0], t.Useless())
			}
			res, err := replay.Run(p, t.Jobs, replay.Options{Until: pool.Never, NoLending: noLending, Restart: restart})
			if err != nil {
				return err
			}
			report, err := replay.Summarise(p, res)
			if err != nil {
				return err
			}
			cur, err := money.CurrencyOf(p.Currency)
			if err != nil {
				return err
			}
			for _, problem := range res.Problems {
				fmt.Fprintln(cmd.ErrOrStderr(), "problem:", problem)
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), report.Print(t, cur))
			return err
		},
	}
	c.Flags().StringVar(&poolFile, "pool", "", "pool.json: classes, nodes, organisations, plans, prices (required)")
	c.Flags().BoolVar(&noLending, "no-lending", false, "keep every GPU with its owner, for comparison")
	c.Flags().BoolVar(&restart, "restart", false, "preempted jobs begin again instead of from their checkpoint")
	if err := c.MarkFlagRequired("pool"); err != nil {
		panic(err) // the flag is declared two lines above
	}
	return c
}

func loadPool(path string) (replay.Pool, error) {
	f, err := os.Open(path)
	if err != nil {
		return replay.Pool{}, err
	}
	defer f.Close()
	p, err := replay.LoadPool(f)
	if err != nil {
		return p, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}
