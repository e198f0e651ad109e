package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/syntax"
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
			c := console{env: env, fsys: fsys, opts: opts.Options}
			if len(expressions) == 0 {
				return c.read(cmd.Context(), env.Stdin)
			}
			for _, expression := range expressions {
				if err := c.evaluate(expression); err != nil {
					return err
				}
			}
			return c.end()
		},
	}
	src.flags(cmd)
	cmd.Flags().StringArrayVarP(&expressions, "expression", "e", nil, "evaluate `EXPRESSION` and end; may be repeated")
	return cmd
}

// A console is one run of the command.
type console struct {
	env    *env
	fsys   fs.FS
	opts   config.Options
	failed bool
}

// read evaluates line after line, until there are no more or the program is
// interrupted. People get a prompt.
func (c *console) read(ctx context.Context, stdin io.Reader) error {
	file, ok := stdin.(*os.File)
	byHand := ok && isTerminal(file)
	lines := bufio.NewScanner(stdin)
	lines.Buffer(nil, syntax.MaxFileSize)
	for {
		if byHand {
			fmt.Fprint(c.env.Stderr, "> ")
		}
		if !next(ctx, lines) {
			break
		}
		switch line := strings.TrimSpace(lines.Text()); {
		case line == "" || strings.HasPrefix(line, "#"):
		case line == "exit" || line == "quit":
			return c.end()
		default:
			if err := c.evaluate(line); err != nil {
				return err
			}
			c.failed = c.failed && !byHand
		}
	}
	if byHand {
		fmt.Fprintln(c.env.Stderr)
	}
	if ctx.Err() != nil {
		return c.end() // the scanner is still in use
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	return c.end()
}

// next waits for a line, but not after an interruption.
func next(ctx context.Context, lines *bufio.Scanner) bool {
	found := make(chan bool, 1)
	go func() { found <- lines.Scan() }()
	select {
	case <-ctx.Done():
		return false
	case more := <-found:
		return more
	}
}

// evaluate prints the value of one expression, or what is wrong with it.
func (c *console) evaluate(expression string) error {
	module, diags := config.Load(c.fsys, c.opts)
	if !diags.HasErrors() {
		v, valueDiags := module.Evaluate("console", expression)
		if diags = append(diags, valueDiags...); !diags.HasErrors() {
			fmt.Fprintln(c.env.Stdout, syntax.Print(v))
		}
	}
	c.failed = c.failed || diags.HasErrors()
	return diag.Text(c.env.Stderr, diag.New(diags, module.Files), c.env.Color)
}

func (c *console) end() error {
	if c.failed {
		return errReported
	}
	return nil
}
