// Package console evaluates expressions one after the other, as if they were in a
// directory of configuration.
//
// It reads the files again for each expression, and remembers nothing but whether
// one failed. It knows no terminal: who types by hand, its caller says.
package console

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/syntax"
)

// Console is one run of the command.
type Console struct {
	FS      fs.FS
	Options config.Options
	Stdout  io.Writer // for values
	Stderr  io.Writer // for what is wrong, and prompts
	Color   bool      // of diagnostics
	ByHand  bool      // a person types: there are prompts, and mistakes are not failures

	failed bool
}

// Failed reports whether an expression had an error.
func (c *Console) Failed() bool { return c.failed }

// Read evaluates line after line, until there are no more, one says exit, or the
// context ends. The reader may then still be in use.
func (c *Console) Read(ctx context.Context, in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, syntax.MaxFileSize)
	for c.prompt(); next(ctx, lines); c.prompt() {
		switch line := strings.TrimSpace(lines.Text()); {
		case line == "" || strings.HasPrefix(line, "#"):
		case line == "exit" || line == "quit":
			return nil
		default:
			if err := c.Evaluate(line); err != nil {
				return err
			}
			c.failed = c.failed && !c.ByHand
		}
	}
	if c.ByHand {
		fmt.Fprintln(c.Stderr)
	}
	if ctx.Err() != nil {
		return nil
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	return nil
}

func (c *Console) prompt() {
	if c.ByHand {
		fmt.Fprint(c.Stderr, "> ")
	}
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

// Evaluate prints the value of one expression, or what is wrong with it.
func (c *Console) Evaluate(expression string) error {
	module, diags := config.Load(c.FS, c.Options)
	if !diags.HasErrors() {
		v, valueDiags := module.Evaluate("console", expression)
		if diags = append(diags, valueDiags...); !diags.HasErrors() {
			fmt.Fprintln(c.Stdout, syntax.Print(v))
		}
	}
	c.failed = c.failed || diags.HasErrors()
	return diag.Text(c.Stderr, diag.New(diags, module.Files), c.Color)
}
