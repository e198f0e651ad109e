// Command demo shows the whole path in a sandbox: HCL in a Git repository, a
// commit, pending pods, LKE capacity, running pods, and nothing left at the
// end. demo.sh has the steps; this serves the repository to it, as a forge does.
//
//	bin/sandbox run --cluster-name quickstart -- bin/demo
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

func main() {
	err := run()
	if exited, ok := errors.AsType[*exec.ExitError](err); ok {
		os.Exit(exited.ExitCode()) // the script has said why
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run() error {
	git, err := exec.LookPath("git")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "lkeplan-demo-")
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go http.Serve(listener, &cgi.Handler{
		Path: git, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"},
	})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cmd := exec.CommandContext(ctx, "bash", "cmd/sandbox/demo/demo.sh", dir, "http://"+listener.Addr().String())
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}
