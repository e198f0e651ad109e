package flags

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// CommandLine is the command that was given, or another one with those of its flags
// that are named; nil stands for all of them.
func CommandLine(cmd *cobra.Command, name string, flags, args []string) []string {
	words := []string{"lkeplan", name}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if flags != nil && !slices.Contains(flags, f.Name) || f.Name == "force-conflicts" {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			words = append(words, "--"+f.Name+"="+value)
		}
	})
	return append(words, args...)
}

// Shared are the flags that say what is compiled, and where the cluster is.
func Shared() []string {
	return []string{"var", "var-file", "catalog", "kubeconfig", "context", "cluster", "guards"}
}
