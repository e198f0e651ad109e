package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/term"

	"github.com/lkeplan/lkeplan/config/syntax"
)

// pipedLines are the lines of a reader, which has no prompts.
type pipedLines struct{ scanner *bufio.Scanner }

// newPiped returns the lines of a reader.
func newPiped(in io.Reader) pipedLines {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, syntax.MaxFileSize)
	return pipedLines{scanner}
}

// Next implements Lines. After an interruption, the reader may still be in use.
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

// newTyped returns the lines that are typed. While one is typed, the terminal is as
// raw makes it; its result makes it as it was, so that values are printed as always.
func newTyped(terminal io.ReadWriter, raw func() (restore func(), err error)) typedLines {
	return typedLines{term.NewTerminal(terminal, ""), raw}
}

// Width tells how many columns and rows the terminal has.
func (t typedLines) Width(columns, rows int) error { return t.terminal.SetSize(columns, rows) }

// Next implements Lines. Ctrl-C and Ctrl-D are the end.
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
