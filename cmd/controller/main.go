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
	"time"

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
	go endLate(ctx, os.Stderr, os.Exit)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stderr)
	stop()
	os.Exit(code)
}

// stopWithin is how long a stop may take: Kubernetes ends a pod 30 seconds after the signal, and nothing says why.
const stopWithin = 28 * time.Second

// endLate ends the process if that does not stop in time: controller-runtime waits without end for caches that
// cannot be filled, as the account may not list what they hold (v0.24.1, Start of pkg/manager/runnable_group.go).
func endLate(ctx context.Context, stderr io.Writer, exit func(code int)) {
	<-ctx.Done()
	time.Sleep(stopWithin)
	fmt.Fprintf(stderr, "controller: not stopped %s after the signal, and ends now: it may wait for objects that its account may "+
		"not list; lkeplan doctor names missing rights\n", stopWithin)
	exit(1)
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
