package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lkeplan/lkeplan/config"
)

// describePlainly takes the quotes from what flags are for, which mark in help what the
// value is called: a shell shows them as they are.
func describePlainly(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		describePlainly(cmd)
	}
	root.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "`", "") })
}

// completeArguments lets the shell complete what commands that read a
// directory have in common.
func completeArguments(cmd *cobra.Command) {
	if many := strings.HasSuffix(cmd.Use, " [DIR...]"); many || strings.HasSuffix(cmd.Use, " [DIR]") {
		cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 && !many {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
	}
	if cmd.Flags().Lookup("var") != nil {
		// The only error is that there is no such flag.
		_ = cmd.RegisterFlagCompletionFunc("var", variables)
	}
}

// variables completes --var with the names of the directory's variables. A
// directory that cannot be read has none.
func variables(cmd *cobra.Command, args []string, begun string) (names []string, _ cobra.ShellCompDirective) {
	fsys, opts, err := (&source{}).Directory(cmd.Context(), args[:min(len(args), 1)])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	module, _ := config.Load(fsys, opts.Options)
	for _, name := range module.VariableNames() {
		if strings.HasPrefix(name, begun) {
			names = append(names, name+"=")
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
