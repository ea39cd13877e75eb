package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gpupool/domain/pool"
)

// job is a job as the API has it, as far as commands need it.
type job struct {
	ID, Name, Tier, State string
	Nodes                 int
	GPUs                  int `json:"gpus_per_node"`
	Classes               []string
	Priority              int
	NotBefore             *time.Time `json:"not_before"`
	Deadline              *time.Time
	DependsOn             *string `json:"depends_on"`
	Tries                 int
	Charged               amount
	UpTo                  amount     `json:"up_to"`
	SubmittedAt           time.Time  `json:"submitted_at"`
	StartsBy              *time.Time `json:"starts_by"`
	Likely                *likely
	EndedAt               *time.Time `json:"ended_at"`
	Reasons               []waitReason
	End                   *struct {
		Reason, Message string
		ExitCode        *int `json:"exit_code"`
	}
	Attempts []struct {
		Number    int
		Class     string
		State     string
		StartedAt *time.Time `json:"started_at"`
		EndedAt   *time.Time `json:"ended_at"`
		Placement []struct {
			Name string
			GPUs int
		}
		End *struct{ Message string }
	}
}

// waitReason is why a job waits.
type waitReason struct{ Code, Message string }

// String says it with what must come for the job to start.
func (r waitReason) String() string {
	s := "  waits: " + oneLine(r.Message)
	if i := slices.IndexFunc(pool.Reasons, func(x pool.ReasonRow) bool { return string(x.Code) == r.Code }); i >= 0 {
		sentence, what := pool.Reasons[i].Outlook()
		s += " " + fmt.Sprintf(sentence, what)
	}
	return s
}

func (j job) ended() bool { return j.State == "ended" }

// state is the state in a word or two.
func (j job) state() string {
	if j.End != nil {
		return oneLine(j.End.Message)
	}
	return j.State
}

// line says how the job stands.
func (j job) line() string {
	s := fmt.Sprintf("%s %s: %s", j.ID, oneLine(j.Name), j.state())
	if j.State == "waiting" {
		s += ", " + expected(false, j.Likely, j.StartsBy)
		if len(j.Reasons) > 0 {
			s = strings.TrimSuffix(s, ".") + ". " + oneLine(j.Reasons[0].Message)
		}
	}
	return s
}

// exit is the code with which a command that waited for the job ends.
func (j job) exit() error {
	code := 125
	switch j.End.Reason {
	case "finished":
		return nil
	case "exit_code":
		if c := j.End.ExitCode; c != nil && *c > 0 && *c < 256 {
			code = *c
		}
	case "time_limit":
		code = 124
	case "gpu_memory", "memory":
		code = 137
	case "stopped", "cancelled":
		code = 130
	}
	return &exitError{code, ""}
}

func jobPath(org, id string) string { return org + "/jobs/" + url.PathEscape(id) }

func jobShowCommand(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "show JOB",
		Short: "Show a job: state, reasons, tries, cost",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, org, err := r.start(cmd)
			if err != nil {
				return err
			}
			var j job
			raw, err := a.get(cmd.Context(), jobPath(org, args[0]), nil, &j)
			if err != nil {
				return err
			}
			if !r.json {
				raw = []byte(j.page())
			}
			_, err = cmd.OutOrStdout().Write(raw)
			return err
		},
	}
}

// page is a job in some lines.
func (j job) page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n  %d x %d GPUs of %s, %s\n  charged %s of at most %s\n  submitted %s\n", j.line(), j.Nodes, j.GPUs, strings.Join(j.Classes, " or "), tierName(j.Tier),
		j.Charged, j.UpTo, localTime(&j.SubmittedAt))
	if j.Priority != 0 {
		fmt.Fprintf(&b, "  priority %d\n", j.Priority)
	}
	if j.NotBefore != nil {
		fmt.Fprintf(&b, "  starts no sooner than %s\n", localTime(j.NotBefore))
	}
	if j.Deadline != nil {
		fmt.Fprintf(&b, "  must have ended by %s\n", localTime(j.Deadline))
	}
	if j.DependsOn != nil {
		fmt.Fprintf(&b, "  starts after %s\n", *j.DependsOn)
	}
	for _, r := range j.Reasons {
		fmt.Fprintln(&b, r)
	}
	for _, t := range j.Attempts {
		fmt.Fprintf(&b, "  try %d: %s", t.Number, t.State)
		for _, p := range t.Placement {
			fmt.Fprintf(&b, ", %d on %s", p.GPUs, oneLine(p.Name))
		}
		if t.StartedAt != nil {
			fmt.Fprintf(&b, ", started %s", localTime(t.StartedAt))
		}
		if t.End != nil {
			fmt.Fprintf(&b, ", ended %s: %s", localTime(t.EndedAt), oneLine(t.End.Message))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func jobStopCommand(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "stop JOB",
		Short: "Stop a job; what ran is charged, what waits ends at once",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, org, err := r.start(cmd)
			if err != nil {
				return err
			}
			var j job
			raw, err := a.call(cmd.Context(), http.MethodPost, jobPath(org, args[0])+"/stop", nil, nil, &j, nil)
			if err != nil {
				return err
			}
			if !r.json {
				raw = []byte(j.line() + "\n")
			}
			_, err = cmd.OutOrStdout().Write(raw)
			return err
		},
	}
}

func jobChangeCommand(r *remote) *cobra.Command {
	var priority int
	var notBefore, deadline string
	c := &cobra.Command{
		Use:     "change JOB",
		Short:   "Change priority, start or deadline of a job that waits",
		Example: "  gpupool job change j-4fk2 --priority 10 --deadline \"2026-11-02 18:00\"\n  gpupool job change j-4fk2 --not-before none",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			body := map[string]any{}
			if cmd.Flags().Changed("priority") {
				body["priority"] = priority
			}
			for flag, typed := range map[string]string{"not-before": notBefore, "deadline": deadline} {
				switch field := strings.ReplaceAll(flag, "-", "_"); {
				case typed == "none":
					body[field] = nil
				case typed != "":
					body[field] = instantOf(typed)
				}
			}
			if len(body) == 0 {
				return failed(exitUsage, "say what to change: --priority, --not-before, --deadline")
			}
			a, org, err := r.start(cmd)
			if err != nil {
				return err
			}
			var j job
			raw, err := a.call(cmd.Context(), http.MethodPatch, jobPath(org, args[0]), nil, body, &j, nil)
			if err != nil {
				return err
			}
			if !r.json {
				raw = []byte(j.page())
			}
			_, err = cmd.OutOrStdout().Write(raw)
			return err
		},
	}
	c.Flags().IntVar(&priority, "priority", 0, "-100 to 100, higher first, among the jobs of its project and tier")
	c.Flags().StringVar(&notBefore, "not-before", "", "start no sooner, e.g. 2026-11-02T09:00:00Z; none takes it away")
	c.Flags().StringVar(&deadline, "deadline", "", "start only where it ends by then; none takes it away")
	return c
}

func jobLogsCommand(r *remote) *cobra.Command {
	var wait, stderr bool
	var offset int64
	c := &cobra.Command{
		Use:   "logs JOB",
		Short: "Print the log of a job's newest try",
		Long:  "Print the log of a job's newest try. With --wait it goes on to the job's end and ends with its exit code, as `job run --wait` does.\n\n" + exitHelp,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, org, err := r.start(cmd)
			if err != nil {
				return err
			}
			if wait {
				return follow(cmd, a, org, args[0], "")
			}
			l := tail{api: a, path: jobPath(org, args[0]), stream: "stdout", out: cmd.OutOrStdout(), offset: offset}
			if stderr {
				l.stream = "stderr"
			}
			return l.rest(cmd.Context())
		},
	}
	c.Flags().BoolVar(&wait, "wait", false, "follow standard output to the job's end, with its exit code")
	c.Flags().BoolVar(&stderr, "stderr", false, "standard error instead of standard output")
	c.Flags().Int64Var(&offset, "offset", 0, "first byte")
	return c
}

// tail reads a log from where it is.
type tail struct {
	api    *api
	path   string // of the job
	stream string
	out    io.Writer
	offset int64
}

// rest prints what there is, part by part.
func (t *tail) rest(ctx context.Context) error {
	for {
		n, err := t.read(ctx, false)
		if err != nil || n == 0 {
			return err
		}
	}
}

// read prints one part, or with follow what comes until the try has ended.
func (t *tail) read(ctx context.Context, follow bool) (int64, error) {
	q := url.Values{"stream": {t.stream}, "offset": {fmt.Sprint(t.offset)}}
	if follow {
		q.Set("follow", "true")
	}
	res, err := t.api.open(ctx, http.MethodGet, t.path+"/log", q, nil, nil)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	n, err := io.Copy(t.out, res.Body)
	t.offset += n
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return n, err
}

// lookEvery is how often a job that does not run is asked after.
const lookEvery = time.Second

// follow prints a job's log to its end, over all its tries, and ends as the job did. Portals that restart meanwhile
// are waited for. said is what was said of the job already.
func follow(cmd *cobra.Command, a *api, org, id, said string) error {
	ctx := cmd.Context()
	t := tail{api: a, path: jobPath(org, id), stream: "stdout", out: cmd.OutOrStdout()}
	try := 0
	for {
		var j job
		_, err := a.get(ctx, t.path, nil, &j)
		if err == nil {
			if j.Tries != try { // the log is of the newest try
				t.offset, try = 0, j.Tries
			}
			if line := j.line(); line != said && !j.ended() {
				fmt.Fprintln(cmd.ErrOrStderr(), line)
				said = line
			}
			_, err = t.read(ctx, !j.ended())
			if err == nil && j.ended() {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s; charged %s\n", j.line(), j.Charged)
				return j.exit()
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var e *exitError
		if errors.As(err, &e) && e.code != exitUnavailable && e.code != exitRefused {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookEvery):
		}
	}
}
