package compare

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// compiled compiles one document for the cluster dev.
func compiled(t *testing.T, text string) compile.Result {
	t.Helper()
	return compiledWhole(t, "cluster {\n  name   = \"dev\"\n  region = \"us-ord\"\n}\n"+text)
}

// compiledWhole compiles one document that names its cluster.
func compiledWhole(t *testing.T, text string) compile.Result {
	t.Helper()
	files := fstest.MapFS{"main.lke.hcl": {Data: []byte(text)}}
	c, diags := compile.Dir(t.Context(), files, compile.Options{Options: config.Options{Dir: "."}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return c
}

func TestGuards(t *testing.T) {
	friday := time.Date(2026, 11, 20, 17, 0, 0, 0, time.UTC)
	pool := func(name, expiry string) string {
		return fmt.Sprintf("pool %q {\n  node_class   = node_class.default\n  requirements = { cpu = 4 }\n "+
			" expire_after = %q\n}\n", name, expiry)
	}
	aged := func(refresh string) string {
		return strings.Replace(pool("a", "720h"), "  expire_after", fmt.Sprintf("  refresh_after = %q\n  expire_after", refresh), 1)
	}
	const class = "node_class \"default\" {}\n"
	three := class + pool("a", "720h") + pool("b", "720h") + pool("c", "720h")
	static := func(replicas int) string {
		return fmt.Sprintf("pool \"a\" {\n  node_class   = node_class.default\n  requirements = { class = \"standard\" }\n  "+
			"replicas     = %d\n}\n", replicas)
	}
	nodes := []plan.Node{{Pool: "a"}, {Pool: "a"}, {Pool: "b"}, {Pool: "c"}}
	const now = "guards {\n  prune = \"now\"\n}\n"
	const weekend = "guards {\n  freeze \"weekend\" {\n    schedule = \"0 16 * * fri\"\n    duration = \"64h\"\n " +
		"   reason   = \"Ask the duty officer.\"\n  }\n}\n"
	const nights = "guards {\n  window \"nights\" {\n    schedule = \"0 22 * * *\"\n    duration = \"6h\"\n " +
		"   reason   = \"ask the duty officer\"\n  }\n}\n"
	const uncounted = "max_deleted_nodes: blocked: Nodes would be deleted, but their number is unknown without a " +
		"cluster. To count them, add --nodes live or --nodes snapshot:FILE."
	const attracted = "Nodes may be removed, but their number is unknown without a cluster. To count them, add --nodes live or " +
		"--nodes snapshot:FILE."
	tests := []struct {
		name       string
		base, head string
		nodes      []plan.Node
		allow      []string
		want       []string // verdicts that are not passed
	}{
		{name: "one pool without nodes may go", base: three, head: class + pool("a", "720h") + pool("b", "720h"),
			nodes: nodes[:3]},
		{name: "one pool with a node may give it up", base: three, head: class + pool("a", "720h") + pool("b", "720h"),
			nodes: nodes},
		{name: "one pool may drain uncounted nodes", base: three,
			head: class + pool("a", "720h") + pool("b", "720h")},
		{name: "no more nodes may drain than may be replaced",
			base: three + "guards {\n  max_rolled_nodes = \"25%\"\n}\n", head: class + pool("b", "720h") + pool("c", "720h"),
			nodes: nodes,
			want:  []string{"max_rolled_nodes: blocked: 2 of 4 nodes would be drained, and the limit is 25%."}},
		{name: "one pool with a node may not go at once", base: three + now,
			head: class + pool("a", "720h") + pool("b", "720h"), nodes: nodes,
			want: []string{"max_deleted_nodes: blocked: 1 of 4 nodes would be deleted, and the limit is 0."}},
		{name: "a change does not have its own pools go at once", base: three,
			head: class + now + pool("a", "720h") + pool("b", "720h"), nodes: nodes},
		{name: "unless the pool has prune, and then the guard counts", base: three, nodes: nodes,
			head: class + pool("a", "720h") + pool("b", "720h") + "removed {\n  from   = pool.c\n  delete = true\n  prune  = \"now\"\n}\n",
			want: []string{"max_deleted_nodes: blocked: 1 of 4 nodes would be deleted, and the limit is 0."}},
		{name: "nor if the base has all pools go at once", base: three + now, nodes: nodes,
			head: class + pool("a", "720h") + pool("b", "720h") +
				"removed {\n  from   = pool.c\n  delete = true\n  prune  = \"graceful\"\n}\n"},
		{name: "one pool with uncounted nodes may not be deleted immediately", base: three + now,
			head: class + pool("a", "720h") + pool("b", "720h"), want: []string{uncounted}},
		{name: "one pool with nodes may go at once where that is written",
			base: three + "guards {\n  prune = \"now\"\n  max_deleted_nodes = \"50%\"\n}\n",
			head: class + pool("b", "720h") + pool("c", "720h"), nodes: nodes},
		{name: "two may not", base: three, head: class + pool("a", "720h"), nodes: nodes[:2],
			want: []string{"max_deleted_pools: blocked: The change would delete 2 pools, and the limit is 1."}},
		{name: "nor may two that would drain first", base: three, head: class + pool("a", "720h"), nodes: nodes,
			want: []string{"max_deleted_pools: blocked: The change would delete 2 pools, and the limit is 1."}},
		{name: "two may with a permission for each of them", base: three, head: class + pool("a", "720h"), nodes: nodes[:2],
			allow: []string{"max_deleted_pools:pool.b", "max_deleted_pools:pool.c"},
			want:  []string{"max_deleted_pools: allowed: The change would delete 2 pools, and the limit is 1."}},
		{name: "nothing is left", base: three, head: "", nodes: nodes[:0],
			want: []string{"allow_empty: blocked: The change removes all objects: the base has 4 objects. Check the path of the directory.",
				"max_deleted_pools: blocked: The change would delete 3 pools, and the limit is 1."}},
		{name: "nothing may be left", base: three + "guards {\n  allow_empty       = true\n  max_deleted_pools = 3\n}\n",
			head: "", nodes: nodes[:0]},
		{name: "a change cannot lift its guards", base: three, head: class + "guards {\n  max_deleted_pools = 9\n}\n" +
			pool("a", "720h"), nodes: nodes[:2],
			want: []string{"max_deleted_pools: blocked: The change would delete 2 pools, and the limit is 1."}},
		{name: "a protected pool", base: three + "guards {\n  protected = [pool.c]\n}\n",
			head: class + pool("a", "720h") + pool("b", "720h"), nodes: nodes[:3],
			want: []string{"protected pool.c: blocked: The change would delete pool.c, which is protected."}},
		{name: "a protected pool that would drain first", base: three + "guards {\n  protected = [pool.c]\n}\n",
			head: class + pool("a", "720h") + pool("b", "720h"), nodes: nodes,
			want: []string{"protected pool.c: blocked: The change would delete pool.c, which is protected."}},
		{name: "more nodes than may be replaced", base: three + "guards {\n  max_rolled_nodes = \"25%\"\n}\n",
			head: class + pool("a", "24h") + pool("b", "720h") + pool("c", "720h"), nodes: nodes,
			want: []string{"max_rolled_nodes: blocked: 2 of 4 nodes would be replaced, and the limit is 25%."}},
		{name: "as many nodes as may be replaced", base: three + "guards {\n  max_rolled_nodes = \"2\"\n}\n",
			head: class + pool("a", "24h") + pool("b", "720h") + pool("c", "720h"), nodes: nodes},
		{name: "nodes that are not counted", base: three + "guards {\n  max_rolled_nodes = \"25%\"\n}\n",
			head: class + pool("a", "24h") + pool("b", "720h") + pool("c", "720h"),
			want: []string{"max_rolled_nodes: unknown: Nodes would be replaced, but their number is unknown without a " +
				"cluster. To count them, add --nodes live or --nodes snapshot:FILE."}},
		{name: "nodes that are not counted, of which none may be replaced", base: three + "guards {\n  max_rolled_nodes = \"0%\"\n}\n",
			head: class + pool("a", "24h") + pool("b", "720h") + pool("c", "720h"),
			want: []string{"max_rolled_nodes: blocked: Nodes would be replaced, but their number is unknown without a " +
				"cluster. To count them, add --nodes live or --nodes snapshot:FILE."}},
		{name: "a pool that is taken over has nodes, and how it differs is not known",
			base: class + "guards {\n  max_rolled_nodes = \"0\"\n}\n",
			head: class + pool("a", "720h") + "import {\n  to = pool.a\n  id = \"a\"\n}\n",
			want: []string{
				"max_rolled_nodes: blocked: Nodes would be replaced, but their number is unknown without a " +
					"cluster. To count them, add --nodes live or --nodes snapshot:FILE."}},
		{name: "nodes that are not counted, and have to be",
			base: three + "guards {\n  max_rolled_nodes = \"25%\"\n  unknown          = \"refuse\"\n}\n",
			head: class + pool("a", "24h") + pool("b", "720h") + pool("c", "720h"),
			want: []string{"max_rolled_nodes: blocked: Nodes would be replaced, but their number is unknown without a " +
				"cluster. To count them, add --nodes live or --nodes snapshot:FILE."}},
		{name: "nodes that may be removed, and are not counted", base: three + "guards {\n  max_rolled_nodes = \"25%\"\n}\n",
			head: three + "overlay \"dear\" {\n  requirements = {}\n  price        = \"9\"\n}\n",
			want: []string{"max_rolled_nodes: unknown: Nodes may be removed, but their number is unknown without a " +
				"cluster. To count them, add --nodes live or --nodes snapshot:FILE."}},
		{name: "no node may be replaced, and an age of an hour lets all of them go", nodes: nodes[:2],
			base: class + aged("720h") + "guards {\n  max_rolled_nodes = \"0\"\n}\n", head: class + aged("1h"),
			want: []string{"max_rolled_nodes: blocked: 2 of 2 nodes may be removed, and the limit is 0."}},
		{name: "no node may be replaced, and an age is set", nodes: nodes[:2],
			base: class + pool("a", "720h") + "guards {\n  max_rolled_nodes = \"0\"\n}\n", head: class + aged("720h"),
			want: []string{"max_rolled_nodes: blocked: 2 of 2 nodes may be removed, and the limit is 0."}},
		{name: "no node may be replaced, and an age lets go those of a cluster that was not read",
			base: class + aged("720h") + "guards {\n  max_rolled_nodes = \"0\"\n}\n", head: class + aged("1h"),
			want: []string{"max_rolled_nodes: blocked: " + attracted}},
		{name: "no node may be replaced, and a higher age lets none go", nodes: nodes[:2],
			base: class + aged("720h") + "guards {\n  max_rolled_nodes = \"0\"\n}\n", head: class + aged("721h")},
		{name: "a freeze of a lower age", nodes: nodes[:2], base: class + aged("720h") + weekend, head: class + aged("719h"),
			want: []string{"freeze weekend: waiting: Changes that replace or delete nodes are frozen until Mon 2026-11-23 08:00 UTC. " +
				"Ask the duty officer."}},
		{name: "a freeze of overlays", base: three + weekend,
			head: three + "overlay \"dear\" {\n  requirements = {}\n  price        = \"9\"\n}\n",
			want: []string{"freeze weekend: waiting: Changes that replace or delete nodes are frozen until Mon 2026-11-23 08:00 UTC. " +
				"Ask the duty officer."}},
		{name: "more nodes than may be deleted", base: three + "guards {\n  prune             = \"now\"\n  max_deleted_nodes = 1\n}\n",
			head: class + pool("b", "720h") + pool("c", "720h"), nodes: nodes,
			want: []string{"max_deleted_nodes: blocked: 2 of 4 nodes would be deleted, and the limit is 1."}},
		{name: "a freeze", base: three + weekend, head: class + pool("a", "24h") + pool("b", "720h") + pool("c", "720h"),
			want: []string{"freeze weekend: waiting: Changes that replace or delete nodes are frozen until Mon 2026-11-23 08:00 UTC. " +
				"Ask the duty officer."}},
		{name: "a freeze lets pass what touches no node", base: three + weekend, head: three},
		{name: "a freeze lets pass a pool that is known to have no nodes", base: three + weekend, nodes: nodes[2:],
			head: class + pool("a", "24h") + pool("b", "720h") + pool("c", "720h")},
		{name: "a freeze lets pass a class whose pools are known to have no nodes", base: three + weekend, nodes: nodes[:0],
			head: strings.Replace(three, "\"default\" {}", "\"default\" {\n  disk_encryption = \"disabled\"\n}", 1)},
		{name: "a freeze of a class whose pools have nodes that are not counted", base: three + weekend,
			head: strings.Replace(three, "\"default\" {}", "\"default\" {\n  disk_encryption = \"disabled\"\n}", 1),
			want: []string{"freeze weekend: waiting: Changes that replace or delete nodes are frozen until Mon 2026-11-23 08:00 UTC. " +
				"Ask the duty officer."}},
		{name: "outside of windows", base: three + nights, head: class + pool("a", "24h") + pool("b", "720h") + pool("c", "720h"),
			want: []string{"window: waiting: Nodes may be replaced and deleted only in change windows. The next window starts at " +
				"Fri 2026-11-20 22:00 UTC. Ask the duty officer."}},
		{name: "outside of windows, a pool that goes", base: three + nights, head: class + pool("a", "720h") + pool("b", "720h"),
			want: []string{"window: waiting: Nodes may be replaced and deleted only in change windows. The next window starts at " +
				"Fri 2026-11-20 22:00 UTC. Ask the duty officer."}},
		{name: "a permission lifts it", base: three + nights,
			head: class + pool("a", "24h") + pool("b", "720h") + pool("c", "720h"), allow: []string{"window:pool.a"},
			want: []string{"window: allowed: Nodes may be replaced and deleted only in change windows. The next window starts at " +
				"Fri 2026-11-20 22:00 UTC. Ask the duty officer."}},
		{name: "in a window", base: three + strings.ReplaceAll(nights, "0 22", "0 15"),
			head: class + pool("a", "24h") + pool("b", "720h") + pool("c", "720h")},
		{name: "windows let pass what touches no node", base: three + nights, head: three},
		{name: "a change cannot open its window", base: three + nights,
			head: three[:len(class)] + pool("a", "24h") + pool("b", "720h") + pool("c", "720h"),
			want: []string{"window: waiting: Nodes may be replaced and deleted only in change windows. The next window starts at " +
				"Fri 2026-11-20 22:00 UTC. Ask the duty officer."}},
		{name: "a policy",
			base: three +
				"policy \"small\" {\n  condition     = plan.objects.changed < 1\n  error_message = \"It changes " +
				"${plan.objects.changed} objects.\"\n}\n", head: class + pool("a", "24h") + pool("b", "720h") + pool("c", "720h"),
			want: []string{"policy.small: blocked: It changes 1 objects."}},
		{name: "a policy about what is not known",
			base: three + "policy \"few\" {\n  condition     = plan.nodes.rolled < 1\n  error_message = \"Too many.\"\n}\n",
			head: class + pool("a", "24h") + pool("b", "720h") + pool("c", "720h"),
			want: []string{"policy.few: unknown: The policy depends on nodes or their cost, which are not known without a cluster. To read them, " +
				"add --nodes live or --nodes snapshot:FILE."}},
		{name: "a policy about what is not known, and has to be",
			base: three + "guards {\n  unknown = \"refuse\"\n}\n" +
				"policy \"few\" {\n  condition     = plan.nodes.rolled < 1\n  error_message = \"Too many.\"\n}\n",
			head: class + pool("a", "24h") + pool("b", "720h") + pool("c", "720h"),
			want: []string{"policy.few: blocked: The policy depends on nodes or their cost, which are not known without a cluster. To read them, " +
				"add --nodes live or --nodes snapshot:FILE."}},
		{name: "a policy about nodes of a change that touches none", head: three,
			base: three + "policy \"few\" {\n  condition     = plan.nodes.rolled < 1\n  error_message = \"Too many.\"\n}\n"},
		{name: "fewer replicas delete nodes", base: class + static(2), head: class + static(0), nodes: nodes,
			want: []string{"max_deleted_nodes: blocked: 2 of 4 nodes would be deleted, and the limit is 0."}},
		{name: "a freeze of replicas", base: class + static(2) + weekend, head: class + static(1),
			want: []string{"freeze weekend: waiting: Changes that replace or delete nodes are frozen until Mon 2026-11-23 08:00 UTC. " +
				"Ask the duty officer.", uncounted}},
		{name: "fewer replicas and another template replace an unknown number of nodes",
			base: class + static(3) + "guards {\n  max_rolled_nodes  = 0\n  max_deleted_nodes = 9\n}\n",
			head: class + strings.Replace(static(1), "replicas ", "labels = { a = \"b\" }\n  replicas ", 1),
			want: []string{"max_deleted_nodes: unknown: " + strings.TrimPrefix(uncounted, "max_deleted_nodes: blocked: "),
				"max_rolled_nodes: blocked: Nodes would be replaced, but their number is unknown without a cluster. To count them, add --nodes live " +
					"or --nodes snapshot:FILE."}},
		{name: "a new pool may attract pods of others", base: three + "guards {\n  max_rolled_nodes = 0\n}\n", head: three + pool("d", "720h"),
			want: []string{"max_rolled_nodes: blocked: " + attracted}},
		{name: "a new pool may attract pods of others, which are not counted", head: three + pool("d", "720h"),
			base: three + "guards {\n  max_rolled_nodes = \"25%\"\n}\n", want: []string{"max_rolled_nodes: unknown: " + attracted}},
		{name: "a new pool may attract pods of others, which have to be counted", head: three + pool("d", "720h"),
			base: three + "guards {\n  max_rolled_nodes = \"25%\"\n  unknown = \"refuse\"\n}\n",
			want: []string{"max_rolled_nodes: blocked: " + attracted}},
		{name: "a freeze of a new pool that may attract pods of others", base: three + weekend, head: three + pool("d", "720h"),
			want: []string{"freeze weekend: waiting: Changes that replace or delete nodes are frozen until Mon 2026-11-23 08:00 UTC. " +
				"Ask the duty officer."}},
		{name: "a new pool that attracts no pods", base: three + "guards {\n  max_rolled_nodes = 0\n  unknown = \"refuse\"\n}\n",
			head: three + strings.Replace(pool("d", "720h"), "node_class ", "taints = [\"a=b:NoSchedule\"]\n  node_class ", 1)},
		{name: "more replicas delete none", base: class + static(2), head: class + static(3), nodes: nodes},
	}
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			base, head := compiled(t, tt.base), compiled(t, tt.head)
			before := stateOf(base, regionOffers(base.Cluster, prices), prices, friday)
			after := stateOf(head, regionOffers(head.Cluster, prices), prices, friday)
			before.Nodes, after.Nodes = stamped(t, tt.nodes, base), stamped(t, tt.nodes, base)
			p, err := plan.Diff(t.Context(), before, after)
			if err != nil {
				t.Fatal(err)
			}
			if err := Guard(&p, base, head, tt.allow); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range p.Verdicts {
				if v.Status != plan.Passed && v.Status != plan.Changed { // see TestRuleChanges
					got = append(got, fmt.Sprintf("%s: %s: %s", strings.TrimSpace(v.Guard+" "+v.Addr), v.Status, v.Detail))
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
		})
	}
}

// stamped are nodes that were made by the pools as they are: they have their
// hashes, and labels that fit. There are none where no cluster was asked.
func stamped(t *testing.T, nodes []plan.Node, c compile.Result) []plan.Node {
	t.Helper()
	made := make([]plan.Node, len(nodes))
	for i, n := range nodes {
		n.Initialized = true
		n.Labels = map[string]string{"karpenter.k8s.linode/instance-cpu": "4", "karpenter.sh/capacity-type": "on-demand"}
		for _, r := range c.Objects {
			if r.Kind() == "NodePool" && r.Name() == n.Pool {
				var typed karpv1.NodePool
				if err := runtime.DefaultUnstructuredConverter.FromUnstructured(r.Defaulted, &typed); err != nil {
					t.Fatal(err)
				}
				n.Annotations = map[string]string{karpv1.NodePoolHashAnnotationKey: typed.Hash(),
					karpv1.NodePoolHashVersionAnnotationKey: karpv1.NodePoolHashVersion}
			}
		}
		made[i] = n
	}
	if nodes == nil {
		return nil
	}
	return made
}

func TestPermissionsThatLiftNothingAreMistakes(t *testing.T) {
	p := plan.Plan{
		Changes: []plan.Change{{Addr: "pool.web"}, {Addr: "pool.db"}},
		Verdicts: []plan.Verdict{{Guard: plan.ProtectedPool, Addr: "pool.db", Status: plan.Blocked},
			{Guard: plan.MaxDeletedPools, Status: plan.Passed}},
	}
	for permission, want := range map[string]string{
		"protected":                 "write GUARD:ADDRESS",
		"protected:":                "write GUARD:ADDRESS",
		"protected:pool.web":        "possible values are protected:pool.db",
		"max_deleted_pools:pool.db": "possible values are protected:pool.db",
	} {
		if err := p.Allow([]string{permission}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", permission, err, want)
		}
	}
	if err := p.Allow([]string{"protected:pool.db"}); err != nil || p.Refused() {
		t.Errorf("the plan is refused although it is allowed: %v, %+v", err, p.Verdicts)
	}
}
