package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config/diag"

	"github.com/spf13/cobra"
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
	root.SetOut(env.Stdout)
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
	root.SetCompletionCommandGroupID("More:")
	root.SetUsageTemplate(fmt.Sprintf(flags.Usage, exitCodesText()))
	root.SetVersionTemplate(flags.Versions())
	for _, cmd := range append(root.Commands(), root) {
		flags.ExplainMistakes(cmd)
		completeArguments(cmd)
	}
	return root
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

// harmless is a text that may have words of others, of which no line is a command.
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
