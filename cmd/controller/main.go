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

	_ "golang.org/x/crypto/x509roots/fallback" // root certificates: the image has none

	"github.com/lkeplan/lkeplan/engine/compile"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == compile.ChildCommand {
		os.Exit(compile.ChildMain(context.Background(), os.Stdin, os.Stdout, os.Stderr))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go endLate(ctx, os.Stderr, os.Exit)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stderr)
	stop()
	os.Exit(code)
}

// stopWithin is the time limit of a stop. Kubernetes kills a pod 30 seconds after the signal, without a reason in the
// log.
const stopWithin = 28 * time.Second

// endLate ends the process if it does not stop in time: controller-runtime waits forever for caches of objects that its
// account cannot list (v0.24.1, Start in pkg/manager/runnable_group.go).
func endLate(ctx context.Context, stderr io.Writer, exit func(code int)) {
	<-ctx.Done()
	time.Sleep(stopWithin)
	fmt.Fprintf(stderr, "controller: not stopped %s after the signal, exits now: it waits for objects that its account cannot "+
		"list; lkeplan doctor reports missing rights\n", stopWithin)
	exit(1)
}

// run returns the program. It returns the exit code: 0 after a clean stop, and 1 after an
// error of one line on stderr.
func run(ctx context.Context, args []string, getenv func(string) string, stderr io.Writer) int {
	cmd := newCommand(getenv, stderr)
	cmd.SetArgs(args)
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(stderr, "controller: %v\n", err)
		return 1
	}
	return 0
}
