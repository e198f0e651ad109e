package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// playground is an account whose nodes join a fake API server.
type playground struct {
	*account
	client *fake.Clientset
}

// play runs a test with nodes in a synctest bubble. reactions see each call to the API server first.
func play(t *testing.T, cfg Config, test func(p *playground), reactions ...clienttesting.ReactionFunc) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		//nolint:staticcheck // NewClientset spends five milliseconds of each write on managed fields, which are not read.
		p := &playground{newAccount(t, cfg), fake.NewSimpleClientset()}
		for _, reaction := range reactions {
			p.client.PrependReactor("*", "nodes", reaction)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- p.RunNodes(ctx, p.client, nil, nil) }()
		defer func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("RunNodes: %v", err)
			}
		}()
		synctest.Wait() // a fake API server does not tell a watch what came between its list and itself
		test(p)
	})
}

// after lets time pass, and a moment more for passes to be made.
func (p *playground) after(d time.Duration) {
	time.Sleep(d + 2*passGap)
	synctest.Wait()
}

func (p *playground) nodes() []corev1.Node {
	p.Helper()
	list, err := p.client.CoreV1().Nodes().List(p.Context(), metav1.ListOptions{})
	if err != nil {
		p.Fatal(err)
	}
	return list.Items
}

func (p *playground) node() *corev1.Node {
	p.Helper()
	all := p.nodes()
	if len(all) != 1 {
		p.Fatalf("%d nodes; want one", len(all))
	}
	return &all[0]
}

func (p *playground) change(change func(*corev1.Node)) {
	p.Helper()
	node := p.node()
	change(node)
	if _, err := p.client.CoreV1().Nodes().Update(p.Context(), node, metav1.UpdateOptions{}); err != nil {
		p.Fatal(err)
	}
}

func taintText(n *corev1.Node) string {
	var all []string
	for _, t := range n.Spec.Taints {
		all = append(all, t.ToString())
	}
	return strings.Join(all, " ")
}

const bareTaints = "node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule " +
	"node.kubernetes.io/not-ready:NoSchedule"

func TestNodeJoinsBareAndIsCompleted(t *testing.T) {
	play(t, Config{
		InstanceDelay: 3 * time.Second, JoinDelay: time.Minute, CCMDelay: 8 * time.Second,
	}, func(p *playground) {
		pool := p.makePool(1, fields{
			"labels": fields{"team": "a"}, "taints": []Taint{{"dedicated", "a", "NoSchedule"}},
		})
		p.after(62 * time.Second)
		if n := len(p.nodes()); n != 0 {
			t.Fatalf("%d nodes before their time", n)
		}
		p.after(time.Second)
		n := p.node()
		if want := fmt.Sprintf("lke%d-%s", p.ClusterID(), pool.Nodes[0].ID); n.Name != want {
			t.Errorf("node %s; want %s", n.Name, want)
		}
		if n.Spec.ProviderID != "" || n.Labels["lke.linode.com/pool-id"] != strconv.Itoa(pool.ID) || n.Labels["team"] != "a" {
			t.Errorf("joined with provider id %q, labels %v", n.Spec.ProviderID, n.Labels)
		}
		if got, want := taintText(n), bareTaints+" dedicated=a:NoSchedule"; got != want {
			t.Errorf("joined with taints %s", got)
		}
		p.after(8 * time.Second)
		n = p.node()
		if want := fmt.Sprintf("linode://%d", p.Instances()[0].ID); n.Spec.ProviderID != want {
			t.Errorf("provider id %q; want %q", n.Spec.ProviderID, want)
		}
		if got, want := taintText(n), "node.kubernetes.io/not-ready:NoSchedule dedicated=a:NoSchedule"; got != want {
			t.Errorf("completed with taints %s; want %s", got, want)
		}
	})
}

// The first write of a node has nothing of the pool and of the cloud; who wants to be early must see it like that.
func TestNodeFirstSight(t *testing.T) {
	var first *corev1.Node
	keep := func(action clienttesting.Action) (bool, runtime.Object, error) {
		if create, ok := action.(clienttesting.CreateAction); ok && action.GetVerb() == "create" {
			first = create.GetObject().(*corev1.Node).DeepCopy()
		}
		return false, nil, nil
	}
	play(t, Config{}, func(p *playground) {
		p.makePool(1, fields{"labels": fields{"team": "a"}})
		p.after(time.Second)
		want := []string{
			"beta.kubernetes.io/arch", "beta.kubernetes.io/os", "kubernetes.io/arch", "kubernetes.io/hostname",
			"kubernetes.io/os",
		}
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(first.Labels))); diff != "" {
			t.Errorf("labels at first sight (-want +got):\n%s", diff)
		}
		if first.Spec.ProviderID != "" || taintText(first) != bareTaints {
			t.Errorf("first sight: provider id %q, taints %s", first.Spec.ProviderID, taintText(first))
		}
	}, keep)
}

func TestNodesAreAsRecorded(t *testing.T) {
	data, err := os.ReadFile("testdata/nodes.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded []struct {
		Labels, Capacity, Allocatable map[string]string
		Kubelet                       string
	}
	if err := json.Unmarshal(data, &recorded); err != nil {
		t.Fatal(err)
	}
	for _, want := range recorded {
		labels := want.Labels
		version := strings.TrimPrefix(want.Kubelet, "v")
		cfg := Config{Region: labels["topology.kubernetes.io/region"], KubernetesVersion: version[:strings.LastIndex(version,
			".")]}
		play(t, cfg, func(p *playground) {
			p.makePool(1, fields{"type": labels["node.kubernetes.io/instance-type"]})
			p.after(time.Second)
			n := p.node()
			keys := slices.Sorted(maps.Keys(n.Labels))
			if _, ok := labels[csiRegionLabel]; !ok { // the older recording was made before the driver labelled nodes
				keys = slices.DeleteFunc(keys, func(key string) bool { return key == csiRegionLabel })
			}
			if diff := cmp.Diff(slices.Sorted(maps.Keys(labels)), keys); diff != "" {
				t.Errorf("labels (-recorded +simulated):\n%s", diff)
			}
			if diff := cmp.Diff(want.Capacity, texts(n.Status.Capacity)); diff != "" {
				t.Errorf("capacity (-recorded +simulated):\n%s", diff)
			}
			if diff := cmp.Diff(want.Allocatable, texts(n.Status.Allocatable)); diff != "" {
				t.Errorf("allocatable (-recorded +simulated):\n%s", diff)
			}
			if got := n.Status.NodeInfo.KubeletVersion; got != "v"+version {
				t.Errorf("kubelet %s; recorded v%s", got, version)
			}
		})
	}
}

func texts(list corev1.ResourceList) map[string]string {
	out := map[string]string{}
	for name, quantity := range list {
		out[string(name)] = quantity.String()
	}
	return out
}

func TestGPUNode(t *testing.T) {
	play(t, Config{Region: "ap-south"}, func(p *playground) {
		p.makePool(1, fields{"type": "g2-gpu-rtx4000a2-s"})
		p.after(time.Second)
		if got := texts(p.node().Status.Allocatable)["nvidia.com/gpu"]; got != "2" {
			t.Errorf("%q GPUs", got)
		}
	})
}

// A pool's labels and taints come back forever; those of others are left alone.
func TestLKEReappliesPoolLabels(t *testing.T) {
	play(t, Config{PoolSyncPeriod: 20 * time.Second}, func(p *playground) {
		pool := p.makePool(1, fields{"labels": fields{"team": "a"}, "taints": []Taint{{"dedicated", "a", "NoSchedule"}}})
		p.after(time.Second)
		p.change(func(n *corev1.Node) {
			delete(n.Labels, "team")
			n.Labels["mine"] = "yes"
			n.Spec.Taints = []corev1.Taint{{Key: "karpenter.sh/unregistered", Effect: corev1.TaintEffectNoExecute}}
		})
		p.after(time.Second)
		if n := p.node(); n.Labels["team"] != "" || len(n.Spec.Taints) != 1 {
			t.Errorf("put back before the period: %v, %s", n.Labels, taintText(n))
		}
		p.after(20 * time.Second)
		n := p.node()
		if want := "karpenter.sh/unregistered:NoExecute dedicated=a:NoSchedule"; taintText(n) != want ||
			n.Labels["team"] != "a" || n.Labels["mine"] != "yes" {
			t.Errorf("after the period: %v, %s", n.Labels, taintText(n))
		}

		// A change of the pool comes at once, and takes away what the pool wants no more.
		p.do("PUT", fmt.Sprintf("cluster/pools/%d", pool.ID), fields{
			"labels": fields{"tier": "b"}, "taints": []Taint{{"dedicated", "b", "NoSchedule"}, {"spot", "", "NoExecute"}},
		}, nil)
		p.after(0)
		n = p.node()
		if want := "karpenter.sh/unregistered:NoExecute dedicated=b:NoSchedule spot:NoExecute"; taintText(n) != want {
			t.Errorf("after the change: taints %s; want %s", taintText(n), want)
		}
		if n.Labels["team"] != "" || n.Labels["tier"] != "b" || n.Labels["mine"] != "yes" {
			t.Errorf("after the change: labels %v", n.Labels)
		}
	})
}

func TestNodeGoesWithItsInstance(t *testing.T) {
	cfg := Config{DeleteDelay: 15 * time.Second, NodeGoneDelay: 5 * time.Second}
	for _, tc := range []struct {
		name string
		how  func(p *playground, pool Pool, node Node)
		gone time.Duration
		back int // nodes after a minute more
	}{
		{
			"node deleted", func(p *playground, _ Pool, n Node) {
				p.do("DELETE", "cluster/nodes/"+n.ID, nil,
					nil)
			}, 20 * time.Second, 0,
		},
		{"pool deleted", func(p *playground, pool Pool, _ Node) {
			p.do("DELETE", fmt.Sprintf("cluster/pools/%d", pool.ID), nil, nil)
		}, 20 * time.Second, 0},
		{"instance deleted", func(p *playground, _ Pool, n Node) {
			p.do("DELETE", fmt.Sprintf("/linode/instances/%d", *n.InstanceID), nil, nil)
		}, 20 * time.Second, 1},
		{"recycled", func(p *playground, _ Pool, n Node) {
			p.do("POST", "cluster/nodes/"+n.ID+"/recycle", nil, nil)
		}, 20 * time.Second, 1},
		{"lost", func(p *playground, _ Pool, n Node) { p.LoseInstance(*n.InstanceID, true) }, 5 * time.Second, 1},
		{"abandoned", func(p *playground, _ Pool, n Node) { p.LoseInstance(*n.InstanceID, false) }, 5 * time.Second, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := cfg
			cfg.JoinDelay = 30 * time.Second
			play(t, cfg, func(p *playground) {
				pool := p.makePool(1, nil)
				p.after(31 * time.Second)
				before := p.node()
				tc.how(p, pool, p.pool(pool.ID).Nodes[0])
				p.after(tc.gone - time.Second)
				if n := len(p.nodes()); n != 1 {
					t.Errorf("%d nodes before the instance is gone", n)
				}
				p.after(time.Second)
				if n := len(p.nodes()); n != 0 {
					t.Errorf("%d nodes after the instance is gone", n)
				}
				p.after(time.Minute)
				if n := len(p.nodes()); n != tc.back {
					t.Fatalf("%d nodes later; want %d", n, tc.back)
				}
				if tc.back == 1 {
					if n := p.node(); n.Name != before.Name || n.Spec.ProviderID == before.Spec.ProviderID || n.Spec.ProviderID == "" {
						t.Errorf("node %s with %s came back as %s with %q", before.Name, before.Spec.ProviderID, n.Name,
							n.Spec.ProviderID)
					}
				}
			})
		})
	}
}

// The kubelet of a deleted Node does not register again; one whose old Node is still there waits.
func TestNodeDeletedByHandStaysAway(t *testing.T) {
	play(t, Config{}, func(p *playground) {
		pool := p.makePool(1, nil)
		p.after(time.Second)
		if err := p.client.CoreV1().Nodes().Delete(t.Context(), p.node().Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		p.after(time.Hour)
		if n := len(p.nodes()); n != 0 || len(p.Instances()) != 1 {
			t.Errorf("%d nodes, %d instances", n, len(p.Instances()))
		}
		if p.pool(pool.ID).Nodes[0].Status != "ready" {
			t.Error("LKE noticed")
		}
	})
}

func TestForeignNodesAreLeftAlone(t *testing.T) {
	play(t, Config{}, func(p *playground) {
		other := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "control-plane"}}
		if _, err := p.client.CoreV1().Nodes().Create(t.Context(), other, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		p.after(time.Minute)
		if p.node().Name != "control-plane" {
			t.Error("it is gone")
		}
	})
}

// An API server that refuses every third call for a while only makes it take longer.
func TestNodesSurviveErrors(t *testing.T) {
	calls := 0
	overloaded := func(clienttesting.Action) (bool, runtime.Object, error) {
		if calls++; calls%3 == 0 && calls < 50 {
			return true, nil, errors.New("the server is overloaded")
		}
		return false, nil, nil
	}
	play(t, Config{}, func(p *playground) {
		p.makePool(10, nil)
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		all := p.nodes()
		for _, n := range all {
			if n.Spec.ProviderID == "" {
				t.Errorf("node %s was left bare", n.Name)
			}
		}
		if len(all) != 10 {
			t.Errorf("%d nodes after %d calls", len(all), calls)
		}
	}, overloaded)
}

// What an early-bind controller may do first is kept.
func TestNodeCompletedByOthers(t *testing.T) {
	play(t, Config{CCMDelay: 10 * time.Second}, func(p *playground) {
		p.makePool(1, nil)
		p.after(time.Second)
		id := fmt.Sprintf("linode://%d", p.Instances()[0].ID)
		p.change(func(n *corev1.Node) {
			n.Spec.ProviderID = id
			n.Labels["karpenter.sh/nodepool"] = "a"
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{
				Key: "karpenter.sh/unregistered", Effect: corev1.TaintEffectNoExecute,
			})
		})
		p.after(30 * time.Second)
		n := p.node()
		if want := "node.kubernetes.io/not-ready:NoSchedule karpenter.sh/unregistered:NoExecute"; taintText(n) != want ||
			n.Spec.ProviderID != id {
			t.Errorf("provider id %q, taints %s", n.Spec.ProviderID, taintText(n))
		}
		if n.Labels["karpenter.sh/nodepool"] != "a" || n.Labels["node.kubernetes.io/instance-type"] != "g6-standard-4" {
			t.Errorf("labels %v", n.Labels)
		}
	})
}

func TestNodesInABurst(t *testing.T) {
	play(t, Config{JoinDelay: time.Minute, CCMDelay: 5 * time.Second, Jitter: 0.2}, func(p *playground) {
		for range 5 {
			p.makePool(50, nil)
		}
		p.after(80 * time.Second)
		all := p.nodes()
		for _, n := range all {
			if n.Spec.ProviderID == "" || n.Labels[csiRegionLabel] == "" {
				t.Errorf("node %s is not complete", n.Name)
			}
		}
		if len(all) != 250 {
			t.Errorf("%d nodes", len(all))
		}
	})
}

// TestSmallNodesOfEnterpriseHaveLessMemory by the profile's percentage of the plan, and others as on the standard tier.
func TestSmallNodesOfEnterpriseHaveLessMemory(t *testing.T) {
	for _, tt := range []struct {
		tier, plan string
		kept       int
		want       int64 // MiB for pods
	}{
		{"enterprise", "g6-standard-4", 0, 6144},
		{"enterprise", "g6-standard-4", 50, 4096},
		{"enterprise", "g6-standard-6", 50, 15612},
		{"standard", "g6-standard-4", 50, 7756},
	} {
		a := newAccount(t, Config{Tier: tt.tier, MemoryKept: tt.kept})
		a.makePool(1, fields{"type": tt.plan})
		machines, _ := a.machines(a.ClusterID())
		if len(machines) != 1 {
			t.Fatalf("%d machines", len(machines))
		}
		free := machines[0].bare(metav1.Now()).Status.Allocatable
		if got := free.Memory().Value() >> 20; got != tt.want {
			t.Errorf("%s on %s, %d %% kept: %d MiB for pods, want %d", tt.plan, tt.tier, tt.kept, got, tt.want)
		}
	}
	if _, err := New(Config{MemoryKept: 100}); err == nil {
		t.Error("all of the memory may be kept")
	}
}
