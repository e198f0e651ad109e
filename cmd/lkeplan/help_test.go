package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/pflag"
)

// TestHelpShowsOneDefault: a flag whose text names its default shows no other one.
func TestHelpShowsOneDefault(t *testing.T) {
	for _, cmd := range commands(newRoot(bareEnv())) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			set := pflag.NewFlagSet("", pflag.ContinueOnError)
			set.AddFlag(f)
			if text := set.FlagUsages(); strings.Count(text, "(default") > 1 {
				t.Errorf("%s: %s", cmd.CommandPath(), text)
			}
		})
	}
}

// TestHelpFitsATerminal: lines have at most 80 columns.
func TestHelpFitsATerminal(t *testing.T) {
	for _, cmd := range commands(newRoot(processEnv())) {
		args := append(strings.Fields(cmd.CommandPath())[1:], "--help")
		var out bytes.Buffer
		env := &env{Stdin: &out, Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}
		if code := run(t.Context(), args, env); code != 0 {
			t.Fatalf("%v exits with %d: %s", args, code, out.String())
		}
		for line := range strings.Lines(out.String()) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > 80 || strings.HasSuffix(line, " ") {
				t.Errorf("%s: %d columns: %q", cmd.CommandPath(), n, line)
			}
		}
	}
}
