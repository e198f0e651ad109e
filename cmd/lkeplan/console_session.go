package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/syntax"
)

// console is one run of the command.
type console struct {
	FS      fs.FS
	Options config.Options
	Stdout  io.Writer // for values
	Stderr  io.Writer // for what is wrong, and prompts
	Color   bool      // of diagnostics
	ByHand  bool      // a person types: there are prompts, and mistakes are not failures

	failed bool
}

// Failed reports whether an expression had an error.
func (c *console) Failed() bool { return c.failed }

// lines are what is typed or piped. Next returns io.EOF where there are no more.
type lines interface {
	Next(ctx context.Context, prompt string) (string, error)
}

// The prompts: of an expression, and of one that goes on.
const (
	consolePrompt   = "> "
	continuedPrompt = "… "
)

// Read evaluates expression after expression, until there are no more, one says
// exit, or the context ends. One whose brackets are open goes on in the next line,
// until a line is empty.
func (c *console) Read(ctx context.Context, lines lines) error {
	for {
		text, err := whole(ctx, lines)
		if text = strings.TrimSpace(text); text != "" && ctx.Err() == nil {
			if done, err := c.say(text); done || err != nil {
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

// whole reads an expression of one line or several.
func whole(ctx context.Context, lines lines) (string, error) {
	text, err := lines.Next(ctx, consolePrompt)
	for err == nil && syntax.Unfinished(text) {
		var line string
		if line, err = lines.Next(ctx, continuedPrompt); strings.TrimSpace(line) == "" {
			break
		}
		text += "\n" + line
	}
	return text, err
}

// say answers one input, and reports whether it is the last.
func (c *console) say(text string) (done bool, err error) {
	command, name, _ := strings.Cut(text, " ")
	switch {
	case strings.HasPrefix(text, "#"):
	case text == "exit" || text == "quit":
		return true, nil
	case command == "help":
		return false, help(c.Stdout, strings.TrimSpace(name))
	default:
		err = c.Evaluate(text)
		c.failed = c.failed && !c.ByHand
	}
	return false, err
}

// Evaluate prints the value of one expression, or what is wrong with it.
func (c *console) Evaluate(expression string) error {
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
