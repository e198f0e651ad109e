package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/function"
	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/engine/revision"
)

func newConsole(env *env) *cobra.Command {
	var (
		src         revision.Options
		expressions []string
	)
	cmd := &cobra.Command{
		Use:   "console [DIR]",
		Short: "Evaluate expressions in a directory",
		Long: `Evaluate expressions with the variables, locals and blocks of a directory, and
print each value as HCL. Pass expressions with -e, or on standard input, one per
line. An expression with open brackets continues on the next line. The files are
read again for each expression.

The console continues after an error. If the input is not a terminal, the exit
code is then 1.

Type "help" to list all functions, "help FUNCTION" to explain one, and "exit" to end
the console. The function type(), as in type(var.teams), exists only in the
console. On a terminal, the arrow keys recall earlier lines.

Without DIR, console reads the working directory.`,
		Example: `  lkeplan console clusters/prod
  lkeplan console -e 'pool.general.limits' -e 'keys(var.teams)' clusters/prod
  echo 'between(4, 32)' | lkeplan console clusters/prod`,
		Args: flags.OneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			fsys, opts, err := flags.Open(cmd.Context(), src, args)
			if err != nil {
				return err
			}
			c := console{
				FS: fsys, Options: opts.Options, Stdout: env.Data(), Stderr: env.Stderr, Color: env.Color,
				ByHand: flags.Terminal(env.Stdin) != nil,
			}
			if len(expressions) == 0 {
				err = c.Read(cmd.Context(), linesOf(env))
			}
			for _, expression := range expressions {
				err = errors.Join(err, c.Evaluate(expression))
			}
			if err == nil && c.failed {
				return flags.ErrReported
			}
			return err
		},
	}
	flags.SourceFlags(cmd, &src)
	cmd.Flags().StringArrayVarP(&expressions, "expression", "e", nil, "evaluate `EXPRESSION` and exit; may be repeated")
	return cmd
}

// linesOf returns the lines of standard input. On a terminal, they can be edited.
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
		return func() { _ = term.Restore(fd, state) }, err // a closed terminal needs no restore
	})
	if columns, rows, err := term.GetSize(fd); err == nil && columns > 0 {
		_ = typed.Width(columns, rows) // it fails if the terminal is closed
	}
	return typed
}

type console struct {
	FS      fs.FS
	Options config.Options
	Stdout  io.Writer // for values
	Stderr  io.Writer // for diagnostics and prompts
	Color   bool      // of diagnostics
	ByHand  bool      // the input is a terminal: there are prompts, and mistakes are not failures

	failed bool // an expression had an error
}

// lines are the input. Next returns io.EOF at its end.
type lines interface {
	Next(ctx context.Context, prompt string) (string, error)
}

// The prompts of an expression, and of its next lines.
const (
	consolePrompt   = "> "
	continuedPrompt = "… "
)

// Read evaluates expressions until the input ends, a line is exit, or the context
// ends. An expression with open brackets continues on the next line, until a line is
// empty.
func (c *console) Read(ctx context.Context, lines lines) error {
	for {
		text, err := readExpression(ctx, lines)
		text = strings.TrimSpace(text)
		if text != "" && ctx.Err() == nil {
			if done, err := c.answer(text); done || err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF) || ctx.Err() != nil:
			if c.ByHand {
				fmt.Fprintln(c.Stderr)
			}
			return nil
		case err != nil:
			return err
		}
	}
}

// readExpression reads an expression of one line or several.
func readExpression(ctx context.Context, lines lines) (string, error) {
	text, err := lines.Next(ctx, consolePrompt)
	for err == nil && syntax.Unfinished(text) {
		var line string
		line, err = lines.Next(ctx, continuedPrompt)
		if strings.TrimSpace(line) == "" {
			break
		}
		text += "\n" + line
	}
	return text, err
}

// answer evaluates one input, and reports whether it is the last.
func (c *console) answer(text string) (done bool, err error) {
	command, name, _ := strings.Cut(text, " ")
	switch {
	case strings.HasPrefix(text, "#"):
	case text == "exit" || text == "quit":
		return true, nil
	case command == "help":
		return false, explainConsole(c.Stdout, strings.TrimSpace(name))
	default:
		err = c.Evaluate(text)
		c.failed = c.failed && !c.ByHand
	}
	return false, err
}

// Evaluate prints the value of one expression, or its errors.
func (c *console) Evaluate(expression string) error {
	module, diags := config.Load(c.FS, c.Options)
	if !diags.HasErrors() {
		v, valueDiags := module.Evaluate("console", expression)
		diags = append(diags, valueDiags...)
		if !diags.HasErrors() {
			fmt.Fprintln(c.Stdout, syntax.Print(v))
		}
	}
	c.failed = c.failed || diags.HasErrors()
	return diag.Text(c.Stderr, diag.New(diags, module.Files), c.Color)
}

// pipedLines are the lines of a reader, which has no prompts.
type pipedLines struct{ scanner *bufio.Scanner }

func newPiped(in io.Reader) pipedLines {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, syntax.MaxFileSize)
	return pipedLines{scanner}
}

// Next implements lines. After an interruption, the reader may still be in use.
func (p pipedLines) Next(ctx context.Context, _ string) (string, error) {
	found := make(chan bool, 1)
	go func() { found <- p.scanner.Scan() }()
	select {
	case <-ctx.Done():
		return "", io.EOF
	case more := <-found:
		switch err := p.scanner.Err(); {
		case more:
			return p.scanner.Text(), nil
		case err != nil:
			return "", fmt.Errorf("read standard input: %w", err)
		}
		return "", io.EOF
	}
}

// typedLines are lines typed on a terminal, with the keys of an editor and
// a history.
type typedLines struct {
	terminal *term.Terminal
	raw      func() (restore func(), err error)
}

// newTyped returns lines of a terminal. Raw is called for each line, and the function that it
// returns after it, so that values are printed as usual.
func newTyped(terminal io.ReadWriter, raw func() (restore func(), err error)) typedLines {
	return typedLines{term.NewTerminal(terminal, ""), raw}
}

// Width sets the number of columns and rows of the terminal.
func (t typedLines) Width(columns, rows int) error { return t.terminal.SetSize(columns, rows) }

// Next implements lines. Ctrl-C and Ctrl-D end the input.
func (t typedLines) Next(_ context.Context, prompt string) (string, error) {
	restore, err := t.raw()
	if err != nil {
		return "", fmt.Errorf("read the terminal: %w", err)
	}
	defer restore()
	t.terminal.SetPrompt(prompt)
	line, err := t.terminal.ReadLine()
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, term.ErrPasteIndicator) {
		return "", fmt.Errorf("read the terminal: %w", err)
	}
	if errors.Is(err, term.ErrPasteIndicator) {
		err = nil
	}
	return line, err
}

const about = `Type an expression to print its value as HCL:

  pool.general.limits      an argument of a block in this directory
  var.team  local.base     a variable or a local
  [for t in var.teams : t]
  type(var.teams)          the type of a value

An expression with open brackets continues on the next line; an empty line ends
it. The files are read again for each expression. The arrow keys recall earlier
lines.

  help        this text, and all functions
  help NAME   the documentation of a function, a block or an argument
  exit        end the console, as does Ctrl-D
`

// explainConsole explains the console, or a topic.
func explainConsole(w io.Writer, name string) error {
	functions, err := function.Reference()
	if err != nil {
		return err
	}
	if name != "" {
		text, err := explanation(name, functions)
		if err != nil {
			text = err.Error() + "\n"
		}
		_, err = io.WriteString(w, text)
		return err
	}
	var names []string
	for _, f := range functions {
		names = append(names, f.Name)
	}
	_, err = fmt.Fprintf(w, "%s\n%s\n", about, paragraph("Functions: "+strings.Join(names, ", ")+"."))
	return err
}
