package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gpupool/domain"
	"gpupool/domain/pool"
)

func demoCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "demo",
		Short: "Move the demo's clock",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(&cobra.Command{
		Use:   "advance DURATION|month-end",
		Short: "Move the demo's clock forward, by a time such as 36h or to where the month can be closed",
		Long: "Move the clock of the demo in GPUPOOL_DATA forward. A running portal follows within seconds; one that is\n" +
			"started later goes on from there. At most 62 days at once.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := demoConfig()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return withStore(ctx, cmd, cfg, func(p *portal) error {
				st, err := p.service.Settings(ctx)
				if err != nil {
					return err
				}
				now, err := p.service.BusinessNow(ctx)
				if err != nil {
					return err
				}
				to, err := clockTarget(args[0], now, st)
				if err != nil {
					return err
				}
				if err := p.service.AdvanceClock(ctx, domain.System("gpupool demo advance"), to); err != nil {
					return refusedByCore(err)
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "The demo's clock stands at %s.\n", to.In(st.Location()).Format("Mon 2006-01-02 15:04 MST"))
				return err
			})
		},
	})
	return c
}

// clockTarget is the instant that the argument means.
func clockTarget(arg string, now pool.Instant, st domain.Settings) (pool.Instant, error) {
	if arg == "month-end" {
		for _, t := range domain.ClockTargets(now, st.Location(), st.Grace) {
			if t.Code == "month_end" {
				return t.At, nil
			}
		}
	}
	d, err := time.ParseDuration(arg)
	if err != nil || d <= 0 {
		return 0, failed(exitUsage, "%q is not a time such as 90m or 36h, and not month-end", arg)
	}
	return now.Add(d), nil
}
