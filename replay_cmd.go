package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gpupool/domain/money"
	"gpupool/domain/replay"
)

func replayCommand() *cobra.Command {
	var in readFlags
	var what whatIf
	var poolFile, table string
	var asJSON bool
	c := &cobra.Command{
		Use:   "replay FILE",
		Short: "Run a trace of jobs through the engine: use, waits, fairness, preemptions, invoices, and what if",
		Long: `Runs a trace of jobs (CSV of several formats, sacct's output, or any other by a map of columns; gzip or not)
through the core that the portal runs, on the pool of a small file, and prints what came of it. With --compare,
--with and --without the same trace runs in other settings too, side by side. Nothing is stored.

What --with and --without take, also several with commas between:
` + switchHelp(),
		Example: `  gpupool replay jobs.csv --pool pool.json
  gpupool replay sacct.txt --pool pool.json --zone Europe/Berlin --json
  gpupool replay jobs.csv.gz --pool pool.json --without lending --compare fcfs --check
  gpupool replay jobs.csv --pool pool.json --compare bigger.json --csv members`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if table != "" && table != "members" && table != "jobs" {
				return failed(exitUsage, "--csv: %q is neither members nor jobs", table)
			}
			if table != "" && asJSON || in.format != "" && in.columns != "" {
				return failed(exitUsage, "give one of --json and --csv, and one of --format and --columns")
			}
			defer debug.SetGCPercent(debug.SetGCPercent(400)) // all that lives long is the result
			p, err := loadPool(poolFile)
			if err != nil {
				return err
			}
			cur, err := money.CurrencyOf(p.Currency)
			if err != nil {
				return err
			}
			what.asked = cmd.Flags().Changed("expected")
			settings, err := what.settings(p)
			if err != nil {
				return err
			}
			t, results, reports, err := in.run(args[0], settings)
			if err != nil {
				return err
			}
			for i, res := range results {
				for _, problem := range res.Problems {
					fmt.Fprintf(cmd.ErrOrStderr(), "problem (%s): %s\n", reports[i].Name, problem)
				}
			}
			out := cmd.OutOrStdout()
			switch {
			case asJSON:
				err = replay.WriteJSON(out, t, reports, cur)
			case table == "members":
				err = replay.WriteMembersCSV(out, reports, cur)
			case table == "jobs":
				err = replay.WriteJobsCSV(out, reports, results)
			case len(reports) > 1:
				_, err = fmt.Fprint(out, t.Print(), replay.Compare(reports, cur))
			default:
				_, err = fmt.Fprint(out, t.Print(), reports[0].Print(cur))
			}
			if err != nil {
				return err
			}
			for _, r := range reports {
				if r.Law != nil && r.Law.Broken > 0 {
					return fmt.Errorf("%s: %d times a member below its guarantee waited while a borrower ran in its place; first %s", r.Name, r.Law.Broken, r.Law.First)
				}
			}
			return nil
		},
	}
	c.Flags().StringVar(&poolFile, "pool", "", "pool.json: classes, nodes, organisations, plans, prices (required)")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	c.Flags().StringVar(&table, "csv", "", "print CSV: members (a line for each member and GPU type) or jobs (a line for each job)")
	what.add(c)
	in.add(c)
	if err := c.MarkFlagRequired("pool"); err != nil {
		panic(err) // the flag is declared above
	}
	return c
}

func switchHelp() string {
	var b strings.Builder
	for _, x := range replay.Switches {
		fmt.Fprintf(&b, "  %-13s %s\n", x.Name, x.Meaning)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// whatIf are the further settings that a trace is run in.
type whatIf struct {
	compare, with, without []string
	check                  bool
	expected               int
	asked                  bool // for it, by the flag
}

func (w *whatIf) add(c *cobra.Command) {
	c.Flags().StringArrayVar(&w.compare, "compare", nil, "run beside it on another pool.json, or as fcfs (first come, first served, without quotas) or fit (the same, but what fits may pass); may be repeated")
	c.Flags().StringArrayVar(&w.with, "with", nil, "run beside it with these switched on; may be repeated")
	c.Flags().StringArrayVar(&w.without, "without", nil, "run beside it without these; may be repeated")
	c.Flags().IntVar(&w.expected, "expected", 40, "ask when so many of the jobs that have to wait will start, spread over the time, and say how true it came; a tenth of a second for each, 0 for none (with several settings: 0 unless given)")
	c.Flags().BoolVar(&w.check, "check", false, "check at every change that no member is below its guarantee while work of it waits that would fit in a borrower's place")
}

// maxExpected bounds the jobs that a run is asked about.
const maxExpected = 10_000

// settings are the pool as its file says, and what is run beside it.
func (w *whatIf) settings(p replay.Pool) ([]replay.Setting, error) {
	if w.expected < 0 || w.expected > maxExpected {
		return nil, failed(exitUsage, "--expected: a number from 0 to %d", maxExpected)
	}
	base := replay.Setting{Name: "as the pool says", Pool: p, Check: w.check, Calibrate: w.expected}
	out := []replay.Setting{base}
	for _, names := range w.with {
		s, err := base.With(names)
		if err != nil {
			return nil, failed(exitUsage, "--with: %v", err)
		}
		out = append(out, s)
	}
	for _, names := range w.without {
		s, err := base.Without(names)
		if err != nil {
			return nil, failed(exitUsage, "--without: %v", err)
		}
		out = append(out, s)
	}
	for _, name := range w.compare {
		if name == "fcfs" || name == "fit" {
			out = append(out, base.Baseline(name == "fit"))
			continue
		}
		s := base
		var err error
		if s.Pool, err = loadPool(name); err != nil {
			return nil, err
		}
		if s.Pool.Currency != p.Currency {
			return nil, fmt.Errorf("%s: its currency is %s, that of the first pool is %s", name, s.Pool.Currency, p.Currency)
		}
		s.Name = strings.TrimSuffix(filepath.Base(name), ".json")
		out = append(out, s)
	}
	for i := range out {
		if len(out) > 1 && !w.asked {
			out[i].Calibrate = 0
		}
	}
	return out, nil
}

// run reads the trace for each pool and runs it in each setting.
func (f *readFlags) run(path string, settings []replay.Setting) (first replay.Trace, results []replay.Result, reports []replay.Report, err error) {
	for i, s := range settings {
		t, err := f.read(path, s.Pool)
		if err != nil {
			return t, nil, nil, err
		}
		if i == 0 {
			first = t
		}
		res, r, err := s.Run(t.Jobs)
		if err != nil {
			return t, nil, nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		results, reports = append(results, res), append(reports, r)
	}
	return first, results, reports, nil
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
