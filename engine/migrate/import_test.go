package migrate

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/manifests"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

var dev = config.Cluster{Name: "dev", Region: "us-ord", Tier: "enterprise"}

// objects reads the objects of a test.
func objects(t *testing.T, text string) []map[string]any {
	t.Helper()
	found, err := manifests.Read("test", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]any
	for _, o := range found {
		list = append(list, o.Fields)
	}
	return list
}

const somePool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: a, annotations: {note: NOTE}}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.linode, kind: LinodeNodeClass, name: a}
      requirements: []
`

// TestImportOfStoredObjects: the objects of all examples, as an API server stores
// them, are written without defaults, and compile to the same.
func TestImportOfStoredObjects(t *testing.T) {
	examples := os.DirFS("../../examples")
	err := fs.WalkDir(examples, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || path.Base(name) != "main.lke.hcl" {
			return err
		}
		before, diags := compile.Dir(t.Context(), examples, compile.Options{Options: config.Options{Dir: path.Dir(name)}})
		if diags.HasErrors() || len(before.Objects) == 0 {
			return nil // a module, which is compiled with its caller
		}
		t.Run(path.Dir(name), func(t *testing.T) {
			var stored []map[string]any
			for _, r := range before.Objects {
				stored = append(stored, r.Defaulted)
			}
			imported, err := Import(t.Context(), stored, before.Cluster, "")
			if err != nil {
				t.Fatal(err)
			}
			if !imported.Exact() {
				t.Errorf("%v %v", imported.Remainder, imported.Diags)
			}
			if diff := cmp.Diff(byName(before), byName(imported.Compiled)); diff != "" {
				t.Errorf("(-before +after)\n%s", diff)
			}
			for _, f := range imported.Files {
				if strings.Contains(string(f.Data), `"720h"`) {
					t.Errorf("a default is written out:\n%s", f.Data)
				}
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func byName(c compile.Result) map[string]map[string]any {
	all := map[string]map[string]any{}
	for _, r := range c.Objects {
		all[r.Kind()+" "+r.Name()] = r.Defaulted
	}
	return all
}

// TestImportShowsDifferences: what HCL cannot express is never left out
// silently.
func TestImportShowsDifferences(t *testing.T) {
	tests := []struct{ name, text, want string }{
		// HCL normalizes text: a letter and an accent become one character.
		{"text that HCL changes", strings.Replace(somePool, "NOTE", "e\u0301", 1),
			`NodePool a: metadata.annotations.note: "e\u0301" in the object, "\u00e9" in the HCL`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			imported, err := Import(t.Context(), objects(t, tt.text), dev, "")
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, r := range imported.Remainder {
				lines = append(lines, r.String())
			}
			if imported.Exact() || !slices.Contains(lines, tt.want) {
				t.Errorf("%q is not in %q", tt.want, lines)
			}
		})
	}
}

// TestImportWritesTheModeOnce in the cluster block, whether or not the class has it.
func TestImportWritesTheModeOnce(t *testing.T) {
	for _, annotations := range []string{"{}", "{lkeplan.dev/node-mode: instance, note: a}"} {
		text := "apiVersion: karpenter.k8s.linode/v1alpha1\nkind: LinodeNodeClass\nmetadata: {name: a, annotations: " + annotations +
			"}\nspec: {image: linode/debian12}\n"
		cluster := config.Cluster{Name: "prod", Region: "us-ord", Tier: "instance"}
		imported, err := Import(t.Context(), objects(t, text), cluster, "")
		if err != nil || !imported.Exact() {
			t.Fatalf("%v %v %v", err, imported.Remainder, imported.Diags)
		}
		var all string
		for _, f := range imported.Files {
			all += string(f.Data)
		}
		if !strings.Contains(all, `mode   = "instance"`) || strings.Contains(all, "node-mode") {
			t.Error(all)
		}
	}
}

// TestUnreadableObjectsAreLeftOut, with their place and what is wrong. The others are imported.
func TestUnreadableObjectsAreLeftOut(t *testing.T) {
	with := func(old, new string) string {
		if !strings.Contains(somePool, old) {
			t.Fatalf("no %q", old)
		}
		return strings.Replace(somePool, old, new, 1)
	}
	spec := func(line string) string { return with("      requirements: []\n", "      requirements: []\n"+line) }
	tests := []struct {
		name, text string
		want       []string // parts of the line
	}{
		{"a field of another type", with("requirements: []", "requirements: all"), []string{"NodePool a: spec.template.spec.requirements"}},
		{"metadata of another type", with("{note: NOTE}", "7"), []string{"NodePool a: ", "annotations"}},
		{"an annotation that is not a string", with("note: NOTE", "note: true"), []string{"NodePool a: ", "annotations"}},
		{"a label of nodes that is not a string", with("  template:\n", "  template:\n    metadata: {labels: {a: 1}}\n"), []string{
			"spec.template.metadata.labels.a"}},
		{"another kind", with("NodePool", "NodeClaim"), []string{"lkeplan has no block for a NodeClaim"}},
		{"no apiVersion", with("apiVersion: karpenter.sh/v1\n", ""), []string{`its apiVersion is "": read it from a cluster with the kinds of karpenter.sh/v1`}},
		{"an apiVersion of nothing", with("karpenter.sh/v1", "v1"), []string{`its apiVersion is "v1"`}},
		{"older than version 1", with("karpenter.sh/v1", "karpenter.sh/v1beta1"), []string{`NodePool a: its apiVersion is "karpenter.sh/v1beta1"`, "or convert it"}},
		{"a duration in days", spec("      expireAfter: 30d\n"), []string{"spec.template.spec.expireAfter"}},
		{"a pause in days", spec("  disruption: {consolidateAfter: 1d}\n"), []string{"spec.disruption.consolidateAfter"}},
		{"an amount in words", spec("  limits: {cpu: lots}\n"), []string{"spec.limits.cpu"}},
		{"a kubelet", spec("      kubelet: {maxPods: 50}\n"), []string{"spec.template.spec.kubelet"}},
		{"a reference with an apiVersion", with("group: karpenter.k8s.linode,", "group: karpenter.k8s.linode, apiVersion: x/v1,"), []string{
			"spec.template.spec.nodeClassRef.apiVersion"}},
		{"a value that is not a string", with("requirements: []", "requirements: [{key: a, operator: In, values: [1]}]"), []string{
			"spec.template.spec.requirements[0].values[0]"}},
		{"an unknown field", spec("      speed: 7\n"), []string{"spec.template.spec.speed", "there is no such field"}},
		{"fields and values of older versions", spec("  disruption: {expireAfter: 720h, consolidationPolicy: WhenUnderutilized}\n"), []string{
			"spec.disruption.expireAfter: Forbidden: there is no such field; write it as spec.template.spec.expireAfter",
			"spec.disruption.consolidationPolicy: Unsupported value: \"WhenUnderutilized\""}},
		{"a name that is too long for a label", with("name: a,", "name: "+strings.Repeat("a", 64)+","), []string{"its name has 64 characters, and the label of its nodes holds 63"}},
		{"a name that Kubernetes refuses", with("name: a,", "name: A_b,"), []string{"NodePool A_b: metadata.name: Invalid value"}},
		{"a name that is generated", with("name: a,", "generateName: a-,"), []string{"it has no name"}},
		{"the same object again", strings.Replace(somePool, "name: a,", "name: good,", 1), []string{"NodePool good: it is in nodes.yaml: document 1 already"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			good := strings.Replace(somePool, "name: a,", "name: good,", 1)
			found, err := manifests.Read("nodes.yaml", strings.NewReader(good+"---\n"+strings.TrimPrefix(tt.text, "\n")))
			if err != nil {
				t.Fatal(err)
			}
			sound, left := Sound(found)
			if len(sound) != 1 || len(left) != 1 {
				t.Fatalf("%d are sound, left %q", len(sound), left)
			}
			for _, part := range append([]string{"nodes.yaml: document 2: "}, tt.want...) {
				if !strings.Contains(left[0], part) {
					t.Errorf("%q is not in %q", part, left[0])
				}
			}
			if imported, err := Import(t.Context(), sound, dev, ""); err != nil || len(imported.Remainder) > 0 {
				t.Errorf("the other: %v, %v", imported.Remainder, err)
			}
		})
	}
}

// TestKindsOfOtherProjectsAreSkipped although they have the same names.
func TestKindsOfOtherProjectsAreSkipped(t *testing.T) {
	for text, want := range map[string]bool{
		"apiVersion: karpenter.sh/v1\nkind: NodePool":      true,
		"apiVersion: karpenter.sh/v1beta1\nkind: NodePool": true,
		"apiVersion: karpenter.k8s.aws/v1\nkind: NodePool": true,
		"kind: NodePool": true,
		"apiVersion: hypershift.openshift.io/v1beta1\nkind: NodePool": false,
		"apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass":        false,
		"apiVersion: v1\nkind: ConfigMap":                             false,
	} {
		if got := Meant(objects(t, text+"\nmetadata: {name: a}\n")[0]); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// TestImportOfAppliedObjects gives the applied HCL back, with and without a NodePlan: the marks that lkeplan writes on
// objects are not a difference.
func TestImportOfAppliedObjects(t *testing.T) {
	rules := kube.BuiltinValidator()
	const src = `cluster {
  name   = "x"
  region = "us-ord"
  tier   = "standard"
}
node_class "default" {
  tags = ["team:a"]
}
pool "web_v2" {
  node_class   = node_class.default
  requirements = { cpu = lte(16), instance_type = "g6-standard-2" }
  labels       = { "example.com/dedicated" = "" }
}
`
	for _, inventory := range []string{"", "nodeplan.prod"} {
		files := []config.File{{Name: "main.lke.hcl", Data: []byte(src)}}
		applied, diags, err := compile.Files(t.Context(), files)
		if err != nil || diags.HasErrors() {
			t.Fatal(diags, err)
		}
		applied.Inventory = inventory
		var live []map[string]any
		for _, o := range applied.Objects {
			made, _, err := rules.Predict(nil, applied.Labelled(o.Manifest))
			if err != nil {
				t.Fatal(err)
			}
			if manifest.Label(made, kube.InventoryLabel) == "" {
				t.Fatal("it has no inventory label")
			}
			live = append(live, made)
		}
		imported, err := Import(t.Context(), live, applied.Cluster, "")
		if err != nil || !imported.Exact() {
			t.Errorf("%v %v %v", err, imported.Remainder, imported.Diags)
		}
		if diff := cmp.Diff(byName(applied), byName(imported.Compiled)); diff != "" {
			t.Errorf("(-applied +imported)\n%s", diff)
		}
		var all string
		for _, f := range imported.Files[:len(imported.Files)-1] { // without the import blocks
			all += string(f.Data)
		}
		if diff := cmp.Diff(src, all); diff != "" {
			t.Errorf("(-applied +imported)\n%s", diff)
		}
	}
}

// TestImportOfEmptyValues: a label with an empty value counts, and so do empty lists and maps in Karpenter's hash of
// a pool.
func TestImportOfEmptyValues(t *testing.T) {
	text := strings.NewReplacer("annotations: {note: NOTE}", `labels: {example.com/l: ""}, annotations: {example.com/n: ""}`,
		"  template:\n", `  template:
    metadata: {labels: {node-role.kubernetes.io/worker: "", a: b}, annotations: {example.com/a: ""}}
`).Replace(somePool) + `---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: a.b}
spec:
  template:
    metadata: {}
    spec:
      nodeClassRef: {group: karpenter.k8s.linode, kind: LinodeNodeClass, name: 4core.small}
      requirements: []
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: a-b, labels: {}, annotations: {}}
spec:
  template:
    metadata: {labels: {}, annotations: {}}
    spec:
      taints: []
      startupTaints: []
      nodeClassRef: {group: karpenter.k8s.linode, kind: LinodeNodeClass, name: 4core.small}
      requirements: []
  limits: {}
---
apiVersion: karpenter.k8s.linode/v1
kind: LinodeNodeClass
metadata: {name: 4core.small, annotations: {example.com/n: ""}}
spec: {}
`
	imported, err := Import(t.Context(), objects(t, text), dev, "")
	if err != nil || !imported.Exact() {
		t.Fatalf("%v %v %v", err, imported.Remainder, imported.Diags)
	}
	var all string
	for _, f := range imported.Files {
		all += string(f.Data)
	}
	for _, want := range []string{`"node-role.kubernetes.io/worker" = ""`, `"example.com/a" = ""`, `name = "4core.small"`, `name         = "a.b"`,
		`pool "a_b" {`, `pool "a_b_2" {`} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not in\n%s", want, all)
		}
	}
}

// TestImportIsIndependentOfOrder: the order of the objects does not matter.
func TestImportIsIndependentOfOrder(t *testing.T) {
	const class = "apiVersion: karpenter.k8s.linode/v1\nkind: LinodeNodeClass\nmetadata: {name: a}\nspec: {}\n"
	list := objects(t, somePool+"---"+strings.Replace(somePool, "name: a,", "name: b,", 1)+"---\n"+class)
	first, err := Import(t.Context(), list, dev, "")
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(list)
	second, err := Import(t.Context(), list, dev, "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first.Files, second.Files); diff != "" {
		t.Errorf("(-one order +the other)\n%s", diff)
	}
}

// TestClusterOf reads region and tier from the objects.
func TestClusterOf(t *testing.T) {
	pool := func(values string) string {
		return strings.Replace(somePool, "requirements: []",
			"requirements: [{key: topology.kubernetes.io/zone, operator: In, values: ["+values+"]}]", 1)
	}
	class := "apiVersion: karpenter.k8s.linode/v1\nkind: LinodeNodeClass\nmetadata: {name: a}\nspec: {firewallID: 1}\n"
	named := "apiVersion: karpenter.k8s.linode/v1\nkind: LinodeNodeClass\nmetadata: {name: a, annotations: " +
		"{lkeplan.dev/lke-cluster: 584692/prod}}\nspec: {}\n"
	node := "kind: Node\nmetadata: {name: a, labels: {topology.kubernetes.io/region: nl-ams}}\n"
	tests := []struct {
		name, objects, nodes string
		want                 config.Cluster
	}{
		{"nothing is known", somePool, "", config.Cluster{}},
		{"pools are for one", pool("us-ord"), "", config.Cluster{Region: "us-ord"}},
		{"pools are for several", pool("us-ord, nl-ams"), "", config.Cluster{}},
		{"nodes take precedence", pool("us-ord"), node, config.Cluster{Region: "nl-ams"}},
		{"one node of several is odd", pool("us-ord"), node + "---\n" + node + "---\n" + strings.Replace(node, "nl-ams", "nowhere", 1),
			config.Cluster{Region: "nl-ams"}},
		{"nodes do not agree", pool("us-ord"), node + "---\n" + strings.Replace(node, "nl-ams", "nowhere", 1), config.Cluster{}},
		{"the controller has written it", named, "", config.Cluster{Name: "prod"}},
		{"a firewall is for one tier", class, "", config.Cluster{Tier: "enterprise"}},
		{"a class says its mode", strings.Replace(class, "{name: a}", "{name: a, annotations: {lkeplan.dev/node-mode: instance}}", 1), "",
			config.Cluster{Tier: "instance"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := ClusterOf(objects(t, tt.objects), objects(t, tt.nodes)); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}
