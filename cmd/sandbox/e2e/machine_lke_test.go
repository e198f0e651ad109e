//go:build linux

package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/cmd/sandbox/machine"
)

// bareJoin is how a machine joins that does not know lkeplan, as those of LKE do: without its labels, without its
// taints, and without a provider id.
const bareJoin = `#cloud-config
write_files:
- path: /etc/join.yaml
  content: |
    apiVersion: kubeadm.k8s.io/v1beta4
    kind: JoinConfiguration
    discovery:
      bootstrapToken:
        apiServerEndpoint: %s
        token: %s
        caCertHashes: [%q]
    nodeRegistration:
      name: %s
      kubeletExtraArgs:
      - {name: cloud-provider, value: external}
runcmd:
- [sysctl, -w, net.ipv4.ip_forward=1]
- [kubeadm, join, --config, /etc/join.yaml]
`

// TestARealKubeletIsBoundEarly: a real kubelet joins an LKE cluster without lkeplan's labels and taints. It has them
// before the cloud controller completes its Node, and so before a pod lands on it.
func TestARealKubeletIsBoundEarly(t *testing.T) {
	t.Parallel()
	// The simulated LKE takes the Node for its own when it would have made it: long after the kubelet has.
	h := newHost(t, nil, "--join-delay", "40s", "--audit")
	h.installCRDs()
	h.startController()
	h.run("lkeplan", "apply", "--yes", "testdata/machines-lke")
	h.applyAll(file(t, "machines-app.yaml"))
	seen := h.watchNodes()
	open := h.watchOpenNodes()
	h.scaleTo("app", 1)
	token := h.bootstrapToken("aaaaaa", time.Hour)
	h.signs(token, true)

	label, id := h.machineOfLKE()
	userData := fmt.Sprintf(bareJoin, strings.TrimPrefix(h.apiServer().Host, "https://"), token, pin(t, h.apiServer().CAData), label)
	m, err := h.machines.Add(machine.Linode{ID: 1, Label: label, Region: "us-ord", Type: "g6-standard-2", UserData: []byte(userData)})
	if err == nil {
		err = m.Identify(id)
	}
	if err == nil {
		err = m.PowerOn()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.PowerOff)

	h.eventually("the Node has the taints and labels of its pool while it is uninitialized", time.Minute, func() error {
		node := h.node(label)
		taints := slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == "example.com/dedicated" })
		if !taints || !tainted(node.Spec.Taints, uninitialized) || node.Labels["example.com/tier"] != "web" {
			return fmt.Errorf("it has the taints %v and the labels %v; its console ends %s", node.Spec.Taints, node.Labels,
				tail(m.Console(), 3))
		}
		return nil
	})
	for _, key := range []string{"example.com/dedicated", "karpenter.sh/unregistered"} {
		if tainted(seen()[label], key) {
			t.Errorf("the kubelet has registered with the taint %s, which a machine of LKE does not have", key)
		}
	}
	if h.node(label).Status.NodeInfo.KubeletVersion == "" || !strings.Contains(h.node(label).Status.NodeInfo.OSImage, "Debian") {
		t.Errorf("this is no real kubelet: %+v", h.node(label).Status.NodeInfo)
	}
	h.joinedNodes(1, 3*time.Minute)
	if n, wrong := open(); n == 0 || len(wrong) > 0 {
		t.Errorf("of %d versions of the Node that pods could land on, these lack the pool's taint or label: %v", n, wrong)
	}
}

// watchOpenNodes follows Nodes from now on. What it returns says how many versions of them had no taint
// uninitialized, so that a pod could land there, and which of those lacked the taint or the label of the
// pool.
func (h *host) watchOpenNodes() func() (open int, wrong []string) {
	h.t.Helper()
	var mu sync.Mutex
	var all int
	var bad []string
	h.follow(&corev1.NodeList{}, func(o client.Object, deleted bool) {
		node := o.(*corev1.Node)
		if deleted || tainted(node.Spec.Taints, uninitialized) {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		all++
		if !tainted(node.Spec.Taints, "example.com/dedicated") || node.Labels["example.com/tier"] != "web" {
			bad = append(bad, fmt.Sprintf("%s: %v, %v", node.ResourceVersion, node.Spec.Taints, node.Labels))
		}
	})
	return func() (int, []string) {
		mu.Lock()
		defer mu.Unlock()
		return all, bad
	}
}

// node is a Node, which may not be there yet.
func (h *host) node(name string) (node corev1.Node) {
	h.t.Helper()
	var list corev1.NodeList
	if err := h.client.List(h.t.Context(), &list); err != nil {
		h.t.Fatal(err)
	}
	for _, n := range list.Items {
		if n.Name == name {
			return n
		}
	}
	return node
}

// machineOfLKE waits for the first machine of an LKE pool, and returns its label and machine id.
func (h *host) machineOfLKE() (label, id string) {
	h.t.Helper()
	h.eventually("LKE has made a machine", time.Minute, func() error {
		var state struct {
			MachineIDs map[string]string `json:"machine_ids"`
		}
		h.linodeCall(http.MethodGet, "/simulator/state", nil, &state)
		for label, id = range state.MachineIDs {
			return nil
		}
		return fmt.Errorf("it has made none")
	})
	return label, id
}
