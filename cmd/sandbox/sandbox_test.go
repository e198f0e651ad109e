package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	"github.com/lkeplan/lkeplan/cmd/sandbox/process"
	"github.com/lkeplan/lkeplan/cmd/sandbox/stack"
)

// quickly are delays for tests.
var quickly = []string{"--instance-delay", "50ms", "--join-delay", "100ms", "--ccm-delay", "50ms", "--delete-delay",
	"50ms", "--node-gone-delay", "50ms"}

// The whole way once: a pool made through the Linode API becomes a node, a pod of a
// Deployment runs there, the pool goes and so does the node.
func TestSandboxPlaysNodes(t *testing.T) {
	t.Parallel()
	environ := controlPlane(t)
	report := up(t, environ, quickly...)
	client := connect(t, report)

	if nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil || len(nodes.Items) != 0 {
		t.Errorf("a fresh sandbox has the nodes %v, %v", nodes, err)
	}
	createDeployment(t, client)
	pool := makePool(t, report)
	eventually(t, 30*time.Second, func() error { return nodeJoined(t.Context(), client) })
	eventually(t, 30*time.Second, func() error { return podRuns(t.Context(), client) })
	unready(t, client)
	eventually(t, 30*time.Second, func() error { return podRuns(t.Context(), client) })

	linodeCall(t, report, http.MethodDelete, pool, "")
	eventually(t, 30*time.Second, func() error {
		nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err == nil && len(nodes.Items) > 0 {
			err = fmt.Errorf("node %s is still there", nodes.Items[0].Name)
		}
		return err
	})
}

func connect(t *testing.T, report upReport) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", report.Env["KUBECONFIG"])
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func createDeployment(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"app": "web"}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "demo"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](1),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "web", Image: "web",
					Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
				}}},
			},
		},
	}
	if _, err := client.AppsV1().Deployments("demo").Create(t.Context(), deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func nodeJoined(ctx context.Context, client kubernetes.Interface) error {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, node := range nodes.Items {
		if strings.HasPrefix(node.Spec.ProviderID, "linode://") {
			return nil
		}
	}
	return fmt.Errorf("none of %d nodes has its providerID", len(nodes.Items))
}

func podRuns(ctx context.Context, client kubernetes.Interface) error {
	pods, err := client.CoreV1().Pods("demo").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodRunning && pod.Spec.NodeName != "" && podReady(&pod).Status == corev1.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("none of %d pods runs and is ready", len(pods.Items))
}

// podReady returns the condition of a pod that runs.
func podReady(pod *corev1.Pod) *corev1.PodCondition {
	at := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
	return &pod.Status.Conditions[at]
}

// unready does to the pod what the node lifecycle controller does to one that was bound
// before it had seen that the pod's node is ready.
func unready(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	pods, err := client.CoreV1().Pods("demo").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("pods %v, %v", pods, err)
	}
	podReady(&pods.Items[0]).Status = corev1.ConditionFalse
	if _, err := client.CoreV1().Pods("demo").UpdateStatus(t.Context(), &pods.Items[0], metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// makePool creates a pool of one node and returns its path.
func makePool(t *testing.T, report upReport) string {
	t.Helper()
	pools := "/v4/lke/clusters/" + report.Env["LKE_CLUSTER_ID"] + "/pools"
	answer := linodeCall(t, report, http.MethodPost, pools, `{"type":"g6-standard-2","count":1}`)
	var pool struct{ ID int }
	if err := json.Unmarshal(answer, &pool); err != nil || pool.ID == 0 {
		t.Fatalf("the new pool is %s: %v", answer, err)
	}
	return fmt.Sprintf("%s/%d", pools, pool.ID)
}

func linodeCall(t *testing.T, report upReport, method, path, body string) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, report.Env["LINODE_URL"]+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+report.Env["LINODE_TOKEN"])
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s: %s, %v", method, path, response.Status, answer, err)
	}
	return answer
}

// Two sandboxes share nothing; each is stopped separately.
func TestSandboxesSideBySide(t *testing.T) {
	t.Parallel()
	environ := controlPlane(t)
	one := up(t, environ)
	status, stdout, stderr := sandbox(t, environ, "up", "--dir", one.Dir)
	if status != 0 || !strings.Contains(stderr, "already running in "+one.Dir) ||
		!strings.Contains(stdout, "export LINODE_URL='"+one.Env["LINODE_URL"]+"'\n") {
		t.Errorf("up in a directory where one runs: status %d\n%s\n%s", status, stdout, stderr)
	}
	two := up(t, environ, "--tier", "enterprise")
	for _, name := range []string{"KUBECONFIG", "LINODE_URL", "LINODE_TOKEN"} {
		if one.Env[name] == two.Env[name] {
			t.Errorf("both have %s=%s", name, one.Env[name])
		}
	}
	if status, _, stderr := sandbox(t, environ, "down", "--dir", one.Dir); status != 0 {
		t.Fatalf("down: %s", stderr)
	}
	isDown(t, one.Dir)
	if _, err := connect(t, two).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("ending one sandbox hurt the other: %v", err)
	}
	environ = append(environ, "KUBECONFIG="+two.Env["KUBECONFIG"])
	if status, _, stderr := sandbox(t, environ, "down"); status != 0 {
		t.Fatalf("down of the one of KUBECONFIG: %s", stderr)
	}
	isDown(t, two.Dir)
}

func isDown(t *testing.T, dir string) {
	t.Helper()
	if err := leftovers(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is still there: %v", err)
	}
}

// A component that dies is reported, with its log.
func TestSandboxFails(t *testing.T) {
	t.Parallel()
	environ := controlPlane(t)
	t.Run("half way", func(t *testing.T) { failHalfWay(t, environ) })
	t.Run("interrupted", func(t *testing.T) { interruptHalfWay(t, environ) })
}

// interruptHalfWay presses ctrl-C while the API server starts.
func interruptHalfWay(t *testing.T, environ []string) {
	dir := filepath.Join(t.TempDir(), "sandbox")
	cmd := sandboxCommand(t, environ, "up", "--dir", dir)
	var errs lockedBuffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	eventually(t, time.Minute, func() error {
		if !strings.Contains(errs.String(), "etcd is ready") {
			return errors.New("etcd does not start")
		}
		return nil
	})
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != 1 ||
		!strings.Contains(errs.String(), "interrupt signal received: nothing is left running") {
		t.Errorf("status %d, it said\n%s", status, errs.String())
	}
	isDown(t, dir)
}

// failHalfWay puts a scheduler into the way that does not work.
func failHalfWay(t *testing.T, environ []string) {
	broken := t.TempDir()
	script := "#!/bin/sh\necho 'no such luck'\nexit 3\n"
	if err := os.WriteFile(filepath.Join(broken, "kube-scheduler"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "sandbox")
	status, _, stderr := sandbox(t, append(environ, "KUBEBUILDER_ASSETS="+broken), "up", "--dir", dir)
	for _, want := range []string{"kube-scheduler did not start", "exit status 3", "no such luck", "logs are in " + dir} {
		if status != 1 || !strings.Contains(stderr, want) {
			t.Errorf("status %d, it said\n%s\nwithout %q", status, stderr, want)
		}
	}
	if err := leftovers(dir); err != nil {
		t.Error(err)
	}
	if status, _, stderr := sandbox(t, environ, "down", "--dir", dir); status != 0 {
		t.Errorf("down after that: %s", stderr)
	}
	isDown(t, dir)
}

func TestSandboxRun(t *testing.T) {
	t.Parallel()
	environ := controlPlane(t)
	dir := filepath.Join(t.TempDir(), "sandbox")
	script := `kubectl get namespace default -o name && echo "$CLUSTER_NAME $LKE_CLUSTER_ID" && exit 7`
	status, stdout, stderr := sandbox(t, environ, "run", "--dir", dir, "--cluster-name", "mine",
		"--", "sh", "-c", script)
	if want := "namespace/default\nmine 100001\n"; status != 7 || stdout != want {
		t.Errorf("status %d, want 7; it printed %q, want %q\n%s", status, stdout, want, stderr)
	}
	isDown(t, dir)
	status, _, stderr = sandbox(t, environ, "run", "--dir", dir, "no-such-program")
	if status != 127 || !strings.Contains(stderr, "no-such-program") {
		t.Errorf("a command that is not there: status %d, %s", status, stderr)
	}
	isDown(t, dir)
}

// However `sandbox run` ends, nothing of it stays.
func TestSandboxRunSignals(t *testing.T) {
	t.Parallel()
	environ := controlPlane(t)
	for _, test := range []struct {
		signal syscall.Signal
		status int
		stdout string
	}{
		{syscall.SIGTERM, 5, "up\nended\n"},
		{syscall.SIGINT, 5, "up\nended\n"},
		{syscall.SIGKILL, -1, "up\n"},
	} {
		t.Run(test.signal.String(), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "sandbox")
			script := `trap "echo ended; exit 5" TERM INT; echo up; while :; do sleep 0.05; done; : ` + dir
			cmd := sandboxCommand(t, environ, "run", "--dir", dir, "--", "sh", "-c", script)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // away from any terminal
			var out lockedBuffer
			var errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			// Only the sandbox itself is waited for when it is killed.
			cmd.WaitDelay = 10 * time.Second
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			eventually(t, time.Minute, func() error {
				if out.String() != "up\n" {
					return fmt.Errorf("the command does not run: %s", out.String())
				}
				return nil
			})
			if err := cmd.Process.Signal(test.signal); err != nil {
				t.Fatal(err)
			}
			err := cmd.Wait()
			if status := cmd.ProcessState.ExitCode(); status != test.status || out.String() != test.stdout {
				t.Errorf("status %d, want %d; %v; it printed %q, want %q\n%s", status, test.status, err, out.String(), test.stdout,
					errs.String())
			}
			eventually(t, 10*time.Second, func() error { return leftovers(dir) })
			if test.signal != syscall.SIGKILL {
				isDown(t, dir)
				return
			}
			if status, _, stderr := sandbox(t, environ, "down", "--dir", dir); status != 0 {
				t.Errorf("clearing away what a killed sandbox left: %s", stderr)
			}
			isDown(t, dir)
		})
	}
}

// A port that another process takes between its choice and its use is replaced; a sandbox in which a
// component died reports it and does not pretend to run.
func TestSandboxComponents(t *testing.T) {
	t.Parallel()
	environ := controlPlane(t)
	report := up(t, append(environ, "KUBEBUILDER_ASSETS="+lateScheduler(t, environ)))
	s, err := stack.Load(report.Dir)
	if err != nil {
		t.Fatal(err)
	}
	victim, _ := s.Component("kube-scheduler")
	if late := process.Tail(victim.Log, 1000); !strings.HasPrefix(late, "bind: address already in use\n") {
		t.Errorf("kube-scheduler was not started twice: %.80q", late)
	}
	if err := victim.End(t.Context(), 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := sandbox(t, environ, "up", "--dir", report.Dir); status != 1 ||
		!strings.Contains(stderr, "is broken, kube-scheduler ended") {
		t.Errorf("up: status %d, %s", status, stderr)
	}
}

// lateScheduler returns a directory with a kube-scheduler that says at its first start
// that its port is taken.
func lateScheduler(t *testing.T, environ []string) string {
	t.Helper()
	status, stdout, stderr := sandbox(t, environ, "build")
	if status != 0 {
		t.Fatal(stderr)
	}
	var real string
	for line := range strings.Lines(stdout) {
		if fields := strings.Fields(line); fields[0] == "kube-scheduler" {
			real = fields[1]
		}
	}
	dir := t.TempDir()
	script := `#!/bin/sh
if [ ! -e "` + dir + `/tried" ]; then
	: >"` + dir + `/tried"
	echo bind: address already in use
	exit 1
fi
exec "` + real + `" "$@"
`
	if err := os.WriteFile(filepath.Join(dir, "kube-scheduler"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}
