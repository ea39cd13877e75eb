package main

import (
	"fmt"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

// queueCommand explains the operator's queue, through the API.
func queueCommand() *cobra.Command {
	r := &remote{}
	var class, member string
	var page int
	c := &cobra.Command{
		Use:   "queue",
		Short: "Explain the engine's last plan, and what if the pool were changed (operators)",
		Long:  "Explain the engine's last plan: GPUs by type, who waits for what, and what is freed for whom.\n\n" + exitHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := r.connect(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			var q struct {
				At      *time.Time `json:"decided_at"`
				Total   int        `json:"waiting_total"`
				Classes []struct {
					Name                                            string
					Usable, Own, Loan, Spot, Free, Promised, Closed int
					Freeing                                         int `json:"being_freed"`
					Scattered                                       int `json:"free_scattered"`
					Reserved                                        int `json:"free_reserved"`
				}
				Waiting []struct {
					Job, Org, Tier string
					Classes        []string
					Nodes          int
					GPUs           int `json:"gpus_per_node"`
					Position       int
					Reasons        []waitReason
				}
				Promises []struct {
					Job, Message string
					Victims      []struct{ Job, Org string }
					StopAt       *time.Time `json:"notice_ends"`
				}
				Problems []string
			}
			raw, err := a.get(cmd.Context(), "/queue", url.Values{"class": {class}, "member": {member}, "page": {fmt.Sprint(page)}}, &q)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if r.json {
				_, err = out.Write(raw)
				return err
			}
			if q.At == nil {
				_, err = fmt.Fprintln(out, "no decision yet")
				return err
			}
			fmt.Fprintf(out, "decided %s; %d wait\n\n", localTime(q.At), q.Total)
			w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "GPU TYPE\tUSABLE\tOWN\tBORROWED\tSPOT\tFREE\tSCATTERED\tRESERVED\tPROMISED\tBEING FREED\tCLOSED")
			for _, x := range q.Classes {
				fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", oneLine(x.Name), x.Usable, x.Own, x.Loan, x.Spot, x.Free, x.Scattered, x.Reserved, x.Promised, x.Freeing, x.Closed)
			}
			if err := w.Flush(); err != nil {
				return err
			}
			for _, x := range q.Waiting {
				fmt.Fprintf(out, "\n%d. %s of %s: %d x %d GPUs of %s, %s\n", x.Position, x.Job, x.Org, x.Nodes, x.GPUs, strings.Join(x.Classes, " or "), tierName(x.Tier))
				for _, why := range x.Reasons {
					fmt.Fprintln(out, why)
				}
			}
			for _, p := range q.Promises {
				var victims []string
				for _, v := range p.Victims {
					victims = append(victims, v.Job+" of "+v.Org)
				}
				fmt.Fprintf(out, "\nfreed for %s by %s: %s (%s)\n", p.Job, localTime(p.StopAt), strings.Join(victims, ", "), p.Message)
			}
			for _, p := range q.Problems {
				fmt.Fprintln(out, "problem:", oneLine(p))
			}
			return nil
		},
	}
	r.flags(c)
	c.Flags().StringVar(&class, "class", "", "of this GPU type only")
	c.Flags().StringVar(&member, "member", "", "of this member only")
	c.Flags().IntVar(&page, "page", 1, "page of the waiting jobs")
	c.AddCommand(whatIfCommand(r))
	return c
}

// fate is what a decision makes of a job.
type fate struct{ State, Class string }

func whatIfCommand(r *remote) *cobra.Command {
	q := map[string]*string{}
	var move, noLending, fair bool
	c := &cobra.Command{
		Use:       "whatif drain|grant|add|rules",
		Short:     "Say what the next decision would do differently; nothing is changed",
		Example:   "  gpupool queue whatif drain --node gpu-07 --move\n  gpupool queue whatif grant --member rheinau --class h100-80g --gpus 2\n  gpupool queue whatif add --class h100-80g --nodes 1 --gpus 8\n  gpupool queue whatif rules --no-lending",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"drain", "grant", "add", "rules"},
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := r.connect(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			ask := url.Values{"ask": {args[0]}}
			for name, value := range q {
				if *value != "" {
					ask.Set(name, *value)
				}
			}
			for name, on := range map[string]bool{"move": move, "no_lending": noLending, "fair": fair} {
				if on {
					ask.Set(name, "on")
				}
			}
			var w struct {
				Jobs []struct {
					Job, Org      string
					Before, After fate
				}
				Starts []struct {
					Job, Org      string
					Before, After *time.Time
				}
				Costs []struct {
					Org           string
					Before, After amount
				} `json:"costs_an_hour"`
			}
			raw, err := a.get(cmd.Context(), "/queue/whatif", ask, &w)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if r.json {
				_, err = out.Write(raw)
				return err
			}
			if len(w.Jobs)+len(w.Starts) == 0 {
				fmt.Fprintln(out, "it would change nothing now")
			}
			for _, j := range w.Jobs {
				fmt.Fprintf(out, "%s of %s: %s -> %s\n", j.Job, j.Org, j.Before.State, j.After.State)
			}
			known := func(t *time.Time) string {
				if t == nil {
					return "not known"
				}
				return localTime(t)
			}
			for _, x := range w.Starts {
				fmt.Fprintf(out, "%s of %s starts by: %s -> %s\n", x.Job, x.Org, known(x.Before), known(x.After))
			}
			for _, x := range w.Costs {
				fmt.Fprintf(out, "%s pays an hour: %s -> %s\n", x.Org, x.Before, x.After)
			}
			return nil
		},
	}
	for name, x := range map[string][2]string{"node": {"node", "drain: the node's id"}, "org": {"member", "grant: the member"}, "class": {"class", "grant, add: the GPU type"},
		"gpus": {"gpus", "grant: how many more; add: on each node"}, "nodes": {"nodes", "add: how many"}} {
		q[name] = new(string)
		c.Flags().StringVar(q[name], x[0], "", x[1])
	}
	c.Flags().BoolVar(&move, "move", false, "drain: what runs there is stopped now and queues again")
	c.Flags().BoolVar(&noLending, "no-lending", false, "rules: no member lends")
	c.Flags().BoolVar(&fair, "fair", false, "rules: a borrower may take from a richer one")
	return c
}
