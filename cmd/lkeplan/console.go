package main

import (
	"errors"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/engine/console"
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
HCL. They are given with -e, or on standard input, one per line. The files are
read again for each, so that a change is seen at once. The console goes on after
an error; the exit code is then 1, unless expressions are typed by hand.

DIR is the working directory where none is given.`,
		Example: `  lkeplan console clusters/prod
  lkeplan console -e 'pool.general.limits' -e 'keys(var.teams)' clusters/prod
  echo 'between(4, 32)' | lkeplan console clusters/prod`,
		Args: oneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			fsys, opts, err := src.open(args)
			if err != nil {
				return err
			}
			c := console.Console{
				FS: fsys, Options: opts.Options, Stdout: env.Stdout, Stderr: env.Stderr, Color: env.Color,
				ByHand: flags.Terminal(env.Stdin) != nil,
			}
			if len(expressions) == 0 {
				err = c.Read(cmd.Context(), env.Stdin)
			}
			for _, expression := range expressions {
				err = errors.Join(err, c.Evaluate(expression))
			}
			if err == nil && c.Failed() {
				return errReported
			}
			return err
		},
	}
	src.flags(cmd)
	cmd.Flags().StringArrayVarP(&expressions, "expression", "e", nil, "evaluate `EXPRESSION` and end; may be repeated")
	return cmd
}
