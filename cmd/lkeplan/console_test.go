package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
)

// TestConsoleInterrupted: a console that waits for a line ends when the program is
// interrupted.
func TestConsoleInterrupted(t *testing.T) {
	stdin, keyboard := io.Pipe()
	ctx, interrupt := context.WithCancel(t.Context())
	var stdout bytes.Buffer
	ended := make(chan int)
	go func() {
		ended <- run(ctx, []string{"console", "../../examples/quickstart"}, &env{
			Stdin: stdin, Stdout: &stdout, Stderr: io.Discard, Getenv: func(string) string { return "" },
		})
	}()
	io.WriteString(keyboard, "cluster.region\n1 +")
	interrupt()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d", code)
	}
	if got := stdout.String(); got != "\"us-ord\"\n" && got != "" { // the line may come too late
		t.Errorf("got %q", got)
	}
}

func TestConsoleLongLine(t *testing.T) {
	var stderr bytes.Buffer
	code := run(t.Context(), []string{"console", "../../examples/quickstart"}, &env{
		Stdin: strings.NewReader(strings.Repeat("x", 1<<20)), Stdout: io.Discard, Stderr: &stderr, Getenv: func(string) string { return "" },
	})
	if code != 1 || stderr.String() != "lkeplan: read standard input: bufio.Scanner: token too long\n" {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
}
