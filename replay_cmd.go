package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/replay"
)

func replayCommand() *cobra.Command {
	var poolFile string
	var noLending, restart bool
	var in readFlags
	c := &cobra.Command{
		Use:   "replay FILE",
		Short: "Run a trace of jobs through the engine and show waits, preemptions and invoices",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := loadPool(poolFile)
			if err != nil {
				return err
			}
			t, err := in.read(args[0], p)
			if err != nil {
				return err
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
	in.add(c)
	if err := c.MarkFlagRequired("pool"); err != nil {
		panic(err) // the flag is declared above
	}
	return c
}

// readFlags say how a trace is read.
type readFlags struct {
	format, columns, zone string
	strict                bool
}

func (f *readFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.format, "format", "", "of the trace: "+strings.Join(replay.Formats(), ", ")+" (told by its header when absent)")
	c.Flags().StringVar(&f.columns, "columns", "", "map.json: how the columns of any other trace are called")
	c.Flags().StringVar(&f.zone, "zone", "", "time zone of dates without an offset, for example Europe/Berlin (the format's or the pool's when absent)")
	c.Flags().BoolVar(&f.strict, "strict", false, "stop at the first row that can't be used")
	c.MarkFlagsMutuallyExclusive("format", "columns")
}

// read reads the trace at a path; one without a job that can be used is an error.
func (f *readFlags) read(path string, p replay.Pool) (replay.Trace, error) {
	how := replay.Reading{Strict: f.strict}
	if f.zone != "" {
		z, err := time.LoadLocation(f.zone)
		if err != nil || f.zone == "Local" {
			return replay.Trace{}, failed(exitUsage, "--zone: %q is not a time zone like Europe/Berlin", f.zone)
		}
		how.Zone = z
	}
	if f.format != "" {
		m, err := replay.FormatNamed(f.format)
		if err != nil {
			return replay.Trace{}, failed(exitUsage, "--%v", err)
		}
		how.Columns = &m
	}
	if f.columns != "" {
		m, err := loaded(f.columns, replay.LoadColumns)
		if err != nil {
			return replay.Trace{}, err
		}
		how.Columns = &m
	}
	file, err := os.Open(path)
	if err != nil {
		return replay.Trace{}, err
	}
	defer file.Close()
	t, err := replay.ReadAs(file, p, how)
	if err != nil {
		return t, fmt.Errorf("%s: %w", path, err)
	}
	if len(t.Jobs) == 0 {
		return t, fmt.Errorf("%s: %s", path, t.Useless())
	}
	return t, nil
}

func loadPool(path string) (replay.Pool, error) { return loaded(path, replay.LoadPool) }

// loaded reads one small file; its name stands before the error.
func loaded[T any](path string, load func(io.Reader) (T, error)) (T, error) {
	f, err := os.Open(path)
	if err != nil {
		return *new(T), err
	}
	defer f.Close()
	x, err := load(f)
	if err != nil {
		return x, fmt.Errorf("%s: %w", path, err)
	}
	return x, nil
}
