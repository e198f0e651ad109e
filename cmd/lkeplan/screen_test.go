package main

import "testing"

// TestAScreenfulFitsTheTerminal: it replaces what is shown, and says how much is left out.
func TestAScreenfulFitsTheTerminal(t *testing.T) {
	const clear = "\x1b[H\x1b[J"
	for _, tt := range []struct {
		text  string
		lines int
		want  string
	}{
		{"a\nb\nc\n", 3, "a\nb\nc"},
		{"a\nb\nc\nd\n", 3, "a\nb\nand 2 more lines: lkeplan status without --watch shows them"},
		{"a\nb\n", 0, "a\nb"},
	} {
		if got := oneScreen(tt.text, tt.lines); got != clear+tt.want {
			t.Errorf("%q in %d lines: %q", tt.text, tt.lines, got)
		}
	}
}
