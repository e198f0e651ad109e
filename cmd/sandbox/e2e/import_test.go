package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestImportedObjectsDoNotDiffer: objects from various manifests that kubectl applied
// are imported as HCL, and the first diff with the cluster is empty.
func TestImportedObjectsDoNotDiffer(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	manifests, err := filepath.Glob("testdata/manifests/*.yaml")
	if err != nil || len(manifests) < 12 {
		t.Fatalf("%d manifests: %v", len(manifests), err)
	}
	for _, name := range manifests {
		s.kube("", "apply", "-f", name)
	}
	before := s.poolsByName()
	dir := filepath.Join(t.TempDir(), "cluster")
	out := s.run("lkeplan", "import", "--cluster", "sandbox", "--region", "us-ord", "--out-dir", dir)
	if !strings.Contains(out, "applying this changes nothing and replaces no node") {
		t.Errorf("import said:\n%s", out)
	}
	if !strings.Contains(out, "kubectl owns") || strings.Contains(out, "DIFFERS") {
		t.Errorf("import said:\n%s", out)
	}
	s.run("lkeplan", "validate", dir)
	s.unchanged(dir)

	// An import of what kubectl prints is the same as one from the cluster.
	pools := s.command(bin(t, "lkeplan"), nil, "import", "--from", "-", "--cluster", "sandbox", "--region", "us-ord")
	pools.Stdin = strings.NewReader(s.kube("", "get",
		"nodepools,linodenodeclasses,nodeoverlays,capacitylimits,capacitybuffers", "-A", "-o", "yaml",
		"--show-managed-fields"))
	if out, err := pools.CombinedOutput(); err != nil ||
		!strings.Contains(string(out), "14 objects: applying this changes nothing and replaces no node") {
		t.Errorf("import of what kubectl prints: %v\n%s", err, out)
	}

	// Values that kubectl set and that are equal are no conflict: apply changes nothing
	// but the inventory label.
	s.run("lkeplan", "apply", "--yes", "--wait", "none", dir)
	if out := s.run("lkeplan", "apply", "--yes", "--wait", "none", dir); !strings.Contains(out, "0 created, 0 changed") {
		t.Errorf("the second apply said:\n%s", out)
	}
	s.unchanged(dir)
	for name, pool := range s.poolsByName() {
		if pool.Hash() != before[name].Hash() || pool.Generation != before[name].Generation {
			t.Errorf("the pool %s has changed", name)
		}
	}
}

// TestTakenOverFieldsAreOurs: after an apply with import blocks has taken objects over from kubectl and from another applier,
// arguments removed from the HCL are removed from the object, new ones do not
// conflict, and the nodes stay.
func TestTakenOverFieldsAreOurs(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.kube("", "apply", "-f", "testdata/manifests/01-class-empty.yaml", "-f", "testdata/manifests/05-pool-on-demand.yaml")
	s.kube(file(t, "manifests/08-pool-budgets.yaml"), "apply", "--server-side", "--field-manager=kustomize-controller",
		"-f", "-")
	s.kube("", "label", "nodepool", "budgets", "kustomize.toolkit.fluxcd.io/name=infra",
		"kustomize.toolkit.fluxcd.io/namespace=flux-system")
	before := s.poolsByName()

	dir := filepath.Join(t.TempDir(), "cluster")
	out := s.run("lkeplan", "import", "--cluster", "sandbox", "--region", "us-ord", "--out-dir", dir)
	if !strings.Contains(out, "Flux (Kustomization flux-system/infra) owns NodePool budgets") ||
		!strings.Contains(out, "kustomize.toolkit.fluxcd.io/prune: disabled") {
		t.Errorf("import does not say what to do about Flux:\n%s", out)
	}
	mustContain(t, s.run("lkeplan", "apply", "--yes", "--wait", "none", dir), "taken over from kubectl-client-side-apply",
		"taken over from kustomize-controller", "Flux (Kustomization flux-system/infra) owns NodePool budgets")
	if out := s.run("lkeplan", "apply", "--yes", "--wait", "none", dir); strings.Contains(out, "taken over from") ||
		!strings.Contains(out, "0 created, 0 changed, 3 unchanged") {
		t.Errorf("the second apply said:\n%s", out)
	}
	for name, pool := range s.poolsByName() {
		if pool.Generation != before[name].Generation || pool.Hash() != before[name].Hash() {
			t.Errorf("taking over changed the pool %s", name)
		}
		for _, e := range pool.ManagedFields {
			if strings.Contains(e.FieldsV1.GetRawString(), `"f:spec":`) && e.Manager != "lkeplan" {
				t.Errorf("%s still owns fields of the pool %s: %s", e.Manager, name, e.FieldsV1.GetRawString())
			}
		}
		if _, noted := pool.Annotations["kubectl.kubernetes.io/last-applied-configuration"]; noted {
			t.Errorf("kubectl's last-applied annotation is still on the pool %s", name)
		}
	}
	s.unchanged(dir)

	// Of the fields that kubectl owned, one gets its default, and a number, a map and the
	// budgets are removed.
	replaceIn(t, filepath.Join(dir, "pools.lke.hcl"), "weight       = 10\n", "expire_after = \"500h\"\n")
	replaceIn(t, filepath.Join(dir, "pools.lke.hcl"), "limits       = { cpu = 1000, memory = \"1000Gi\" }\n", "")
	replaceIn(t, filepath.Join(dir, "pools.lke.hcl"), "expire_after = \"Never\"\n", "")
	mustContain(t, s.run("lkeplan", "apply", "--yes", "--wait", "none", dir), "0 created, 2 changed, 1 unchanged")
	var pool unstructured.Unstructured
	pool.SetAPIVersion("karpenter.sh/v1")
	pool.SetKind("NodePool")
	if err := s.client.Get(t.Context(), client.ObjectKey{Name: "on-demand"}, &pool); err != nil {
		t.Fatal(err)
	}
	spec := pool.Object["spec"].(map[string]any)
	if spec["weight"] != nil || spec["limits"] != nil {
		t.Errorf("what is no longer in the HCL is still in the object: %v", spec)
	}
	after := s.poolsByName()
	if d := after["on-demand"].Spec.Template.Spec.ExpireAfter.Duration; d == nil || d.Hours() != 500 {
		t.Errorf("expireAfter is %v", d)
	}
	if d := after["budgets"].Spec.Template.Spec.ExpireAfter.Duration; d == nil || d.Hours() != 720 {
		t.Errorf("expireAfter is not the default again: %v", d)
	}
	s.unchanged(dir)
}

// TestTakeoverIsRefusedWhereValuesDiffer: an apply with import blocks neither changes nor removes a
// value that another owner has set.
func TestTakeoverIsRefusedWhereValuesDiffer(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.kube("", "apply", "-f", "testdata/manifests/01-class-empty.yaml", "-f", "testdata/manifests/05-pool-on-demand.yaml")
	dir := filepath.Join(t.TempDir(), "cluster")
	s.run("lkeplan", "import", "--cluster", "sandbox", "--region", "us-ord", "--out-dir", dir)
	s.merge("nodepool", "on-demand", `{"spec":{"weight":11}}`)
	mustContain(t, s.ends(3, "apply", "--yes", "--wait", "none", dir), "spec.weight")
	owners := s.kube("", "get", "nodepool", "on-demand", "--show-managed-fields", "-o", "yaml")
	if strings.Contains(owners, "manager: lkeplan") {
		t.Errorf("something was taken over:\n%s", owners)
	}
}

// replaceIn replaces text in a file, which must contain it.
func replaceIn(t *testing.T, name, before, after string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), before) {
		t.Fatalf("%q is not in %s:\n%s", before, name, text)
	}
	if err := os.WriteFile(name, []byte(strings.Replace(string(text), before, after, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}
