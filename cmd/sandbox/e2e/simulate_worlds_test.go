package e2e

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

var worldSeed = flag.Uint64("worlds", 2, "what the many worlds of TestRandomWorldsRunAsSimulated are drawn from")

const (
	threeNodes = "requirements = { class = \"standard\", cpu = 4 }\n  limits = { cpu = 12 }"
	spreadWith = `      topologySpreadConstraints:
        - {%s, labelSelector: {matchLabels: {app: NAME}}}
`
	overNodes = "topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, "
)

// spreadLoads are pods that spread over nodes, more than there can be nodes.
var spreadLoads = []simulatedLoad{
	{threeNodes, 5, "500m", "512Mi", fmt.Sprintf(spreadWith, overNodes+"maxSkew: 1")},
	{threeNodes, 7, "500m", "512Mi", fmt.Sprintf(spreadWith, overNodes+"maxSkew: 2")},
	{threeNodes, 4, "200m", "256Mi", fmt.Sprintf(spreadWith, overNodes+"maxSkew: 1, minDomains: 4")},
	{threeNodes, 4, "200m", "256Mi", fmt.Sprintf(spreadWith, overNodes+"maxSkew: "+
		"1") + fmt.Sprintf(affinityTo, "podAntiAffinity", "NAME")},
	{threeNodes, 8, "1700m", "512Mi", fmt.Sprintf(spreadWith, overNodes+"maxSkew: 1")},
	{smallPlans, 6, "700m", "512Mi", fmt.Sprintf(spreadWith, overNodes+"maxSkew: 1")},
}

// drawLoad draws a pool and equal pods for it. The scheduler of Kubernetes binds pods to nodes in its own
// order: unequal ones may take room that Karpenter has planned for others, and then more nodes are created than
// were planned for.
func drawLoad(r *rand.Rand) simulatedLoad {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	w := simulatedLoad{
		pool: pick(
			"requirements = { class = \"standard\", cpu = between(2, 8) }",
			"requirements = { class = \"dedicated\", cpu = between(2, 8) }",
			"requirements = { class = [\"standard\", \"dedicated\"], cpu = between(2, 16) }",
			"requirements = { class = \"standard\", cpu = 4 }",
			"requirements = { class = \"highmem\" }",
			"requirements = { instance_type = [\"g6-standard-2\", \"g6-dedicated-4\"] }",
		),
		pods: 1 + r.IntN(9),
		cpu:  pick("50m", "300m", "700m", "1", "1700m", "2500m", "30"),
		size: pick("64Mi", "512Mi", "1Gi", "3Gi", "6Gi"),
	}
	limited := r.IntN(3) == 0
	if limited {
		// A node reports more memory than Karpenter counts on until it has seen one, so that a pod more may run on
		// the last one.
		w.size = "64Mi"
		w.pool += fmt.Sprintf("\n  limits = { cpu = %d }", 4+2*r.IntN(10))
	}
	if r.IntN(4) == 0 {
		effect := pick("NoSchedule", "NoExecute", "PreferNoSchedule")
		w.pool += fmt.Sprintf("\n  taints = [\"example.com/world=drawn:%s\"]", effect)
		if effect != "PreferNoSchedule" && r.IntN(5) > 0 || r.IntN(2) == 0 {
			w.more += "      tolerations: [{key: example.com/world, operator: " + pick("Exists", "Equal, value: drawn") + "}]\n"
		}
	}
	if r.IntN(2) == 0 {
		skew := fmt.Sprintf("maxSkew: %d", 1+r.IntN(2))
		if r.IntN(4) == 0 {
			skew += fmt.Sprintf(", minDomains: %d", 1+r.IntN(4))
		}
		anyway := "ScheduleAnyway"
		if limited { // it is chance then whether Karpenter creates another node for a pod that can go to one that is being made
			anyway = "DoNotSchedule"
		}
		w.more += fmt.Sprintf(spreadWith, pick(overNodes+skew, overNodes+skew,
			"topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, maxSkew: 1",
			"topologyKey: topology.kubernetes.io/region, whenUnsatisfiable: DoNotSchedule, maxSkew: 1",
			"topologyKey: kubernetes.io/hostname, maxSkew: 1, whenUnsatisfiable: "+anyway))
	}
	switch r.IntN(8) {
	case 0:
		w.more += fmt.Sprintf(affinityTo, "podAntiAffinity", "NAME")
	case 1:
		// With both, Karpenter may plan a node for more pods than can be on it; how many is chance.
		if !strings.Contains(w.more, corev1.LabelHostname) {
			w.size = "64Mi" // as above: all are on one node
			w.more += fmt.Sprintf(affinityTo, "podAffinity", "NAME")
		}
	case 2:
		w.more += fmt.Sprintf("      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "+
			"{nodeSelectorTerms: "+
			"[{matchExpressions: [{key: karpenter.k8s.linode/instance-cpu, operator: %s}]}]}}}\n", pick(`Gt, values: ["3"]`,
			`Lt, values: ["8"]`, `In, values: ["4", "8"]`, `NotIn, values: ["2"]`))
	}
	if r.IntN(6) == 0 {
		w.more += "      initContainers: [{name: i, image: registry.k8s.io/pause:3.10, resources: {requests: {cpu: 2}}" +
			pick("", ", restartPolicy: Always") + "}]\n"
	}
	return w
}

// TestRandomWorldsRunAsSimulated: Karpenter makes nodes of the plan types that simulate says, and the
// scheduler of Kubernetes runs as many pods on them, for random pods, each kind with its own pool. Many
// spread over nodes or zones, or have limits in their way.
func TestRandomWorldsRunAsSimulated(t *testing.T) {
	drawn := func(n int, seed uint64) (loads []simulatedLoad) {
		r := rand.New(rand.NewPCG(seed, 0))
		for range n {
			loads = append(loads, drawLoad(r))
		}
		return loads
	}
	t.Run("few", func(t *testing.T) { t.Parallel(); runsAsSimulated(t, drawn(10, 1)) })
	t.Run("many", func(t *testing.T) { t.Parallel(); runsAsSimulated(t, append(drawn(60, *worldSeed), spreadLoads...)) })
}

// runsAsSimulated simulates loads and then runs them.
func runsAsSimulated(t *testing.T, loads []simulatedLoad) {
	s := startSandbox(t, "--lke-daemonsets", "--region", "us-southeast")
	s.installCRDs()
	dir := t.TempDir()
	hcl, yaml := "cluster {\n  name   = \"sandbox\"\n  region = \"us-southeast\"\n}\n\nnode_class \"default\" {}\n", ""
	asked := map[string]int{}
	for i, w := range loads {
		block, manifest := w.files(i)
		hcl, yaml = hcl+block, yaml+manifest
		asked[fmt.Sprintf("w%02d", i)] = w.pods
	}
	said := s.simulated(dir, hcl, yaml)
	type world struct {
		Nodes           map[string]int // by plan type
		Running, Wait   int
		Pool, More, Ask string
	}
	fresh := func() map[string]world {
		worlds := map[string]world{}
		for i, w := range loads {
			worlds[fmt.Sprintf("w%02d", i)] = world{map[string]int{}, 0, w.pods, w.pool, w.more, w.cpu + " " + w.size}
		}
		return worlds
	}
	want := fresh()
	for _, p := range said.Head.Plans {
		w := want[p.Pool]
		w.Nodes[p.Plan] += p.Nodes
		w.Running, w.Wait = w.Running+p.Pods, w.Wait-p.Pods
		want[p.Pool] = w
	}
	s.kube(yaml, "apply", "-f", "-")
	controller := s.startController()
	s.run("lkeplan", "apply", "--yes", dir)
	differs := func() string {
		var pods corev1.PodList
		if err := s.client.List(t.Context(), &pods); err != nil {
			t.Fatal(err)
		}
		got, pool := fresh(), map[string]string{}
		for _, n := range s.state().nodes {
			name := n.Labels[karpv1.NodePoolLabelKey]
			pool[n.Name] = name
			if w, drawn := got[name]; drawn { // it has its labels
				w.Nodes[n.Labels[corev1.LabelInstanceTypeStable]]++
			}
		}
		for _, p := range pods.Items {
			name := p.Labels["app"]
			if w, drawn := got[name]; drawn && pool[p.Spec.NodeName] == name {
				w.Running, w.Wait = w.Running+1, w.Wait-1
				got[name] = w
			}
		}
		return cmp.Diff(want, got)
	}
	s.eventually("nodes and pods are as simulated", 4*time.Minute, func() error {
		if diff := differs(); diff != "" {
			return fmt.Errorf("by pool (-simulated +run)\n%s", diff)
		}
		return nil
	})
	s.never("a node or a pod is another than simulated", func(state) bool { return differs() != "" }, controller.provisioning())
	var waits int
	for _, w := range want {
		waits += w.Wait
	}
	t.Logf("%d nodes, %d pods of %d wait", len(said.Head.Nodes), waits, said.Head.Asked)
	if strings.Contains(yaml, "NAME") {
		t.Error("a name is not filled in")
	}
}
