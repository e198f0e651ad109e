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

// TestImportOfWhatIsStored: the objects of all examples, as an API server stores
// them, are written so that they compile to the same, and without defaults.
func TestImportOfWhatIsStored(t *testing.T) {
	examples := os.DirFS("../../examples")
	err := fs.WalkDir(examples, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || path.Base(name) != "main.lke.hcl" {
			return err
		}
		before, diags := compile.Dir(t.Context(), examples, compile.Options{Options: config.Options{Dir: path.Dir(name)}})
		if diags.HasErrors() || len(before.Objects) == 0 {
			return nil // a module, which is compiled where it is called
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

// TestImportShowsWhatIsNotTheSame: what HCL cannot say is never left out in
// silence.
func TestImportShowsWhatIsNotTheSame(t *testing.T) {
	tests := []struct{ name, text, want string }{
		// HCL composes text: a letter and an accent become one character.
		{"text that HCL changes", strings.Replace(somePool, "NOTE", "e\u0301", 1),
			`NodePool a: metadata.annotations.note: "e\u0301", and from the HCL "\u00e9"`},
		{"a name that is refused", strings.Replace(somePool, "name: a,", "name: a.b,", 1),
			"NodePool a.b: its block does not compile"},
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

// TestImportWritesTheModeOnce: in the cluster block, whether the class has it already or not.
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

// TestImportRefuses what is no object: there is nothing to compare with.
func TestImportRefuses(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a field of another type", strings.Replace(somePool, "requirements: []", "requirements: all", 1),
			"NodePool a: spec.template.spec.requirements"},
		{"metadata of another type", strings.Replace(somePool, "{note: NOTE}", "7", 1), "NodePool a: metadata"},
		{"another kind", strings.Replace(somePool, "NodePool", "NodeClaim", 1), "there is no block for a NodeClaim"},
		{"the same object again", somePool + "---" + somePool, "NodePool a is given twice"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Import(t.Context(), objects(t, tt.text), dev, "")
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

// TestImportIsTheSameWhateverTheOrder of the objects.
func TestImportIsTheSameWhateverTheOrder(t *testing.T) {
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

// TestClusterOf reads region and tier from what is there.
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
		{"nothing is said", somePool, "", config.Cluster{}},
		{"pools are for one", pool("us-ord"), "", config.Cluster{Region: "us-ord"}},
		{"pools are for several", pool("us-ord, nl-ams"), "", config.Cluster{}},
		{"nodes know better", pool("us-ord"), node, config.Cluster{Region: "nl-ams"}},
		{"one node of several is odd", pool("us-ord"), node + "---\n" + node + "---\n" + strings.Replace(node, "nl-ams", "nowhere", 1),
			config.Cluster{Region: "nl-ams"}},
		{"nodes do not agree", pool("us-ord"), node + "---\n" + strings.Replace(node, "nl-ams", "nowhere", 1), config.Cluster{}},
		{"the controller has said it", named, "", config.Cluster{Name: "prod"}},
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
