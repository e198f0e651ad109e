package main

import (
	"bytes"
	"strings"
	"testing"
)

type broken struct{}

func (broken) Write([]byte) (int, error) { panic("no paper") }

// TestCrash: a crash is reported, and the exit code is 1, not 2.
func TestCrash(t *testing.T) {
	var stderr bytes.Buffer
	code := run(t.Context(), []string{"version"}, &env{Stdin: strings.NewReader(""), Stdout: broken{}, Stderr: &stderr, Getenv: func(string) string { return "" }})
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	if got := stderr.String(); !strings.Contains(got, "crashed: no paper\nThis is a bug. Please report it") {
		t.Errorf("got %q", got)
	}
}
