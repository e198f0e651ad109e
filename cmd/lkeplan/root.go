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
)

// env is all that commands know of the process they run in.
type env struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
	Color  bool // whether Stderr is a terminal that shows colors
}

func processEnv() *env {
	return &env{
		Stdin:  os.Stdin,
		Stdout: os.Stdout,
		Stderr: os.Stderr,
		Getenv: os.Getenv,
		Color:  os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(os.Stderr),
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
		SilenceErrors: true, // run prints them
		SilenceUsage:  true,
	}
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.AddCommand(
		newFmt(env),
		newValidate(env),
		newRender(env),
		newConsole(env),
		newGraph(env),
		newSchema(env),
		newDocs(env),
		newDiff(env),
		newApply(env),
		newCatalog(env),
		newExplain(env),
		newVersion(env),
	)
	return root
}

// errReported is returned by commands that have said themselves what is wrong.
var errReported = errors.New("reported")

// run executes one command line and returns its exit code: 0 if all is well, 1
// for every error, a mistake in the command line and a crash included, and 2
// where diff was asked to tell of changes in this way.
func run(ctx context.Context, args []string, env *env) (code int) {
	defer func() {
		if cause := recover(); cause != nil {
			fmt.Fprintf(env.Stderr, "lkeplan %s crashed: %v\nThis is a bug. Please report it together with these lines and the files it happened with:\n\n%s", version(), cause, debug.Stack())
			code = 1
		}
	}()
	root := newRoot(env)
	root.SetArgs(terraformFlags(args))
	switch err := root.ExecuteContext(ctx); {
	case err == nil:
		return 0
	case errors.Is(err, errChanges):
		return 2
	case errors.Is(err, errReported):
	default:
		fmt.Fprintln(env.Stderr, "lkeplan:", strings.TrimSpace(err.Error()))
	}
	return 1
}
