package compare

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/report"
	"github.com/lkeplan/lkeplan/engine/rollout"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
	"github.com/lkeplan/lkeplan/testdata/nightly"
)

var directories = flag.Int("directories", nightly.Or(60, 8000), "how many pairs of directories are drawn; 8000 take minutes")

// TestDrawnDirectoriesNameTheirEffects: of two drawn directories, and a cluster that has the first, nothing is written that the
// plan does not name, and the plan counts each node that Karpenter finds drifted afterwards, or that is deleted. Guards of
// zero refuse a plan that touches one. The plan is judged and reported without an error. In the cluster, a first wave can hold
// nodes of a pool, a pool that no directory declares can use a class, and another directory can have applied what is imported.
func TestDrawnDirectoriesNameTheirEffects(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	ctx := log.IntoContext(t.Context(), logr.Discard())
	kinds := map[string]int{} // how many nodes and objects each effect was about
	for seed := range *directories {
		d := directoryDraw{rand.New(rand.NewPCG(uint64(seed), 46))}
		base, head := d.pair()
		before, after, ok := compiledPair(ctx, base, head)
		if !ok {
			continue
		}
		kinds["pairs"]++
		if err := d.check(ctx, before, after, prices, kinds); err != nil {
			t.Errorf("seed %d: %v\n== base\n%s\n== head\n%s", seed, err, base, head)
			return
		}
	}
	t.Log(kinds)
	for _, kind := range []string{"pairs", "rolled", "deleted", "removed", "forgotten", "imported", "moved", "held", "outside", "kept"} {
		if kinds[kind] < *directories/50 {
			t.Errorf("only %d of %d pairs or nodes are about %q", kinds[kind], *directories, kind)
		}
	}
}

// directoryDraw draws directories.
type directoryDraw struct{ *rand.Rand }

func (d directoryDraw) one(of ...string) string { return of[d.IntN(len(of))] }

func (d directoryDraw) may(share float64, text string) string {
	if d.Float64() < share {
		return text
	}
	return ""
}

// pair is a directory and a change of it, or of most of it. Some pools leave with a removed block, are moved, or are
// imported.
func (d directoryDraw) pair() (base, head string) {
	names := []string{"w", "x", "y", "z"}
	was, is, removed, moved := map[string]string{}, map[string]string{}, map[string]bool{}, map[string]bool{}
	for _, name := range names {
		if d.Float64() < .6 {
			was[name] = d.pool(name)
		}
		switch share := d.Float64(); {
		case share < .3 && was[name] != "":
			is[name] = was[name]
		case share < .7:
			is[name] = d.pool(name)
		}
	}
	for _, name := range names {
		switch {
		case was[name] != "" && is[name] == "" && d.Float64() < .5:
			head += "removed {\n  from = pool." + name + "\n" + d.may(.4, "  delete = true\n") + "}\n"
			removed[name] = true
		case was[name] == "" && is[name] != "" && d.Float64() < .4:
			head += "import {\n  to = pool." + name + "\n  id = \"" + name + "\"\n}\n"
			moved[name] = true
		}
	}
	for _, from := range names {
		for _, to := range names {
			if (from < "y") == (to < "y") && was[from] != "" && is[from] == "" && !removed[from] && was[to] == "" && is[to] != "" && !moved[to] {
				head += "moved {\n  from = pool." + from + "\n  to   = pool." + to + "\n}\n"
				removed[from], moved[to] = true, true
			}
		}
	}
	if d.Float64() < .15 { // a class of other users
		head += "node_class \"c\" {\n  tags = [\"team:" + d.one("a", "b") + "\"]\n}\nimport {\n  to = node_class.c\n  id = \"c\"\n}\n"
	}
	base = d.others()
	others := base
	if d.Float64() < .7 {
		others = d.others()
	}
	for _, name := range names {
		base, others = base+was[name], others+is[name]
	}
	return base, others + head
}

func (d directoryDraw) pool(name string) string {
	text := fmt.Sprintf("pool %q {\n  node_class = node_class.%s\n  requirements = { cpu = %s }\n", name, d.one("a", "b"),
		d.one("4", "between(2, 8)", "gte(4)", "[2, 4]"))
	static := name < "y" // the API server does not let a pool become static, or cease to be
	if static {
		text += fmt.Sprintf("  replicas = %d\n", d.IntN(4))
	} else {
		text += d.may(.3, "  weight = "+d.one("1", "5", "50")+"\n")
	}
	text += d.may(.4, "  limits = { nodes = "+d.one("3", "10")+" }\n")
	if d.Float64() < .5 {
		text += "  labels = { \"example.com/a\" = \"" + d.one("x", "y") + "\" }\n" + d.may(.4, "  in_place = [\"example.com/a\"]\n")
	}
	text += d.may(.2, "  taints = [\"k=v:NoSchedule\"]\n") + d.may(.2, "  expire_after = \"Never\"\n")
	if !static && d.Float64() < .6 {
		text += "  disruption {\n    policy = \"" + d.one("WhenEmpty", "WhenEmptyOrUnderutilized") + "\"\n    consolidate_after = \"" +
			d.one("Never", "0s", "1h") + "\"\n" + d.may(.5, "    budget {\n      nodes = \""+d.one("0", "1", "50%", "100%")+"\"\n"+
			d.may(.3, "      reasons = [\""+d.one("Drifted", "Empty")+"\"]\n")+
			d.may(.3, "      schedule = \"0 8 * * *\"\n      duration = \"8h\"\n")+"    }\n") + "  }\n"
	}
	return text + "}\n"
}

// others are the blocks that are not pools.
func (d directoryDraw) others() string {
	text := "cluster {\n  name = \"dev\"\n  region = \"us-ord\"\n" + d.may(.2, "  kubernetes_version = \""+d.one("1.33", "1.34")+"\"\n") + "}\n"
	for _, class := range []string{"a", "b"} {
		text += "node_class \"" + class + "\" {\n" + d.may(.3, "  disk_encryption = \"enabled\"\n") +
			d.may(.3, "  replace_before_maintenance = \"24h\"\n") + d.may(.3, "  tags = [\"team:a\"]\n") + "}\n"
	}
	text += d.may(.4, "limits \"all\" {\n  "+d.one("nodes = 5", "monthly_cost = 100", "cpu = 10")+"\n}\n")
	text += d.may(.3, "overlay \"o\" {\n  requirements = { "+d.one("cpu = 4", "\"example.com/a\" = \"x\"", "")+" }\n  price = \"0.1\"\n}\n")
	text += d.may(.2, "buffer \"b\" {\n  namespace = \"n\"\n  pod_template = \"t\"\n  replicas = "+d.one("1", "5")+"\n}\n")
	return text + "guards {\n  max_rolled_nodes = \"50%\"\n" + d.may(.3, "  prune = \"now\"\n") +
		d.may(.3, "  window \"w\" {\n    schedule = \"0 1 * * *\"\n    duration = \"1h\"\n  }\n") +
		d.may(.3, "  freeze \"f\" {\n    schedule = \"0 5 * * *\"\n    duration = \"1h\"\n  }\n") + "}\n"
}

// outside is a pool that neither directory declares, and its class.
func (d directoryDraw) outside() []map[string]any {
	class := map[string]any{"apiVersion": "karpenter.k8s.linode/v1", "kind": "LinodeNodeClass", "metadata": map[string]any{"name": "c"},
		"spec": map[string]any{}}
	pool := map[string]any{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "outside"},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"requirements": []any{},
			"nodeClassRef": map[string]any{"group": "karpenter.k8s.linode", "kind": "LinodeNodeClass", "name": d.one("a", "b", "c")},
		}}}}
	return []map[string]any{class, pool}
}

func compiledPair(ctx context.Context, base, head string) (before, after compile.Result, ok bool) {
	of := func(text string) compile.Result {
		c, diags := compile.Dir(ctx, fstest.MapFS{"main.lke.hcl": {Data: []byte(text)}}, compile.Options{Options: config.Options{Dir: "."}})
		ok = ok && !diags.HasErrors()
		return c
	}
	ok = true
	return of(base), of(head), ok
}

// check applies the first directory to a cluster, in which each pool gets nodes, and plans the second one.
func (d directoryDraw) check(ctx context.Context, base, head compile.Result, prices *catalog.Catalog, kinds map[string]int) error {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	validator := kube.BuiltinValidator()
	live := map[manifest.Key]map[string]any{}
	put := func(desired map[string]any) error {
		obj, _, err := validator.Predict(nil, desired)
		if err == nil {
			manifest.Map(obj, "metadata")["uid"] = "uid of " + manifest.Name(obj)
			live[manifest.KeyOf(obj)] = obj
		}
		return err
	}
	outdated, foreign := map[string]bool{}, map[manifest.Key]bool{} // pools whose nodes a wave holds; objects of another directory
	for _, o := range base.Objects {
		if o.Kind() == "NodePool" && d.Float64() < .2 {
			held, err := rollout.LimitReplacement(o, 0)
			if err != nil {
				return err
			}
			o, outdated[o.Name()] = held, true
		}
		if err := put(base.Labelled(o.Manifest)); err != nil {
			return err
		}
	}
	for _, obj := range d.outside() {
		if err := put(obj); err != nil {
			return err
		}
	}
	for _, i := range head.Imports { // another tool or directory has applied it, also in another form
		for _, o := range head.Objects {
			if i.Kind != o.Kind() || i.Name != o.Name() {
				continue
			}
			desired := runtime.DeepCopyJSON(o.Manifest)
			for _, other := range base.Objects {
				if other.Kind() == o.Kind() && (other.Name() < "y") == (o.Name() < "y") && d.IntN(2) == 0 {
					desired["spec"] = runtime.DeepCopyJSON(other.Manifest)["spec"]
				}
			}
			if o.Kind() == "LinodeNodeClass" && d.IntN(2) == 0 {
				desired["spec"] = map[string]any{"tags": []any{"team:a", "team:c"}}
			}
			if d.Float64() < .3 {
				other := base
				other.Directory = "other"
				desired, foreign[o.Key()] = other.Labelled(desired), true
			}
			if err := put(desired); err != nil {
				return err
			}
			kinds["imported"]++
		}
	}
	was := typedObjects(live)
	cluster, claims := drawn{objects: map[string][]map[string]any{}}, map[string][]*karpv1.NodeClaim{}
	for _, key := range slices.SortedFunc(maps.Keys(live), func(a, b manifest.Key) int { return strings.Compare(a.String(), b.String()) }) {
		cluster.objects[key.Kind] = append(cluster.objects[key.Kind], live[key])
		if pool := was.pools[key.Name]; key.Kind == "NodePool" && was.classes[pool.Spec.Template.Spec.NodeClassRef.Name] != nil {
			old := pool.DeepCopy()
			if outdated[pool.Name] {
				old.Spec.Template.Labels = map[string]string{"example.com/old": "x"}
			}
			all := (&draw{Rand: d.Rand}).claims(old, was.classes[pool.Spec.Template.Spec.NodeClassRef.Name])[:replicas(pool, d.IntN(4))]
			for i, claim := range all {
				claim.Name = fmt.Sprintf("%s-%d", pool.Name, i)
			}
			claims[key.Name] = all
			cluster.nodes = append(cluster.nodes, NodesOf(all, nil)...)
		}
	}
	for i := range cluster.nodes {
		cluster.nodes[i].Version, cluster.nodes[i].Created = "v99.0.0", now.Add(-time.Hour)
	}
	found, err := Live(ctx, head, cluster, LiveOptions{Base: base, Prices: prices, Now: now, Prune: true, PruneNow: base.Guards.PruneNow})
	if err != nil {
		return err
	}
	revisions, err := RevisionsAmong(ctx, base, head, cluster.nodes, prices, now)
	if err != nil {
		return err
	}
	for _, p := range []*plan.Plan{&found.Plan, &revisions} {
		if err := judgedAndReported(p, plan.Bounds{Guards: base.Guards, Before: len(base.Objects), After: len(head.Objects)}); err != nil {
			return err
		}
	}
	if err := found.Judged(); err != nil {
		return err
	}
	// What an apply does. A conflict stops it.
	written, changes := map[manifest.Key]map[string]any{}, found.Plan.ByKey()
	for _, t := range found.Targets {
		if key := manifest.KeyOf(t.Desired); foreign[key] && !t.KeepsValues() {
			if kinds["kept"]++; len(changes[key].Conflicts) == 0 {
				return fmt.Errorf("%s of another directory gets other values", key)
			}
			return nil
		}
	}
	for key, obj := range live {
		written[key] = obj
	}
	for _, t := range slices.Concat(found.Targets, found.Condemned) {
		key := manifest.KeyOf(t.Desired)
		if _, named := changes[key]; !named && !t.Unchanged && !kube.Same(withoutOwner(live[key]), withoutOwner(t.stored)) {
			return fmt.Errorf("%s is written, and the plan does not name it:\n%s", key, cmp.Diff(withoutOwner(live[key]), withoutOwner(t.stored)))
		}
		written[key] = t.stored
	}
	for key, c := range changes {
		switch {
		case c.Action == plan.Delete && (c.Prune == "" || c.Prune == plan.Drained):
			delete(written, key)
		case c.Action == plan.Forget && c.Released != nil:
			if written[key] = c.Released; !kube.Same(withoutOwner(rollout.WithoutWaveBudget(live[key])), withoutOwner(c.Released)) {
				return fmt.Errorf("%s is released in another form:\n%s", key, cmp.Diff(live[key], c.Released))
			}
		}
		switch {
		case c.Action == plan.Forget:
			kinds["forgotten"]++
		case c.Prune == plan.StartRemoval:
			kinds["removed"]++
		}
	}
	for _, c := range revisions.Changes {
		if c.Previous != "" {
			kinds["moved"]++
		}
	}
	is, touched := typedObjects(written), 0
	for name, of := range claims {
		key := manifest.Key{Kind: "NodePool", Name: name}
		c, pool := changes[key], is.pools[name]
		impact := plan.Impact{}
		if c.Impact != nil {
			impact = *c.Impact
		}
		if pool == nil {
			if touched += len(of); impact.Deleted != len(of) {
				return fmt.Errorf("%s is deleted with %d nodes, and the plan says %d", key, len(of), impact.Deleted)
			}
			kinds["deleted"] += len(of)
			continue
		}
		if c.Prune == plan.StartRemoval { // all drain, a static pool by fewer replicas
			if rollout.HasWaveBudget(written[key]) {
				return fmt.Errorf("%s drains, and the budget of a wave holds its nodes", key)
			}
			if touched += len(of); impact.Rolled != len(of) {
				return fmt.Errorf("%d nodes of %s drain, and the plan says %d", len(of), key, impact.Rolled)
			}
			continue
		}
		if fewer := len(of) - replicas(pool, len(of)); fewer > 0 && replicas(was.pools[name], len(of)) != replicas(pool, len(of)) {
			if touched += fewer; impact.Deleted+impact.Rolled < fewer {
				return fmt.Errorf("%s gets %d fewer nodes, and the plan deletes %d", key, fewer, impact.Deleted)
			}
			kinds["deleted"] += fewer
		}
		if inPlace(live[key]) || inPlace(written[key]) {
			continue // Karpenter compares other hashes, of which linode/inplace has the tests
		}
		drifted := 0
		for _, claim := range of {
			before, err := karpenterDrifts(ctx, was.pools[name], was.classOf(claim), claim)
			if err != nil {
				return err
			}
			after, err := karpenterDrifts(ctx, pool, is.classOf(claim), claim)
			if err != nil {
				return err
			}
			if after && (!before || rollout.HasWaveBudget(live[key])) && !rollout.HasWaveBudget(written[key]) {
				drifted++
				if before {
					kinds["held"]++
				}
				if c.Outside {
					kinds["outside"]++
				}
			}
		}
		if touched += drifted; impact.Rolled != drifted {
			return fmt.Errorf("Karpenter replaces %d of %d nodes of %s, and the plan %d", drifted, len(of), key, impact.Rolled)
		}
		kinds["rolled"] += drifted
	}
	if touched == 0 {
		return nil
	}
	none := config.Guards{MaxDeletedPools: 100, MaxDeletedNodes: config.Share{Text: "0"}, MaxRolledNodes: config.Share{Text: "0"}}
	if err := judgedAndReported(&found.Plan, plan.Bounds{Guards: none}); err != nil {
		return err
	}
	if !found.Plan.Refused() {
		return fmt.Errorf("%d nodes are replaced or deleted, and guards of zero allow it", touched)
	}
	return nil
}

// judgedAndReported evaluates the guards of a plan, and writes it in each format.
func judgedAndReported(p *plan.Plan, bounds plan.Bounds) (err error) {
	if p.Verdicts, err = p.Judge(bounds); err != nil {
		return err
	}
	p.Permit()
	if _, err := p.Digest(); err != nil {
		return err
	}
	for _, format := range []string{"text", "markdown", "html", "json", "github"} {
		if err := report.Write(io.Discard, format, report.Report{Plan: *p}, report.Options{}); err != nil {
			return fmt.Errorf("%s: %w", format, err)
		}
	}
	return nil
}

// typedSet is the pools and classes among objects, by name.
type typedSet struct {
	pools   map[string]*karpv1.NodePool
	classes map[string]*linodev1alpha1.LinodeNodeClass
}

func typedObjects(objects map[manifest.Key]map[string]any) typedSet {
	s := typedSet{map[string]*karpv1.NodePool{}, map[string]*linodev1alpha1.LinodeNodeClass{}}
	for key, obj := range objects {
		pool, class, _ := typed(obj, obj) // each ignores the fields of the other
		switch key.Kind {
		case "NodePool":
			s.pools[key.Name] = pool
		case "LinodeNodeClass":
			s.classes[key.Name] = class
		}
	}
	return s
}

// classOf is the class of a claim. One that does not exist has no hash to compare.
func (s typedSet) classOf(claim *karpv1.NodeClaim) *linodev1alpha1.LinodeNodeClass {
	if class := s.classes[claim.Spec.NodeClassRef.Name]; class != nil {
		return class
	}
	return &linodev1alpha1.LinodeNodeClass{}
}

// withoutOwner is an object without the labels and annotations that say who has applied it, which no plan names.
func withoutOwner(obj map[string]any) map[string]any {
	obj = runtime.DeepCopyJSON(obj)
	delete(manifest.Map(obj, "metadata"), "managedFields")
	for _, field := range []string{"labels", "annotations"} {
		values := manifest.Map(obj, "metadata", field)
		maps.DeleteFunc(values, func(key string, _ any) bool { return strings.HasPrefix(key, "lkeplan.dev/") })
		if len(values) == 0 {
			delete(manifest.Map(obj, "metadata"), field)
		}
	}
	return obj
}

// replicas is the number of nodes of a static pool, or as many as there are.
func replicas(pool *karpv1.NodePool, nodes int) int {
	return int(ptr.Deref(pool.Spec.Replicas, int64(nodes)))
}

func inPlace(pool map[string]any) bool {
	return manifest.Map(pool, "metadata", "annotations")[schemas.AnnotationInPlace] != nil
}
