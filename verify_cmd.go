package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
)

func verifyCommand() *cobra.Command {
	var asJSON bool
	var expect string
	c := &cobra.Command{
		Use:   "verify",
		Short: "Recompute every issued invoice from the ledger and check the chain of hashes",
		Long: "Recompute every issued invoice from the ledger and check the chain of hashes, in the store that serve uses\n" +
			"(GPUPOOL_DATABASE_URL or GPUPOOL_DATA). With --expect the last document of some issuer must have this hash,\n" +
			"as it stands on the last invoice that you hold. Exit code 1: something differs.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := readConfig()
			if err != nil {
				return err
			}
			return withStore(cmd.Context(), cmd, cfg, func(p *portal) error {
				v, err := p.service.Verify(cmd.Context())
				if err != nil {
					return err
				}
				if expect != "" && !slices.Contains(slices.Collect(maps.Values(v.Head)), expect) {
					v.Differences = append(v.Differences, fmt.Sprintf("no chain ends with the expected hash %s", expect))
				}
				if asJSON {
					err = json.NewEncoder(cmd.OutOrStdout()).Encode(struct {
						Invoices    int               `json:"invoices"`
						Head        map[string]string `json:"head"`
						Differences []string          `json:"differences"`
					}{v.Invoices, v.Head, append([]string{}, v.Differences...)})
				} else {
					err = printVerified(cmd, v.Invoices, v.Head, v.Differences)
				}
				if err == nil && len(v.Differences) > 0 {
					err = failed(exitFailed, "%d differences", len(v.Differences))
				}
				return err
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	c.Flags().StringVar(&expect, "expect", "", "hash that the last document must have")
	return c
}

func printVerified(cmd *cobra.Command, invoices int, head map[string]string, differences []string) error {
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%d invoices recomputed\n", invoices)
	for _, issuer := range slices.Sorted(maps.Keys(head)) {
		fmt.Fprintf(out, "chain of %s ends with %s\n", issuer, head[issuer])
	}
	for _, d := range differences {
		fmt.Fprintln(out, "differs: "+d)
	}
	if len(differences) > 0 {
		return nil
	}
	_, err := fmt.Fprintln(out, "everything agrees")
	return err
}
