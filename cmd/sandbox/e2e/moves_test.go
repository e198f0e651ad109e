package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// movable is a pool whose nodes Karpenter consolidates at once, with guards and further pools.
func movable(guards string, pools ...string) string {
	return `cluster {
  name   = "sandbox"
  region = "us-ord"
}
node_class "default" {}
pool "web" {
  node_class   = node_class.default
  requirements = { class = "dedicated", cpu = between(4, 8) }
  limits       = { cpu = 64 }
  disruption {
    consolidate_after = "5s"
    budget {
      nodes = "100%"
    }
  }
}
` + guards + strings.Join(pools, "")
}

const (
	lockedGuards = `guards {
  max_rolled_nodes = "0"
  protected        = [pool.web]
}
`
	cheaperPool = `pool "cheap" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = between(1, 8) }
  limits       = { cpu = 64 }
  weight       = 50
  disruption {
    consolidate_after = "5s"
  }
}
`
	taintedPool = `pool "tainted" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = between(1, 8) }
  weight       = 90
  taints       = ["team=batch:NoSchedule"]
  limits       = { cpu = 64 }
}
`
	twoWebPods = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}
      containers: [{name: c, image: registry.k8s.io/pause:3.10, resources: {requests: {cpu: "1", memory: 500Mi}}}]
`
)

// foretold are the NodeClaims that a plan of a directory says Karpenter moves.
func (s *sandbox) foretold(dir string) map[string]bool {
	s.t.Helper()
	out, err := s.command(bin(s.t, "lkeplan"), nil, "plan", "-o", "json", dir).Output()
	var said struct {
		Changes []struct {
			Impact struct{ Moves []struct{ Node string } }
		} `json:"resource_changes"`
	}
	if json.Unmarshal(out, &said) != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
	nodes := map[string]bool{}
	for _, c := range said.Changes {
		for _, m := range c.Impact.Moves {
			nodes[m.Node] = true
		}
	}
	return nodes
}

// TestACheaperPoolMovesNodesOfAnother: a commit that only adds a pool makes Karpenter replace the nodes of another pool. The plan
// says which, guards and a NodePlan refuse it, and these nodes go. A pool that the pods do not tolerate changes nothing.
func TestACheaperPoolMovesNodesOfAnother(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	c := s.startController()
	s.source("fleet", movable(lockedGuards))
	s.kube(strings.ReplaceAll(nodePlanOfConfigMap, "NAME", "fleet"), "apply", "-f", "-")
	s.untilPlan("fleet", "it is ready", because(lkeplanv1alpha1.ReasonSucceeded))
	s.kube(twoWebPods, "apply", "-f", "-")
	before := s.until("both pods run", 3*time.Minute, func(now state) bool { return now.running == 2 && now.matched() })
	nodes := nodesOf(before, "web")

	s.source("fleet", movable(lockedGuards, taintedPool))
	s.untilPlan("fleet", "a pool that the pods do not tolerate needs no approval", func(np *lkeplanv1alpha1.NodePlan) bool {
		return because(lkeplanv1alpha1.ReasonSucceeded)(np) && len(s.pools()) == 2
	})
	s.source("fleet", movable(lockedGuards, taintedPool, cheaperPool))
	waiting := s.untilPlan("fleet", "the cheaper pool waits for approval", awaitsApproval)
	if n := waiting.Status.Plan.NodesRemovable; n != len(nodes) {
		t.Errorf("%d nodes are said to be removed, want %d", n, len(nodes))
	}
	s.never("nodes go while the plan waits", func(now state) bool { return !maps.Equal(nodesOf(now, "web"), nodes) }, c.disruption())

	s.approve("fleet")
	s.until("the nodes are replaced by cheaper ones", 5*time.Minute, func(now state) bool {
		return len(nodesOf(now, "web")) == 0 && len(nodesOf(now, "cheap")) == 2 && now.running == 2 && now.matched()
	})
}

// TestPlannedMovesAreTheNodesThatGo: the nodes that a plan says Karpenter moves are those that go after apply, and if it says
// none, none go.
func TestPlannedMovesAreTheNodesThatGo(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	c := s.startController()
	s.run("lkeplan", "apply", "--yes", dirOf(t, movable("")))
	s.kube(twoWebPods, "apply", "-f", "-")
	before := s.until("both pods run", 3*time.Minute, func(now state) bool { return now.running == 2 && now.matched() })
	nodes := nodesOf(before, "web")
	for _, pool := range []string{taintedPool, strings.Replace(cheaperPool, "\n  weight       = 50", "", 1)} { // tried last
		dir := dirOf(t, strings.Replace(movable("", pool), "limits       = { cpu = 64 }", "limits       = { cpu = 64 }\n  weight = 10", 1))
		if moves := s.foretold(dir); len(moves) > 0 {
			t.Errorf("%v are said to go with\n%s", moves, pool)
		}
		s.run("lkeplan", "apply", "--yes", dir)
		s.never("nodes go that no plan names", func(now state) bool { return !maps.Equal(nodesOf(now, "web"), nodes) }, c.disruption())
	}
	dir := dirOf(t, movable("", cheaperPool))
	moves := s.foretold(dir)
	if diff := gocmp.Diff(nodes, moves); diff != "" {
		t.Fatalf("nodes (-there +said to go)\n%s\n%s", diff, s.ends(0, "diff", "--base", "live", dir))
	}
	said := s.run("lkeplan", "diff", "--base", "live", dir)
	mustContain(t, said, "Karpenter removes or replaces 2", "because of pool.cheap", "replaced by cheap g6-standard-1", "saves $60 a month")
	s.run("lkeplan", "apply", "--yes", dir)
	s.until("those nodes have gone", 5*time.Minute, func(now state) bool {
		return len(nodesOf(now, "web")) == 0 && now.running == 2 && now.matched()
	})
}

var (
	movesSeed   = flag.Uint64("moves", 1, "what the worlds of TestDrawnChangesMoveTheNodesThatPlansName are drawn from")
	movesWorlds = flag.Int("moves-worlds", 20, "how many worlds are drawn")
)

// movesWorld is a pool with pods that no other world can run, and a change.
type movesWorld struct {
	name                 string
	start, before, after string // blocks, in the order in which they are applied
	pods                 string
}

// drawMovesWorld draws a world: a change that makes Karpenter move nodes, or one that looks alike and does not.
func drawMovesWorld(r *rand.Rand, i int) movesWorld {
	pool := func(name, class, cpu, more, disruption string) string {
		return fmt.Sprintf("pool \"%s%02d\" {\n  node_class = node_class.default\n  requirements = { class = %q, cpu = %s }\n"+
			"  taints = [\"world=w%02d:NoSchedule\"%s]\n  disruption {\n%s\n  }\n}\n", name, i, class, cpu, i, more, disruption)
	}
	const budget, soon, never = "    budget {\n      nodes = \"100%\"\n    }\n", "    consolidate_after = \"5s\"\n", "    consolidate_after = \"Never\"\n"
	home := func(weight, disruption string) string {
		return strings.Replace(pool("home", "dedicated", "between(4, 8)", "", disruption), "  taints", weight+"  taints", 1)
	}
	other := func(arguments, cpu, taint string) string {
		return strings.Replace(pool("other", "standard", cpu, taint, soon+budget), "  taints", arguments+"  taints", 1)
	}
	usual, cheap := home("", soon+budget), other("  weight = 50\n", "between(1, 8)", "")
	w, pods, budgets, annotation := movesWorld{start: usual, before: usual}, 1+r.IntN(2), "", ""
	kinds := []func(){
		func() { w.name, w.after = "nothing", usual+"# another line\n" },
		func() { w.name, w.after = "a new pool that is tried first", usual+cheap },
		func() {
			late := home("  weight = 60\n", soon+budget)
			w = movesWorld{"a new pool that is tried last", late, late, late + cheap, ""}
		},
		func() {
			w.name, w.after = "a new pool with another taint", usual+other("  weight = 50\n", "between(1, 8)", ", \"a=b:NoSchedule\"")
		},
		func() {
			w.name, w.before = "a taint that goes", usual+other("  weight = 50\n", "between(1, 8)", ", \"a=b:NoSchedule\"")
			w.after = usual + cheap
		},
		func() {
			late := home("  weight = 60\n", soon+budget)
			w = movesWorld{"a larger weight", late, late + cheap, late + other("  weight = 70\n", "between(1, 8)", ""), ""}
		},
		func() {
			w.name, w.after = "smaller plan types", strings.Replace(usual, "between(4, 8)", "between(2, 8)", 1)
		},
		func() {
			w.name, w.after = "larger plan types", strings.Replace(usual, "between(4, 8)", "between(4, 16)", 1)
		},
		func() {
			w.name, w.before, w.after = "smaller plan types of another pool", usual+other("  weight = 50\n", "between(16, 20)", ""),
				usual+other("  weight = 50\n", "between(1, 20)", "")
		},
		func() {
			w.name, w.before, w.after = "a larger limit of another pool", usual+other("  weight = 50\n  limits = { cpu = 0 }\n", "between(1, 8)", ""),
				usual+other("  weight = 50\n  limits = { cpu = 64 }\n", "between(1, 8)", "")
		},
		func() {
			w.name, w.after, pods = "a pool with replicas that has room", usual+other("  replicas = 1\n", "between(6, 8)", ""), 1
		},
		func() {
			stays := home("", never+budget)
			w = movesWorld{"consolidation begins", stays, stays + cheap, usual + cheap, ""}
		},
		func() {
			empty := home("", "    policy = \"WhenEmpty\"\n"+soon+budget)
			w = movesWorld{"a policy that allows more", empty, empty + cheap, usual + cheap, ""}
		},
		func() {
			shut := home("", soon+"    budget {\n      nodes = \"0\"\n    }\n")
			w = movesWorld{"a budget that opens", shut, shut + cheap, usual + cheap, ""}
		},
		func() { w.name, w.after, budgets = "a PodDisruptionBudget", usual+cheap, "0" },
		func() {
			w.name, w.after, annotation = "do-not-disrupt", usual+cheap, "karpenter.sh/do-not-disrupt: \"true\""
		},
	}
	kinds[(i+r.IntN(2)*r.IntN(len(kinds)))%len(kinds)]()
	w.pods = fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: app%02[1]d}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: app%02[1]d}}
  template:
    metadata: {labels: {app: app%02[1]d}, annotations: {%[3]s}}
    spec:
      tolerations: [{key: world, value: w%02[1]d}]
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: app%02[1]d}}}
      containers: [{name: c, image: registry.k8s.io/pause:3.10, resources: {requests: {cpu: %[4]s, memory: 500Mi}}}]
---
`, i, pods, annotation, []string{"500m", "700m", "1"}[r.IntN(3)])
	if budgets != "" {
		w.pods += fmt.Sprintf("apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: app%02[1]d}\n"+
			"spec: {maxUnavailable: %[2]s, selector: {matchLabels: {app: app%02[1]d}}}\n---\n", i, budgets)
	}
	return w
}

// TestDrawnChangesMoveTheNodesThatPlansName: of worlds that are drawn and changed at once, exactly the nodes go that the plan
// names.
func TestDrawnChangesMoveTheNodesThatPlansName(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	c := s.startController()
	r := rand.New(rand.NewPCG(*movesSeed, 1))
	stages, manifests, names, pods := [3]string{}, "", map[string]string{}, 0
	for i := range *movesWorlds {
		w := drawMovesWorld(r, i)
		for stage, text := range []string{w.start, w.before, w.after} {
			stages[stage] += text
		}
		manifests, names[fmt.Sprintf("%02d", i)] = manifests+w.pods, w.name
		pods += strings.Count(w.pods, "replicas: 1") + 2*strings.Count(w.pods, "replicas: 2")
	}
	dir := func(stage int) string {
		return dirOf(t, "cluster {\n  name = \"sandbox\"\n  region = \"us-ord\"\n}\nnode_class \"default\" {}\n"+stages[stage])
	}
	s.run("lkeplan", "apply", "--yes", dir(0))
	s.kube(manifests, "apply", "-f", "-")
	running := func(now state) bool { return now.running == pods && now.pending == 0 && now.matched() }
	s.until("all pods run", 5*time.Minute, running)
	s.run("lkeplan", "apply", "--yes", "--wait", "none", dir(1))
	before := claimsOf(s.state())
	s.never("nodes go before the change", func(now state) bool { return len(gone(before, now)) > 0 }, c.disruption())

	after := dir(2)
	foretold := s.foretold(after)
	t.Logf("%d of %d nodes are said to go", len(foretold), len(before))
	s.run("lkeplan", "apply", "--yes", "--wait", "none", after)
	for deadline := time.Now().Add(15 * time.Minute); time.Now().Before(deadline) && !maps.Equal(gone(before, s.state()), foretold); {
		time.Sleep(time.Second)
	}
	if diff := gocmp.Diff(worldsOf(foretold, names), worldsOf(gone(before, s.state()), names)); diff != "" {
		t.Fatalf("nodes by change (-said to go +gone)\n%s", diff)
	}
	s.never("more nodes go", func(now state) bool { return !maps.Equal(gone(before, now), foretold) }, c.disruption())
}

// claimsOf are the names of all NodeClaims.
func claimsOf(now state) map[string]bool {
	names := map[string]bool{}
	for _, nc := range now.claims {
		if nc.DeletionTimestamp.IsZero() {
			names[nc.Name] = true
		}
	}
	return names
}

// gone are the NodeClaims that are there no more, or are being deleted.
func gone(before map[string]bool, now state) map[string]bool {
	left, there := map[string]bool{}, claimsOf(now)
	for name := range before {
		if !there[name] {
			left[name] = true
		}
	}
	return left
}

// worldsOf are NodeClaims with the change of their world.
func worldsOf(claims map[string]bool, names map[string]string) map[string]string {
	of := map[string]string{}
	for name := range claims {
		pool, _, _ := strings.Cut(name, "-")
		of[name] = names[strings.TrimPrefix(strings.TrimPrefix(pool, "home"), "other")]
	}
	return of
}
