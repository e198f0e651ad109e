package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/sandbox/binaries"
)

func (a *app) build() *cobra.Command {
	return &cobra.Command{
		Use:   "build [SET]...",
		Short: "Build the control plane, without starting anything",
		Long: `Build the programs a sandbox is made of, if they are not built yet, and print
where they are. "sandbox up" does this automatically.

Sets that not every sandbox needs are built only if they are named:
` + strings.Join(extraNames(), ", ") + `.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var more []binaries.Module
			for _, name := range args {
				i := slices.Index(extraNames(), name)
				if i < 0 {
					return fmt.Errorf("no set of programs is named %q; the sets are: %s", name, strings.Join(extraNames(), ", "))
				}
				more = append(more, binaries.Extras()[i])
			}
			set, err := a.programs(cmd.Context(), more...)
			if err != nil {
				return err
			}
			for _, name := range slices.Sorted(maps.Keys(set.Programs)) {
				if _, err := fmt.Fprintln(a.stdout, name, set.Programs[name]); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func extraNames() []string {
	var names []string
	for _, m := range binaries.Extras() {
		names = append(names, m.Name)
	}
	return names
}
