// Command gpupool is the portal of a shared GPU cluster.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	root := &cobra.Command{Use: "gpupool", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(replayCommand())
	if err := root.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "gpupool:", err)
		os.Exit(1)
	}
}
