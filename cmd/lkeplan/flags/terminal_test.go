package flags

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestConfirmNeedsYes: only "yes" confirms, and not the end of the input or an interruption.
func TestConfirmNeedsYes(t *testing.T) {
	for typed, want := range map[string]bool{
		"yes\n": true, " yes \n": true, "yes": true, "": false, "\n": false, "y\n": false, "no\n": false, "Yes\n": false, "yes please\n": false,
	} {
		var out bytes.Buffer
		got, err := Confirm(t.Context(), strings.NewReader(typed), &out, "Apply?")
		if err != nil || got != want || !strings.Contains(out.String(), "Apply?") {
			t.Errorf("%q: %t, %v, want %t", typed, got, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	never, _ := io.Pipe()
	if got, err := Confirm(ctx, never, io.Discard, "Apply?"); got || !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %t, %v", got, err)
	}
}
