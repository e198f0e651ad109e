package flags

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// A Use is when some flags have an effect.
type Use struct {
	Flags string // their names, separated by spaces
	If    func() bool
	Else  string // the error if the condition is false, after the name of the flag
}

// RejectUnused lets a command refuse flags that have no effect.
func RejectUnused(cmd *cobra.Command, uses ...Use) {
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		for _, use := range uses {
			for _, name := range strings.Fields(use.Flags) {
				if cmd.Flags().Changed(name) && !use.If() {
					return fmt.Errorf("--%s %s", name, use.Else)
				}
			}
		}
		return nil
	}
}
