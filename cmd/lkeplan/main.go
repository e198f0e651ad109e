// Command lkeplan compiles, checks and applies node pools for LKE, written as
// HCL. Each command is a file of its own.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(program()) }

// program is the whole program; it returns the exit code.
func program() int {
	collectLate()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	defer stop()
	return run(ctx, os.Args[1:], processEnv())
}
