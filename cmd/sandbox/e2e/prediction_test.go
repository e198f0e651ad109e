package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// edit is one kind of change of a pool or its class: the arguments before and after,
// the effect in the diff, and whether Karpenter marks the pool's node as drifted.
type edit struct {
	name          string
	before, after string    // arguments of the pool
	class         [2]string // arguments of its class, before and after; "" uses the common class
	effect        string    // of the pool in the plan; "" where it is not in the plan, or not for nodes
	partial       bool
	drifted       bool
}

const common = `requirements = { class = "standard", cpu = 2 }`

func requirements(more string) string {
	return `requirements = { class = "standard", cpu = 2, ` + more + ` }`
}

var edits = []edit{
	{name: "label-added", before: common, after: common + "\nlabels = { \"example.com/a\" = \"1\" }", effect: "roll",
		drifted: true},
	{name: "label-changed", before: common + "\nlabels = { \"example.com/a\" = \"1\" }",
		after: common + "\nlabels = { \"example.com/a\" = \"2\" }", effect: "roll", drifted: true},
	{name: "label-removed", before: common + "\nlabels = { \"example.com/a\" = \"1\" }", after: common, effect: "roll",
		drifted: true},
	{name: "annotation-added", before: common, after: common + "\nannotations = { \"example.com/a\" = \"1\" }",
		effect: "roll", drifted: true},
	{name: "annotation-changed", before: common + "\nannotations = { \"example.com/a\" = \"1\" }",
		after: common + "\nannotations = { \"example.com/a\" = \"2\" }", effect: "roll", drifted: true},
	{name: "taint-added", before: common, after: common + "\ntaints = [\"example.com/a:NoSchedule\"]", effect: "roll",
		drifted: true},
	{name: "taint-changed", before: common + "\ntaints = [\"example.com/a=1:NoSchedule\"]",
		after: common + "\ntaints = [\"example.com/a=2:NoSchedule\"]", effect: "roll", drifted: true},
	{name: "taint-effect", before: common + "\ntaints = [\"example.com/a:NoSchedule\"]",
		after: common + "\ntaints = [\"example.com/a:PreferNoSchedule\"]", effect: "roll", drifted: true},
	{name: "taint-removed", before: common + "\ntaints = [\"example.com/a:NoSchedule\"]", after: common, effect: "roll",
		drifted: true},
	{name: "taints-reordered", before: common + "\ntaints = [\"example.com/a:NoSchedule\", \"example.com/b:NoSchedule\"]",
		after: common + "\ntaints = [\"example.com/b:NoSchedule\", \"example.com/a:NoSchedule\"]"},
	{name: "startup-taint-added", before: common, after: common + "\nstartup_taints = [\"example.com/a:NoExecute\"]",
		effect: "roll", drifted: true},
	{name: "expiry-changed", before: common, after: common + "\nexpire_after = \"336h\"", effect: "roll", drifted: true},
	{name: "expiry-never", before: common, after: common + "\nexpire_after = \"Never\"", effect: "roll", drifted: true},
	{name: "expiry-default-written", before: common, after: common + "\nexpire_after = \"720h\""},
	{name: "expiry-other-unit", before: common + "\nexpire_after = \"336h\"",
		after: common + "\nexpire_after = \"20160m\""},
	{name: "grace-added", before: common, after: common + "\ntermination_grace_period = \"1h\"", effect: "roll",
		drifted: true},
	{name: "grace-other-unit", before: common + "\ntermination_grace_period = \"1h\"",
		after: common + "\ntermination_grace_period = \"60m\""},
	{name: "weight", before: common, after: common + "\nweight = 5"},
	{name: "limits-added", before: common, after: common + "\nlimits = { cpu = 40 }"},
	{name: "limits-lowered", before: common + "\nlimits = { cpu = 40 }", after: common + "\nlimits = { cpu = 2 }"},
	{name: "values-widened", before: common, after: `requirements = { class = ["standard", "dedicated"], cpu = 2 }`},
	{name: "values-narrowed-fits", before: `requirements = { class = ["standard", "dedicated"], cpu = 2 }`, after: common,
		effect: "roll", partial: true},
	{name: "values-changed", before: common, after: `requirements = { class = "dedicated", cpu = 2 }`, effect: "roll",
		partial: true, drifted: true},
	{name: "bounds-narrowed-fits", before: `requirements = { class = "standard", cpu = between(1, 8) }`,
		after: `requirements = { class = "standard", cpu = between(1, 6) }`, effect: "roll", partial: true},
	{name: "bounds-moved-away", before: `requirements = { class = "standard", cpu = between(2, 8) }`,
		after: `requirements = { class = "standard", cpu = between(16, 32) }`, effect: "roll", partial: true, drifted: true},
	{name: "bounds-widened", before: `requirements = { class = "standard", cpu = between(2, 4) }`,
		after: `requirements = { class = "standard", cpu = between(1, 8) }`},
	{name: "requirement-removed", before: requirements(`generation = "6"`), after: common},
	{name: "requirement-added-fits", before: common, after: requirements(`generation = "6"`), effect: "roll",
		partial: true},
	{name: "requirement-added-misfits", before: common, after: requirements(`generation = "7"`), effect: "roll",
		partial: true, drifted: true},
	{name: "custom-label-required", before: common, after: requirements(`"example.com/a" = exists()`), effect: "roll",
		partial: true, drifted: true},
	{name: "custom-label-excluded", before: common, after: requirements(`"example.com/a" = notin("1")`), effect: "roll",
		partial: true},
	{name: "least-values", before: `requirements = { class = "standard", cpu = between(1, 8) }`,
		after:  `requirements = { class = "standard", cpu = between(1, 8), instance_type = atleast(2, exists()) }`,
		effect: "roll", partial: true},
	{name: "another-class", before: "node_class = node_class.common\n" + common,
		after: "node_class = node_class.same\n" + common, effect: "roll", drifted: true},
	{name: "class-tags", before: common, after: common, class: [2]string{"", "tags = [\"env:dev\"]"}},
	{name: "class-emptied", before: common, after: common, class: [2]string{"disk_encryption = \"enabled\"", "# nothing"},
		effect: "roll", drifted: true},
	{name: "class-image", before: common, after: common, class: [2]string{"", "image = \"linode/debian12\""}},
	{name: "class-encryption", before: common, after: common, class: [2]string{"", "disk_encryption = \"enabled\""},
		effect: "roll", drifted: true},
}

// directory writes all pools as they are before (0) or after (1) their edits.
func directory(t *testing.T, when int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("cluster {\n  name = \"sandbox\"\n  region = \"us-ord\"\n}\n\nnode_class \"common\" {}\n\n" +
		"node_class \"same\" {}\n")
	for _, e := range edits {
		arguments := [2]string{e.before, e.after}[when]
		if e.class != [2]string{} {
			fmt.Fprintf(&b, "\nnode_class %q {\n%s\n}\n", e.name, e.class[when])
			arguments = "node_class = node_class." + e.name + "\n" + arguments
		} else if !strings.Contains(arguments, "node_class = ") {
			arguments = "node_class = node_class.common\n" + arguments
		}
		// Nothing is disrupted, so that marked nodes stay.
		fmt.Fprintf(&b, "\npool %q {\n%s\ndisruption {\nconsolidate_after = \"Never\"\nbudget {\nnodes = 0\n}\n}\n}\n",
			e.name, arguments)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.lke.hcl"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// pods is one pod for each pool, which tolerates all taints.
func pods() string {
	var b strings.Builder
	for _, e := range edits {
		fmt.Fprintf(&b, `---
apiVersion: v1
kind: Pod
metadata:
  name: %s
spec:
  nodeSelector: {karpenter.sh/nodepool: %[1]s}
  tolerations: [{operator: Exists}]
  containers: [{name: a, image: pause, resources: {requests: {cpu: 500m}}}]
`, e.name)
	}
	return b.String()
}

// TestPredictionMatchesKarpenter: for each kind of edit, diff predicts what Karpenter then does
// to the node.
func TestPredictionMatchesKarpenter(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.startController()
	before, after := directory(t, 0), directory(t, 1)
	s.run("lkeplan", "apply", "--yes", before)
	s.kube(pods(), "apply", "-f", "-")
	s.until("each pool has its node", 3*time.Minute, func(s state) bool { return s.running == len(edits) && s.matched() })

	want, drift, nodes := map[string]string{}, map[string]bool{}, map[string]int{}
	for _, e := range edits {
		if e.effect == "roll" {
			want[e.name] = fmt.Sprintf("%s, partial: %v", e.effect, e.partial)
		}
		if e.drifted {
			drift[e.name], nodes[e.name] = true, 1
		}
	}
	predicted, _ := s.predict("--base", "dir:"+before, after)
	if diff := cmp.Diff(want, predicted); diff != "" {
		t.Errorf("what diff says of pools (-want +got):\n%s", diff)
	}
	_, counted := s.predict("--base", "live", "--kubeconfig", s.reader(), after)
	if diff := cmp.Diff(nodes, counted); diff != "" {
		t.Errorf("how many nodes diff says are replaced (-want +got):\n%s", diff)
	}

	s.run("lkeplan", "apply", "--yes", "--wait", "none", after) // one of the pools can have no node then
	drifted := func(now state) map[string]bool {
		marked := map[string]bool{}
		for _, nc := range now.claims {
			if nc.StatusConditions().Get(karpv1.ConditionTypeDrifted).IsTrue() {
				marked[nc.Labels[karpv1.NodePoolLabelKey]] = true
			}
		}
		return marked
	}
	s.until("the nodes that must drift are marked", time.Minute, func(now state) bool {
		marked := drifted(now)
		for name := range drift {
			if !marked[name] {
				return false
			}
		}
		return true
	})
	// The pool that was changed last is marked after all others were reconciled.
	s.merge("nodepool", "weight",
		`{"spec":{"template":{"metadata":{"labels":{"example.com/last":"1"}}}}}`)
	s.until("the last change is marked", time.Minute, func(now state) bool { return drifted(now)["weight"] })
	drift["weight"] = true
	if diff := cmp.Diff(drift, drifted(s.state())); diff != "" {
		t.Errorf("the nodes that are marked (-want +got):\n%s", diff)
	}
}

// predict returns the effect of each pool in the diff, and the number of its nodes
// that roll.
func (s *sandbox) predict(args ...string) (effects map[string]string, nodes map[string]int) {
	s.t.Helper()
	var answer struct {
		Changes []struct {
			Name    string `json:"name"`
			Type    string `json:"type"`
			Effect  string `json:"effect"`
			Partial bool   `json:"partial"`
			Impact  struct {
				Nodes struct {
					Rolled int `json:"rolled"`
				} `json:"nodes"`
			} `json:"impact"`
		} `json:"resource_changes"`
	}
	cmd := s.command(bin(s.t, "lkeplan"), nil, append([]string{"diff", "-o", "json"}, args...)...)
	var warnings bytes.Buffer
	cmd.Stderr = &warnings
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &answer)
	}
	if err != nil {
		s.t.Fatalf("diff %s: %v\n%s", strings.Join(args, " "), err, warnings.String())
	}
	effects, nodes = map[string]string{}, map[string]int{}
	for _, c := range answer.Changes {
		if c.Type == "pool" && c.Effect == "roll" {
			effects[c.Name] = fmt.Sprintf("%s, partial: %v", c.Effect, c.Partial)
		}
		if n := c.Impact.Nodes.Rolled; n > 0 {
			nodes[c.Name] = n
		}
	}
	return effects, nodes
}
