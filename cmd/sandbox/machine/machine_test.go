//go:build linux

package machine

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/testdata/nightly"
)

var (
	kubeletPath = flag.String("kubelet", "", "the kubelet; one is built if it is not given")
	kubeadmPath = flag.String("kubeadm", "", "the same of kubeadm")
	insidePath  = flag.String("inside", "", "the same of inside")
)

// alone has a kubelet without a cluster run one pod.
const alone = `#cloud-config
write_files:
- path: /etc/alone/kubelet.yaml
  content: |
    apiVersion: kubelet.config.k8s.io/v1beta1
    kind: KubeletConfiguration
    cgroupDriver: systemd
    failCgroupV1: false
    staticPodPath: /etc/alone/pods
    evictionHard: {memory.available: 100Mi, nodefs.available: 100Mi, imagefs.available: 100Mi}
    imageGCHighThresholdPercent: 100
    authentication: {webhook: {enabled: false}, anonymous: {enabled: true}}
    authorization: {mode: AlwaysAllow}
- path: /etc/alone/pods/pod.yaml
  content: |
    apiVersion: v1
    kind: Pod
    metadata: {name: pod, namespace: default}
    spec:
      containers:
      - {name: app, image: "` + PodImage + `", imagePullPolicy: Never, args: [serve], resources: {limits: {memory: 64Mi, cpu: 100m}}}
runcmd:
- [sysctl, -w, net.ipv4.ip_forward=1]
- [systemctl, disable, --now, kubelet]
- [systemd-run, --unit, alone, kubelet, --config, /etc/alone/kubelet.yaml]
`

// TestAKubeletRunsAPod: a machine boots on the cgroups that this host has, v1 or v2, and a real kubelet runs a pod there.
func TestAKubeletRunsAPod(t *testing.T) {
	if err := Possible(); err != nil || !nightly.On() {
		t.Skip("only in make nightly:", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	machines, err := New(t.Context(), Config{
		Cache: filepath.Join(cache, "lkeplan", "machine"), Dir: t.TempDir(), Programs: programs(t), APIServer: "127.0.0.1:6443", Say: t.Logf,
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := machines.Add(Linode{ID: 1, Label: "alone", Region: "us-ord", Type: "g6-standard-1", UserData: []byte(alone)})
	if err == nil {
		err = m.PowerOn()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.PowerOff)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	for {
		out, err := m.Run(ctx, "sh", "-c", `curl -sf --max-time 5 "http://$(ls /var/lib/cni/networks/pods | grep -m1 '^10\.'):8080"`)
		if err == nil && strings.TrimSpace(out) == "served" {
			break
		}
		if ctx.Err() != nil || !m.On() {
			log, _ := m.Run(context.WithoutCancel(ctx), "journalctl", "-u", "alone", "-n", "30", "-o", "cat")
			t.Fatalf("no pod answers: %v\n%s\n%s", err, log, m.Console())
		}
		time.Sleep(time.Second)
	}
	for _, command := range []string{"stat -fc %T /sys/fs/cgroup", "systemctl is-system-running || true", "uname -r", "systemctl --version | head -1"} {
		out, err := m.Run(ctx, "sh", "-c", command)
		if err != nil {
			t.Error(err)
		}
		t.Logf("%s: %s", command, out)
	}
}

// programs are those that are given, or that are built.
func programs(t *testing.T) map[string]string {
	if *insidePath != "" {
		return map[string]string{"inside": *insidePath, "kubelet": *kubeletPath, "kubeadm": *kubeadmPath}
	}
	all := map[string]string{"inside": filepath.Join(t.TempDir(), "inside")}
	inside := exec.Command("go", "build", "-o", all["inside"], "./inside")
	inside.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := inside.CombinedOutput(); err != nil {
		t.Fatalf("build inside: %v\n%s", err, out)
	}
	out, err := exec.Command("go", "run", "..", "build", "machine").Output()
	if err != nil {
		t.Fatalf("sandbox build machine: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		if field := strings.Fields(line); len(field) == 2 {
			all[field[0]] = field[1]
		}
	}
	return all
}
