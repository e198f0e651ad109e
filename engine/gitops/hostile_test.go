package gitops

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// victims are what a hostile tenant or author is up against: the NodePlan prod of the
// namespace platform, with the pools general and web, and a tenant's NodePlan, mine.
type victims struct {
	*world
	prod, mine *lkeplanv1alpha1.NodePlan
	files      map[string]string // of the directories, as the last commit has them
}

// change commits another text of a directory.
func (v victims) change(dir, text string) {
	v.files[dir] = text
	v.commit(v.files)
}

// foreign stores a pool that another tool than lkeplan creates.
func (v victims) foreign(name, manager string, label any) {
	obj := runtime.DeepCopyJSON(v.objects[manifest.Key{Kind: "NodePool", Name: "general"}])
	metadata := manifest.Ensure(obj, "metadata")
	metadata["name"], metadata["labels"] = name, map[string]any{kube.InventoryLabel: label}
	delete(metadata, "uid")
	for _, entry := range metadata["managedFields"].([]any) {
		entry.(map[string]any)["manager"] = manager
		delete(manifest.Map(entry.(map[string]any), "fieldsV1"), "f:metadata")
	}
	v.put(obj)
}

// guarded is a directory whose guards let one pool go.
func guarded(class string, names ...string) string {
	return strings.Replace(pools(class, names...), "= 100", "= 1", 1)
}

// TestTenantIsolation: what each tries, and what comes of it. SECURITY.md says the
// same in words. In no case is a pool of prod deleted, changed or left without care.
func TestTenantIsolation(t *testing.T) {
	const ofProd = "nodeplan.platform.prod"
	tests := []struct {
		who, tries string
		does       func(v victims)
		prod       string // the reason that prod ends with; ReasonSucceeded where it goes on
		says       string // a part of what prod says
		mine       string // the reason that the tenant's NodePlan ends with
	}{
		{who: "a tenant", tries: "declares a pool of prod", mine: lkeplanv1alpha1.ReasonConflict,
			does: func(v victims) { v.change("mine", pools("mine", "general")) }},
		{who: "a tenant", tries: "imports a pool of prod", mine: lkeplanv1alpha1.ReasonConflict,
			does: func(v victims) {
				v.change("mine", pools("mine", "general")+"\nimport {\n  to = pool.general\n  id = \"general\"\n}\n")
			}},
		{who: "a tenant", tries: "says that a pool of prod is removed",
			does: func(v victims) {
				v.change("mine", pools("mine", "db")+"\nremoved {\n  from   = pool.general\n  delete = true\n}\n")
			}},
		{who: "a tenant", tries: "copies a pool, for prod to prune it with its nodes", says: "NodePool copy is kept",
			does: func(v victims) { v.copyOf("general", "copy") }},
		{who: "a tenant", tries: "puts prod's label on a pool of his own", says: "NodePool trap is kept",
			does: func(v victims) { v.foreign("trap", "kubectl-create", ofProd) }},
		{who: "a tenant", tries: "makes a pool that prod is about to declare", prod: lkeplanv1alpha1.ReasonConflict,
			says: "was created by kubectl",
			does: func(v victims) {
				v.foreign("api", "kubectl-create", "")
				v.change("prod", guarded("prod", "general", "web", "api"))
			}},
		{who: "a tenant", tries: "waits for a pool that prod releases", mine: lkeplanv1alpha1.ReasonConflict,
			says: "NodePlan tenant/mine also declares it",
			does: func(v victims) {
				v.change("mine", pools("mine", "web"))
				v.reconcile(v.mine)
				v.change("prod", guarded("prod", "general"))
			}},
		{who: "a tenant", tries: "takes prod's source with variables that do not compile",
			says: "it is unknown whether NodePlan tenant/mine, which has the same source, declares it now",
			mine: lkeplanv1alpha1.ReasonCompileFailed,
			does: func(v victims) {
				v.mine.Spec.SourceRef = v.prod.Spec.SourceRef
				v.files["mine"] = strings.Replace(pools("mine", "db"), "cpu = 4", "cpu = nosuch", 1)
				v.change("prod", guarded("prod", "general"))
			}},
		{who: "a tenant", tries: "only plans with the pools of prod", mine: lkeplanv1alpha1.ReasonPlanned,
			does: func(v victims) {
				v.mine.Spec.Mode = lkeplanv1alpha1.ModePlanOnly
				v.change("mine", pools("mine", "general", "web"))
			}},
		{who: "an author", tries: "removes more than the guards let pass", prod: lkeplanv1alpha1.ReasonGuarded,
			does: func(v victims) { v.change("prod", guarded("prod")) }},
		{who: "an author", tries: "lifts the guards in the same commit", prod: lkeplanv1alpha1.ReasonGuarded,
			does: func(v victims) { v.change("prod", pools("prod")) }},
		{who: "an author", tries: "imports what others have made, with another value", prod: lkeplanv1alpha1.ReasonConflict,
			says: "was set by \"helm\"",
			does: func(v victims) {
				v.foreign("theirs", "helm", "")
				text := guarded("prod", "general", "web", "theirs")
				i := strings.LastIndex(text, "cpu = 4")
				v.change("prod", text[:i]+"cpu = 8"+text[i+len("cpu = 4"):]+
					"\nimport {\n  to = pool.theirs\n  id = \"theirs\"\n}\n")
			}},
		{who: "an author", tries: "deletes the directory", prod: lkeplanv1alpha1.ReasonCompileFailed,
			does: func(v victims) {
				delete(v.files, "prod")
				v.commit(v.files)
			}},
	}
	for _, tt := range tests {
		t.Run(tt.who+" "+tt.tries, func(t *testing.T) {
			w := newWorld(t)
			v := victims{w, w.plan("platform", "prod", "fleet"), w.plan("tenant", "mine", "another"), map[string]string{
				"prod": guarded("prod", "general", "web"), "mine": pools("mine", "db"),
			}}
			v.commit(v.files)
			v.reconcile(v.prod)
			v.reconcile(v.mine)
			_, before := v.holder("general")
			tt.does(v)
			mine, prod := v.reconcile(v.mine), v.reconcile(v.prod)
			mine = v.reconcile(v.mine)
			wanted := func(reason string) string {
				if reason == "" {
					return lkeplanv1alpha1.ReasonSucceeded
				}
				return reason
			}
			if prod.reason != wanted(tt.prod) || !strings.Contains(prod.message, tt.says) {
				t.Errorf("prod ends with %s: %s", prod.reason, prod.message)
			}
			if mine.reason != wanted(tt.mine) {
				t.Errorf("the tenant ends with %s: %s", mine.reason, mine.message)
			}
			if label, uid := v.holder("general"); label != ofProd || uid != before || len(v.deleted) > 0 {
				t.Errorf("general is %s of %s, and was %s; deleted: %v", uid, label, before, v.deleted)
			}
			if tt.prod == "" && !v.cares("general") {
				t.Error("prod no longer sets back what others change")
			}
		})
	}
}

// cares reports whether prod reverts a manual edit.
func (v victims) cares(pool string) bool {
	key := manifest.Key{Kind: "NodePool", Name: pool}
	edited := runtime.DeepCopyJSON(v.objects[key])
	before := manifest.Text(v.objects[key], "spec", "template", "spec", "nodeClassRef", "name")
	manifest.Ensure(edited, "spec", "template", "spec", "nodeClassRef")["name"] = "mine"
	v.objects[key] = edited
	v.reconcile(v.prod)
	return manifest.Text(v.objects[key], "spec", "template", "spec", "nodeClassRef", "name") == before
}

// poolsOnly is a cluster in which an account may read and write neither limits nor overlays.
type poolsOnly struct{ Cluster }

func (poolsOnly) refuses(kind string) error {
	if kind == schemas.Limits.Object.Kind || kind == schemas.Overlay.Object.Kind {
		return apierrors.NewForbidden(schema.GroupResource{Resource: kind}, "", errors.New("no rule for it"))
	}
	return nil
}

func (c poolsOnly) Get(ctx context.Context, like map[string]any) (map[string]any, error) {
	if err := c.refuses(manifest.Kind(like)); err != nil {
		return nil, err
	}
	return c.Cluster.Get(ctx, like)
}

func (c poolsOnly) ListLabelled(ctx context.Context, apiVersion, kind, label, value string) ([]map[string]any, error) {
	if err := c.refuses(kind); err != nil {
		return nil, err
	}
	return c.Cluster.ListLabelled(ctx, apiVersion, kind, label, value)
}

// TestTenantWithoutLimits: an account without permission for limits and overlays, as SECURITY.md recommends for tenants,
// applies, changes and releases pools, and neither a limits block nor an overlay.
func TestTenantWithoutLimits(t *testing.T) {
	w := newWorld(t)
	w.worker.Connect = func(*lkeplanv1alpha1.NodePlan) (Cluster, error) { return poolsOnly{w}, nil }
	np := w.plan("tenant", "a", "fleet")
	w.commit(map[string]string{"a": pools("c", "web")})
	if o := w.reconcile(np); o.reason != lkeplanv1alpha1.ReasonSucceeded {
		t.Fatalf("%s: %s", o.reason, o.message)
	}
	for _, block := range []string{"limits \"none\" {\n  nodes = 0\n}\n", "overlay \"o\" {\n  requirements = { cpu = 4 }\n  price = \"0.1\"\n}\n"} {
		w.commit(map[string]string{"a": pools("c", "web") + block})
		if o := w.reconcile(np); !o.failed || !strings.Contains(o.message, "no rule for it") || len(w.objects) != 2 {
			t.Errorf("%s: %s: %s", block, o.reason, o.message)
		}
	}
	w.commit(map[string]string{"a": pools("c", "web", "api")})
	if o := w.reconcile(np); o.reason != lkeplanv1alpha1.ReasonSucceeded || len(w.objects) != 3 {
		t.Errorf("%s: %s", o.reason, o.message)
	}
}
