package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/simulate"
)

// stableLoad is a workload of which half of the pods leave, and what its pool says of
// nodes that go.
type stableLoad struct {
	simulatedLoad
	disruption  string // of the pool's block, without consolidate_after
	annotations string // of the pods
	budget      string // of its PodDisruptionBudget
}

const (
	allMayGo  = "\n    budget {\n      nodes = \"100%\"\n    }"
	whenEmpty = "\n    policy = \"WhenEmpty\"" + allMayGo
)

// stable are workloads whose result does not depend on which of several nodes that do equally
// well Karpenter takes first: that is chance, and simulate takes them by name. Of nodes of
// 8, 8 and 4 CPUs that are half empty, it may leave one of 6 and one of 4, or one of 8 and
// one of 2, which cost half as much again. The pods of two nodes of 8 CPUs that are half
// empty fit on either.
var stable = []stableLoad{
	{simulatedLoad: simulatedLoad{smallPlans, 14, "1", "1Gi", ""}, disruption: allMayGo},
	{simulatedLoad: simulatedLoad{smallPlans, 16, "1", "1Gi", ""}, disruption: whenEmpty},
	{simulatedLoad: simulatedLoad{smallPlans, 16, "1", "1Gi", ""}, disruption: allMayGo, budget: "maxUnavailable: 0"},
	{simulatedLoad: simulatedLoad{smallPlans, 16, "1", "1Gi", ""}, disruption: allMayGo,
		annotations: `karpenter.sh/do-not-disrupt: "true"`},
	{simulatedLoad: simulatedLoad{smallPlans, 16, "1", "1Gi", ""}, disruption: "\n    budget {\n      nodes = 0\n    }"},
	{simulatedLoad: simulatedLoad{
		"requirements = { class = [\"standard\", \"dedicated\"], cpu = between(2, 16) }", 6, "1", "1Gi", "",
	}, disruption: allMayGo},
	{simulatedLoad: simulatedLoad{smallPlans, 4, "250m", "512Mi", fmt.Sprintf(affinityTo, "podAntiAffinity", "NAME")},
		disruption: whenEmpty},
	{simulatedLoad: simulatedLoad{smallPlans, 12, "1700m", "512Mi", ""}, disruption: allMayGo},
	{simulatedLoad: simulatedLoad{smallPlans, 14, "1", "1Gi", ""}, disruption: "\n    policy = \"Balanced\"" + allMayGo},
	{simulatedLoad: simulatedLoad{smallPlans, 14, "1", "1Gi", ""}, disruption: allMayGo, budget: "minAvailable: 2"},
}

// write writes the pools, whose nodes may go after a while, and the workloads with a share
// of their pods.
func writeStable(t *testing.T, dir, after string, share float64) (yaml string) {
	t.Helper()
	hcl := "cluster {\n  name   = \"sandbox\"\n  region = \"us-southeast\"\n}\n\nnode_class \"default\" {}\n"
	for i, w := range stable {
		name := fmt.Sprintf("w%02d", i)
		w.pods = int(float64(w.pods) * share)
		block, manifest := w.files(i)
		hcl += strings.Replace(block, "consolidate_after = \"Never\"",
			fmt.Sprintf("consolidate_after = %q", after)+w.disruption, 1)
		labels := fmt.Sprintf("metadata: {labels: {app: %s}", name)
		yaml += strings.Replace(manifest, labels, labels+fmt.Sprintf(", annotations: {%s}", w.annotations), 1)
		if w.budget != "" {
			yaml += fmt.Sprintf("apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: %s}\n"+
				"spec: {%s, selector: {matchLabels: {app: %[1]s}}}\n---\n", name, w.budget)
		}
	}
	for file, text := range map[string]string{"main.lke.hcl": hcl, "workloads.yaml": yaml} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return yaml
}

// TestSimulatedConsolidationMatchesKarpenter: once half of the pods of each node have left, the controller removes and
// replaces nodes until there are those which simulate says, of each pool and plan type,
// and then no more. Nodes may go only when all have left: in between there are others.
// It takes ten minutes: Karpenter checks nodes in an order that is not always the same.
func TestSimulatedConsolidationMatchesKarpenter(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, "--lke-daemonsets", "--region", "us-southeast")
	s.installCRDs()
	dir := t.TempDir()
	writeStable(t, dir, "5s", 1)
	out, err := s.command(bin(t, "lkeplan"), nil, "simulate", "-o", "json", "--keep", "50%", "--workloads",
		filepath.Join(dir, "workloads.yaml"), dir).Output()
	var said simulate.Report
	if err != nil || json.Unmarshal(out, &said) != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	t.Logf("simulated:\n%s", said.Text())

	s.kube(writeStable(t, dir, "Never", 1), "apply", "-f", "-")
	s.until("all pods wait", time.Minute, func(now state) bool { return now.pending == said.Head.Asked })
	c := s.startController()
	s.run("lkeplan", "apply", "--yes", dir)
	mixed := func(plans []simulate.Plan, pods int) func(state) bool {
		return func(now state) bool {
			return now.running == pods && now.matched() && gocmp.Equal(mixOf(now), mixSaid(plans))
		}
	}
	s.until("there are the nodes that are simulated", 5*time.Minute, mixed(said.Head.Plans, said.Head.Asked))
	s.half()
	s.kube(writeStable(t, dir, "Never", 0.5), "apply", "-f", "-")
	s.until("half of the pods have left", 2*time.Minute, mixed(said.Head.Plans, said.Head.Consolidated.Placed))
	t.Logf("pods by node:\n%s", s.kube("", "get", "pods", "-o", "custom-columns=:.metadata.labels.app,:.spec.nodeName"))

	writeStable(t, dir, "5s", 0.5)
	s.run("lkeplan", "apply", "--yes", dir)
	var last state
	for deadline := time.Now().Add(8 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Second) {
		if last = s.state(); mixed(said.Head.Consolidated.Plans, said.Head.Consolidated.Placed)(last) {
			break
		}
	}
	if diff := gocmp.Diff(mixSaid(said.Head.Consolidated.Plans), mixOf(last)); diff != "" {
		t.Fatalf("nodes by pool and plan type (-simulated +there)\n%s\n%s", diff,
			tail(s.kube("", "get", "events", "-A", "--sort-by=.lastTimestamp"), 60))
	}
	s.never("more nodes go", func(now state) bool {
		return !gocmp.Equal(mixOf(now), mixSaid(said.Head.Consolidated.Plans))
	}, c.disruption())
}

// half has every second pod of each node be the first to leave, as in simulate: which of
// equal pods a ReplicaSet deletes is chance, and may leave a node empty.
func (s *sandbox) half() {
	s.t.Helper()
	var pods corev1.PodList
	if err := s.client.List(s.t.Context(), &pods, client.HasLabels{"app"}); err != nil {
		s.t.Fatal(err)
	}
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Labels["app"], b.Labels["app"]), cmp.Compare(a.Spec.NodeName, b.Spec.NodeName))
	})
	for i := range pods.Items {
		leaving := &pods.Items[i]
		if before := leaving.DeepCopy(); i%2 == 0 {
			metav1.SetMetaDataAnnotation(&leaving.ObjectMeta, corev1.PodDeletionCost, "-1")
			if err := s.client.Patch(s.t.Context(), leaving, client.MergeFrom(before)); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

func mixSaid(plans []simulate.Plan) map[string]int {
	mix := map[string]int{}
	for _, p := range plans {
		mix[p.Pool+" "+p.Plan] = p.Nodes
	}
	return mix
}

func mixOf(now state) map[string]int {
	mix := map[string]int{}
	for _, c := range now.claims {
		mix[c.Labels[karpv1.NodePoolLabelKey]+" "+c.Labels[corev1.LabelInstanceTypeStable]]++
	}
	return mix
}
