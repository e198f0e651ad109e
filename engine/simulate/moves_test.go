package simulate_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/awslabs/operatorpkg/status"
	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/engine/simulate/workload"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

var friday = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// directory is a configuration whose pools are given.
func directory(pools string) string {
	if strings.Contains(pools, "image = ") {
		return "cluster {\n  name = \"dev\"\n  region = \"us-ord\"\n  mode = \"instance\"\n}\nnode_class \"d\" {\n  image = \"linode/ubuntu24.04\"\n}\n" + pools
	}
	return "cluster {\n  name = \"dev\"\n  region = \"us-ord\"\n}\nnode_class \"d\" {}\n" + pools
}

// pool is a block, with further arguments.
func pool(name, requirements string, more ...string) string {
	return fmt.Sprintf("pool %q {\n  node_class = node_class.d\n  requirements = { %s }\n  %s\n}\n", name, requirements, strings.Join(more, "\n  "))
}

// objectsOf are the objects of a configuration.
func objectsOf(t testing.TB, text string) []client.Object {
	t.Helper()
	var in simulate.Input
	compileInto(t, &in, fstest.MapFS{"main.lke.hcl": {Data: []byte(text)}})
	return in.Objects
}

// TestMoves: what can make Karpenter remove or replace nodes that match their pools, and what cannot.
func TestMoves(t *testing.T) {
	const budget = "disruption {\n    %s\n    budget {\n      nodes = \"%s\"\n    }\n  }"
	web := pool("web", `class = "dedicated", cpu = between(4, 8)`)
	never := pool("web", `class = "dedicated", cpu = between(4, 8)`, `disruption { consolidate_after = "Never" }`)
	four, neverFour := pool("web", `class = "dedicated", cpu = 4`), strings.Replace(never, "between(4, 8)", "4", 1)
	empty := pool("web", `class = "dedicated", cpu = between(4, 8)`, "disruption {\n    policy = \"WhenEmpty\"\n    consolidate_after = \"30s\"\n  }")
	shut := pool("web", `class = "dedicated", cpu = between(4, 8)`, fmt.Sprintf(budget, `consolidate_after = "30s"`, "0"))
	cheap := func(more ...string) string { return pool("cheap", `class = "standard", cpu = between(1, 8)`, more...) }
	gold := pool("gold", `class = "dedicated", cpu = 4`, `labels = { "example.com/tier" = "gold" }`, `taints = ["a=b:NoSchedule"]`)
	dear := pool("dear", `class = "dedicated", cpu = between(16, 32)`, "weight = 90")
	unready := func(tag string) string { return fmt.Sprintf("node_class \"unready\" {\n  tags = [%q]\n}\n", tag) }
	missing := "node_class \"missing\" {}\n"
	cheapOf := func(class string) string {
		return strings.Replace(cheap("weight = 50"), "node_class.d", "node_class."+class, 1)
	}
	instances := func(reserved string) string {
		return web + strings.Replace(cheapOf("roomy"), "between(1, 8)", "between(1, 2)", 1) + fmt.Sprintf("node_class \"roomy\" {\n"+
			"  image = \"linode/ubuntu24.04\"\n  kubelet {\n    kube_reserved = { memory = %q }\n  }\n}\n", reserved)
	}
	wide := func(tier string) string {
		return pool("web", `class = "dedicated", cpu = between(2, 8)`, fmt.Sprintf("labels = { \"example.com/tier\" = %q }", tier),
			`in_place = ["example.com/tier"]`)
	}
	overlay := func(requirements, price string) string {
		return fmt.Sprintf("overlay \"some\" {\n  requirements = { %s }\n  price = %q\n}\n", requirements, price)
	}
	buffer := func(size string) string {
		return "buffer \"web\" {\n  namespace = \"default\"\n  pod_template = \"spare\"\n  " + size + "\n}\n"
	}
	small := func(name string) string {
		return "buffer \"" + name + "\" {\n  namespace = \"default\"\n  pod_template = \"small\"\n  replicas = 2\n}\n"
	}
	for _, tt := range []struct {
		name          string
		pods          string
		before, after string
		want          []string
		start         string // the pools that the pods got their nodes from; "" for those before
	}{
		{"nothing", "4x1cpu,2Gi", web, web, nil, ""},
		{"a new pool that is cheaper and tried first", "2x1cpu,2Gi", web, web + cheap("weight = 50"),
			[]string{"web g6-dedicated-4 -> g6-standard-4, saves $24"}, ""},
		{"a new pool that is tried last", "2x1cpu,2Gi", pool("web", `class = "dedicated", cpu = between(4, 8)`, "weight = 60"),
			pool("web", `class = "dedicated", cpu = between(4, 8)`, "weight = 60") + cheap("weight = 50"), nil, ""},
		{"a new pool whose taints the pods do not tolerate", "2x1cpu,2Gi", web,
			web + cheap("weight = 50", `taints = ["a=b:NoSchedule"]`), nil, ""},
		{"taints that go", "2x1cpu,2Gi", web + cheap("weight = 50", `taints = ["a=b:NoSchedule"]`), web + cheap("weight = 50"),
			[]string{"web g6-dedicated-4 -> g6-standard-4, saves $24"}, ""},
		{"a larger weight", "2x1cpu,2Gi", pool("web", `class = "dedicated", cpu = between(4, 8)`, "weight = 60") + cheap(),
			pool("web", `class = "dedicated", cpu = between(4, 8)`, "weight = 60") + cheap("weight = 70"),
			[]string{"web g6-dedicated-4 -> g6-standard-4, saves $24"}, ""},
		{"wider requirements that are cheaper", "1x1cpu,2Gi", web, pool("web", `class = "dedicated", cpu = between(2, 8)`),
			[]string{"web g6-dedicated-4 -> g6-dedicated-2, saves $36"}, ""},
		{"wider requirements that are not", "2x1cpu,2Gi", web, pool("web", `class = "dedicated", cpu = between(4, 16)`), nil, ""},
		{"wider requirements of another pool", "2x1cpu,2Gi", web + pool("other", `class = "standard", cpu = between(16, 20)`, "weight = 50"),
			web + pool("other", `class = "standard", cpu = between(1, 20)`, "weight = 50"),
			[]string{"web g6-dedicated-4 -> g6-standard-4, saves $24"}, web},
		{"a larger limit of the pool that is tried first", "2x1cpu,2Gi", web + cheap("weight = 50", "limits = { cpu = 1 }"),
			web + cheap("weight = 50", "limits = { cpu = 100 }"), []string{"web g6-dedicated-4 -> g6-standard-4, saves $24"}, ""},
		{"a pool with replicas that has room", "2x1cpu,2Gi", web, web + pool("fixed", `class = "standard", cpu = between(6, 8)`, "replicas = 1"),
			[]string{"web g6-dedicated-4 -> , saves $72"}, ""},
		{"a pool that consolidates nothing", "2x1cpu,2Gi", never, never + cheap("weight = 50"), nil, ""},
		{"consolidation that begins", "2x1cpu,2Gi", never + cheap("weight = 50"), web + cheap("weight = 50"),
			[]string{"web g6-dedicated-4 -> g6-standard-4, saves $24"}, web},
		{"a policy that allows more", "2x1cpu,2Gi", empty + cheap("weight = 50"), web + cheap("weight = 50"),
			[]string{"web g6-dedicated-4 -> g6-standard-4, saves $24"}, web},
		{"a budget that opens", "2x1cpu,2Gi", shut + cheap("weight = 50"), web + cheap("weight = 50"),
			[]string{"web g6-dedicated-4 -> g6-standard-4, saves $24"}, web},
		{"a budget of zero", "2x1cpu,2Gi", shut, shut + cheap("weight = 50"), nil, ""},
		{"a node that goes without the change", "2x1cpu,2Gi", web + cheap("weight = 50"),
			web + cheap("weight = 50") + pool("more", `class = "standard", cpu = 2`, `taints = ["a=b:NoSchedule"]`), nil, web},
		{"a node that goes without the change, to another place: what was tried first may be out of stock", "1x1cpu,2Gi", web, web + cheap("weight = 50"),
			[]string{"web g6-dedicated-8 -> g6-standard-2, saves $120"}, pool("web", `class = "dedicated", cpu = 8`)},
		{"a class that may become unready", "2x1cpu,2Gi", web + "node_class \"own\" {}\n" + strings.Replace(dear, "node_class.d", "node_class.own", 1) + cheap("weight = 50"),
			web + "node_class \"own\" {\n  tags = [\"team=a\"]\n}\n" + strings.Replace(dear, "node_class.d", "node_class.own", 1) + cheap("weight = 50"),
			[]string{"web g6-dedicated-4 -> g6-standard-4, saves $24, " + simulate.WhenRefused}, web},
		{"an overlay with a price", "1x1cpu,2Gi", wide("silver"), wide("silver") + overlay("cpu = 4", "0.001"),
			[]string{"web g6-dedicated-2 -> g6-dedicated-4, saves $-36"}, ""},
		{"another price of an overlay", "1x1cpu,2Gi", wide("silver") + overlay("cpu = 4", "9"), wide("silver") + overlay("cpu = 4", "0.001"),
			[]string{"web g6-dedicated-2 -> g6-dedicated-4, saves $-36"}, ""},
		{"an overlay that goes", "1x1cpu,2Gi", wide("silver") + overlay("cpu = 4", "0.001"), wide("silver"),
			[]string{"web g6-dedicated-4 -> g6-dedicated-2, saves $36"}, ""},
		{"a label in place that an overlay selects", "1x1cpu,2Gi", wide("silver") + overlay(`"example.com/tier" = "gold", cpu = 4`, "0.001"),
			wide("gold") + overlay(`"example.com/tier" = "gold", cpu = 4`, "0.001"),
			[]string{"web g6-dedicated-2 -> g6-dedicated-4, saves $-36"}, ""},
		{"a label in place that pods select", "1x500mcpu,500Mi gold:1x500mcpu,500Mi", wide("silver") + gold, wide("gold") + gold,
			[]string{"gold g6-dedicated-4 -> , saves $72"}, ""},
		{"a label in place that no overlay selects", "1x1cpu,2Gi", wide("silver") + overlay("cpu = 4", "9"), wide("gold") + overlay("cpu = 4", "9"), nil, ""},
		{"a pool that was tried first is deleted", "2x1cpu,2Gi", web + dear + cheap("weight = 50"), web + cheap("weight = 50"),
			[]string{"web g6-dedicated-4 -> g6-standard-4, saves $24"}, web},
		{"a lower limit of a pool that was tried first", "2x1cpu,2Gi", web + dear + cheap("weight = 50"),
			web + strings.Replace(dear, "weight", "limits = { cpu = 1 }\n  weight", 1) + cheap("weight = 50"), []string{"web g6-dedicated-4 -> g6-standard-4, saves $24"}, web},
		{"more taints of a pool that was tried first", "2x1cpu,2Gi", web + dear + cheap("weight = 50"),
			web + strings.Replace(dear, "weight", "taints = [\"a=b:NoSchedule\"]\n  weight", 1) + cheap("weight = 50"), []string{"web g6-dedicated-4 -> g6-standard-4, saves $24"}, web},
		{"a lower weight of a pool that was tried first", "2x1cpu,2Gi", web + dear + cheap("weight = 50"),
			web + strings.Replace(dear, "90", "10", 1) + cheap("weight = 50"), []string{"web g6-dedicated-4 -> g6-standard-4, saves $24"}, web},
		{"a larger limits block", "2x1cpu,2Gi", web + cheap("weight = 50") + "limits \"all\" {\n  nodes = 1\n}\n",
			web + cheap("weight = 50") + "limits \"all\" {\n  nodes = 9\n}\n", []string{"web g6-dedicated-4 -> g6-standard-4, saves $24"}, web},
		{"a class that becomes ready", "2x1cpu,2Gi", web + unready("team=a") + cheapOf("unready"), web + unready("team=b") + cheapOf("unready"),
			[]string{"web g6-dedicated-4 -> g6-standard-4, saves $24"}, web},
		{"a class that is created", "2x1cpu,2Gi", web + missing + cheapOf("missing"), web + missing + cheapOf("missing"),
			[]string{"web g6-dedicated-4 -> g6-standard-4, saves $24"}, web},
		{"a class that stays unready", "2x1cpu,2Gi", web + unready("team=a") + cheapOf("unready"), web + unready("team=a") + cheapOf("unready") +
			pool("more", `class = "standard", cpu = 2`, `taints = ["a=b:NoSchedule"]`), nil, web},
		{"a class whose nodes have more room", "1x1cpu,2Gi", instances("3Gi"), instances("100Mi"),
			[]string{"web g6-dedicated-4 -> g6-standard-2, saves $48"}, instances("3Gi")},
		{"a buffer that goes", "1x1cpu,2Gi", four + buffer("replicas = 1"), four, []string{"web g6-dedicated-4 -> , saves $72"}, ""},
		{"a smaller buffer", "1x1cpu,2Gi", four + buffer("replicas = 2"), four + buffer("replicas = 1"),
			[]string{"web g6-dedicated-4 -> , saves $72"}, ""},
		{"a buffer with a smaller limit", "1x1cpu,2Gi", four + buffer("limits = { cpu = 7 }"), four + buffer("limits = { cpu = 6 }"),
			[]string{"web g6-dedicated-4 -> , saves $72"}, ""},
		{"a buffer of another pod template", "1x1cpu,2Gi", four + buffer("replicas = 1"),
			four + strings.Replace(buffer("replicas = 1"), `"spare"`, `"gone"`, 1), []string{"web g6-dedicated-4 -> , saves $72"}, ""},
		{"a buffer of smaller pods", "1x1cpu,2Gi", four + buffer("replicas = 1"),
			four + strings.Replace(buffer("replicas = 1"), `"spare"`, `"small"`, 1), []string{"web g6-dedicated-4 -> , saves $72"}, ""},
		{"a buffer that goes from a pool that consolidates nothing", "1x1cpu,2Gi", neverFour + buffer("replicas = 1"), neverFour, nil, ""},
		{"a buffer whose pods have room beside others", "1x1cpu,2Gi", four + small("a"), four, nil, ""},
		{"one of two buffers on a node", "1x1cpu,2Gi", four + small("a") + small("b"), four + small("a"),
			[]string{"web g6-dedicated-4 -> , saves $72"}, ""},
		{"a larger buffer", "1x1cpu,2Gi", four + buffer("replicas = 1"), four + buffer("replicas = 2"), nil, ""},
		{"a cheaper pool for a buffer", "1x1cpu,2Gi", four + buffer("replicas = 1"), four + buffer("replicas = 1") + cheap("weight = 50"),
			[]string{"web g6-dedicated-4 -> g6-standard-2, saves $48"}, ""},
		{"a pool that is deleted makes no other move", "2x1cpu,2Gi", web + cheap(`taints = ["a=b:NoSchedule"]`), web, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var in simulate.Input
			compileInto(t, &in, fstest.MapFS{"main.lke.hcl": {Data: []byte(directory(cmp.Or(tt.start, tt.before)))}})
			for text := range strings.FieldsSeq(tt.pods) {
				shape, selects := strings.CutPrefix(text, "gold:")
				load, err := workload.ParsePods(shape)
				if err != nil {
					t.Fatal(err)
				}
				if selects {
					load.Pod.Spec.NodeSelector = map[string]string{"example.com/tier": "gold"}
					load.Pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
				}
				in.Workloads = append(in.Workloads, load)
			}
			in.Templates = spareTemplates(t)
			live, err := simulate.ConsolidatedCluster(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			before := slices.DeleteFunc(objectsOf(t, directory(tt.before)), func(o client.Object) bool { return o.GetName() == "missing" })
			for _, o := range before {
				if class, ok := o.(*linodev1alpha1.LinodeNodeClass); ok && class.Name == "unready" {
					no := func(kind string) status.Condition {
						return status.Condition{Type: kind, Status: metav1.ConditionFalse, Message: "no"}
					}
					class.Status.Conditions = []status.Condition{no("Ready"), no("ValidationSucceeded")}
				}
			}
			moved, err := simulate.Moves(t.Context(), live, friday, before, objectsOf(t, directory(tt.after)))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range moved {
				var to []string
				for _, n := range m.To {
					to = append(to, n.Plan)
				}
				text := fmt.Sprintf("%s %s -> %s, saves $%s", m.Pool, m.Plan, strings.Join(to, " "), m.Saves.Monthly)
				if m.When != "" {
					text += ", " + m.When
				}
				got = append(got, text)
			}
			if diff := gocmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// spareTemplates are PodTemplates for buffers: "spare" requests a node of web, and "small" a part of it.
func spareTemplates(t *testing.T) (all []simulate.Template) {
	for name, shape := range map[string]string{"spare": "1x3500mcpu,2Gi", "small": "1x1cpu,1Gi"} {
		load, err := workload.ParsePods(shape)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, simulate.Template{Key: manifest.Key{Kind: "PodTemplate", Namespace: "default", Name: name}, Replicas: 1,
			Pods: corev1.PodTemplateSpec{Spec: load.Pod.Spec}})
	}
	return all
}

// TestWhatHoldsANodeForATimeDoesNotHideMoves: a pod that ends and a budget with a pod that waits hold a node only now.
func TestWhatHoldsANodeForATimeDoesNotHideMoves(t *testing.T) {
	web := pool("web", `class = "dedicated", cpu = between(4, 8)`)
	cheap := pool("cheap", `class = "standard", cpu = between(1, 8)`, "weight = 50")
	owned := func(kind string) func(*simulate.Live) {
		return func(in *simulate.Live) {
			in.Pods[0].Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"}
			in.Pods[0].OwnerReferences = nil
			if kind != "" {
				in.Pods[0].OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "some", Controller: ptr.To(true)}}
			}
		}
	}
	budget := func(unavailable int32, waits bool) func(*simulate.Live) {
		return func(in *simulate.Live) {
			in.Budgets = []*policyv1.PodDisruptionBudget{{ObjectMeta: metav1.ObjectMeta{Name: "some", Namespace: in.Pods[0].Namespace},
				Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &intstr.IntOrString{IntVal: unavailable}, Selector: &metav1.LabelSelector{}}}}
			if waits {
				pod := in.Pods[0].DeepCopy()
				pod.Name, pod.UID, pod.Spec.NodeName, pod.Spec.NodeSelector = "waits", "waits", "", map[string]string{"no": "such"}
				in.Pods = append(in.Pods, pod)
			}
		}
	}
	for _, tt := range []struct {
		name  string
		holds func(*simulate.Live)
		want  string // "now", when, or "" for no move
	}{
		{"nothing", func(*simulate.Live) {}, "now"},
		{"a pod without a controller", owned(""), simulate.WhenFree},
		{"a pod of a Job", owned("Job"), simulate.WhenFree},
		{"a pod of a ReplicaSet, for good", owned("ReplicaSet"), ""},
		{"a node, for good", func(in *simulate.Live) {
			in.Nodes[0].Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"}
		}, ""},
		{"a budget that allows an eviction", budget(1, false), "now"},
		{"a budget whose other pod waits", budget(1, true), simulate.WhenFree},
		{"a budget of zero, for good", budget(0, true), ""},
	} {
		in := simulate.Input{}
		compileInto(t, &in, fstest.MapFS{"main.lke.hcl": {Data: []byte(directory(web))}})
		load, err := workload.ParsePods("1x1cpu,2Gi")
		if err != nil {
			t.Fatal(err)
		}
		in.Workloads = []simulate.Workload{load}
		live, err := simulate.ConsolidatedCluster(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		tt.holds(&live)
		moved, err := simulate.Moves(t.Context(), live, friday, objectsOf(t, directory(web)), objectsOf(t, directory(web+cheap)))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		got := ""
		if len(moved) > 0 {
			got = cmp.Or(moved[0].When, "now")
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q: %+v", tt.name, got, tt.want, moved)
		}
	}
}

// TestMovesOfNodesAsTheyAre: a node that has not joined is there once it joins, and hides no move if it does not. Plan types have
// the size that their nodes report. Pods of a DaemonSet go if a label does which they select.
func TestMovesOfNodesAsTheyAre(t *testing.T) {
	agent := func(value string) string {
		return pool("web", `class = "dedicated", cpu = 4`, fmt.Sprintf("labels = { \"example.com/agent\" = %q }", value), `in_place = ["example.com/agent"]`)
	}
	daemon := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent"}}
	daemon.Spec.Template.Spec = corev1.PodSpec{NodeSelector: map[string]string{"example.com/agent": "on"}, Containers: []corev1.Container{{
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2500m")}}}}}
	web := pool("web", `class = "dedicated", cpu = 4`)
	gold := pool("gold", `class = "premium", cpu = 16`, `labels = { team = "gold" }`)
	small := pool("small", `class = "standard", cpu = 2`, `labels = { team = "small" }`, `taints = ["team=small:NoSchedule"]`)
	cheap := pool("cheap", `class = "standard", cpu = between(1, 8)`, "weight = 50")
	of := func(in *simulate.Live, pool string) int {
		return slices.IndexFunc(in.Nodes, func(n *corev1.Node) bool { return n.Labels["karpenter.sh/nodepool"] == pool })
	}
	waits := func(in *simulate.Live, pool string) {
		i := of(in, pool)
		name := in.Nodes[i].Name
		in.Nodes = slices.Delete(in.Nodes, i, i+1)
		for _, pod := range in.Pods {
			if pod.Spec.NodeName == name {
				pod.Spec.NodeName = ""
				pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("1") // so that others have room beside it
			}
		}
		for _, nc := range in.Claims {
			if nc.Status.NodeName == name {
				nc.Status.NodeName = ""
			}
		}
	}
	for _, tt := range []struct {
		name          string
		before, after string
		pods          []string // a team and a shape
		change        func(*simulate.Live)
		want          []string
	}{
		{"a node that joins takes the pods of another in any case", web + gold, web + gold + small, []string{" 1x1cpu,2Gi", "gold 1x15500mcpu,8Gi"},
			func(in *simulate.Live) { waits(in, "gold") }, nil},
		{"a node that may not join", web + gold, web + gold + cheap, []string{" 1x1cpu,2Gi", "gold 1x15500mcpu,8Gi"},
			func(in *simulate.Live) { waits(in, "gold") }, []string{"web -> g6-standard-2 " + simulate.WhenPending}},
		{"a node for pods that are pending may not join", web + gold, web + gold + cheap, []string{" 1x1cpu,2Gi", "gold 1x15500mcpu,8Gi"},
			func(in *simulate.Live) {
				waits(in, "gold")
				in.Claims = slices.DeleteFunc(in.Claims, func(nc *karpv1.NodeClaim) bool { return nc.Status.NodeName == "" })
			}, []string{"web -> g6-standard-2 " + simulate.WhenPending}},
		{"a node that has not joined goes", web + small, web + small + cheap, []string{" 1x1cpu,2Gi", "small 1x1cpu,2Gi"},
			func(in *simulate.Live) { waits(in, "web") }, []string{"web -> g6-standard-2"}},
		{"a label in place that a DaemonSet selects", agent("on"), agent("off"), []string{" 2x900mcpu,1Gi"},
			func(in *simulate.Live) {
				for _, node := range in.Nodes {
					pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent-" + node.Name, UID: types.UID(node.Name)}, Spec: *daemon.Spec.Template.Spec.DeepCopy()}
					pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", Controller: ptr.To(true)}}
					pod.Spec.NodeName = node.Name
					in.Pods = append(in.Pods, pod)
				}
			}, []string{"web ->"}},
		{"the size of a plan type in the price list", web + small, web + small + cheap, []string{" 1x1cpu,3760Mi", "small 1x1cpu,2Gi"},
			func(*simulate.Live) {}, []string{"web -> g6-standard-4"}},
		{"the size that nodes report", web + small, web + small + cheap, []string{" 1x1cpu,3760Mi", "small 1x1cpu,2Gi"},
			func(in *simulate.Live) {
				node := in.Nodes[of(in, "small")]
				node.Status.NodeInfo.KubeletVersion = "v1.33.1"
				more := func(list corev1.ResourceList) {
					memory := list[corev1.ResourceMemory]
					memory.Add(resource.MustParse("100Mi"))
					list[corev1.ResourceMemory] = memory
				}
				more(node.Status.Capacity)
				more(node.Status.Allocatable)
			}, []string{"web -> g6-standard-2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := simulate.Input{}
			in.DaemonSets = []*appsv1.DaemonSet{daemon}
			compileInto(t, &in, fstest.MapFS{"main.lke.hcl": {Data: []byte(directory(tt.before))}})
			for _, text := range tt.pods {
				team, shape, _ := strings.Cut(text, " ")
				load, err := workload.ParsePods(shape)
				if err != nil {
					t.Fatal(err)
				}
				if team != "" {
					load.Pod.Spec.NodeSelector = map[string]string{"team": team}
					load.Pod.Spec.Tolerations = []corev1.Toleration{{Key: "team", Value: team}}
				}
				in.Workloads = append(in.Workloads, load)
			}
			live, err := simulate.ConsolidatedCluster(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			tt.change(&live)
			moved, err := simulate.Moves(t.Context(), live, friday, objectsOf(t, directory(tt.before)), objectsOf(t, directory(tt.after)))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range moved {
				to := ""
				for _, n := range m.To {
					to += " " + n.Plan
				}
				got = append(got, strings.TrimSpace(m.Pool+" ->"+to+" "+m.When))
			}
			if diff := gocmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestMovesAreCompleteOrAnError: Karpenter reports no error if the time is up while it looks for nodes.
func TestMovesAreCompleteOrAnError(t *testing.T) {
	web := pool("web", `class = "dedicated", cpu = between(4, 8)`)
	cheap := pool("cheap", `class = "standard", cpu = between(1, 8)`, "weight = 50")
	in := simulate.Input{}
	compileInto(t, &in, fstest.MapFS{"main.lke.hcl": {Data: []byte(directory(web))}})
	load, err := workload.ParsePods("9x3cpu,2Gi")
	if err != nil {
		t.Fatal(err)
	}
	in.Workloads = []simulate.Workload{load}
	live, err := simulate.ConsolidatedCluster(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	before, after := objectsOf(t, directory(web)), objectsOf(t, directory(web+cheap))
	all, err := simulate.Moves(t.Context(), live, friday, before, after)
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	for limit := time.Millisecond; ; limit += limit/8 + time.Millisecond/2 {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		moved, err := simulate.Moves(ctx, live, friday, before, after)
		cancel()
		if err == nil {
			if diff := gocmp.Diff(all, moved); diff != "" {
				t.Errorf("within %s (-all +found)\n%s", limit, diff)
			}
			return
		}
	}
}

// TestPartialMovesAreAnError: Karpenter stops a search after a minute, and a simulation stops after many steps.
func TestPartialMovesAreAnError(t *testing.T) {
	for _, tt := range []struct {
		slow, ended bool
		want        string
	}{
		{false, true, "<nil>"},
		{true, true, "the search of Karpenter for several nodes stops after a minute"},
		{false, false, "it does not end after 0 steps"},
	} {
		if got := fmt.Sprint(simulate.Incomplete(tt.slow, tt.ended)); got != tt.want {
			t.Errorf("slow %t, ended %t: %q, want %q", tt.slow, tt.ended, got, tt.want)
		}
	}
}

// TestEachCauseOfMovesHasARow of TestMoves, which the comment of Moves names.
func TestEachCauseOfMovesHasARow(t *testing.T) {
	code, err := os.ReadFile("moves.go")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := os.ReadFile("moves_test.go")
	if err != nil {
		t.Fatal(err)
	}
	causes := regexp.MustCompile(`(?m)^//\t.*".*"$`).FindAllString(string(code), -1)
	for _, name := range regexp.MustCompile(`"[^"]+"`).FindAllString(strings.Join(causes, "\n"), -1) {
		if !strings.Contains(string(rows), "{"+name+",") {
			t.Errorf("TestMoves has no row %s", name)
		}
	}
	if len(causes) < 10 {
		t.Errorf("%d causes found", len(causes))
	}
}

// TestNoChangeMovesNothing: in worlds that are drawn.
func TestNoChangeMovesNothing(t *testing.T) {
	for seed := range uint64(*worlds) {
		w := draw(t, seed)
		w.in.Budgets = []*policyv1.PodDisruptionBudget{{ObjectMeta: metav1.ObjectMeta{Namespace: "default"},
			Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &intstr.IntOrString{IntVal: int32(seed % 3)},
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "app0"}}}}}
		live, err := simulate.ConsolidatedCluster(t.Context(), w.in)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, w.text)
		}
		moved, err := simulate.Moves(t.Context(), live, friday, w.in.Objects, w.in.Objects)
		if err != nil || len(moved) > 0 {
			t.Fatalf("seed %d: %v\n%+v\n%s", seed, err, moved, w.text)
		}
	}
}
