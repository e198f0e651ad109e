package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/sandbox/binaries"
)

func (a *app) build() *cobra.Command {
	return &cobra.Command{
		Use:   "build",
		Short: "Build the control plane, without starting anything",
		Long: `Build the programs a sandbox is made of, if they are not built yet, and print where
they are. "sandbox up" does this by itself.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			set, err := a.programs(cmd.Context())
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			for _, m := range binaries.ControlPlane() {
				for _, p := range m.Programs {
					installed := set.Programs[p.Name]
					fmt.Fprintf(table, "%s\t%s\t%s\n", p.Name, installed.Version, installed.Path)
				}
			}
			return table.Flush()
		},
	}
}
