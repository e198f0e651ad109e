package flags

import (
	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Regions completes the name of a region by those of the built-in catalogue.
func Regions(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
	if known, err := catalog.Embedded(); err == nil {
		for _, region := range known.Regions() {
			names = append(names, cobra.CompletionWithDesc(region.ID, region.Label))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
