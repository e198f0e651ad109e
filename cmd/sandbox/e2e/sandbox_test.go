package e2e

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/linode/instancetype"
)

// built are the programs that the tests run.
var built = ofWorkingTree()

// TestMain puts a program gh into the PATH, which is this test binary.
func TestMain(m *testing.M) {
	testscript.Main(run(func() int {
		flag.Parse()
		if err := chooseTests(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
		defer built.remove()
		return m.Run()
	}), map[string]func(){
		"gh": func() { os.Exit(GH(os.Args[1:], os.Stdout, os.Stderr)) },
	})
}

// run is a run of tests, as testscript.Main takes it.
type run func() int

func (r run) Run() int { return r() }

// bin returns the path of one of our programs.
func bin(t testing.TB, name string) string {
	t.Helper()
	return built.path(t, name)
}

// sandbox is a running sandbox that belongs to one test. Its helpers are methods of its
// parts; what only one test does with it stands next to that test.
type sandbox struct {
	*core
	cloud
	cluster
	commands
	nodePlans
}

// core is what all parts of a sandbox need: where it is, and how to reach it.
type core struct {
	t       testing.TB
	dir     string
	env     map[string]string
	kubectl string
	client  client.WithWatch
}

// startSandbox starts a sandbox, with short delays and without LKE's DaemonSets where the flags do
// not say otherwise, and ends it with the test. Pods of most tests fill their nodes: how full
// nodes of LKE are, those with --lke-daemonsets look at.
func startSandbox(t testing.TB, flags ...string) *sandbox {
	t.Helper()
	quick := []string{"--instance-delay", "1s", "--join-delay", "2s", "--ccm-delay", "500ms", "--delete-delay", "500ms",
		"--node-gone-delay", "500ms", "--lke-daemonsets=false"}
	instancetype.Register()
	c := &core{t: t, dir: filepath.Join(t.TempDir(), "sandbox")}
	s := &sandbox{c, cloud{c}, cluster{cloud{c}}, commands{c}, nodePlans{commands{c}}}
	up := exec.Command(bin(t, "sandbox"), slices.Concat([]string{"up", "--dir", s.dir, "--output", "json"}, quick,
		flags)...)
	up.Stderr = os.Stderr // the first build takes minutes and reports it
	out, err := up.Output()
	if err != nil {
		t.Fatalf("sandbox up: %v", err)
	}
	t.Cleanup(func() {
		if out, err := exec.Command(bin(t, "sandbox"), "down", "--dir", s.dir).CombinedOutput(); err != nil {
			t.Errorf("sandbox down: %v\n%s", err, out)
		}
	})
	var answer struct {
		Env     map[string]string `json:"env"`
		Kubectl string            `json:"kubectl"`
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatalf("sandbox up: %v\n%s", err, out)
	}
	s.env, s.kubectl = answer.Env, answer.Kubectl
	cfg, err := clientcmd.BuildConfigFromFlags("", s.env["KUBECONFIG"])
	if err != nil {
		t.Fatal(err)
	}
	cfg.QPS, cfg.Burst = 100, 200
	if s.client, err = client.NewWithWatch(cfg, client.Options{Scheme: scheme.Scheme}); err != nil {
		t.Fatal(err)
	}
	return s
}

// command returns a program that runs with the environment of the sandbox;
// overrides replace or, where empty, remove variables. Directories of testdata are
// copied, so that no plan depends on the history of this repository.
func (s *core) command(path string, overrides map[string]string, args ...string) *exec.Cmd {
	args = slices.Clone(args)
	for i, arg := range args {
		if info, err := os.Stat(arg); err == nil && info.IsDir() && strings.HasPrefix(arg, "testdata/") {
			args[i] = s.t.TempDir()
			if err := os.CopyFS(args[i], os.DirFS(arg)); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	cmd := exec.Command(path, args...)
	// The home is the sandbox's: kubectl keeps there what the API server has told it before.
	cmd.Env = []string{"HOME=" + filepath.Join(s.dir, "home"), "PATH=" + os.Getenv("PATH")}
	for key, value := range s.env {
		if override, ok := overrides[key]; ok {
			value = override
		}
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	return cmd
}

// kube runs kubectl with input, and fails the test when it fails.
func (s *core) kube(input string, args ...string) string {
	s.t.Helper()
	cmd := s.command(s.kubectl, nil, args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// established waits until the API server serves the kinds of all CRDs. kubectl fails if it waits for a condition of an
// object that has no list of conditions yet.
func (s *core) established() {
	s.t.Helper()
	s.kube("", "wait", "--for=jsonpath={.status.conditions[0].type}", "--timeout=90s", "crd", "--all")
	s.kube("", "wait", "--for=condition=Established", "--timeout=90s", "crd", "--all")
}

// ofMachines is the part of what is installed that gives machines their rights.
func ofMachines(t testing.TB) string {
	var rights []string
	for doc := range strings.SplitSeq(file(t, "../../../../kube/deploy/instance.yaml"), "\n---\n") {
		if strings.Contains(doc, "name: lkeplan-machines") {
			rights = append(rights, doc)
		}
	}
	return strings.Join(rights, "\n---\n")
}

// controller is a running controller.
type controller struct {
	t     testing.TB
	cmd   *exec.Cmd
	log   journal
	ended chan error
	// metrics is where it serves its metrics.
	metrics string
}

// kill ends the controller without a warning.
func (c *controller) kill() {
	c.t.Helper()
	c.cmd.Process.Kill()
	<-c.ended
	close(c.ended)
}

// stop asks the controller to end, and fails the test if it does not.
func (c *controller) stop() {
	life := c.log.String() // what comes after it is only how each worker ends
	c.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err, first := <-c.ended:
		if err != nil {
			c.t.Errorf("the controller did not end cleanly: %v", err)
		}
		if first {
			close(c.ended)
		}
	case <-time.After(time.Minute):
		asked := len(c.log.String())
		c.cmd.Process.Signal(syscall.SIGQUIT) // it says where its goroutines are
		<-c.ended
		c.t.Errorf("the controller did not end within a minute of being asked; it was in\n%s",
			functions(c.log.String()[asked:]))
	}
	if c.t.Failed() {
		c.t.Logf("the controller's log:\n%s", tail(withoutRepeats(life), 200))
	}
}

// withoutRepeats is a log without what Karpenter says every ten seconds of each pod that
// has no node.
func withoutRepeats(log string) string {
	var kept strings.Builder
	for line := range strings.Lines(log) {
		if !strings.Contains(line, `"could not schedule pod"`) && !strings.Contains(line, `"skipping, `) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// functions are those of a dump of goroutines that may keep a program from its end.
func functions(dump string) string {
	var found []string
	for line := range strings.Lines(dump) {
		if strings.HasPrefix(line, "github.com/lkeplan/") || strings.HasPrefix(line, "sigs.k8s.io/") {
			name, _, _ := strings.Cut(line, "(0x")
			found = append(found, strings.TrimSpace(name))
		}
	}
	slices.Sort(found)
	return strings.Join(slices.Compact(found), "\n")
}

// journal collects what a running program writes.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// file reads a file of testdata.
func file(t testing.TB, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
