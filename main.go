// Command gpupool is the portal of a shared GPU cluster. Without arguments it
// starts the demo; `gpupool serve` starts a real pool.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	if err := rootCommand().ExecuteContext(context.Background()); err != nil {
		if text := err.Error(); text != "" {
			fmt.Fprintln(os.Stderr, "gpupool:", text)
		}
		os.Exit(exitCode(err))
	}
}

func rootCommand() *cobra.Command {
	var f demoFlags
	root := &cobra.Command{
		Use:           "gpupool",
		Short:         "GPU Pool: the marketplace through which members of a consortium share a GPU cluster",
		Long:          "GPU Pool: the marketplace through which members of a consortium share a GPU cluster.\n\nWithout a command it starts the demo on http://localhost:8080 with its data in ./data.",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          demoRun(&f),
	}
	root.Flags().BoolVar(&f.fresh, "fresh", false, "start the demo over: delete its databases (only in a folder with its marker)")
	root.Flags().BoolVar(&f.public, "demo-public", false, "let the demo listen on an address that others can reach")
	root.Flags().Uint64Var(&f.seed, "seed", 1, "draw another crowd for the demo's history")
	root.AddCommand(serveCommand(), demoCommand(), closeCommand(), verifyCommand(), replayCommand(), casesCommand(), jobCommand(), queueCommand(), usageCommand(), invoiceCommand(), versionCommand())
	return root
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "gpupool", version)
			return err
		},
	}
}
