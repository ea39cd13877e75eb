package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"gpupool/domain/quota"
)

func casesCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "cases FILE…",
		Short: "Play scenarios of the quota engine and say which come out as they should",
		Long:  "Play the scenarios of files such as quota_cases.json through the engine. Exit code 1: at least one came out wrong; 2: a file can't be read.",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			type row struct {
				File  string   `json:"file"`
				ID    string   `json:"id"`
				Title string   `json:"title"`
				OK    bool     `json:"ok"`
				Diffs []string `json:"differences"`
			}
			rows, bad := []row{}, 0
			for _, name := range args {
				results, err := readCases(name)
				if err != nil {
					return failed(exitUsage, "%s: %v", name, err)
				}
				for _, r := range results {
					rows = append(rows, row{name, r.ID, r.Title, len(r.Diffs) == 0, append([]string{}, r.Diffs...)})
					if len(r.Diffs) > 0 {
						bad++
					}
				}
			}
			out := cmd.OutOrStdout()
			if asJSON {
				if err := json.NewEncoder(out).Encode(rows); err != nil {
					return err
				}
			} else {
				for _, r := range rows {
					word := map[bool]string{true: "ok     ", false: "differs"}[r.OK]
					fmt.Fprintf(out, "%s %s %s\n", word, r.ID, r.Title)
					for _, d := range r.Diffs {
						fmt.Fprintf(out, "          %s\n", d)
					}
				}
				fmt.Fprintf(out, "%d cases, %d ok\n", len(rows), len(rows)-bad)
			}
			if bad > 0 {
				return failed(exitFailed, "%d of %d cases came out wrong", bad, len(rows))
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}

func readCases(name string) ([]quota.CaseResult, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return quota.RunCases(f)
}
