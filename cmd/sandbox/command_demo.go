package main

import (
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"syscall"

	"github.com/spf13/cobra"
)

// demo returns the hidden command of make demo. It shows the whole path in a sandbox: HCL in a Git repository, a
// commit, pending pods, LKE capacity, running pods, and nothing left at the end. demo.sh has the steps; this serves
// the repository to it, as a forge does.
func (a *app) demo() *cobra.Command {
	return &cobra.Command{
		Use:    "demo",
		Short:  "Show the path from a commit to nodes, in the sandbox of the environment",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
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
			script := exec.CommandContext(cmd.Context(), "bash", "cmd/sandbox/demo.sh", dir, "http://"+listener.Addr().String())
			script.Cancel = func() error { return script.Process.Signal(syscall.SIGTERM) }
			script.Stdout, script.Stderr = a.stdout, a.stderr
			status, err := statusOf(script.Run())
			if status != 0 {
				return exitStatus(status) // the script has reported why
			}
			return err
		},
	}
}
