package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
)

func newConsole(env *env) *cobra.Command {
	var (
		src         source
		expressions []string
	)
	cmd := &cobra.Command{
		Use:   "console [DIR]",
		Short: "Evaluate expressions in a directory",
		Long: `Evaluate expressions as if they were in a directory, and print their values as
HCL. They are given with -e, or on standard input, one per line; one whose
brackets are open goes on in the next line. The files are read again for each,
so that a change is seen at once. The console goes on after an error; the exit
code is then 1, unless expressions are typed by hand. On a terminal, the arrow
keys bring back what was typed before.

Besides expressions there are help, help FUNCTION, and exit. The function type,
as in type(var.teams), is here only.

DIR is the working directory where none is given.`,
		Example: `  lkeplan console clusters/prod
  lkeplan console -e 'pool.general.limits' -e 'keys(var.teams)' clusters/prod
  echo 'between(4, 32)' | lkeplan console clusters/prod`,
		Args: flags.OneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			fsys, opts, err := src.Directory(cmd.Context(), args)
			if err != nil {
				return err
			}
			c := console{
				FS: fsys, Options: opts.Options, Stdout: env.Stdout, Stderr: env.Stderr, Color: env.Color,
				ByHand: flags.Terminal(env.Stdin) != nil,
			}
			if len(expressions) == 0 {
				err = c.Read(cmd.Context(), linesOf(env))
			}
			for _, expression := range expressions {
				err = errors.Join(err, c.Evaluate(expression))
			}
			if err == nil && c.Failed() {
				return flags.ErrReported
			}
			return err
		},
	}
	src.Flags(cmd)
	cmd.Flags().StringArrayVarP(&expressions, "expression", "e", nil, "evaluate `EXPRESSION` and end; may be repeated")
	return cmd
}

// linesOf are the lines of standard input: typed, where that is a terminal and what
// is typed can be shown.
func linesOf(env *env) lines {
	in, out := flags.Terminal(env.Stdin), flags.Terminal(env.Stderr)
	if in == nil || out == nil || flags.Dumb(env.Getenv) {
		return newPiped(env.Stdin)
	}
	fd := int(in.Fd())
	typed := newTyped(struct {
		io.Reader
		io.Writer
	}{in, out}, func() (func(), error) {
		state, err := term.MakeRaw(fd)
		return func() { _ = term.Restore(fd, state) }, err // a terminal that is gone needs no care
	})
	if columns, rows, err := term.GetSize(fd); err == nil && columns > 0 {
		_ = typed.Width(columns, rows) // it fails where nothing is shown any more
	}
	return typed
}
