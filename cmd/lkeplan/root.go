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
	"github.com/lkeplan/lkeplan/engine/files"
	"github.com/lkeplan/lkeplan/engine/revision"
)

type (
	env     = flags.Env
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
		Short: "Manage node pools for LKE as HCL",
		Long: `Manage node pools for LKE (Linode Kubernetes Engine) as HCL. lkeplan compiles the
HCL files of a directory to Karpenter objects, shows what a change does to nodes
and cost, and applies the objects. To apply commits automatically, create a
NodePlan: an object in the cluster that names a directory in Git.`,
		Example:       "  lkeplan init clusters/dev\n  lkeplan validate clusters/dev",
		Version:       flags.Version(),
		SilenceErrors: true, // run prints them
		SilenceUsage:  true,
	}
	root.SetIn(env.Stdin)
	root.SetOut(env.Data()) // help and completion have only text of the program
	root.SetErr(env.Stderr)
	flags.Group(root, "Write and check:",
		newInit(env), newFmt(env), newValidate(env), newRender(env), newTest(env), newConsole(env), newExplain(env))
	flags.Group(root, "Compare and apply:",
		newDiff(env), newPlan(env), newShow(env), newApply(env), newImport(env), newSnapshot(env),
		newSimulate(env))
	flags.Group(root, "Apply from Git:", newNodePlan(env))
	flags.Group(root, "In a cluster:",
		newStatus(env), newWhy(env), newStop(env), newResume(env), newCRDs(env), newDoctor(env), newUninstall(env))
	flags.Group(root, "More:",
		newCatalog(env), newVersion(env))
	root.SetHelpCommandGroupID("More:")
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Run, help.RunE = nil, helpOf
	}
	root.SetCompletionCommandGroupID("More:")
	flags.SetHelp(root, exitCodesText())
	root.SetVersionTemplate(flags.Versions())
	flags.ExplainMistakes(root)
	for _, cmd := range root.Commands() {
		completeArguments(cmd)
	}
	return root
}

// helpOf prints the help of a command. An unknown command is an error, as without "help".
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

// crashed requests a report of a crash.
const crashed = `lkeplan %s crashed: %v
This is a bug. Please report it with these lines and the files that you used:

%s`

// run executes one command line and returns its exit code: 0, 1 for every error,
// including mistakes in the command line and crashes, or the code of an outcome.
func run(ctx context.Context, args []string, env *env) (code int) {
	defer func() {
		if cause := recover(); cause != nil {
			fmt.Fprintf(env.Stderr, crashed, flags.Version(), cause, debug.Stack())
			code = 1
		}
	}()
	own := *env
	stderr := diag.NewWriter(env.Stderr)
	stderr.Width = flags.Columns(env.Stderr, env.Getenv)
	stdout := &diag.Recorder{To: env.Stdout}
	own.Stdout, own.Stderr = diag.NewWriter(stdout), stderr
	env = &own
	root := newRoot(env)
	root.SetArgs(terraformFlags(args))
	if len(args) > 0 && args[0] == cobra.ShellCompRequestCmd {
		describePlainly(root)
	}
	var found outcome
	err := root.ExecuteContext(ctx)
	if lost := stdout.Err; lost != nil && (err == nil || errors.As(err, &found)) {
		err = fmt.Errorf("write standard output: %w", files.Cause(lost))
	}
	switch {
	case err == nil:
		return 0
	case errors.As(err, &found):
		return int(found)
	case errors.Is(err, flags.ErrReported):
	default:
		fmt.Fprintln(env.Stderr, errorText(err, stderr.Width))
	}
	return 1
}

// errorText returns the text of an error for a terminal. It has no commands to a CI system: an error can quote text of
// others. Indented lines are commands to copy, and are not wrapped.
func errorText(err error, width int) string {
	lines := strings.Split(diag.Visible("lkeplan: "+strings.TrimSpace(err.Error())), "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, " ") {
			lines[i] = diag.Fit(line, width)
		}
	}
	lines = strings.Split(strings.Join(lines, "\n"), "\n")
	for i := range lines {
		lines[i] = diag.Harmless(lines[i])
	}
	return strings.Join(lines, "\n")
}

func newVersion(env *env) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  lkeplan version",
		Args:    flags.Arguments(0, 0),
		Run: func(*cobra.Command, []string) {
			fmt.Fprint(env.Stdout, flags.Versions())
		},
	}
}

// describePlainly removes the backquotes from the descriptions of flags. They mark the name of
// the value in help; a shell would print them.
func describePlainly(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		describePlainly(cmd)
	}
	root.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "`", "") })
}

// completeArguments lets the shell complete directories, and the variables of a
// directory.
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
		// It fails only for an unknown flag.
		_ = cmd.RegisterFlagCompletionFunc("var", completeVariables)
	}
}

// completeVariables completes --var with the names of the directory's variables. A
// directory that cannot be read has none.
func completeVariables(cmd *cobra.Command, args []string, begun string) (names []string, _ cobra.ShellCompDirective) {
	fsys, opts, err := flags.Open(cmd.Context(), revision.Options{}, args[:min(len(args), 1)])
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

// exitCodes are all exit codes, for the help and COMMANDS.md.
var exitCodes = []struct {
	code    outcome
	meaning string
}{
	{flags.Fine, "success"},
	{1, "an error; it takes precedence over the other codes"},
	{flags.Changes, "there are changes, and --detailed-exitcode is set"},
	{flags.Refused, "a guard (a limit on one change) or a policy (a condition on a plan) refuses\n" +
		"the change; another owner, such as kubectl or Helm, has set a field that\nthe change would overwrite; or a simulated pod gets no node"},
	{flags.Stale, "the cluster has changed since the plan was saved"},
}

// exitCodesText lists the exit codes for a terminal.
func exitCodesText() string {
	var lines []string
	for _, e := range exitCodes {
		lines = append(lines, fmt.Sprintf("  %d  %s", e.code, strings.ReplaceAll(e.meaning, "\n", "\n     ")))
	}
	return strings.Join(lines, "\n")
}
