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

// foretold are the NodeClaims that a plan of a directory says Karpenter moves, without a condition.
func (s *sandbox) foretold(dir string) map[string]bool {
	s.t.Helper()
	out, err := s.command(bin(s.t, "lkeplan"), nil, "plan", "-o", "json", dir).Output()
	var said struct {
		Changes []struct {
			Impact struct{ Moves []struct{ Node, When string } }
		} `json:"resource_changes"`
	}
	if json.Unmarshal(out, &said) != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
	nodes := map[string]bool{}
	for _, c := range said.Changes {
		for _, m := range c.Impact.Moves {
			if m.When == "" {
				nodes[m.Node] = true
			}
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
	movesWorlds = flag.Int("moves-worlds", 60, "how many worlds are drawn")
)

// movesPerSandbox is how many worlds share a sandbox. Karpenter waits fifteen seconds before each step, so that several
// sandboxes at a time take less time. One plan has all of their changes, and a simulation has a minute.
const movesPerSandbox = 10

// movesWorld is pools with pods that no other world can run, and a change.
type movesWorld struct {
	name                 string // of the change
	moves                bool   // whether it is one of those that move nodes; another may move some as well
	start, before, after string // blocks, in the order in which they are applied
	pods                 string
}

// drawMovesWorld draws a world: a change that makes Karpenter move nodes if i is even, or else one that looks alike.
func drawMovesWorld(r *rand.Rand, i int) movesWorld {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	label := fmt.Sprintf("world = \"w%02d\"", i)
	taint := pick("", fmt.Sprintf("\"world=w%02d:NoSchedule\"", i))
	pool := func(name, class, cpu, arguments, disruption string, taints ...string) string {
		if taint != "" {
			taints = append(taints, taint)
		}
		return fmt.Sprintf("pool \"%s%02d\" {\n  node_class = node_class.c%02d\n  requirements = { class = %q, cpu = %s }\n"+
			"  labels = { %s }\n  taints = [%s]\n%s  disruption {\n%s  }\n}\n", name, i, i, class, cpu, label, strings.Join(taints, ", "), arguments, disruption)
	}
	const soon, never = "    consolidate_after = \"5s\"\n", "    consolidate_after = \"Never\"\n"
	budget := "    budget {\n      nodes = \"" + pick("100%", "1", "50%") + "\"\n    }\n"
	const some, other, extra = "between(4, 8)", "between(1, 8)", "\"a=b:NoSchedule\""
	home := func(cpu, arguments, disruption string) string {
		return pool("home", "dedicated", cpu, arguments, disruption)
	}
	more := func(cpu, arguments string, taints ...string) string {
		return pool("other", "standard", cpu, arguments, soon+budget, taints...)
	}
	weight := func(n int) string { return fmt.Sprintf("  weight = %d\n", n) }
	tier := func(value string) string {
		return strings.Replace(home("between(2, 8)", "  in_place = [\"example.com/tier\"]\n", soon+budget), label,
			fmt.Sprintf("%s, \"example.com/tier\" = %q", label, value), 1)
	}
	overlay := func(requirements, price string) string {
		return fmt.Sprintf("overlay \"o%02d\" {\n  requirements = { \"karpenter.sh/nodepool\" = \"home%02d\", %s }\n  price = %q\n}\n", i, i, requirements, price)
	}
	limits := func(nodes int) string {
		return fmt.Sprintf("limits \"l%02d\" {\n  pools = [pool.other%02d]\n  nodes = %d\n}\n", i, i, nodes)
	}
	usual, cheap := home(some, "", soon+budget), more(other, weight(50))
	late := home(some, weight(60), soon+budget)
	shut := home(some, "", soon+"    budget {\n      nodes = \"0\"\n    }\n")
	empty := home(some, "", "    policy = \"WhenEmpty\"\n"+soon+budget)
	small := home("between(2, 8)", "", soon+budget)
	bound, annotation, most := "", "", 2 // of the pods
	moving := []movesWorld{
		{name: "a new pool that is tried first", before: usual, after: usual + cheap},
		{name: "a taint that goes", before: usual + more(other, weight(50), extra), after: usual + cheap},
		{name: "a larger weight", before: late + more(other, weight(50)), after: late + more(other, weight(70))},
		{name: "smaller plan types", before: usual, after: small},
		{name: "smaller plan types of another pool", before: usual + more("between(16, 20)", weight(50)), after: usual + cheap},
		{name: "a larger limit of another pool", before: usual + more(other, weight(50)+"  limits = { cpu = 0 }\n"),
			after: usual + more(other, weight(50)+"  limits = { cpu = 64 }\n")},
		{name: "a larger limits block", before: usual + cheap + limits(0), after: usual + cheap + limits(9)},
		{name: "a pool with replicas that has room", before: usual, after: usual + more("between(6, 8)", "  replicas = 1\n")},
		{name: "consolidation begins", before: home(some, "", never+budget) + cheap, after: usual + cheap},
		{name: "a policy that allows more", before: empty + cheap, after: usual + cheap},
		{name: "a budget that opens", before: shut + cheap, after: usual + cheap},
		{name: "a new overlay", before: small, after: small + overlay("cpu = 4", "0.001")},
		{name: "another price of an overlay", before: small + overlay("cpu = 4", "9"), after: small + overlay("cpu = 4", "0.001")},
		{name: "a label in place that an overlay selects", before: tier("iron") + overlay("\"example.com/tier\" = \"gold\", cpu = 4", "0.001"),
			after: tier("gold") + overlay("\"example.com/tier\" = \"gold\", cpu = 4", "0.001")},
		{name: "a pool that was tried first is deleted", before: usual + pool("dear", "dedicated", "between(16, 32)", weight(90), soon) + cheap,
			after: usual + cheap},
	}
	still := []movesWorld{
		{name: "nothing", before: usual, after: usual + "# another line\n"},
		{name: "a new pool that is tried last", before: late, after: late + cheap},
		{name: "a new pool with another taint", before: usual, after: usual + more(other, weight(50), extra)},
		{name: "a larger weight that is still lower", before: late + more(other, weight(40)), after: late + more(other, weight(50))},
		{name: "larger plan types", before: usual, after: home("between(4, 16)", "", soon+budget)},
		{name: "a larger limit of the own pool", before: home(some, "  limits = { cpu = 32 }\n", soon+budget),
			after: home(some, "  limits = { cpu = 64 }\n", soon+budget)},
		{name: "a budget of 0", before: shut, after: shut + cheap},
		{name: "the policy WhenEmpty", before: empty, after: empty + cheap},
		{name: "consolidation that is off", before: home(some, "", never), after: home(some, "", never) + cheap},
		{name: "an overlay that makes plan types dear", before: small, after: small + overlay("cpu = 8", "9")},
		{name: "an overlay of the own plan type", before: small, after: small + overlay("cpu = 2", "0.02")},
		{name: "a label in place that no overlay selects", before: tier("iron") + overlay("\"example.com/tier\" = \"lead\", cpu = 4", "0.001"),
			after: tier("gold") + overlay("\"example.com/tier\" = \"lead\", cpu = 4", "0.001")},
		{name: "a pool that was tried last is deleted", before: late + more(other, weight(50)), after: late},
		{name: "a PodDisruptionBudget", before: usual, after: usual + cheap},
		{name: "do-not-disrupt", before: usual, after: usual + cheap},
	}
	worlds := still
	if i%2 == 0 {
		worlds = moving
	}
	w := worlds[i/2%len(worlds)]
	w.moves = i%2 == 0
	switch w.name {
	case "consolidation begins":
		w.start = home(some, "", never+budget)
	case "a policy that allows more":
		w.start = empty
	case "a budget that opens":
		w.start = shut
	case "a larger weight", "a larger weight that is still lower", "a pool that was tried last is deleted":
		w.start = late
	case "a pool with replicas that has room":
		w.start, most = w.before, 1
	case "a PodDisruptionBudget":
		w.start, bound = w.before, pick("maxUnavailable: 0", "minAvailable: 100%")
	case "do-not-disrupt":
		w.start, annotation = w.before, "karpenter.sh/do-not-disrupt: \"true\""
	case "a taint that goes", "smaller plan types of another pool", "a larger limit of another pool", "a larger limits block",
		"a pool that was tried first is deleted":
		w.start = usual
	default:
		w.start = w.before
	}
	if bound == "" {
		bound = pick("", "", "maxUnavailable: 1", "minAvailable: 0")
	}
	apart := pick(`      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: NAME}}}
`, `      topologySpreadConstraints:
        - {topologyKey: kubernetes.io/hostname, maxSkew: 1, minDomains: 2, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: NAME}}}
`, `      topologySpreadConstraints:
        - {topologyKey: topology.kubernetes.io/zone, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: NAME}}}
`)
	w.pods = strings.ReplaceAll(fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}, annotations: {%[3]s}}
    spec:
      nodeSelector: {world: w%02[1]d}
      tolerations: [{key: world, value: w%02[1]d}]
%[5]s      containers: [{name: c, image: registry.k8s.io/pause:3.10, resources: {requests: {cpu: %[4]s, memory: 500Mi}}}]
---
`, i, 1+r.IntN(most), annotation, pick("300m", "500m", "700m"), apart), "NAME", fmt.Sprintf("app%02d", i))
	if bound != "" {
		w.pods += fmt.Sprintf("apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: app%02[1]d}\n"+
			"spec: {%[2]s, selector: {matchLabels: {app: app%02[1]d}}}\n---\n", i, bound)
	}
	return w
}

// movesDaemons are on all nodes, and on those of one class: DaemonSets for some plan types alone would make Karpenter's choice
// random (kubernetes-sigs/karpenter#2975).
const movesDaemons = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: everywhere}
spec:
  selector: {matchLabels: {app: everywhere}}
  template:
    metadata: {labels: {app: everywhere}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: c, image: registry.k8s.io/pause:3.10, resources: {requests: {cpu: 50m, memory: 64Mi}}}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: dedicated}
spec:
  selector: {matchLabels: {app: dedicated}}
  template:
    metadata: {labels: {app: dedicated}}
    spec:
      nodeSelector: {karpenter.k8s.linode/instance-class: dedicated}
      tolerations: [{operator: Exists}]
      containers: [{name: c, image: registry.k8s.io/pause:3.10, resources: {requests: {cpu: 100m, memory: 64Mi}}}]
---
`

// TestDrawnChangesMoveTheNodesThatPlansName: of worlds that are drawn, each with a NodePlan whose guards allow no node to be
// moved, the changes that move nodes wait for approval, and nothing goes. The others are applied, and nothing goes. Once they
// are approved, exactly the nodes go that the plan names.
func TestDrawnChangesMoveTheNodesThatPlansName(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(*movesSeed, 1))
	var worlds []movesWorld
	for i := range *movesWorlds {
		worlds = append(worlds, drawMovesWorld(r, i))
	}
	for first := 0; first < len(worlds); first += movesPerSandbox {
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			t.Parallel()
			runMovesWorlds(t, worlds[first:min(first+movesPerSandbox, len(worlds))], first)
		})
	}
}

func runMovesWorlds(t *testing.T, worlds []movesWorld, first int) {
	s := startSandbox(t)
	s.installCRDs()
	c := s.startController("--feature-gates=NodeOverlay=true")
	name := func(i int) string { return fmt.Sprintf("w%02d", first+i) }
	cluster := "cluster {\n  name = \"sandbox\"\n  region = \"us-ord\"\n}\n"
	blocks := func(i, stage int) string {
		w := worlds[i]
		return fmt.Sprintf("node_class \"c%02d\" {}\n", first+i) + []string{w.start, w.before, w.after}[stage]
	}
	commit := func(stage int) {
		var sources strings.Builder
		for i := range worlds {
			sources.WriteString(configMap("default", name(i), cluster+lockedNodes+blocks(i, stage)) + "\n---\n")
		}
		s.kube(sources.String(), "apply", "--server-side", "-f", "-")
	}
	judged := func(i int, revision string) *lkeplanv1alpha1.NodePlan {
		return s.untilWithin(name(i), "the commit is applied or waits", 3*time.Minute, func(np *lkeplanv1alpha1.NodePlan) bool {
			return np.Status.LastAttemptedRevision != revision && (because(lkeplanv1alpha1.ReasonSucceeded)(np) || awaitsApproval(np))
		})
	}
	revisions := func() (all []string) {
		for i := range worlds {
			all = append(all, s.nodePlan(name(i)).Status.LastAttemptedRevision)
		}
		return all
	}
	mustApply := func(stage int, since []string) {
		for i, w := range worlds {
			if np := judged(i, since[i]); awaitsApproval(np) {
				t.Errorf("%s (%s): stage %d waits: %s\n%s", name(i), w.name, stage, np.Status.Plan.Summary, blocks(i, stage))
			}
		}
	}
	commit(0)
	var nodePlans, manifests strings.Builder
	pods := 0
	for i, w := range worlds {
		nodePlans.WriteString("---" + strings.ReplaceAll(nodePlanOfConfigMap, "NAME", name(i)))
		manifests.WriteString(w.pods)
		pods += strings.Count(w.pods, "replicas: 1") + 2*strings.Count(w.pods, "replicas: 2")
	}
	s.kube(nodePlans.String(), "apply", "-f", "-")
	mustApply(0, make([]string, len(worlds)))
	s.kube(movesDaemons+manifests.String(), "apply", "-f", "-")
	ready := func(now state) bool { return now.matched() && now.pending == 0 && len(now.claims) > 0 }
	s.until("all pods run", 5*time.Minute, func(now state) bool { return ready(now) && now.running >= pods+2*len(now.nodes) })

	since := revisions()
	commit(1)
	for i, w := range worlds {
		if w.start == w.before {
			since[i] = ""
		}
	}
	mustApply(1, since)
	before := s.atRest(c, ready)

	foretold := s.foretold(dirOf(t, cluster+joined(worlds, blocks, 2)))
	since = revisions()
	commit(2)
	waiting := map[string]bool{}
	moves, names := map[string]string{}, map[string]string{} // by world, and by NodeClaim
	for i, w := range worlds {
		np := judged(i, since[i])
		waiting[name(i)] = awaitsApproval(np)
		has := false
		for claim := range before {
			if !strings.HasPrefix(claim, fmt.Sprintf("home%02d-", first+i)) && !strings.HasPrefix(claim, fmt.Sprintf("other%02d-", first+i)) {
				continue
			}
			if w.name == "a pool that was tried first is deleted" && np.Status.Plan.NodesRemovable > 0 {
				foretold[claim] = true // a plan of the command does not prune the objects of a NodePlan
			}
			has, names[claim] = has || foretold[claim], name(i)+": "+w.name
		}
		if has != waiting[name(i)] {
			t.Errorf("%s (%s): moves nodes: %t; waits for approval: %t\n%s", name(i), w.name, has, waiting[name(i)], blocks(i, 2))
		}
		if !w.moves && has {
			moves[name(i)] = w.name
		}
	}
	t.Logf("%d of %d nodes are said to go; of changes that look harmless: %v", len(foretold), len(before), moves)
	s.never("nodes go that no plan names", func(now state) bool { return len(gone(before, now)) > 0 }, c.disruption())

	for i := range worlds {
		if waiting[name(i)] {
			s.approve(name(i))
		}
	}
	for deadline := time.Now().Add(15 * time.Minute); time.Now().Before(deadline) && !maps.Equal(gone(before, s.state()), foretold); {
		time.Sleep(time.Second)
	}
	s.atRest(c, ready)
	if diff := gocmp.Diff(byChange(foretold, names), byChange(gone(before, s.state()), names)); diff != "" {
		t.Errorf("nodes by change (-said to go +gone)\n%s", diff)
	}
}

// lockedNodes are guards that allow no node to be replaced, removed or deleted.
const lockedNodes = "guards {\n  max_rolled_nodes  = \"0\"\n  max_deleted_nodes = \"0\"\n}\n"

// joined are the blocks of all worlds in one configuration.
func joined(worlds []movesWorld, blocks func(i, stage int) string, stage int) string {
	var text strings.Builder
	for i := range worlds {
		text.WriteString(blocks(i, stage))
	}
	return text.String()
}

// atRest waits until Karpenter has looked at all nodes twice without a change, and returns the NodeClaims.
func (s *sandbox) atRest(c *controller, ready func(state) bool) map[string]bool {
	s.t.Helper()
	for deadline := time.Now().Add(slowdown * 5 * time.Minute); time.Now().Before(deadline); {
		now := s.until("all pods run", 5*time.Minute, ready)
		claims, r := claimsOf(now), c.disruption()
		for start := r.count(); r.count() < start+2 && maps.Equal(claims, claimsOf(s.state())); {
			time.Sleep(500 * time.Millisecond)
		}
		if now = s.state(); ready(now) && maps.Equal(claims, claimsOf(now)) {
			return claims
		}
	}
	s.t.Fatal("Karpenter does not come to rest")
	return nil
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

// byChange are NodeClaims with the change of their world.
func byChange(claims map[string]bool, names map[string]string) map[string]string {
	of := map[string]string{}
	for claim := range claims {
		of[claim] = names[claim]
	}
	return of
}
