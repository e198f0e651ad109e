// Command sandbox runs a Kubernetes control plane and a simulated Linode account
// on this machine: nodes join, pods run, and nothing costs money. See README.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/sandbox/binaries"
	"github.com/lkeplan/lkeplan/cmd/sandbox/stack"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program; it returns the exit status.
func run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	a := &app{environ: environ, stdin: stdin, stdout: stdout, stderr: &lockedWriter{out: stderr}}
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if status, ok := errors.AsType[exitStatus](err); ok {
		return int(status)
	}
	if err != nil {
		fmt.Fprintf(a.stderr, "sandbox: error: %s\n", err)
		return 1
	}
	return 0
}

// exitStatus is an error that has been reported already.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// app is what all commands share.
type app struct {
	environ        []string
	stdin          io.Reader
	stdout, stderr io.Writer
	quiet          bool
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "sandbox",
		Short: "A Kubernetes control plane and a simulated Linode account on this machine",
		Long: `sandbox runs etcd, kube-apiserver, kube-controller-manager, kube-scheduler, KWOK and
a simulator of the Linode API on the loopback address. Node pools made through the
simulated API become nodes that join the cluster, and pods run on them.

The programs are built from source when they are needed for the first time, which
takes about five minutes on two cores and needs Go and a module proxy.`,
		Version:           version(),
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.PersistentFlags().BoolVarP(&a.quiet, "quiet", "q", false, "do not print progress")
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.AddCommand(a.up(), a.down(), a.run(), a.status(), a.logs(), a.build(), a.simulate(), a.demo())
	return root
}

// version is what the program was built from.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// say prints a line about progress.
func (a *app) say(format string, args ...any) {
	if !a.quiet {
		a.note(format, args...)
	}
}

// note prints a line even with --quiet.
func (a *app) note(format string, args ...any) {
	fmt.Fprintf(a.stderr, "sandbox: "+format+"\n", args...)
}

// printJSON prints a value as indented JSON.
func (a *app) printJSON(value any) error {
	encoder := json.NewEncoder(a.stdout)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

func (a *app) getenv(name string) string {
	for _, pair := range a.environ {
		if key, value, _ := strings.Cut(pair, "="); key == name {
			return value
		}
	}
	return ""
}

// cache is the directory of the built programs and of the list of sandboxes.
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

func (a *app) registry() (stack.Registry, error) {
	cache, err := a.cache()
	if err != nil {
		return "", err
	}
	return stack.Registry(filepath.Join(cache, "running")), nil
}

// programs returns the control plane, building what is missing.
func (a *app) programs(ctx context.Context, more ...binaries.Module) (binaries.Set, error) {
	cache, err := a.cache()
	if err != nil {
		return binaries.Set{}, err
	}
	store := binaries.Store{Dir: cache, Prebuilt: a.getenv("KUBEBUILDER_ASSETS"), Say: a.say}
	return store.Ensure(ctx, append(binaries.ControlPlane(), more...))
}

// noArguments is cobra.NoArgs with a clearer message.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments, got %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// lockedWriter keeps lines whole that are written at the same time.
type lockedWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}
