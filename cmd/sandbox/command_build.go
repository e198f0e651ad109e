package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/sandbox/binaries"
)

func (a *app) build() *cobra.Command {
	return &cobra.Command{
		Use:   "build [SET]...",
		Short: "Build the control plane, without starting anything",
		Long: `Build the programs a sandbox is made of, if they are not built yet, and print where
they are. "sandbox up" does this automatically.

Sets that not every sandbox needs are built only if they are named: ` + strings.Join(extraNames(), ", ") + `.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			more, err := extras(args)
			if err != nil {
				return err
			}
			set, err := a.programs(cmd.Context(), more...)
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			for _, m := range append(binaries.ControlPlane(), more...) {
				for _, p := range m.Programs {
					installed := set.Programs[p.Name]
					fmt.Fprintf(table, "%s\t%s\t%s\n", p.Name, installed.Version, installed.Path)
				}
			}
			return table.Flush()
		},
	}
}

// extras finds the sets of programs that are named.
func extras(names []string) ([]binaries.Module, error) {
	var found []binaries.Module
	for _, name := range names {
		i := slices.IndexFunc(binaries.Extras(), func(m binaries.Module) bool { return m.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("no set of programs is named %q; the sets are: %s", name,
				strings.Join(extraNames(), ", "))
		}
		found = append(found, binaries.Extras()[i])
	}
	return found, nil
}

func extraNames() []string {
	var names []string
	for _, m := range binaries.Extras() {
		names = append(names, m.Name)
	}
	return names
}
