// Command controller manages the node capacity of one LKE cluster: an embedded
// Karpenter with the Linode provider under it, and the reconciler of NodePlans.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	_ "golang.org/x/crypto/x509roots/fallback" // who to trust in an image that has no certificates

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/fetch"
)

func main() {
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case compile.ChildCommand:
			os.Exit(compile.ChildMain(context.Background(), os.Stdin, os.Stdout, os.Stderr))
		case fetch.ChildCommand:
			os.Exit(fetch.ChildMain(context.Background(), os.Stdin, os.Stdout, os.Stderr))
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the whole program: it returns the exit status, 0 after a clean stop
// and 1 after one line on stderr that says what to do.
func run(ctx context.Context, args []string, getenv func(string) string, stderr io.Writer) int {
	cmd := newCommand(getenv, stderr)
	cmd.SetArgs(args)
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(stderr, "controller: %v\n", err)
		return 1
	}
	return 0
}
