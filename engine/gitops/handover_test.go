package gitops

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// TestPresentOwnerContinues when another NodePlan names what it holds: only the newcomer waits.
func TestPresentOwnerContinues(t *testing.T) {
	for _, source := range []string{"fleet", "another"} {
		w := newWorld(t)
		holder, newcomer := w.plan("platform", "a", "fleet"), w.plan("tenant", "b", source)
		w.commit(map[string]string{"a": pools("a", "general"), "b": pools("b", "general")})
		for range 2 {
			if o := w.reconcile(holder); o.reason != lkeplanv1alpha1.ReasonSucceeded {
				t.Errorf("of %s: the holder ends with %s: %s", source, o.reason, o.message)
			}
			o := w.reconcile(newcomer)
			if !o.stalled || o.reason != lkeplanv1alpha1.ReasonConflict || !strings.Contains(o.message, "managed by NodePlan platform/a") {
				t.Errorf("of %s: the newcomer ends with %+v", source, o)
			}
		}
		if label, _ := w.holder("general"); label != "nodeplan.platform.a" {
			t.Errorf("of %s: the pool is held by %q", source, label)
		}
	}
}

// TestPoolMovesWithOneCommit between NodePlans of the same source, regardless of which sees the
// commit first, and whether or not the other has seen it.
func TestPoolMovesWithOneCommit(t *testing.T) {
	for name, steps := range map[string]string{
		"the one that gives it first":                   "gt",
		"the one that takes it first":                   "tg",
		"the one that takes it, before the other knows": "t g",
		"the one that gives it, before the other knows": "g t",
		"again and again":                               "gggttgt",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			gives, takes := w.plan("fleet", "a", "fleet"), w.plan("fleet", "b", "fleet")
			w.commit(map[string]string{"a": pools("a", "general", "web"), "b": pools("b", "db")})
			w.reconcile(gives)
			w.reconcile(takes)
			_, uid := w.holder("web")
			w.commit(map[string]string{"a": pools("a", "general"), "b": pools("b", "db", "web")})
			first, others, late := strings.Cut(steps, " ")
			by := map[rune]*lkeplanv1alpha1.NodePlan{'g': gives, 't': takes}
			if late { // the other one still sees the first commit, and is reconciled for another reason
				w.seen[by[rune(others[0])].Name] = 0
				w.reconcile(by[rune(first[0])])
				w.reconcile(by[rune(others[0])])
				if label, _ := w.holder("web"); first == "t" && label != nodeplan.InventoryLabel(takes) {
					t.Errorf("%s takes it back", label)
				}
				clear(w.seen)
			}
			for _, step := range strings.ReplaceAll(steps, " ", "") + "gt" {
				w.reconcile(by[step])
			}
			label, after := w.holder("web")
			if label != "nodeplan.fleet.b" || after != uid || len(w.deleted) > 0 {
				t.Errorf("it is held by %s, as %s, and was %s; deleted: %v", label, after, uid, w.deleted)
			}
			for _, np := range w.plans {
				if o := w.reconcile(np); o.reason != lkeplanv1alpha1.ReasonSucceeded || strings.Contains(o.message, "is kept") {
					t.Errorf("NodePlan %s ends with %s: %s", np.Name, o.reason, o.message)
				}
			}
		})
	}
}

// TestNewNodePlanTakesPoolsOver from one that a commit splits.
func TestNewNodePlanTakesPoolsOver(t *testing.T) {
	w := newWorld(t)
	gives := w.plan("fleet", "a", "fleet")
	w.commit(map[string]string{"a": pools("a", "general", "web")})
	w.reconcile(gives)
	takes := w.plan("fleet", "b", "fleet")
	w.commit(map[string]string{"a": pools("a", "general"), "b": pools("b", "web")})
	for _, np := range []*lkeplanv1alpha1.NodePlan{gives, takes, gives} {
		if o := w.reconcile(np); o.reason != lkeplanv1alpha1.ReasonSucceeded {
			t.Errorf("NodePlan %s ends with %s: %s", np.Name, o.reason, o.message)
		}
	}
	if label, _ := w.holder("web"); label != nodeplan.InventoryLabel(takes) || len(w.deleted) > 0 {
		t.Errorf("it is held by %q; deleted: %v", label, w.deleted)
	}
}

// TestMovedPoolKeepsItsNodes: the guards of the NodePlan that had it are not those of the one
// that takes it, so a change of its template waits for approval.
func TestMovedPoolKeepsItsNodes(t *testing.T) {
	p := &proving{world: newWorld(t), now: time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)}
	p.worker.Now = func() time.Time { return p.now }
	gives := p.plan("fleet", "a", "fleet")
	p.np = p.plan("fleet", "b", "fleet")
	labelled := func(text, label string) string {
		return strings.Replace(text, `pool "web" {`, "pool \"web\" {\n  labels = { l = \""+label+"\" }", 1)
	}
	p.commit(map[string]string{"a": labelled(pools("a", "general", "web"), "one"), "b": pools("b", "db")})
	p.reconcile(gives)
	p.reconcile(p.np)
	p.node("web")
	p.commit(map[string]string{"a": pools("a", "general") + "removed {\n  from = pool.web\n}\n",
		"b": labelled(pools("b", "db", "web"), "two")})
	for range 3 {
		p.reconcile(gives)
		if o := p.after(time.Minute); o.reason != lkeplanv1alpha1.ReasonGuarded || p.has("web") != "one" {
			t.Errorf("%s: %s; the pool has %q", o.reason, o.message, p.has("web"))
		}
	}
	p.approve()
	if o := p.after(time.Minute); o.reason != lkeplanv1alpha1.ReasonSucceeded || p.has("web") != "two" {
		t.Errorf("after an approval %s: %s; the pool has %q", o.reason, o.message, p.has("web"))
	}
}

// TestDeletionWaitsForOtherNodePlans: for another NodePlan of the same source that
// cannot be asked, and for one of another source that has asked for it. A removed block
// deletes the object anyway.
func TestDeletionWaitsForOtherNodePlans(t *testing.T) {
	broken := strings.Replace(pools("b", "db"), "cpu = 4", "cpu = nosuch", 1)
	tests := []struct {
		name   string
		source string // of the other NodePlan
		other  string // its directory after the commit
		change func(other *lkeplanv1alpha1.NodePlan)
		says   string // "": the pool is deleted
	}{
		{name: "it does not want it", source: "fleet", other: pools("b", "db")},
		{name: "it does not compile", source: "fleet", other: broken, says: "it is unknown whether NodePlan fleet/b, which has the same source, declares it now"},
		{name: "it is suspended", source: "fleet", other: pools("b", "db"), says: "it is suspended",
			change: func(other *lkeplanv1alpha1.NodePlan) { other.Spec.Suspend = true }},
		{name: "it only plans", source: "fleet", other: broken,
			change: func(other *lkeplanv1alpha1.NodePlan) { other.Spec.Mode = lkeplanv1alpha1.ModePlanOnly }},
		{name: "another source does not compile", source: "another", other: broken},
		{name: "another source wants it", source: "another", other: pools("b", "db", "web"), says: "NodePlan fleet/b also declares it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			holds, other := w.plan("fleet", "a", "fleet"), w.plan("fleet", "b", tt.source)
			w.commit(map[string]string{"a": pools("a", "general", "web"), "b": pools("b", "db")})
			w.reconcile(holds)
			w.reconcile(other)
			if tt.change != nil {
				tt.change(other)
			}
			w.commit(map[string]string{"a": pools("a", "general", "web"), "b": tt.other})
			w.reconcile(other)
			w.commit(map[string]string{"a": pools("a", "general"), "b": tt.other})
			o := w.reconcile(holds)
			gone := slices.Contains(w.deleted, "web")
			if o.reason != lkeplanv1alpha1.ReasonSucceeded || gone != (tt.says == "") || !strings.Contains(o.message, tt.says) {
				t.Errorf("deleted: %v; %s: %s", w.deleted, o.reason, o.message)
			}
			if tt.says == "" {
				return
			}
			w.commit(map[string]string{"a": pools("a", "general") + "\nremoved {\n  from   = pool.web\n  delete = true\n}\n", "b": tt.other})
			if w.reconcile(holds); !slices.Contains(w.deleted, "web") {
				t.Errorf("a removed block does not have it deleted: %v", holds.Status.Conditions)
			}
		})
	}
}

// TestDeclaredPoolsAreNeverDeleted moves pools between three NodePlans, by random
// commits that they see in a random order and late: what the last commit declares keeps
// its UID as long as every commit declares it, and in the end everything is where it
// belongs.
func TestDeclaredPoolsAreNeverDeleted(t *testing.T) {
	const steps = 120
	random := rand.New(rand.NewPCG(7, 13))
	names := []string{"p", "q", "r", "s"}
	w := newWorld(t)
	plans := []*lkeplanv1alpha1.NodePlan{w.plan("fleet", "a", "fleet"), w.plan("fleet", "b", "fleet"), w.plan("other", "c", "fleet")}
	where := map[string]int{}
	commit := func() {
		dirs := map[int][]string{}
		for _, name := range names {
			dirs[where[name]] = append(dirs[where[name]], name)
		}
		w.commit(map[string]string{"a": pools("a", dirs[0]...), "b": pools("b", dirs[1]...), "c": pools("c", dirs[2]...)})
	}
	commit()
	uids := map[string]string{}
	for step := range steps {
		if random.IntN(4) == 0 {
			where[names[random.IntN(len(names))]] = random.IntN(3)
			commit()
		}
		np := plans[random.IntN(len(plans))]
		if late := w.seen[np.Name]; late < len(w.commits)-1 { // no NodePlan sees an older commit again
			w.seen[np.Name] = late + random.IntN(len(w.commits)-late)
		}
		w.reconcile(np)
		for _, name := range names {
			_, uid := w.holder(name)
			if uids[name] != "" && uid != uids[name] {
				t.Fatalf("step %d: pool %s was deleted when %s was reconciled", step, name, np.Name)
			}
			uids[name] = uid
		}
	}
	clear(w.seen)
	for range 3 {
		for _, np := range plans {
			w.reconcile(np)
		}
	}
	for _, name := range names {
		if label, _ := w.holder(name); label != nodeplan.InventoryLabel(plans[where[name]]) {
			t.Errorf("pool %s is held by %s, and belongs to %s", name, label, plans[where[name]].Name)
		}
	}
}

// repositories reads GitRepositories, and else what a world has.
type repositories struct {
	plansOf
	of map[client.ObjectKey]*sourcev1.GitRepository
}

func (r repositories) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if into, ok := obj.(*sourcev1.GitRepository); ok && r.of[key] != nil {
		r.of[key].DeepCopyInto(into)
		return nil
	}
	return r.plansOf.Get(ctx, key, obj, opts...)
}

// withoutHolder serves a revision without what the directory a declares, as spec.ignore of a GitRepository can do.
type withoutHolder struct{ *world }

func (s withoutHolder) Find(ctx context.Context, np *lkeplanv1alpha1.NodePlan) (sourceArtifact, error) {
	artifact, err := s.world.Find(ctx, np)
	if np.Namespace == "tenant" {
		files := maps.Clone(s.commits[len(s.commits)-1])
		files["a/main.lke.hcl"] = pools("a", "general")
		artifact.Fetch = func(_ context.Context, dir string) error { return write(dir, files) }
	}
	return artifact, err
}

// TestURLDoesNotProveRelease: another source object can serve other files at the same URL and revision, so only what the
// holder has applied itself releases a pool.
func TestURLDoesNotProveRelease(t *testing.T) {
	w := newWorld(t)
	holder, takes := w.plan("platform", "a", ""), w.plan("tenant", "b", "")
	repository := &sourcev1.GitRepository{Spec: sourcev1.GitRepositorySpec{URL: "https://git.example/fleet"}}
	of := map[client.ObjectKey]*sourcev1.GitRepository{}
	for _, np := range []*lkeplanv1alpha1.NodePlan{holder, takes} {
		np.Spec.SourceRef = &lkeplanv1alpha1.SourceReference{Kind: "GitRepository", Name: "fleet"}
		of[client.ObjectKey{Namespace: np.Namespace, Name: "fleet"}] = repository
	}
	w.worker.Cache, w.worker.Sources = repositories{plansOf{w: w}, of}, withoutHolder{w}
	w.commit(map[string]string{"a": pools("a", "general", "web"), "b": pools("b", "web")})
	w.reconcile(holder)
	for range 2 {
		if o := w.reconcile(takes); o.reason != lkeplanv1alpha1.ReasonConflict ||
			!strings.Contains(o.message, "has not applied a revision without it yet") {
			t.Errorf("it ends with %s: %s", o.reason, o.message)
		}
		w.reconcile(holder)
	}
	w.commit(map[string]string{"a": pools("a", "general"), "b": pools("b", "web")})
	for range 2 { // the one that takes the pool sees the commit first
		w.reconcile(takes)
		w.reconcile(holder)
	}
	if label, _ := w.holder("web"); label != nodeplan.InventoryLabel(takes) || len(w.deleted) > 0 {
		t.Errorf("it is held by %q; deleted: %v", label, w.deleted)
	}
}

// TestFirstRevisionKeepsNodesOfOthers: it has no guards but its own, so it takes objects over only with their values, and
// waits for approval if nodes of pools that it does not declare may go.
func TestFirstRevisionKeepsNodesOfOthers(t *testing.T) {
	const cluster = "cluster {\n  name = \"dev\"\n  region = \"us-ord\"\n}\n"
	const adopts = cluster + "import {\n  to = node_class.c\n  id = \"c\"\n}\nnode_class \"c\" {\n"
	for name, tt := range map[string]struct {
		text, reason, says string
		readable           bool // the pods
	}{
		"a class with its values":   {adopts + "}\n", lkeplanv1alpha1.ReasonSucceeded, "", true},
		"a class with other values": {adopts + "  disk_encryption = \"enabled\"\n}\n", lkeplanv1alpha1.ReasonConflict, "with other values", true},
		"an overlay while a node joins": {cluster + "node_class \"t\" {}\noverlay \"cheap\" {\n  requirements = { cpu = 16 }\n  price = \"0.0001\"\n}\n",
			meta.ProgressingReason, "waits until the machines of new nodes exist", true},
		"an overlay": {cluster + "node_class \"t\" {}\noverlay \"cheap\" {\n  requirements = { cpu = 16 }\n  price = \"0.0001\"\n}\n",
			lkeplanv1alpha1.ReasonGuarded, "This is the first revision, and it affects, or may affect, nodes of pools that it does not declare: NodePool web", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for _, obj := range []map[string]any{
				{"apiVersion": "karpenter.k8s.linode/v1", "kind": "LinodeNodeClass", "metadata": map[string]any{"name": "c"}, "spec": map[string]any{}},
				{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "web"}, "spec": map[string]any{
					"template": map[string]any{"spec": map[string]any{
						"nodeClassRef": map[string]any{"group": "karpenter.k8s.linode", "kind": "LinodeNodeClass", "name": "c"},
						"requirements": []any{map[string]any{"key": "karpenter.k8s.linode/instance-cpu", "operator": "In", "values": []any{"4"}}},
					}}}},
			} {
				stored, _, err := kube.BuiltinValidator().Predict(nil, obj)
				if err != nil {
					t.Fatal(err)
				}
				manifest.Ensure(stored, "metadata")["managedFields"] = []any{map[string]any{"manager": "kubectl", "operation": "Update",
					"apiVersion": manifest.APIVersion(obj), "fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:spec": map[string]any{}}}}
				w.put(stored)
			}
			w.claims = []karpv1.NodeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "web-1", Labels: map[string]string{karpv1.NodePoolLabelKey: "web"}}}}
			if !tt.readable {
				w.worker.Cache = withoutPods{w.worker.Cache}
			}
			np := w.plan("tenant", "b", "mine")
			w.commit(map[string]string{"b": tt.text})
			if o := w.reconcile(np); o.reason != tt.reason || !strings.Contains(o.message, tt.says) {
				t.Errorf("%s: %s", o.reason, o.message)
			}
		})
	}
}
