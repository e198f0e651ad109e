package probe

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/lke"
)

// Experiments with the Nodes of the cluster.

const (
	probeKey           = "lkeplan.dev/probe"
	foreignKey         = "lkeplan.dev/foreign"
	taintUninitialized = "node.cloudprovider.kubernetes.io/uninitialized"
)

// connect reads the kubeconfig of the cluster, which Linode has some minutes after the cluster was created.
func (r *run) connect(ctx context.Context) (kubernetes.Interface, error) {
	var answer struct{ Kubeconfig string }
	var failed error
	got, err := until(ctx, 10*time.Minute, 10*time.Second, func() (bool, error) {
		failed = r.api.Call(ctx, http.MethodGet, r.path("kubeconfig"), "", nil, &answer)
		return failed == nil, nil
	})
	if err != nil || !got {
		return nil, errors.Join(err, failed)
	}
	text, err := base64.StdEncoding.DecodeString(answer.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of the cluster: %w", err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of the cluster: %w", err)
	}
	return kubernetes.NewForConfig(config)
}

// watchNodes records the first and the last state of each Node until the context ends.
func (r *run) watchNodes(ctx context.Context) {
	for ctx.Err() == nil {
		events, err := r.kube.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{})
		if err != nil {
			_ = pause(ctx, time.Second)
			continue
		}
		r.note(ctx, events)
		events.Stop()
	}
}

func (r *run) note(ctx context.Context, events watch.Interface) {
	for {
		select {
		case <-ctx.Done():
			return
		case event, open := <-events.ResultChan():
			if !open {
				return
			}
			if node, ok := event.Object.(*corev1.Node); ok {
				r.mu.Lock()
				r.last[node.Name] = node
				if r.first[node.Name] == nil {
					r.first[node.Name] = node
				}
				r.mu.Unlock()
			}
		}
	}
}

// node returns the first and the last state of the Node of a Linode; nil if there is none.
func (r *run) node(linode int) (first, last *corev1.Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, node := range r.last {
		if node.Spec.ProviderID == fmt.Sprintf("linode://%d", linode) {
			return r.first[name], node
		}
	}
	return nil, nil
}

// complete reports whether all Linodes of a pool have Nodes.
func (r *run) complete(pool api.Pool) bool {
	for _, slot := range pool.Linodes {
		if _, node := r.node(slot.InstanceID); node == nil {
			return false
		}
	}
	return true
}

// joined returns the slots of a pool that have Nodes.
func (r *run) joined(pool api.Pool) ([]api.Slot, error) {
	slots := slices.DeleteFunc(slices.Clone(pool.Linodes), func(slot api.Slot) bool {
		_, node := r.node(slot.InstanceID)
		return node == nil
	})
	if len(slots) == 0 {
		return nil, errors.New("no node has joined")
	}
	return slots, nil
}

func (r *run) baseNodes(ctx context.Context) ([]api.Slot, error) {
	seen, err := r.watchBase(ctx)
	if err != nil {
		return nil, err
	}
	return r.joined(seen.pool)
}

func tainted(node *corev1.Node, key string) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

// uninitialized is an experiment of the probe. It tests the assumption: a node joins with the taint
// `node.cloudprovider.kubernetes.io/uninitialized`.
func uninitialized(ctx context.Context, r *run) (bool, string, error) {
	slots, err := r.baseNodes(ctx)
	if err != nil {
		return false, "", err
	}
	for _, slot := range slots {
		if first, _ := r.node(slot.InstanceID); !tainted(first, taintUninitialized) {
			return false, fmt.Sprintf("a node had %d other taints when it was seen first, and the provider ID: %v",
				len(first.Spec.Taints), first.Spec.ProviderID != ""), nil
		}
	}
	return true, fmt.Sprintf("%d nodes had it when they were seen first", len(slots)), nil
}

// named compares the names of Nodes with those that follow from the slots.
func (r *run) named(slots []api.Slot) (bool, string, error) {
	for _, slot := range slots {
		if _, node := r.node(slot.InstanceID); node.Name != lke.NodeName(r.cluster.ID, slot.ID) {
			return false, fmt.Sprintf("the slot %s has the Node %s", slot.ID, node.Name), nil
		}
	}
	return true, fmt.Sprintf("%d Nodes are lke%d-POOL-HASH", len(slots), r.cluster.ID), nil
}

// names is an experiment of the probe. It tests the assumption: the second number in the name of a Node is the ID
// of its LKE pool.
func names(ctx context.Context, r *run) (bool, string, error) {
	slots, err := r.baseNodes(ctx)
	if err != nil {
		return false, "", err
	}
	return r.named(slots)
}

// labelled is an experiment of the probe. It tests the assumption: LKE names a Node `lke<cluster>-<pool>-<hash>`
// even if the pool has a label.
func labelled(ctx context.Context, r *run) (bool, string, error) {
	seen, err := r.watchSecond(ctx)
	if err != nil {
		return false, "", err
	}
	slots, err := r.joined(seen.pool)
	if err != nil {
		return false, "", err
	}
	return r.named(slots)
}

// daemonsets is an experiment of the probe. It tests the assumption: each node of a standard cluster runs
// `calico-node`, which requests 250m of CPU, and `csi-linode-node` and `kube-proxy`, which request nothing.
func daemonsets(ctx context.Context, r *run) (bool, string, error) {
	sets, err := r.kube.AppsV1().DaemonSets("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, "", err
	}
	// All nodes of a cluster that the probe created run only LKE's own pods.
	got, want := map[string]string{}, map[string]string{}
	for _, set := range sets.Items {
		if r.Cluster == 0 || lke.OwnDaemonSet(&set) {
			got[set.Name] = requests(set.Spec.Template.Spec)
		}
	}
	for _, set := range lke.DaemonSets() {
		want[set.Name] = requests(set.Spec.Template.Spec)
	}
	return maps.Equal(got, want), fmt.Sprint(got)[len("map"):], nil
}

func requests(pod corev1.PodSpec) string {
	cpu, memory := int64(0), int64(0)
	for _, c := range pod.Containers {
		cpu += c.Resources.Requests.Cpu().MilliValue()
		memory += c.Resources.Requests.Memory().Value()
	}
	if cpu == 0 && memory == 0 {
		return "nothing"
	}
	return fmt.Sprintf("%dm,%dMi", cpu, memory>>20)
}

// secondNode returns the Node with 8 GB.
func (r *run) secondNode(ctx context.Context) (*corev1.Node, error) {
	seen, err := r.watchSecond(ctx)
	if err != nil {
		return nil, err
	}
	slots, err := r.joined(seen.pool)
	if err != nil {
		return nil, err
	}
	_, node := r.node(slots[0].InstanceID)
	return node, nil
}

// memory compares the memory that a Node reports with the model. The difference may be at most the 3 % that lkeplan
// reserves.
func memory(ctx context.Context, r *run) (bool, string, error) {
	node, err := r.secondNode(ctx)
	if err != nil {
		return false, "", err
	}
	plan, _ := r.catalog.Plan(large)
	want := plan.Reported()
	memory, disk := node.Status.Capacity.Memory().Value(), node.Status.Capacity.StorageEphemeral().Value()
	enough := func(got, want int64) bool { return got*100 >= want*97 }
	return enough(memory, want.Capacity.MemoryBytes) && enough(disk, want.Capacity.EphemeralBytes) &&
			enough(node.Status.Allocatable.Memory().Value(), want.Allocatable.MemoryBytes),
		fmt.Sprintf("%s has %d KiB of memory and %d KiB of disk, expected %d and %d", large, memory>>10, disk>>10,
			want.Capacity.MemoryBytes>>10, want.Capacity.EphemeralBytes>>10), nil
}

// memoryEnterprise is an experiment of the probe. It tests the assumption: an 8 GB plan has about 6 GiB allocatable
// memory on Enterprise.
func memoryEnterprise(ctx context.Context, r *run) (bool, string, error) {
	node, err := r.secondNode(ctx)
	if err != nil {
		return false, "", err
	}
	mib := node.Status.Allocatable.Memory().Value() >> 20
	return mib >= 5632 && mib <= 6656, fmt.Sprintf("%d MiB of 8192 are allocatable", mib), nil
}

// nodesShow waits until all Nodes of slots meet a condition.
func (r *run) nodesShow(ctx context.Context, slots []api.Slot, wanted func(*corev1.Node) bool) error {
	shown, err := until(ctx, 3*time.Minute, time.Second, func() (bool, error) {
		return !slices.ContainsFunc(slots, func(slot api.Slot) bool {
			_, node := r.node(slot.InstanceID)
			return !wanted(node)
		}), nil
	})
	if err == nil && !shown {
		err = errors.New("a change of the pool did not reach its nodes within three minutes")
	}
	return err
}

// labels is an experiment of the probe. It tests the assumption: a `PUT` with other labels changes those of an LKE
// pool, and LKE does not write the old values on existing Nodes afterwards.
func labels(ctx context.Context, r *run) (bool, string, error) {
	slots, err := r.baseNodes(ctx)
	if err != nil {
		return false, "", err
	}
	has := func(value string) func(*corev1.Node) bool {
		return func(node *corev1.Node) bool { return node.Labels[probeKey] == value }
	}
	var took time.Duration
	for _, value := range []string{"old", "new"} {
		asked := time.Now()
		if err := r.put(ctx, r.base.value.id, fields{"labels": fields{probeKey: value}}); err != nil {
			return false, "", err
		}
		if err := r.nodesShow(ctx, slots, has(value)); err != nil {
			return false, "", err
		}
		took = time.Since(asked)
	}
	back, err := until(ctx, time.Minute, time.Second, func() (bool, error) {
		return slices.ContainsFunc(slots, func(slot api.Slot) bool {
			_, node := r.node(slot.InstanceID)
			return !has("new")(node)
		}), nil
	})
	return !back, fmt.Sprintf("on the nodes after %s; the old value came back within a minute: %v",
		took.Round(time.Second), back), err
}

// taints is an experiment of the probe. It tests the assumption: LKE does not remove taints that other programs set
// on a Node.
func taints(ctx context.Context, r *run) (bool, string, error) {
	slots, err := r.baseNodes(ctx)
	if err != nil {
		return false, "", err
	}
	_, node := r.node(slots[0].InstanceID)
	patch := fmt.Sprintf(`{"spec":{"taints":[{"key":%q,"value":"x","effect":"PreferNoSchedule"}]}}`, foreignKey)
	if _, err := r.kube.CoreV1().Nodes().Patch(ctx, node.Name, "application/strategic-merge-patch+json", []byte(patch),
		metav1.PatchOptions{}); err != nil {
		return false, "", err
	}
	if err := r.put(ctx, r.base.value.id, fields{
		"taints": []fields{{"key": probeKey, "value": "x", "effect": "PreferNoSchedule"}},
	}); err != nil {
		return false, "", err
	}
	if err := r.nodesShow(ctx, slots, func(node *corev1.Node) bool { return tainted(node, probeKey) }); err != nil {
		return false, "", err
	}
	gone, err := until(ctx, time.Minute, time.Second, func() (bool, error) {
		_, node := r.node(slots[0].InstanceID)
		return !tainted(node, foreignKey), nil
	})
	return !gone, fmt.Sprintf("gone a minute after a change of the pool's taints: %v", gone), err
}
