// Command sandbox runs a Kubernetes control plane and a simulated Linode account
// on this machine: nodes join, pods run, and nothing costs money. See README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/sandbox/binaries"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

// run runs the whole program and returns its exit status.
func run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	a := &app{environ: environ, stdin: stdin, stdout: stdout, stderr: stderr, log: log.New(stderr, "sandbox: ", 0)}
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if status, ok := errors.AsType[exitStatus](err); ok {
		return int(status)
	}
	if err != nil {
		a.log.Printf("error: %s", err)
		return 1
	}
	return 0
}

// exitStatus is an error that has already been reported.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// app has what all commands share.
type app struct {
	environ        []string
	stdin          io.Reader
	stdout, stderr io.Writer
	log            *log.Logger // of progress and errors, to stderr
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "sandbox",
		Short: "A Kubernetes control plane and a simulated Linode account on this machine",
		Long: `sandbox runs etcd, kube-apiserver, kube-controller-manager, kube-scheduler, KWOK
and a simulator of the Linode API on the loopback address. Node pools made
through the simulated API become nodes that join the cluster, and pods run on
them.

The programs are built from source when they are needed for the first time,
which takes about five minutes on two cores and needs Go and a module proxy.`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 80"))
	root.AddCommand(a.up(), a.down(), a.run(), a.build(), a.simulate(), a.demo(), a.probe())
	return root
}

func (a *app) getenv(name string) string {
	for _, pair := range a.environ {
		if key, value, _ := strings.Cut(pair, "="); key == name {
			return value
		}
	}
	return ""
}

// cache returns the directory of the built programs.
func (a *app) cache() (string, error) {
	if dir := a.getenv("LKEPLAN_SANDBOX_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache: %w; set LKEPLAN_SANDBOX_CACHE to a directory", err)
	}
	return filepath.Join(dir, "lkeplan", "sandbox"), nil
}

// programs returns the programs of the control plane, and builds missing ones.
func (a *app) programs(ctx context.Context, more ...binaries.Module) (binaries.Set, error) {
	cache, err := a.cache()
	if err != nil {
		return binaries.Set{}, err
	}
	store := binaries.Store{Dir: cache, Prebuilt: a.getenv("KUBEBUILDER_ASSETS"), Say: a.log.Printf}
	return store.Ensure(ctx, append(binaries.ControlPlane(), more...))
}
