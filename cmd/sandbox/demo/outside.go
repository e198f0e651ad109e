package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/lkeplan/lkeplan/linode/lkesim"
)

// kubectl runs kubectl, which `sandbox run` puts into the path.
func kubectl(ctx context.Context, args ...string) error { return command(ctx, "", "kubectl", args...) }

// command runs a program and makes an error of what it printed when it fails.
func command(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// repository is the Git repository that the platform team works in.
type repository struct{ dir string }

// create copies a directory into a fresh repository.
func (r repository) create(ctx context.Context, from string) error {
	if err := os.CopyFS(r.dir, os.DirFS(from)); err != nil {
		return err
	}
	return command(ctx, r.dir, "git", "init", "-q", "-b", "main")
}

// serve serves the repository on loopback as a forge does, until stop is called.
func (r repository) serve() (url string, stop func() error, err error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return "", nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: &cgi.Handler{
		Path: git, Args: []string{"http-backend"},
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(r.dir), "GIT_HTTP_EXPORT_ALL=1"},
	}}
	go server.Serve(listener)
	return fmt.Sprintf("http://%s/%s", listener.Addr(), filepath.Base(r.dir)), server.Close, nil
}

// commit commits everything and returns the short id.
func (r repository) commit(ctx context.Context, message string) (string, error) {
	if err := command(ctx, r.dir, "git", "add", "-A"); err != nil {
		return "", err
	}
	err := command(ctx, r.dir, "git", "-c", "user.name=demo", "-c", "user.email=demo@example.com", "-c",
		"commit.gpgsign=false", "commit", "-qm", message)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "git", "rev-parse", "--short", "HEAD")
	cmd.Dir = r.dir
	out, err := cmd.Output()
	return "commit " + strings.TrimSpace(string(out)), err
}

// edit replaces texts in main.lke.hcl, each of which must be there once.
func (r repository) edit(pairs ...string) error {
	file := filepath.Join(r.dir, "main.lke.hcl")
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text := string(raw)
	for i := 0; i < len(pairs); i += 2 {
		if strings.Count(text, pairs[i]) != 1 {
			return fmt.Errorf("%s does not have %q once", filepath.Base(file), pairs[i])
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// controller is the controller, a process of its own.
type controller struct {
	bin, log string
	cmd      *exec.Cmd
	ended    chan error
}

func (c *controller) start() error {
	log, err := os.Create(c.log)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own
	c.cmd = exec.Command(c.bin, "--metrics-bind-address", "0", "--health-probe-bind-address", "0")
	c.cmd.Stdout, c.cmd.Stderr = log, log
	if err := c.cmd.Start(); err != nil {
		return err
	}
	c.ended = make(chan error, 1)
	go func() { c.ended <- c.cmd.Wait() }()
	return nil
}

// stop asks the process to end, and kills it if it does not.
func (c *controller) stop() {
	if c.ended == nil {
		return
	}
	c.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.ended:
	case <-time.After(10 * time.Second):
		c.cmd.Process.Kill()
		<-c.ended
	}
}

// linode is the control API of the Linode simulator.
type linode struct{ url string }

func (l linode) stats(ctx context.Context) (s lkesim.Stats, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.url+"/simulator/stats", nil)
	if err != nil {
		return s, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return s, err
	}
	defer resp.Body.Close()
	return s, json.NewDecoder(resp.Body).Decode(&s)
}
