package flags

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lkeplan/lkeplan/config/eval"
)

// Usage is the template of the help of each command, for 80 columns. %s is the list
// of exit codes.
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

Run "{{.CommandPath}} COMMAND --help" for help about a command.{{end}}
`

// Group adds commands under a title of the help.
func Group(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, cmd := range commands {
		cmd.GroupID = title
		root.AddCommand(cmd)
	}
}

// ExplainMistakes lets a command report a mistake in its arguments on one line, with a
// suggestion.
func ExplainMistakes(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if !errors.As(err, &unknown) {
			return err
		}
		if others := commandsWith(cmd, unknown); others != "" {
			return fmt.Errorf("%w; %s. See %s --help", err, others, cmd.CommandPath())
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, "--"+f.Name)
			}
		})
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

// mostCommands is how many commands an error names.
const mostCommands = 3

// commandsWith names the commands that have a flag, those of the same group first: "diff and plan have it"; "" if no command
// has it.
func commandsWith(cmd *cobra.Command, flag *pflag.NotExistError) string {
	has := func(c *cobra.Command) bool {
		if flag.GetSpecifiedShortnames() != "" {
			return c.Flags().ShorthandLookup(flag.GetSpecifiedName()) != nil
		}
		f := c.Flags().Lookup(flag.GetSpecifiedName())
		return f != nil && !f.Hidden
	}
	var near, far []string
	for _, c := range cmd.Root().Commands() {
		switch {
		case !has(c):
		case c.GroupID == cmd.GroupID:
			near = append(near, c.Name())
		default:
			far = append(far, c.Name())
		}
	}
	names := append(near, far...)
	switch n := len(names); {
	case n == 0:
		return ""
	case n == 1:
		return names[0] + " has it"
	case n > mostCommands:
		names = append(names[:mostCommands], "other commands")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last] + " have it"
}
