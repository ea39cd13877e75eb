package main

import (
	"encoding/csv"
	"fmt"
	"net/url"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"gpupool/domain/pool"
)

// usage is a month as the API has it.
type usage struct {
	Month, Zone string
	Provisional bool
	Lines       []struct {
		Kind, Class, Cover string
		Project, User      listed
		Use                int64 `json:"gpu_milliseconds"`
		Amount             amount
	}
	Total amount
}

func usageCommand() *cobra.Command {
	r := &remote{}
	var month string
	var asCSV bool
	c := &cobra.Command{
		Use:   "usage",
		Short: "Show use and charges of a month by project and person",
		Long:  "Show use and charges of a month by project and person.\n\n" + exitHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, org, err := r.start(cmd)
			if err != nil {
				return err
			}
			q := url.Values{}
			if month != "" {
				q.Set("month", month)
			}
			var u usage
			raw, err := a.get(cmd.Context(), org+"/usage", q, &u)
			switch {
			case err != nil:
				return err
			case r.json:
				_, err = cmd.OutOrStdout().Write(raw)
				return err
			case asCSV:
				return u.csv(cmd)
			}
			return u.table(cmd)
		},
	}
	r.flags(c)
	c.Flags().StringVar(&month, "month", "", "e.g. 2026-11 (the present one without a wish)")
	c.Flags().BoolVar(&asCSV, "csv", false, "print as CSV, amounts in minor units")
	return c
}

func (u usage) table(cmd *cobra.Command) error {
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PROJECT\tPERSON\tGPU TYPE\tKIND\tGPU-HOURS\tAMOUNT")
	for _, l := range u.Lines {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", oneLine(l.Project.Name), oneLine(l.User.Name), l.Class, l.Kind, pool.GPUMillis(l.Use).Hours(), l.Amount)
	}
	note := ""
	if u.Provisional {
		note = " so far"
	}
	fmt.Fprintf(w, "%s%s\t\t\t\t\t%s\n", u.Month, note, u.Total)
	return w.Flush()
}

func (u usage) csv(cmd *cobra.Command) error {
	w := csv.NewWriter(cmd.OutOrStdout())
	_ = w.Write([]string{"month", "project_id", "project", "user_id", "user", "gpu_class", "kind", "gpu_milliseconds", "amount_minor", "currency"}) // Flush has its error
	for _, l := range u.Lines {
		_ = w.Write([]string{u.Month, l.Project.ID, plain(l.Project.Name), l.User.ID, plain(l.User.Name), l.Class, l.Kind, strconv.FormatInt(l.Use, 10),
			strconv.FormatInt(l.Amount.Minor, 10), l.Amount.Currency})
	}
	w.Flush()
	return w.Error()
}

// plain keeps a spreadsheet from running what somebody typed as a name.
func plain(s string) string {
	s = oneLine(s)
	if s != "" && (s[0] == '=' || s[0] == '+' || s[0] == '-' || s[0] == '@') {
		return "'" + s
	}
	return s
}

func invoiceCommand() *cobra.Command {
	r := &remote{}
	c := &cobra.Command{
		Use:   "invoice",
		Short: "List and show invoices of the organisation",
		Long:  "List and show invoices of the organisation.\n\n" + exitHelp,
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	r.flags(c)
	c.AddCommand(invoiceListCommand(r), invoiceShowCommand(r))
	return c
}

// invoiceInfo is an invoice as the API has it; Lines only of one.
type invoiceInfo struct {
	Number, Month, Kind, State, Hash string
	Net, Tax, Total, Paid, Due       amount
	IssuedAt                         *time.Time `json:"issued_at"`
	DueAt                            *time.Time `json:"due_at"`
	Lines                            []struct {
		No                       int
		Kind, Class, Plan, Cause string
		Adjusts                  string
		Use                      int64 `json:"gpu_milliseconds"`
		Amount                   amount
		Jobs                     []struct{ Job string }
	}
}

func invoiceListCommand(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List invoices, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, org, err := r.start(cmd)
			if err != nil {
				return err
			}
			var page struct{ Items []invoiceInfo }
			raw, err := a.get(cmd.Context(), org+"/invoices", url.Values{"limit": {"200"}}, &page)
			if err != nil {
				return err
			}
			if r.json {
				_, err = cmd.OutOrStdout().Write(raw)
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NUMBER\tMONTH\tKIND\tTOTAL\tPAID\tSTATE\tDUE")
			for _, i := range page.Items {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", i.Number, i.Month, i.Kind, i.Total, i.Paid, i.State, localTime(i.DueAt))
			}
			return w.Flush()
		},
	}
}

func invoiceShowCommand(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "show NUMBER",
		Short: "Show an invoice with its lines",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, org, err := r.start(cmd)
			if err != nil {
				return err
			}
			var i invoiceInfo
			raw, err := a.get(cmd.Context(), org+"/invoices/"+url.PathEscape(args[0]), nil, &i)
			if err != nil {
				return err
			}
			if r.json {
				_, err = cmd.OutOrStdout().Write(raw)
				return err
			}
			return i.print(cmd)
		},
	}
}

func (i invoiceInfo) print(cmd *cobra.Command) error {
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s for %s, %s, %s; issued %s, due %s\n", i.Number, i.Month, i.Kind, i.State, localTime(i.IssuedAt), localTime(i.DueAt))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, l := range i.Lines {
		what := l.Class + l.Plan
		if l.Cause != "" {
			what += " " + l.Cause
		}
		if l.Adjusts != "" {
			what += " for " + l.Adjusts
		}
		use := ""
		if l.Kind != "fee" {
			use = fmt.Sprintf("%s GPU-hours of %d jobs", pool.GPUMillis(l.Use).Hours(), len(l.Jobs))
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\n", l.No, l.Kind, what, use, l.Amount)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "net %s, tax %s, total %s; paid %s, due %s\nhash %s\n", i.Net, i.Tax, i.Total, i.Paid, i.Due, i.Hash)
	return err
}
