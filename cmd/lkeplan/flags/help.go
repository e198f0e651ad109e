package flags

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
)

// helpColumns is the width of help.
const helpColumns = 80

// SetHelp lets a command and its commands print help in 80 columns. ExitCodes is the list of exit codes, which the
// help of the command ends with.
func SetHelp(root *cobra.Command, exitCodes string) {
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprint(".FlagUsagesWrapped ", helpColumns)) +
		"{{if not .HasParent}}\nExit codes:\n" + exitCodes + "\n{{end}}")
	printHelp := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		cmd.Long = Paragraphs(cmd.Long)
		printHelp(cmd, args)
	})
}

// Paragraphs wraps the paragraphs of a help text. Those that start with white space are lists and examples, and are
// not changed.
func Paragraphs(help string) string {
	parts := strings.Split(help, "\n\n")
	for i, part := range parts {
		if strings.TrimLeft(part, " \t") == part {
			parts[i] = strings.Join(diag.Wrap(part, helpColumns), "\n")
		}
	}
	return strings.Join(parts, "\n\n")
}

// Group adds commands under a title of the help.
func Group(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, cmd := range commands {
		cmd.GroupID = title
		root.AddCommand(cmd)
	}
}

// terraformHint returns what lkeplan has instead of a command of Terraform; "" for other commands.
func terraformHint(command string) string {
	switch command {
	case "destroy":
		return `To delete objects, remove their blocks, and run "lkeplan apply --prune"; to remove lkeplan, run "lkeplan uninstall".`
	case "output":
		return `To show a value, such as local.name, run "lkeplan console".`
	case "refresh":
		return `lkeplan has no state: it reads the cluster. To compare with it, run "lkeplan diff --base live".`
	case "state":
		return `lkeplan has no state: it reads the cluster. To show pools and nodes, run "lkeplan status".`
	}
	return ""
}

// ExplainMistakes lets a command and its commands report a mistake in their arguments on one line,
// with a suggestion.
func ExplainMistakes(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if !errors.As(err, &unknown) {
			return err
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		meant := ""
		if name := eval.Suggest(unknown.GetSpecifiedName(), names); unknown.GetSpecifiedName() == "auto-approve" && cmd.Flags().Lookup("yes") != nil {
			meant = " Terraform's -auto-approve is --yes here."
		} else if unknown.GetSpecifiedName() == "upgrade" {
			meant = " There is nothing to download: init writes a first configuration."
		} else if name != "" {
			meant = fmt.Sprintf(" Did you mean \"--%s\"?", name)
		}
		return fmt.Errorf("%w.%s See %s --help", err, meant, cmd.CommandPath())
	})
	if !cmd.HasSubCommands() {
		return
	}
	for _, sub := range cmd.Commands() {
		ExplainMistakes(sub)
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
		if hint := terraformHint(args[0]); hint != "" && !cmd.HasParent() {
			meant = " " + hint
		}
		return fmt.Errorf("unknown command %q for %q.%s See %s --help", args[0], path, meant, path)
	}
}
