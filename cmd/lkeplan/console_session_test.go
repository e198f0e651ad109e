package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/config"
)

// keyboard is a terminal with all input typed. Its output is discarded.
type keyboard struct{ io.Reader }

func (keyboard) Write(p []byte) (int, error) { return len(p), nil }

// TestConsoleOnTerminal types expressions, recalls one, corrects it, and exits.
func TestConsoleOnTerminal(t *testing.T) {
	t.Parallel()
	const up, left = "\x1b[A", "\x1b[D"
	tests := []struct {
		name, keys string
		want       string
	}{
		{"two expressions", "1 + 1\rcluster.name\r", "2\n\"dev\"\n"},
		{"the one before", "1 + 1\r" + up + "\r", "2\n2\n"},
		{"the one before, another way", "1 + 1\r" + up + left + "3\r", "2\n32\n"},
		{"several lines", "[\r  1,\r  2,\r]\r", "[1, 2]\n"},
		{"a heredoc", "upper(<<E\ra\rE\r)\r", "\"A\\n\"\n"},
		{"several lines that an empty one ends", "[1,\r\r2\r", "2\n"},
		{"exit", "exit\r1\r", ""},
		{"the end of input", "1\x04", ""},
		{"a type", "type({ a = [\"b\"] })\r", "object({ a = tuple([string]) })\n"},
		{"a function", "help upper\r", "upper(text)\n\nConverts text to upper case.\n\n  upper(\"web\") is \"WEB\"\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			raised := 0
			lines := newTyped(keyboard{strings.NewReader(tt.keys)}, func() (func(), error) {
				raised++
				return func() { raised-- }, nil
			})
			var stdout bytes.Buffer
			c := console{
				FS:     fstest.MapFS{"a.lke.hcl": {Data: []byte("cluster {\n  name = \"dev\"\n  region = \"us-ord\"\n}\n")}},
				Stdout: &stdout, Stderr: io.Discard, ByHand: true, Options: config.Options{},
			}
			if err := c.Read(t.Context(), lines); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, stdout.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if raised != 0 || c.failed {
				t.Errorf("the terminal stayed raw %d times; failed: %v", raised, c.failed)
			}
		})
	}
}
