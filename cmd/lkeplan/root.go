package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lkeplan/lkeplan/config/eval"
)

// env is all that commands know of the process they run in.
type env struct {
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Getenv  func(string) string
	Environ func() []string
	Color   bool // whether Stderr is a terminal that shows colors
}

func processEnv() *env {
	return &env{
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
		Getenv:  os.Getenv,
		Environ: os.Environ,
		Color:   os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(os.Stderr),
	}
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func newRoot(env *env) *cobra.Command {
	root := &cobra.Command{
		Use:           "lkeplan",
		Short:         "Node pools for LKE, written as HCL",
		Example:       "  lkeplan init clusters/dev\n  lkeplan validate clusters/dev",
		SilenceErrors: true, // run prints them
		SilenceUsage:  true,
	}
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.AddCommand(
		newInit(env),
		newFmt(env),
		newValidate(env),
		newRender(env),
		newConsole(env),
		newGraph(env),
		newSchema(env),
		newDocs(env),
		newDiff(env),
		newPlan(env),
		newShow(env),
		newSnapshot(env),
		newApply(env),
		newImport(env),
		newTakeover(env),
		newCatalog(env),
		newExplain(env),
		newVersion(env),
	)
	for _, cmd := range append(root.Commands(), root) {
		explainMistakes(cmd)
		completeArguments(cmd)
	}
	return root
}

// explainMistakes lets a command say on one line what is wrong with its
// arguments, and what was probably meant.
func explainMistakes(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) {
			var names []string
			cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
			return fmt.Errorf("%w.%s See lkeplan %s --help", err, eval.DidYouMean(unknown.GetSpecifiedName(), names), cmd.Name())
		}
		return err
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
		return fmt.Errorf("unknown command %q for %q.%s See %s --help", args[0], cmd.CommandPath(), eval.DidYouMean(args[0], names), cmd.CommandPath())
	}
}

// An outcome is an exit code that is no error: what a command found.
type outcome int

// The outcomes. An error of any kind exits with 1 instead.
const (
	fine    outcome = 0
	changes outcome = 2 // there are some, and the command was asked to tell; for import, where there must be none
	refused outcome = 3 // by a guard or a policy
	stale   outcome = 4 // the cluster has moved on from what a plan was made for
)

// Error implements error.
func (o outcome) Error() string { return fmt.Sprintf("exit code %d", int(o)) }

// asError is nil where all is fine.
func (o outcome) asError() error {
	if o == fine {
		return nil
	}
	return o
}

// errReported is returned by commands that have said themselves what is wrong.
var errReported = errors.New("reported")

// run executes one command line and returns its exit code: 0 if all is well, 1
// for every error, a mistake in the command line and a crash included, or that
// of an outcome.
func run(ctx context.Context, args []string, env *env) (code int) {
	defer func() {
		if cause := recover(); cause != nil {
			fmt.Fprintf(env.Stderr, "lkeplan %s crashed: %v\nThis is a bug. Please report it together with these lines and the files it happened with:\n\n%s", version(), cause, debug.Stack())
			code = 1
		}
	}()
	root := newRoot(env)
	root.SetArgs(terraformFlags(args))
	var found outcome
	switch err := root.ExecuteContext(ctx); {
	case err == nil:
		return 0
	case errors.As(err, &found):
		return int(found)
	case errors.Is(err, errReported):
	default:
		fmt.Fprintln(env.Stderr, "lkeplan:", strings.TrimSpace(err.Error()))
	}
	return 1
}

// noArguments is the positional arguments of commands that have none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments, and got %q", cmd.Name(), args[0])
	}
	return nil
}
