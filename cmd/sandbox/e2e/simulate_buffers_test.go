package e2e

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/simulate"
)

var (
	bufferSeed   = flag.Uint64("buffers", 1, "what the worlds of TestDrawnBuffersGetTheNodesThatSimulateSays are drawn from")
	bufferWorlds = flag.Int("buffer-worlds", 20, "how many worlds TestDrawnBuffersGetTheNodesThatSimulateSays draws")
)

// bufferWorld is pools with a workload and CapacityBuffers, which no other world uses.
type bufferWorld struct {
	pools, buffers string // of a configuration
	pods           string // the manifest of the workload
	templates      string // those of the PodTemplates
	later          bool   // the buffers are added when the pods run
}

// drawBufferWorld draws the world w00, w01 and so on. Karpenter finds room for the pods of buffers anew each time it plans, on
// nodes that it takes in the order of their random names, and the scheduler of Kubernetes binds pods to nodes in its own order.
// So that the nodes do not depend on chance, each pod can take the place of each other one for which a pool has nodes, or
// needs a node of its own.
func drawBufferWorld(r *rand.Rand, i int) (w bufferWorld) {
	name := fmt.Sprintf("w%02d", i)
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	one := func(n int) bool { return r.IntN(n) == 0 }
	w.later = i%2 == 1

	pool := func(suffix, requirements, more string) {
		w.pools += fmt.Sprintf("\npool \"%s%s\" {\n  node_class   = node_class.default\n  requirements = { %s }\n"+
			"  labels       = { case = %[1]q }\n%[4]s  disruption {\n    consolidate_after = \"Never\"\n  }\n}\n", name, suffix, requirements, more)
	}
	taint := func(value string) string {
		return fmt.Sprintf("  taints = [\"example.com/world=%s:NoSchedule\"]\n", value)
	}
	tolerate := func(value string) string {
		return fmt.Sprintf("      tolerations: [{key: example.com/world, operator: %s}]\n", pick("Exists", "Equal, value: "+value))
	}
	resources := func(cpu, memory string) string {
		kind := pick("requests", "requests", "limits") // of which a container requests as much
		return fmt.Sprintf("{%s: {cpu: %s, memory: %s}}", kind, cpu, memory)
	}
	// template is that of pods with the label app of a name.
	template := func(app, more, resources string) string {
		return fmt.Sprintf("  template:\n    metadata: {labels: {app: %s}}\n    spec:\n      nodeSelector: {case: %s}\n%s"+
			"      containers: [{name: c, image: registry.k8s.io/pause:3.10, resources: %s}]\n", app, name, more, resources)
	}
	whole, more, limits, weight := one(4), "", "", ""
	alike := resources(pick("300m", "700m", "1", "1700m"), pick("128Mi", "256Mi"))
	if whole { // each pod needs a node
		alike = resources(pick("2200m", "2500m", "3"), "512Mi")
	}
	switch r.IntN(5) {
	case 0:
		more = fmt.Sprintf(affinityTo, "podAntiAffinity", name)
	case 1:
		more = strings.ReplaceAll(fmt.Sprintf(spreadWith, overNodes+"maxSkew: 1"), "NAME", name)
	}
	if one(3) {
		limits = fmt.Sprintf("  limits = { cpu = %d }\n", 4+2*r.IntN(12))
	}
	if one(6) {
		more += "      initContainers: [{name: i, image: registry.k8s.io/pause:3.10, resources: {requests: {cpu: 2}}}]\n"
	}
	apart := strings.Contains(more, "app")
	if whole {
		pool("", pick("class = \"standard\", cpu = 4", "class = \"dedicated\", cpu = 4"), limits)
	} else {
		pool("", pick("class = \"standard\", cpu = between(2, 8)", "class = \"dedicated\", cpu = between(2, 8)", "class = \"standard\", cpu = 4",
			"class = [\"standard\", \"dedicated\"], cpu = between(2, 16)", "instance_type = [\"g6-standard-2\", \"g6-dedicated-4\"]"), limits)
	}
	switch r.IntN(4) {
	case 0: // for what the limits of the other leave, or instead of it
		if one(2) {
			weight = "  weight = 50\n"
		}
		pool("-second", pick("class = \"dedicated\", cpu = 4", "class = \"standard\", cpu = 4"), weight)
	case 1: // nodes that are there
		pool("-fixed", "class = \"standard\", cpu = 4", fmt.Sprintf("  replicas = %d\n", 1+r.IntN(2))+taint("fixed"))
		if one(2) {
			more += tolerate("fixed")
		}
	}
	kind, extra := pick("Deployment", "Deployment", "StatefulSet"), ""
	if kind == "StatefulSet" {
		extra = "  serviceName: none\n  podManagementPolicy: Parallel\n"
	}
	w.pods = fmt.Sprintf("apiVersion: apps/v1\nkind: %s\nmetadata: {name: %s}\nspec:\n  replicas: %d\n%s  selector: {matchLabels: {app: %[2]s}}\n%[5]s---\n",
		kind, name, r.IntN(7), extra, template(name, more, alike))

	for b := range 1 + r.IntN(3) {
		buffer := fmt.Sprintf("%s-b%d", name, b)
		arguments := fmt.Sprintf("  scalable {\n    api_group = \"apps\"\n    kind      = %q\n    name      = %q\n  }\n", kind, name)
		ref := fmt.Sprintf("  pod_template = %q\n", buffer)
		replicas := pick(fmt.Sprintf("  replicas = %d\n", r.IntN(5)), fmt.Sprintf("  limits = { cpu = %d }\n", r.IntN(9)))
		manifest := func(template string) {
			w.templates += fmt.Sprintf("apiVersion: v1\nkind: PodTemplate\nmetadata: {name: %s}\n%s---\n", buffer, strings.ReplaceAll("\n"+template, "\n  ", "\n")[1:])
		}
		switch n := r.IntN(8); {
		case n == 0: // there is no such object
			arguments = ref + replicas
		case n == 1 && whole:
			arguments = ref + replicas
			manifest(template(buffer, more, resources(pick("2100m", "2400m", "3200m"), pick("128Mi", "1Gi"))))
		case n == 1 && !apart:
			arguments = ref + replicas
			manifest(template(buffer, more, alike))
		case n == 2: // nodes of its own
			arguments = ref + replicas
			pool(fmt.Sprintf("-b%d", b), pick("class = \"dedicated\", cpu = between(4, 16)", "class = \"highmem\"", "class = \"standard\", cpu = between(2, 6)"),
				taint(buffer))
			own := fmt.Sprintf("      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "+
				"[{matchExpressions: [{key: karpenter.sh/nodepool, operator: In, values: [%s-b%d]}]}]}}}\n", name, b) + tolerate(buffer)
			manifest(template(buffer, own, resources(pick("300m", "700m", "1700m"), "128Mi")))
		case n == 3:
			arguments += replicas
		case n == 4:
			arguments += fmt.Sprintf("  percentage = %s\n  replicas = %d\n", pick("20", "80"), r.IntN(4))
		case n == 5:
			arguments += fmt.Sprintf("  percentage = %s\n  limits = { cpu = %d }\n", pick("50", "150"), 1+r.IntN(9))
		default:
			arguments += fmt.Sprintf("  percentage = %s\n", pick("10", "50", "100", "200"))
		}
		w.buffers += fmt.Sprintf("\nbuffer %q {\n  namespace = \"default\"\n%s}\n", buffer, arguments)
	}
	return w
}

// TestDrawnBuffersGetTheNodesThatSimulateSays: of worlds that are drawn, each with CapacityBuffers that exist from the
// beginning, or are added to nodes that exist, Karpenter creates the nodes of the plan types that simulate says, and the pods run.
func TestDrawnBuffersGetTheNodesThatSimulateSays(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(*bufferSeed, 1))
	var worlds []bufferWorld
	for i := range *bufferWorlds {
		worlds = append(worlds, drawBufferWorld(r, i))
	}
	s := startSandbox(t, "--lke-daemonsets", "--region", "us-southeast")
	s.installCRDs()
	manifests, templates := "", ""
	for _, w := range worlds {
		manifests, templates = manifests+w.pods, templates+w.templates
	}
	blocks := func(has func(bufferWorld) bool) string {
		text := "cluster {\n  name   = \"sandbox\"\n  region = \"us-southeast\"\n}\n\nnode_class \"default\" {}\n"
		for _, w := range worlds {
			text += w.pools
			if has(w) {
				text += w.buffers
			}
		}
		return text
	}
	none, some, all := dirOf(t, blocks(func(bufferWorld) bool { return false })), t.TempDir(), t.TempDir()
	said := s.simulated(some, blocks(func(w bufferWorld) bool { return !w.later }), manifests+templates)
	changed := s.simulated(all, blocks(func(bufferWorld) bool { return true }), manifests+templates, "--base", "dir:"+some, "--settle").Change

	c := s.startController()
	s.run("lkeplan", "apply", "--yes", none)
	s.until("the nodes of pools with replicas are there", time.Minute, func(now state) bool { return now.matched() && initialized(now) == len(now.claims) })
	c.stop() // so that Karpenter plans with all pods at once
	s.kube(templates, "apply", "-f", "-")
	s.kube(manifests, "apply", "-f", "-")
	s.run("lkeplan", "apply", "--yes", "--wait", "none", some)
	c = s.startController()
	s.hasNodes(c, worlds, said.Head.Plans, said.Head.Nodes)
	s.run("lkeplan", "apply", "--yes", all)
	s.hasNodes(c, worlds, changed.Plans, changed.Nodes)
}

// hasNodes waits until the nodes and the pods of worlds are as simulated, and fails if it changes.
func (s *sandbox) hasNodes(c *controller, worlds []bufferWorld, plans []simulate.Plan, nodes []simulate.Node) {
	s.t.Helper()
	type world struct {
		Nodes map[string]int // by pool and plan type
		Pods  int            // that run
		Spare int            // nodes of pools without replicas on which no pods run, if the buffers were added later
		Text  string
	}
	fresh := func() map[string]*world {
		all := map[string]*world{}
		for i, w := range worlds {
			all[fmt.Sprintf("w%02d", i)] = &world{Nodes: map[string]int{}, Text: w.pools + w.buffers + w.pods + w.templates}
		}
		return all
	}
	later := func(pool string) bool { return (pool[2]-'0')%2 == 1 && !strings.HasSuffix(pool, "-fixed") }
	want, spare := fresh(), 0
	for _, p := range plans {
		want[p.Pool[:3]].Nodes[p.Pool+" "+p.Plan] += p.Nodes
	}
	for _, n := range nodes {
		pods := 0
		for _, share := range n.Pods {
			if !strings.HasPrefix(share.Workload, "CapacityBuffer ") {
				pods += share.Pods
			}
		}
		want[n.Pool[:3]].Pods += pods
		if pods == 0 && !n.Static {
			spare++
			if later(n.Pool) {
				want[n.Pool[:3]].Spare++
			}
		}
	}
	differs := func() string {
		var pods corev1.PodList
		if err := s.client.List(s.t.Context(), &pods); err != nil {
			s.t.Fatal(err)
		}
		got, used := fresh(), map[string]bool{}
		for _, p := range pods.Items {
			if w := got[p.Labels["app"]]; w != nil && p.Spec.NodeName != "" {
				w.Pods++
				used[p.Spec.NodeName] = true
			}
		}
		for _, nc := range s.state().claims {
			pool := nc.Labels[karpv1.NodePoolLabelKey]
			got[pool[:3]].Nodes[pool+" "+nc.Labels[corev1.LabelInstanceTypeStable]]++
			if later(pool) && !used[nc.Status.NodeName] {
				got[pool[:3]].Spare++
			}
		}
		maps.DeleteFunc(got, func(name string, w *world) bool { return cmp.Equal(w, want[name]) })
		different := map[string]*world{}
		for name := range got {
			different[name] = want[name]
		}
		return cmp.Diff(different, got)
	}
	s.eventually("nodes and pods are as simulated", 2*time.Minute, func() error {
		if diff := differs(); diff != "" {
			return fmt.Errorf("by world (-simulated +run)\n%s", diff)
		}
		return nil
	})
	s.never("a node or a pod is another than simulated", func(state) bool { return differs() != "" }, c.provisioning())
	s.t.Logf("%d nodes, %d of them for buffers only", len(nodes), spare)
}
