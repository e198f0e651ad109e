package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

const (
	threeNodes = "requirements = { class = \"standard\", cpu = 4 }\n  limits = { cpu = 12 }"
	spreadWith = `      topologySpreadConstraints:
        - {%s, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: NAME}}}
`
)

// spreadLoads are pods that spread over nodes, more than there can be nodes.
var spreadLoads = []simulatedLoad{
	{threeNodes, 5, "500m", "512Mi", fmt.Sprintf(spreadWith, "maxSkew: 1")},
	{threeNodes, 7, "500m", "512Mi", fmt.Sprintf(spreadWith, "maxSkew: 2")},
	{threeNodes, 4, "200m", "256Mi", fmt.Sprintf(spreadWith, "maxSkew: 1, minDomains: 4")},
	{threeNodes, 4, "200m", "256Mi", fmt.Sprintf(spreadWith, "maxSkew: 1") + fmt.Sprintf(affinityTo, "podAntiAffinity", "NAME")},
	{threeNodes, 8, "1700m", "512Mi", fmt.Sprintf(spreadWith, "maxSkew: 1")},
	{smallPlans, 6, "700m", "512Mi", fmt.Sprintf(spreadWith, "maxSkew: 1")},
}

// TestSpreadPodsRunAsSimulated: Karpenter makes the nodes, and the scheduler of Kubernetes runs as many pods on them as simulate
// says, if pods spread over nodes and a limit lets no more nodes be made.
func TestSpreadPodsRunAsSimulated(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, "--region", "us-southeast")
	s.installCRDs()
	dir := t.TempDir()
	hcl, yaml := "cluster {\n  name   = \"sandbox\"\n  region = \"us-southeast\"\n}\n\nnode_class \"default\" {}\n", ""
	for i, w := range spreadLoads {
		block, manifest := w.files(i)
		hcl, yaml = hcl+block, yaml+manifest
	}
	said := s.simulated(dir, hcl, yaml)
	type world struct{ Nodes, Pods int }
	want := map[string]world{}
	for _, p := range said.Head.Plans {
		want[p.Pool] = world{want[p.Pool].Nodes + p.Nodes, want[p.Pool].Pods + p.Pods}
	}
	s.kube(yaml, "apply", "-f", "-")
	controller := s.startController()
	s.run("lkeplan", "apply", "--yes", dir)
	runs := func() string { // what differs
		var pods corev1.PodList
		if err := s.client.List(t.Context(), &pods); err != nil {
			t.Fatal(err)
		}
		got, pool := map[string]world{}, map[string]string{}
		for _, n := range s.state().nodes {
			name := n.Labels[karpv1.NodePoolLabelKey]
			pool[n.Name] = name
			got[name] = world{got[name].Nodes + 1, 0}
		}
		for _, p := range pods.Items {
			if name := pool[p.Spec.NodeName]; name != "" && p.Labels["app"] == name {
				got[name] = world{got[name].Nodes, got[name].Pods + 1}
			}
		}
		return cmp.Diff(want, got)
	}
	s.eventually("nodes and pods are as simulated", 2*time.Minute, func() error {
		if diff := runs(); diff != "" {
			return fmt.Errorf("by pool (-simulated +run)\n%s", diff)
		}
		return nil
	})
	s.never("a node or a pod is another than simulated", func(state) bool { return runs() != "" }, controller.provisioning())
}
