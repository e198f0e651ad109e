package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/linode/lke"
)

// simulatedLoad is a pool, and the pods that are for it.
type simulatedLoad struct {
	pool string // arguments of its block in addition to the node class
	pods int
	cpu  string
	size string // memory
	more string // of the pod's spec, each line indented by six spaces
}

const (
	smallPlans = "requirements = { class = \"standard\", cpu = between(2, 8) }"
	spreadBy   = `      topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: %s, labelSelector: {matchLabels: {app: %s}}}
`
	affinityTo = `      affinity:
        %s:
          requiredDuringSchedulingIgnoredDuringExecution:
            - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: %s}}}
`
)

// simulated are workloads of many kinds; the places of their names are filled in.
var simulated = []simulatedLoad{
	{smallPlans, 20, "1", "1Gi", ""},
	{smallPlans, 7, "300m", "600Mi", ""},
	{smallPlans, 9, "1700m", "512Mi", ""},
	{smallPlans, 12, "100m", "3Gi", ""},
	{"requirements = { class = \"dedicated\", cpu = between(2, 4) }", 11, "900m", "1Gi", ""},
	{"requirements = { class = [\"standard\", \"dedicated\"], cpu = between(4, 16) }", 14, "2500m", "2Gi", ""},
	{"requirements = { class = \"standard\", cpu = [2] }", 5, "1500m", "1Gi", ""},
	{"requirements = { class = \"highmem\" }", 4, "500m", "20Gi", ""},
	{smallPlans, 5, "500m", "512Mi", fmt.Sprintf(spreadBy, "DoNotSchedule", "NAME")},
	{smallPlans, 4, "500m", "512Mi", fmt.Sprintf(spreadBy, "ScheduleAnyway", "NAME")},
	{smallPlans, 3, "250m", "512Mi", fmt.Sprintf(affinityTo, "podAntiAffinity", "NAME")},
	{smallPlans, 4, "1", "1Gi", fmt.Sprintf(affinityTo, "podAffinity", "NAME")},
	{smallPlans + "\n  taints = [\"example.com/batch:NoSchedule\"]", 6, "1", "1Gi",
		"      tolerations: [{key: example.com/batch, operator: Exists}]\n"},
	{"requirements = { class = \"gpu\" }\n  taints = [\"example.com/gpu:NoSchedule\"]", 2, "1", "1Gi",
		"      tolerations: [{key: example.com/gpu, operator: Exists}]\n"},
	{smallPlans + "\n  limits = { cpu = 8 }", 12, "1", "1Gi", ""},
	{smallPlans + "\n  limits = { cpu = 20 }", 30, "900m", "512Mi", ""},
	{smallPlans, 10, "2", "1Gi", "      initContainers: [{name: i, image: registry.k8s.io/pause:3.10, resources: " +
		"{requests: {cpu: 3}}}]\n"},
	{"requirements = { class = \"standard\", cpu = between(4, 8) }", 1, "100m", "128Mi", ""},
	{smallPlans, 2, "64", "1Gi", ""},
	{smallPlans, 8, "750m", "3Gi", "      containers: []\n"},
}

// files writes the pools and the workloads.
func (w simulatedLoad) files(i int) (hcl, yaml string) {
	name := fmt.Sprintf("w%02d", i)
	hcl = fmt.Sprintf("\npool %q {\n  node_class = node_class.default\n  %s\n  labels = { case = %q }\n"+
		"  disruption {\n    consolidate_after = \"Never\"\n  }\n}\n", name, w.pool, name)
	yaml = fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      nodeSelector: {case: %[1]s}
%[5]s      containers:
        - name: c
          image: registry.k8s.io/pause:3.10
          resources: {requests: {cpu: %[3]s, memory: %[4]s}}
---
`, name, w.pods, w.cpu, w.size, strings.ReplaceAll(strings.ReplaceAll(w.more, "      containers: "+
		"[]\n", ""), "NAME", name))
	return hcl, yaml
}

// TestSimulateMatchesKarpenter: for pods of many kinds, each with its own pool, the controller
// creates the NodeClaims that simulate says, of the same plan types, for as many pods. No
// machine joins: once one has, the scheduler of Kubernetes binds pods as it likes, and may
// take room that is another's.
func TestSimulateMatchesKarpenter(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, "--lke-daemonsets", "--region", "us-southeast", "--join-delay", "2h")
	s.installCRDs()
	dir := t.TempDir()
	hcl := "cluster {\n  name   = \"sandbox\"\n  region = \"us-southeast\"\n}\n\nnode_class \"default\" {}\n"
	yaml := `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      tolerations: [{operator: Exists}]
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms: [{matchExpressions: [{key: karpenter.sh/nodepool, operator: Exists}]}]
      containers:
        - name: c
          image: registry.k8s.io/pause:3.10
          resources: {requests: {cpu: 200m, memory: 200Mi}}
---
`
	for i, w := range simulated {
		block, manifest := w.files(i)
		hcl, yaml = hcl+block, yaml+manifest
	}
	said := s.simulated(dir, hcl, yaml)
	want, pods := map[string]int{}, 0
	for _, p := range said.Head.Plans {
		want[p.Pool+" "+p.Plan] = p.Nodes
	}
	for _, w := range simulated {
		pods += w.pods
	}
	s.kube(yaml, "apply", "-f", "-")
	s.until("all pods wait", time.Minute, func(now state) bool { return now.pending == pods })
	s.simulatesAlike(said, dir)
	s.startController()
	s.run("lkeplan", "apply", "--yes", dir)
	made := s.until(fmt.Sprintf("%d NodeClaims have a machine", len(said.Head.Nodes)), 2*time.Minute, func(now state) bool {
		return len(now.claims) >= len(said.Head.Nodes) && !slices.ContainsFunc(now.claims, func(c karpv1.NodeClaim) bool {
			return !c.StatusConditions().IsTrue(karpv1.ConditionTypeLaunched)
		})
	})
	got, placed := map[string]int{}, 0
	for _, c := range made.claims {
		got[c.Labels[karpv1.NodePoolLabelKey]+" "+c.Labels[corev1.LabelInstanceTypeStable]]++
		placed += int(c.Spec.Resources.Requests.Pods().Value()) - 1 - len(lke.DaemonSets()) // those of DaemonSets
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("NodeClaims by pool and plan type (-simulated +made)\n%s", diff)
	}
	if placed != said.Head.Placed {
		t.Errorf("the NodeClaims are for %d pods, and %d are placed", placed, said.Head.Placed)
	}
}

// simulated writes a configuration and manifests into a directory, and simulates them.
func (s *sandbox) simulated(dir, hcl, yaml string, flags ...string) (said simulate.Report) {
	s.t.Helper()
	for name, text := range map[string]string{"main.lke.hcl": hcl, "workloads.yaml": yaml} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	args := append([]string{"simulate", "-o", "json", "--workloads", filepath.Join(dir, "workloads.yaml"), dir}, flags...)
	out, ended := s.command(bin(s.t, "lkeplan"), nil, args...).Output() // pods that get no node are an exit code
	if err := json.Unmarshal(out, &said); err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](ended); ok {
			out = append(out, exit.Stderr...)
		}
		s.t.Fatalf("%v: %v:\n%s", err, ended, out)
	}
	return said
}

// simulatesAlike holds that the pods of the cluster, and those of a snapshot of it, get the
// nodes that their manifests get.
func (s *sandbox) simulatesAlike(want simulate.Report, dir string) {
	s.t.Helper()
	snapshot := filepath.Join(s.t.TempDir(), "snapshot.json")
	if err := os.WriteFile(snapshot, []byte(s.run("lkeplan", "snapshot")), 0o600); err != nil {
		s.t.Fatal(err)
	}
	for _, from := range [][]string{{"--workloads", "live"}, {"--workloads", "snapshot:" + snapshot}} {
		args := append([]string{"simulate", "-o", "json", dir}, from...)
		out, _ := s.command(bin(s.t, "lkeplan"), nil, args...).Output()
		var said simulate.Report
		if err := json.Unmarshal(out, &said); err != nil {
			s.t.Fatalf("simulate %v: %v:\n%s", from, err, out)
		}
		if diff := cmp.Diff(want.Head.Plans, said.Head.Plans); diff != "" || said.Head.Asked != want.Head.Asked {
			s.t.Errorf("simulate %v: %d pods (-manifests +cluster)\n%s", from, said.Head.Asked, diff)
		}
	}
}
