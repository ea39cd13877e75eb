package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"gpupool/domain/money"
)

func jobCommand() *cobra.Command {
	r := &remote{}
	c := &cobra.Command{
		Use:   "job",
		Short: "Submit, list, follow, change and stop jobs through the portal",
		Long:  "Submit, list, follow, change and stop jobs through the portal's API.\n\n" + exitHelp,
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	r.flags(c)
	c.AddCommand(jobRunCommand(r), jobQuoteCommand(r), jobListCommand(r), jobShowCommand(r), jobLogsCommand(r), jobChangeCommand(r), jobStopCommand(r))
	return c
}

// jobFlags describe a job.
type jobFlags struct {
	project, name, tier, notBefore, deadline, after, maxCost string
	classes, env                                             []string
	nodes, gpus, priority, exit                              int
	maxRun, simulate                                         time.Duration
	renewable                                                bool
}

func (j *jobFlags) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&j.project, "project", "", "project, by name or id (may be left out when there is one only)")
	f.StringVar(&j.name, "name", "", "name of the job (the image's without a wish)")
	f.StringSliceVar(&j.classes, "class", nil, "GPU type; several, a,b or repeated, in the order of preference")
	f.IntVar(&j.nodes, "nodes", 1, "nodes")
	f.IntVar(&j.gpus, "gpus", 1, "GPUs on each node")
	f.StringVar(&j.tier, "tier", "flexible", "guaranteed, flexible or spot")
	f.DurationVar(&j.maxRun, "max-run", 0, "maximum run time, e.g. 8h (the GPU type's default without a wish)")
	f.StringArrayVar(&j.env, "env", nil, "variable as NAME=value; repeatable")
	f.StringVar(&j.notBefore, "not-before", "", "start no sooner, e.g. 2026-11-02T09:00:00Z or \"2026-11-02 09:00\" here")
	f.StringVar(&j.deadline, "deadline", "", "start only where it ends by then with its longest run; else it never starts")
	f.StringVar(&j.after, "after", "", "start when this job has ended")
	f.IntVar(&j.priority, "priority", 0, "-100 to 100, higher first, among the jobs of its project and tier")
	f.BoolVar(&j.renewable, "renewable", false, "extend it at 80 % of its time if quota and cap allow")
	f.DurationVar(&j.simulate, "simulate", 0, "length of a simulated job (demo pools only)")
	f.IntVar(&j.exit, "simulate-exit", 0, "exit code of a simulated job (demo pools only)")
	c.Flags().SetInterspersed(false) // what follows IMAGE is the command's own
}

// body is the job as the API takes it. args are IMAGE and the command.
func (j *jobFlags) body(ctx context.Context, a *api, org string, args []string) (map[string]any, error) {
	project, err := j.projectID(ctx, a, org)
	if err != nil {
		return nil, err
	}
	b := map[string]any{"project": project, "name": j.name, "classes": j.classes, "nodes": j.nodes, "gpus_per_node": j.gpus, "tier": j.tier, "priority": j.priority,
		"renewable": j.renewable, "image": args[0]}
	if j.name == "" {
		name := args[0][strings.LastIndex(args[0], "/")+1:]
		b["name"], _, _ = strings.Cut(name, ":")
	}
	if j.tier == "flexible" {
		b["tier"] = "burst"
	}
	if len(args) > 1 {
		b["command"], b["args"] = args[1], args[2:]
	}
	if j.maxRun != 0 {
		b["max_run_seconds"] = int64(j.maxRun.Seconds())
	}
	for field, typed := range map[string]string{"not_before": j.notBefore, "deadline": j.deadline} {
		if typed != "" {
			b[field] = instantOf(typed)
		}
	}
	if j.after != "" {
		b["depends_on"] = j.after
	}
	env := map[string]string{}
	for _, x := range j.env {
		name, value, ok := strings.Cut(x, "=")
		if !ok {
			return nil, failed(exitUsage, "--env: %q is not NAME=value", x)
		}
		env[name] = value
	}
	if len(env) > 0 {
		b["env"] = env
	}
	if j.simulate != 0 || j.exit != 0 {
		b["simulation"] = map[string]any{"length_seconds": int64(j.simulate.Seconds()), "exit_code": j.exit}
	}
	if len(j.classes) == 0 {
		return b, j.onlyClass(ctx, a, b)
	}
	return b, nil
}

// instantOf writes a time of this machine's zone as the API takes it; what is none stays as it was typed, for the
// portal to refuse.
func instantOf(s string) string {
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02T15:04"} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t.UTC().Format(time.RFC3339)
		}
	}
	return s
}

type listed struct{ ID, Name string }

// projectID finds the project that was named, or the only one.
func (j *jobFlags) projectID(ctx context.Context, a *api, org string) (string, error) {
	var page struct {
		Items []struct {
			listed
			Archived bool
		}
	}
	if _, err := a.get(ctx, org+"/projects", url.Values{"limit": {"200"}}, &page); err != nil {
		return "", err
	}
	var names, found []string
	for _, p := range page.Items {
		if p.ID == j.project {
			return p.ID, nil
		}
		if p.Archived {
			continue
		}
		names = append(names, p.Name)
		if j.project == "" || strings.EqualFold(p.Name, j.project) {
			found = append(found, p.ID)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	if j.project == "" {
		return "", failed(exitUsage, "--project: name one of %s", strings.Join(names, ", "))
	}
	return "", failed(exitUsage, "--project: there is no project %q; there are %s", j.project, strings.Join(names, ", "))
}

// onlyClass fills in the GPU type where the pool has one only.
func (j *jobFlags) onlyClass(ctx context.Context, a *api, b map[string]any) error {
	var page struct{ Items []listed }
	if _, err := a.get(ctx, "/classes", nil, &page); err != nil {
		return err
	}
	var ids []string
	for _, c := range page.Items {
		ids = append(ids, c.ID)
	}
	if len(ids) != 1 {
		return failed(exitUsage, "--class: name one or more of %s", strings.Join(ids, ", "))
	}
	b["classes"] = ids
	return nil
}

// quote is what a job would cost and when it would start.
type quote struct {
	UpTo         amount `json:"up_to"`
	Admitted     bool
	StartsBy     *time.Time `json:"starts_by"`
	Likely       *likely
	Reasons      []waitReason
	Alternatives []struct {
		Tier     string
		UpTo     amount `json:"up_to"`
		Admitted bool
		StartsBy *time.Time `json:"starts_by"`
	}
}

func starts(admitted bool, by *time.Time) string {
	switch {
	case admitted:
		return "starts at once"
	case by == nil:
		return "start not known yet"
	}
	return "starts by " + localTime(by)
}

// likely is when a job probably starts.
type likely struct{ Early, Middle, Late time.Time }

// expected says when a job starts, likely and at the latest, as far as it can be told.
func expected(admitted bool, l *likely, by *time.Time) string {
	if admitted || l == nil && by == nil {
		return starts(admitted, by)
	}
	var says []string
	if l != nil {
		short := func(t time.Time) string {
			if t = t.Local(); t.YearDay() == l.Middle.Local().YearDay() {
				return t.Format("15:04")
			}
			return t.Format("2006-01-02 15:04")
		}
		says = append(says, fmt.Sprintf("Likely %s (%s to %s).", localTime(&l.Middle), short(l.Early), short(l.Late.Add(time.Minute-1))))
	}
	if by != nil {
		at := by.Add(time.Minute - 1)
		says = append(says, fmt.Sprintf("At the latest %s unless an owner claims or new work goes first.", localTime(&at)))
	}
	return strings.Join(says, " ")
}

func (q quote) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Up to %s; %s\n", q.UpTo, expected(q.Admitted, q.Likely, q.StartsBy))
	for _, r := range q.Reasons {
		fmt.Fprintln(&b, r)
	}
	return b.String()
}

func tierName(t string) string {
	if t == "burst" {
		return "flexible"
	}
	return t
}

func jobQuoteCommand(r *remote) *cobra.Command {
	j := &jobFlags{}
	c := &cobra.Command{
		Use:   "quote [flags] IMAGE [COMMAND [ARG…]]",
		Short: "Say what a job costs at most and when it starts, without sending it",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, org, err := r.start(cmd)
			if err != nil {
				return err
			}
			body, err := j.body(cmd.Context(), a, org, args)
			if err != nil {
				return err
			}
			var q quote
			raw, err := a.call(cmd.Context(), http.MethodPost, org+"/jobs/quote", nil, body, &q, nil)
			if err != nil {
				return err
			}
			if r.json {
				_, err = cmd.OutOrStdout().Write(raw)
				return err
			}
			fmt.Fprint(cmd.OutOrStdout(), q)
			for _, x := range q.Alternatives {
				fmt.Fprintf(cmd.OutOrStdout(), "  cheaper: --tier %s, up to %s; %s\n", tierName(x.Tier), x.UpTo, starts(x.Admitted, x.StartsBy))
			}
			return nil
		},
	}
	j.flags(c)
	return c
}

// jobRun is a submission.
type jobRun struct {
	jobFlags
	wait bool
	key  string
}

func jobRunCommand(r *remote) *cobra.Command {
	j := &jobRun{}
	c := &cobra.Command{
		Use:   "run [flags] IMAGE [COMMAND [ARG…]]",
		Short: "Submit a job; its price is said before it is sent",
		Long: "Submit a job. The most that it can cost and its probable start are said on standard error before it is sent;\n" +
			"standard output has the job's id only, with --json the whole job, with --wait its log.\n\n" +
			"With --wait the exit code is the job's: 0 finished, its own code, 124 time limit, 137 out of memory,\n" +
			"130 stopped, 125 any other end.\n\n" + exitHelp,
		Example: "  gpupool job run --class a100-80g --gpus 4 --max-run 8h --max-cost 50 pytorch/pytorch:2.6 python train.py",
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return j.run(cmd, r, args) },
	}
	j.flags(c)
	c.Flags().StringVar(&j.maxCost, "max-cost", "", "do not send it when it may cost more, e.g. 40.00 (in the pool's currency)")
	c.Flags().BoolVar(&j.wait, "wait", false, "follow its log to the end, with its exit code")
	c.Flags().StringVar(&j.key, "idempotency-key", "", "sent twice with the same key it is done once (a fresh one without a wish)")
	return c
}

func (j *jobRun) run(cmd *cobra.Command, r *remote, args []string) error {
	ctx := cmd.Context()
	a, org, err := r.start(cmd)
	if err != nil {
		return err
	}
	body, err := j.body(ctx, a, org, args)
	if err != nil {
		return err
	}
	var q quote
	if _, err := a.call(ctx, http.MethodPost, org+"/jobs/quote", nil, body, &q, nil); err != nil {
		return err
	}
	fmt.Fprint(cmd.ErrOrStderr(), q)
	if err := j.affordable(q, body); err != nil {
		return err
	}
	if j.key == "" {
		j.key = rand.Text()
	}
	var made job
	raw, err := j.send(ctx, a, org, body, &made)
	if err != nil {
		return err
	}
	fmt.Fprintln(cmd.ErrOrStderr(), made.line())
	switch {
	case j.wait:
		return follow(cmd, a, org, made.ID, made.line())
	case r.json:
		_, err = cmd.OutOrStdout().Write(raw)
	default:
		_, err = fmt.Fprintln(cmd.OutOrStdout(), made.ID)
	}
	return err
}

// send submits the job. A connection that broke is tried again: the key keeps the job from being made twice.
func (j *jobRun) send(ctx context.Context, a *api, org string, body map[string]any, made *job) ([]byte, error) {
	for try := 1; ; try++ {
		raw, err := a.call(ctx, http.MethodPost, org+"/jobs", nil, body, made, http.Header{"Idempotency-Key": {j.key}})
		var e *exitError
		if err == nil || try == 3 || !errors.As(err, &e) || e.code != exitUnavailable {
			return raw, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lookEvery):
		}
	}
}

// affordable refuses what may cost more than was allowed, and lets the portal check it once more with the job.
func (j *jobRun) affordable(q quote, body map[string]any) error {
	if j.maxCost == "" {
		return nil
	}
	c, err := money.CurrencyOf(q.UpTo.Currency)
	if err != nil {
		return err
	}
	most, err := c.Parse(j.maxCost)
	if err != nil {
		return failed(exitUsage, "--max-cost: %v", err)
	}
	if q.UpTo.Minor > int64(most) {
		return failed(exitRefused, "--max-cost: it may cost up to %s, more than the %s %s that you allow; nothing was sent", q.UpTo, c.Format(most), c.Code)
	}
	body["max_cost"] = map[string]any{"amount_minor": int64(most), "currency": c.Code}
	return nil
}

func jobListCommand(r *remote) *cobra.Command {
	var states []string
	var limit int
	var cursor string
	c := &cobra.Command{
		Use:   "list",
		Short: "List jobs, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, org, err := r.start(cmd)
			if err != nil {
				return err
			}
			q := url.Values{"state": states, "limit": {fmt.Sprint(limit)}}
			if cursor != "" {
				q.Set("cursor", cursor)
			}
			var page struct {
				Items []job
				Next  *string `json:"next_cursor"`
			}
			raw, err := a.get(cmd.Context(), org+"/jobs", q, &page)
			if err != nil {
				return err
			}
			if r.json {
				_, err = cmd.OutOrStdout().Write(raw)
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "ID\tNAME\tGPUS\tTIER\tSTATE\tCHARGED\tUP TO\tSUBMITTED")
			for _, j := range page.Items {
				fmt.Fprintf(w, "%s\t%s\t%d x %d\t%s\t%s\t%s\t%s\t%s\n", j.ID, oneLine(j.Name), j.Nodes, j.GPUs, tierName(j.Tier), j.state(), j.Charged, j.UpTo, localTime(&j.SubmittedAt))
			}
			if err := w.Flush(); err != nil {
				return err
			}
			if page.Next != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "more: --cursor %s\n", *page.Next)
			}
			return nil
		},
	}
	c.Flags().StringSliceVar(&states, "state", nil, "waiting, starting, running, stopping or ended; several with commas")
	c.Flags().IntVar(&limit, "limit", 50, "jobs at most, up to 200")
	c.Flags().StringVar(&cursor, "cursor", "", "go on after this job")
	return c
}

// oneLine keeps what others have typed from steering the terminal.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '?'
		}
		return r
	}, s)
}
