package flags

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lkeplan/lkeplan/config/eval"
)

// Usage is the template of the help of each command, on 80 columns; %s stands for
// the exit codes.
const Usage = `Usage:
  {{if .HasAvailableSubCommands}}{{.CommandPath}} COMMAND [flags]{{else}}{{.UseLine}}{{end}}
{{- if .HasExample}}

Examples:
{{.Example}}{{end}}
{{- $commands := .Commands}}{{range $group := .Groups}}

{{.Title}}{{range $commands}}{{if eq .GroupID $group.ID}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}
{{- if and .HasAvailableSubCommands (not .Groups)}}

Commands:{{range $commands}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}
{{- if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsagesWrapped 80 | trimTrailingWhitespaces}}{{end}}
{{- if not .HasParent}}

Exit codes:
%s{{end}}
{{- if .HasAvailableSubCommands}}

"{{.CommandPath}} COMMAND --help" explains a command.{{end}}
`

// Group adds commands under a title of the help.
func Group(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, cmd := range commands {
		cmd.GroupID = title
		root.AddCommand(cmd)
	}
}

// ExplainMistakes lets a command say on one line what is wrong with its
// arguments, and what was probably meant.
func ExplainMistakes(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if !errors.As(err, &unknown) {
			return err
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		meant := eval.DidYouMean("--"+unknown.GetSpecifiedName(), names)
		return fmt.Errorf("%w.%s See %s --help", err, meant, cmd.CommandPath())
	})
	if !cmd.HasSubCommands() {
		return
	}
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		var names []string
		for _, c := range cmd.Commands() {
			names = append(names, c.Name())
		}
		path, meant := cmd.CommandPath(), eval.DidYouMean(args[0], names)
		return fmt.Errorf("unknown command %q for %q.%s See %s --help", args[0], path, meant, path)
	}
}
