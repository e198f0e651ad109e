package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
)

type (
	env     = flags.Env
	source  = flags.Source
	outcome = flags.Outcome
)

func processEnv() *env {
	return &env{
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
		Getenv:  os.Getenv,
		Environ: os.Environ,
		Color:   flags.Colored(os.Stderr, os.Getenv),
	}
}

func newRoot(env *env) *cobra.Command {
	root := &cobra.Command{
		Use:   "lkeplan",
		Short: "Node pools for LKE, written as HCL",
		Long: `Node pools for LKE, written as HCL: lkeplan compiles a directory to objects for
Karpenter, says what a change does to nodes and to the bill, and applies it.`,
		Example:       "  lkeplan init clusters/dev\n  lkeplan validate clusters/dev",
		Version:       flags.Version(),
		SilenceErrors: true, // run prints them
		SilenceUsage:  true,
	}
	root.SetIn(env.Stdin)
	root.SetOut(env.Data()) // help and completion, of the program's own words
	root.SetErr(env.Stderr)
	flags.Group(root, "Write and check:",
		newInit(env), newFmt(env), newValidate(env), newRender(env), newTest(env), newConsole(env), newGraph(env),
		newExplain(env))
	flags.Group(root, "Compare and apply:",
		newDiff(env), newPlan(env), newShow(env), newApply(env), newSnapshot(env),
		newSimulate(env))
	flags.Group(root, "Applied from Git:", newNodePlan(env))
	flags.Group(root, "Adopt what exists:",
		newImport(env), newTakeover(env), newAdopt(env))
	flags.Group(root, "In a cluster:",
		newStatus(env), newWhy(env), newTop(env), newCRDs(env), newDoctor(env), newUninstall(env))
	flags.Group(root, "More:",
		newCatalog(env), newDocs(env), newSchema(env), newVersion(env))
	root.SetHelpCommandGroupID("More:")
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Run, help.RunE = nil, helpOf
	}
	root.SetCompletionCommandGroupID("More:")
	root.SetUsageTemplate(fmt.Sprintf(flags.Usage, exitCodesText()))
	root.SetVersionTemplate(flags.Versions())
	for _, cmd := range append(root.Commands(), root) {
		flags.ExplainMistakes(cmd)
		completeArguments(cmd)
	}
	return root
}

// helpOf prints the help of a command. What is no command is an error, as it is without help before it.
func helpOf(help *cobra.Command, args []string) error {
	cmd, rest, err := help.Root().Find(args)
	switch {
	case err != nil:
		return err
	case len(rest) > 0 && cmd.HasSubCommands():
		return cmd.RunE(cmd, rest)
	case len(rest) > 0:
		return fmt.Errorf("unknown help topic %q: %s has no commands. See %s --help", rest[0], cmd.CommandPath(), cmd.CommandPath())
	}
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	return cmd.Help()
}

// crashed asks for a report of a crash.
const crashed = `lkeplan %s crashed: %v
This is a bug. Please report it together with these lines and the files it happened with:

%s`

// run executes one command line and returns its exit code: 0 if all is well, 1
// for every error, a mistake in the command line and a crash included, or that
// of an outcome.
func run(ctx context.Context, args []string, env *env) (code int) {
	defer func() {
		if cause := recover(); cause != nil {
			fmt.Fprintf(env.Stderr, crashed, flags.Version(), cause, debug.Stack())
			code = 1
		}
	}()
	own := *env
	own.Stdout, own.Stderr = diag.NewWriter(env.Stdout), diag.NewWriter(env.Stderr)
	env = &own
	root := newRoot(env)
	root.SetArgs(terraformFlags(args))
	if len(args) > 0 && args[0] == cobra.ShellCompRequestCmd {
		describePlainly(root)
	}
	var found outcome
	switch err := root.ExecuteContext(ctx); {
	case err == nil:
		return 0
	case errors.As(err, &found):
		return int(found)
	case errors.Is(err, flags.ErrReported):
	default:
		fmt.Fprintln(env.Stderr, "lkeplan:", harmless(strings.TrimSpace(err.Error())))
	}
	return 1
}

// harmless is an error that may have words of others, of which no line is a command. Its lines are the program's own, or
// have a mark: they may be something to type.
func harmless(text string) string {
	lines := strings.Split(diag.Visible(text), "\n")
	for i := range lines {
		lines[i] = diag.Harmless(lines[i])
	}
	return strings.Join(lines, "\n")
}

// noArguments is the positional arguments of commands that have none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments, and got %q", cmd.Name(), args[0])
	}
	return nil
}

func newVersion(env *env) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  lkeplan version",
		Args:    noArguments,
		Run: func(*cobra.Command, []string) {
			fmt.Fprint(env.Stdout, flags.Versions())
		},
	}
}

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

// exitCodes are all there are, for the help and the reference.
var exitCodes = []struct {
	code    outcome
	meaning string
}{
	{flags.Fine, "fine"},
	{1, "an error, of whatever kind; it takes precedence over the others"},
	{flags.Changes, "diff, plan, simulate: there are changes, and --detailed-exitcode asks for\nthis; import: the HCL " +
		"does not say the same as the objects"},
	{flags.Refused, "a guard, a policy, or a field that others have set refuses the plan;\nrender: there are no " +
		"objects; simulate: pods get no node"},
	{flags.Stale, "apply: the cluster has changed since the plan was saved"},
}

// exitCodesText lists the exit codes for a terminal.
func exitCodesText() string {
	var lines []string
	for _, e := range exitCodes {
		lines = append(lines, fmt.Sprintf("  %d  %s", e.code, strings.ReplaceAll(e.meaning, "\n", "\n     ")))
	}
	return strings.Join(lines, "\n")
}

// exitCodesMarkdown is the chapter of the reference about exit codes.
func exitCodesMarkdown() string {
	var b strings.Builder
	b.WriteString("\n## Exit codes\n\n| code | meaning |\n|---|---|\n")
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "| %d | %s |\n", e.code, strings.ReplaceAll(e.meaning, "\n", " "))
	}
	return b.String()
}
