//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/cmd/sandbox/machine"
	"github.com/lkeplan/lkeplan/cmd/sandbox/stack"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/linode/sim"
)

// host has real machines for the Linodes of a sandbox, in which nothing else plays any.
type host struct {
	*sandbox
	machines *machine.Machines
	// before changes a machine before it boots first; it may be nil.
	before func(*host, *machine.Machine)

	mu  sync.Mutex
	all map[string]*machine.Machine // by label
}

// startHost starts a sandbox in instance mode, with the controller that has the rights of its account and no more.
func startHost(t *testing.T, before func(*host, *machine.Machine)) *host {
	t.Helper()
	h := newHost(t, before, "--mode", "instance", "--audit")
	h.helm("install", "lkeplan", chart, "--namespace", "lkeplan-system", "--create-namespace", "--set",
		"settings.mode=instance,settings.clusterName=sandbox,region=us-ord,apiToken=none,replicas=0,gitops.replicas=0,"+setImage)
	h.chartController()
	h.run("lkeplan", "apply", "--yes", "testdata/machines")
	h.applyAll(file(t, "machines-app.yaml"))
	go h.play(t.Context())
	return h
}

// newHost starts a sandbox whose Linodes nothing plays, with what kubeadm makes in a cluster.
func newHost(t *testing.T, before func(*host, *machine.Machine), flags ...string) *host {
	t.Helper()
	if err := machine.Possible(); err != nil {
		t.Skip(err)
	}
	h := &host{sandbox: startSandbox(t, flags...), before: before, all: map[string]*machine.Machine{}}
	state, err := stack.Load(h.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range state.Components {
		if c.Name == "kwok" { // it plays all Nodes
			if err := c.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	if state.Cluster.Mode == stack.ModeInstance {
		h.inject(`{"never_joins":true,"name":"real machines"}`)
	}
	programs := h.machinePrograms()
	config := filepath.Join(t.TempDir(), "kubeadm.yaml")
	if err := os.WriteFile(config, []byte(clusterConfiguration), 0o600); err != nil {
		t.Fatal(err)
	}
	upload := h.command(programs["kubeadm"], nil, "init", "phase", "upload-config", "all", "--config", config, "--kubeconfig",
		h.env["KUBECONFIG"])
	if out, err := upload.CombinedOutput(); err != nil {
		t.Fatalf("kubeadm: %v\n%s", err, out)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	h.machines, err = machine.New(t.Context(), machine.Config{
		Cache: filepath.Join(cache, "lkeplan", "machine"), Dir: t.TempDir(), Programs: programs,
		APIServer: strings.TrimPrefix(h.apiServer().Host, "https://"),
		Say:       func(format string, args ...any) { fmt.Fprintf(os.Stderr, "machine: "+format+"\n", args...) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.end)
	return h
}

// clusterConfiguration is what kubeadm says of the cluster to machines. They share the disk of their host, of which not
// much may be free.
const clusterConfiguration = `
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: v1.36.4
networking: {serviceSubnet: 10.128.0.0/16}
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: systemd
evictionHard: {memory.available: 100Mi, nodefs.available: 100Mi, imagefs.available: 100Mi}
imageGCHighThresholdPercent: 100
`

// machinePrograms builds what machines run.
func (h *host) machinePrograms() map[string]string {
	h.t.Helper()
	build := exec.Command(bin(h.t, "sandbox"), "build", "machine")
	build.Stderr = os.Stderr
	out, err := build.Output()
	if err != nil {
		h.t.Fatalf("sandbox build machine: %v", err)
	}
	programs := map[string]string{"inside": filepath.Join(h.t.TempDir(), "inside")}
	for line := range strings.Lines(string(out)) {
		if field := strings.Fields(line); len(field) == 2 {
			programs[field[0]] = field[1]
		}
	}
	inside := exec.Command("go", "build", "-o", programs["inside"], "../machine/inside")
	inside.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := inside.CombinedOutput(); err != nil {
		h.t.Fatalf("build inside: %v\n%s", err, out)
	}
	return programs
}

// play boots a machine for each Linode that is made, and switches off those whose Linode is gone.
func (h *host) play(ctx context.Context) {
	for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		there, err := h.linodesNow(ctx)
		if err != nil {
			continue // it is asked again
		}
		h.mu.Lock()
		for label, m := range h.all {
			if _, ok := there[label]; !ok {
				go m.PowerOff()
				delete(h.all, label)
			}
		}
		for label, l := range there {
			if h.all[label] == nil && ctx.Err() == nil {
				h.boot(l)
			}
		}
		h.mu.Unlock()
	}
}

// linodesNow are the Linodes of the account by label.
func (h *host) linodesNow(ctx context.Context) (map[string]sim.Linode, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, h.env["LINODE_URL"]+"/simulator/linodes", nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var list []sim.Linode
	if err := json.NewDecoder(answer.Body).Decode(&list); err != nil {
		return nil, err
	}
	all := map[string]sim.Linode{}
	for _, l := range list {
		if l.Runs.Before(time.Now()) {
			all[l.Label] = l
		}
	}
	return all, nil
}

func (h *host) boot(l sim.Linode) {
	m, err := h.machines.Add(machine.Linode{
		ID: l.ID, Label: l.Label, Region: l.Region, Type: l.Type, HostUUID: l.HostUUID, UserData: l.UserData,
	})
	if err != nil {
		h.t.Error(err)
		return
	}
	h.all[l.Label] = m
	m.Has.SwapMiB = l.SwapSize
	if h.before != nil {
		h.before(h, m)
	}
	if err := m.PowerOn(); err != nil {
		h.t.Error(err)
		return
	}
	time.AfterFunc(time.Second, func() {
		if m.Crashed() && h.t.Context().Err() == nil {
			h.t.Errorf("machine %s has ended as it booted: %s", l.Label, tail(m.Console(), 5))
		}
	})
}

// end switches all machines off, and keeps what they said if the test has failed.
func (h *host) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for label, m := range h.all {
		m.PowerOff()
		if h.t.Failed() {
			h.t.Logf("the console of %s ends:\n%s", label, tail(m.Console(), 40))
		}
	}
}

// machine is the machine of a Linode.
func (h *host) machine(label string) *machine.Machine {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all[label]
}

// on runs a command in a machine, which must succeed.
func (h *host) on(m *machine.Machine, args ...string) string {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	out, err := m.Run(ctx, args...)
	if err != nil {
		h.t.Fatal(err)
	}
	return out
}

// joinedNodes waits until so many claims are initialized, and so many pods are ready.
func (h *host) joinedNodes(want int, within time.Duration) []karpv1.NodeClaim {
	h.t.Helper()
	return h.until(fmt.Sprintf("%d machines have joined and run a pod each", want), within, func(now state) bool {
		ready := 0
		for i := range now.claims {
			if now.claims[i].StatusConditions().Get(karpv1.ConditionTypeInitialized).IsTrue() {
				ready++
			}
		}
		return ready == want && len(now.claims) == want && now.running == want && h.podsReady() == want
	}).claims
}

func (h *host) podsReady() (ready int) {
	var pods corev1.PodList
	if err := h.client.List(h.t.Context(), &pods, client.InNamespace(metav1.NamespaceDefault)); err != nil {
		return 0
	}
	for _, p := range pods.Items {
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	return ready
}

// TestARealMachineJoins: a Linode of a class that says nothing of swap boots with real cloud-init,
// containerd, kubeadm and kubelet. Its Node is as the pool and the class say, it runs a pod, comes back
// after a reboot without its token, and is drained and deleted when the pod goes. No right was missing.
func TestARealMachineJoins(t *testing.T) {
	h := startHost(t, nil)
	h.scaleTo("app", 1)
	claim := h.joinedNodes(1, 2*time.Minute)[0]
	m := h.machine(claim.Status.NodeName)
	h.isAsAsked(claim)
	h.cloudInitIsDone(m)
	h.eventually("no token is left", time.Minute, h.noTokens)

	m.PowerOff()
	if err := m.PowerOn(); err != nil {
		t.Fatal(err)
	}
	h.eventually("the pod is ready again after a reboot", time.Minute, func() error {
		return h.restarted(claim.Status.NodeName)
	})

	h.scaleTo("app", 0)
	h.until("the Linode, the claim and the Node are gone", 3*time.Minute, state.empty)
	h.nothingForbidden()
}

// isAsAsked compares the Node of a claim with what the pool and the class say.
func (h *host) isAsAsked(claim karpv1.NodeClaim) {
	h.t.Helper()
	var node corev1.Node
	if err := h.client.Get(h.t.Context(), client.ObjectKey{Name: claim.Status.NodeName}, &node); err != nil {
		h.t.Fatal(err)
	}
	if node.Spec.ProviderID != claim.Status.ProviderID || nodeclaim.InstanceOf(node.Spec.ProviderID) == 0 {
		h.t.Errorf("the Node has the provider id %q, its claim %q", node.Spec.ProviderID, claim.Status.ProviderID)
	}
	for key, want := range map[string]string{
		"example.com/tier": "web", "node.kubernetes.io/kind": "real", "karpenter.sh/nodepool": "two",
		"karpenter.sh/registered": "true", "karpenter.sh/initialized": "true", "topology.kubernetes.io/region": "us-ord",
	} {
		if node.Labels[key] != want {
			h.t.Errorf("label %s is %q, want %q", key, node.Labels[key], want)
		}
	}
	if want := []corev1.Taint{{Key: "example.com/dedicated", Value: "cpu", Effect: corev1.TaintEffectNoSchedule}}; !slices.Equal(
		node.Spec.Taints, want) {
		h.t.Errorf("the taints are %v, want %v", node.Spec.Taints, want)
	}
	if pods, cpu := node.Status.Allocatable.Pods().Value(), node.Status.Capacity.Cpu().MilliValue()-
		node.Status.Allocatable.Cpu().MilliValue(); pods != 60 || cpu != 200 {
		h.t.Errorf("the kubelet takes %d pods and keeps %dm of CPU back, want 60 and 200m", pods, cpu)
	}
	held := node.Status.Capacity.Memory().Value() - node.Status.Allocatable.Memory().Value()
	if want := int64(300+200+200) << 20; held != want {
		h.t.Errorf("the kubelet keeps %d bytes of memory back, want %d", held, want)
	}
}

// cloudInitIsDone checks what cloud-init and the join have left.
func (h *host) cloudInitIsDone(m *machine.Machine) {
	h.t.Helper()
	h.eventually("cloud-init is done", time.Minute, func() error {
		if out := h.on(m, "sh", "-c", "cloud-init status || true"); !strings.Contains(out, "status: done") {
			return fmt.Errorf("it says %s", out)
		}
		return nil
	})
	mustContain(h.t, h.on(m, "cloud-init", "schema", "--system"), "Valid schema user-data")
	h.noTokenOnDisk(m)
}

// noTokenOnDisk fails if the token by which a machine has joined is in one of its files.
func (h *host) noTokenOnDisk(m *machine.Machine) {
	h.t.Helper()
	_, rest, ok := strings.Cut(string(m.Linode.UserData), "token: ")
	token, _, _ := strings.Cut(rest, "\n")
	_, secret, both := strings.Cut(strings.TrimSpace(token), ".")
	if !ok || !both || len(secret) != 16 {
		h.t.Fatalf("there is no token in the user data, in which one is to be looked for:\n%s", m.Linode.UserData)
	}
	if found := h.on(m, "sh", "-c", "grep -rlF "+secret+" /etc /var/lib/cloud /var/lib/kubelet /var/log /run /root "+
		"/opt /tmp 2>/dev/null || true"); found != "" {
		h.t.Errorf("the token is still on the disk:\n%s", found)
	}
}

// restarted is an error until the pods of a machine that was booted again are ready again.
func (h *host) restarted(node string) error {
	var pods corev1.PodList
	if err := h.client.List(h.t.Context(), &pods, client.InNamespace(metav1.NamespaceDefault)); err != nil {
		return err
	}
	for _, p := range pods.Items {
		if p.Spec.NodeName != node {
			continue
		}
		for _, c := range p.Status.ContainerStatuses {
			if !c.Ready || c.RestartCount == 0 {
				return fmt.Errorf("pod %s: ready %v, restarted %d times", p.Name, c.Ready, c.RestartCount)
			}
		}
	}
	return nil
}

// nothingForbidden fails if a machine, the controller or the cloud controller was refused a right. Two kinds
// of refusals are no lack of one: a kubelet that has no certificate yet sends requests as system:anonymous,
// and the API server's Node authorizer refuses a kubelet the pod that has just gone, and what only that pod
// needed.
func (h *host) nothingForbidden() {
	h.t.Helper()
	for _, r := range h.audited() {
		ofPod := r.ObjectRef != nil && (r.ObjectRef.Resource == "pods" || r.ObjectRef.Resource == "configmaps")
		if r.User.Username == "system:anonymous" || strings.HasPrefix(r.User.Username, "system:node:") && ofPod {
			continue
		}
		if code := r.ResponseStatus.Code; code == http.StatusUnauthorized || code == http.StatusForbidden {
			h.t.Errorf("%s was refused with %d: %v", r.User.Username, code, r.rights())
		}
	}
}
