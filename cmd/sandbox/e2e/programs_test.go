package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/engine/inspect"
)

// commands are the programs of this repository, kubectl and Helm, run against the sandbox.
type commands struct{ *core }

// run runs one of our programs in the sandbox and returns what it printed.
func (s commands) run(name string, args ...string) string {
	s.t.Helper()
	out, err := s.command(bin(s.t, name), nil, args...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// ends runs lkeplan, and fails the test if it exits with another code.
func (s commands) ends(code int, args ...string) string {
	s.t.Helper()
	said, got := s.lkeplan(s.env["KUBECONFIG"], args...)
	if got != code {
		s.t.Fatalf("lkeplan %s exited with %d, want %d:\n%s", strings.Join(args, " "), got, code, said)
	}
	return said
}

// lkeplan runs the command line with a kubeconfig, and returns its output and exit code.
func (s commands) lkeplan(kubeconfig string, args ...string) (said string, code int) {
	s.t.Helper()
	cmd := s.command(bin(s.t, "lkeplan"), map[string]string{"KUBECONFIG": kubeconfig}, args...)
	out, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		s.t.Fatalf("lkeplan %s: %v", strings.Join(args, " "), err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// asViewer runs lkeplan with the rights of an account.
func (s commands) asViewer(viewer string, args ...string) string {
	s.t.Helper()
	said, code := s.lkeplan(viewer, args...)
	if code != 0 {
		s.t.Fatalf("lkeplan %s: exit code %d\n%s", strings.Join(args, " "), code, said)
	}
	return said
}

func (s commands) status(viewer string) (found inspect.Status) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(s.asViewer(viewer, "status", "-o", "json")), &found); err != nil {
		s.t.Fatal(err)
	}
	return found
}

// viewer is an account with the rights of statusRights.
func (s commands) viewer() string {
	s.t.Helper()
	s.kube(statusRights, "apply", "-f", "-")
	s.kube("", "create", "serviceaccount", "viewer", "-n", "default")
	s.kube("", "create", "clusterrolebinding", "status", "--clusterrole=status", "--serviceaccount=default:viewer")
	return s.account("default", "viewer")
}

// unchanged fails the test if the diff with the cluster is not empty.
func (s commands) unchanged(dir string) {
	s.t.Helper()
	out := s.run("lkeplan", "diff", "--base", "live", "--detailed-exitcode", dir)
	if !strings.Contains(out, "No changes.") {
		s.t.Errorf("the diff with the cluster is not empty:\n%s", out)
	}
}

// killAfter starts lkeplan and kills it when it has written some lines.
func (s commands) killAfter(lines int, args ...string) {
	s.t.Helper()
	cmd := s.command(bin(s.t, "lkeplan"), nil, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for read := bufio.NewScanner(out); lines > 0 && read.Scan(); lines-- {
	}
	cmd.Process.Kill()
	cmd.Wait()
}

// interrupted runs lkeplan, interrupts it when it has written a text, and returns what
// it said.
func (s commands) interrupted(when string, args ...string) string {
	s.t.Helper()
	cmd := s.command(bin(s.t, "lkeplan"), nil, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for read := bufio.NewScanner(out); read.Scan(); {
		if strings.Contains(read.Text(), when) {
			cmd.Process.Signal(os.Interrupt)
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		s.t.Errorf("interrupted, it ends with %v", err)
	}
	return said.String()
}

// shell is the environment of a person's shell, in which lkeplan and kubectl are there
// and talk to the sandbox.
func (s commands) shell() (env []string) {
	s.t.Helper()
	programs := s.t.TempDir()
	for name, path := range map[string]string{"kubectl": s.kubectl, "lkeplan": bin(s.t, "lkeplan")} {
		if err := os.Symlink(path, filepath.Join(programs, name)); err != nil {
			s.t.Fatal(err)
		}
	}
	cmd := s.command("sh", nil)
	for _, variable := range cmd.Env {
		if path, ok := strings.CutPrefix(variable, "PATH="); ok {
			variable = "PATH=" + programs + string(filepath.ListSeparator) + path
		}
		env = append(env, variable)
	}
	return append(env, "LC_ALL=C.UTF-8")
}

// helm runs Helm on the sandbox.
func (s commands) helm(args ...string) string {
	s.t.Helper()
	out, err := helm(s.t, s.env["KUBECONFIG"], args...)
	if err != nil {
		s.t.Fatal(err)
	}
	if args[0] == "install" { // Helm does not wait until the API server serves the CRDs
		s.established()
	}
	return out
}

// chart is the chart's directory, from the root of the repository, where Helm runs.
const chart = "kube/chart"

// helm runs Helm, as tools.mod has it, and returns what it prints. An error has what Helm says.
func helm(t testing.TB, kubeconfig string, args ...string) (string, error) {
	root, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	program, err := helmProgram()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "KUBECONFIG="+kubeconfig)
	for _, what := range []string{"CACHE", "CONFIG", "DATA"} {
		cmd.Env = append(cmd.Env, "HELM_"+what+"_HOME="+filepath.Join(t.TempDir(), what))
	}
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("helm %s: %w\n%s", strings.Join(args, " "), err, &stderr)
	}
	return stdout.String(), nil
}

// helmProgram returns the path of Helm: asking the go command for it takes longer than Helm takes to render the chart.
var helmProgram = sync.OnceValues(func() (string, error) {
	root, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "tool", "-modfile=tools.mod", "-n", "helm")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("build Helm: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
})

// startController runs the controller and ends it, cleanly, with the test. When
// the test fails its log is shown.
func (s commands) startController(args ...string) *controller {
	s.t.Helper()
	c, err := s.runController(args...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.stop)
	return c
}

func (s commands) runController(args ...string) (*controller, error) {
	c := &controller{t: s.t, ended: make(chan error, 1), metrics: freeAddress(s.t)}
	c.cmd = s.command(bin(s.t, "controller"), nil,
		append([]string{"--metrics-bind-address", c.metrics, "--health-probe-bind-address", "0"}, args...)...)
	c.cmd.Stdout, c.cmd.Stderr = &c.log, &c.log
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { c.ended <- c.cmd.Wait() }()
	return c, nil
}

// keepController runs the controller until the test ends, and restarts it as the
// kubelet does, with a growing delay. It returns how often the controller has ended.
func (s commands) keepController(args ...string) *atomic.Int32 {
	s.t.Helper()
	var ended atomic.Int32
	current, err := s.runController(args...)
	if err != nil {
		s.t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for pause := time.Duration(0); err == nil; pause = max(2*pause, 10*time.Second) {
			select {
			case <-stop:
				current.stop()
				return
			case <-current.ended:
				ended.Add(1)
				s.t.Logf("the controller has ended, and is started again in %s:\n%s", pause, tail(current.log.String(), 2))
			}
			select {
			case <-stop:
				return
			case <-time.After(pause):
				current, err = s.runController(args...)
			}
		}
	}()
	s.t.Cleanup(func() {
		close(stop)
		<-stopped
		if err != nil {
			s.t.Errorf("start the controller again: %v", err)
		}
	})
	return &ended
}

// chartController starts the controller as the account that the chart has made.
func (s commands) chartController() *controller {
	s.t.Helper()
	return s.startController("--leader-elect", "true", "--leader-election-namespace", "lkeplan-system", "--only",
		"capacity", "--kubeconfig", s.account("lkeplan-system", controllerAccount))
}

// waitingPod is a pod of a Deployment that has no node.
func (s commands) waitingPod(deployment string) string {
	s.t.Helper()
	names := strings.Fields(s.kube("", "get", "pods", "-l", "app="+deployment, "--field-selector", "status.phase=Pending",
		"-o", "name"))
	if len(names) == 0 {
		s.t.Fatalf("no pod of %s waits", deployment)
	}
	return "default/" + strings.TrimPrefix(names[0], "pod/")
}

// reader returns the kubeconfig of an account that may only list pools, classes and
// claims.
func (s commands) reader() string {
	s.t.Helper()
	s.kube("", "create", "serviceaccount", "reader")
	s.kube("", "create", "clusterrole", "reader", "--verb=list",
		"--resource=nodepools.karpenter.sh,nodeclaims.karpenter.sh,linodenodeclasses.karpenter.k8s.linode")
	s.kube("", "create", "clusterrolebinding", "reader", "--clusterrole=reader", "--serviceaccount=default:reader")
	return s.account("default", "reader")
}
