package manifests

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

const somePool = "kind: NodePool\nmetadata: {name: a}\n"

func TestRead(t *testing.T) {
	tests := []struct {
		name, text string
		want       int    // objects
		err        string // a part of it; "" for none
	}{
		{"nothing", "", 0, ""},
		{"only comments", "# a\n---\n# b\n", 0, ""},
		{"several documents", somePool + "---\n" + somePool, 2, ""},
		{"JSON", `{"kind": "NodePool", "metadata": {"name": "a"}}`, 1, ""},
		{"a list", "kind: List\nitems:\n- {kind: NodePool, metadata: {name: a}}\n", 1, ""},
		{"an empty list", "kind: NodePoolList\nitems: []\n", 0, ""},
		{"no object", "- a\n", 0, "document 1: this is not a Kubernetes object"},
		{"no name", "kind: NodePool\n", 0, "document 1: this is not a Kubernetes object"},
		{"an item without a kind", "kind: List\nitems: [{a: b}]\n", 0, "item 1 of the list: this is not a Kubernetes object"},
		{"a key twice", "kind: NodePool\nmetadata: {name: a}\nkind: NodePool\n", 0, "already set"},
		{"no YAML", "a: [\n", 0, "document 1"},
		{"no YAML in a later document", "# first\n---\nkind: A\nmetadata: {name: a}\n---\n---\nkind: A\nb: [\n", 0,
			"document 3: not valid YAML: line 8: "},
		{"twice the same, and no YAML", "kind: A\r\nmetadata: {name: a}\r\n---\r\nkind: A\r\nmetadata: {name: a}\r\n---\r\na: [\r\n",
			0, "document 3: not valid YAML: line 7: "},
		{"too much", strings.Repeat("# much\n", 3<<20), 0, "more than 16 MiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Read("f.yaml", strings.NewReader(tt.text))
			if len(got) != tt.want && tt.err == "" || (err != nil) != (tt.err != "") ||
				err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%d objects, error %v", len(got), err)
			}
		})
	}
}

// wide is a text as UTF-16 with a byte order mark.
func wide(order binary.AppendByteOrder, text string) string {
	raw := order.AppendUint16(nil, 0xfeff)
	for _, unit := range utf16.Encode([]rune(text)) {
		raw = order.AppendUint16(raw, unit)
	}
	return string(raw)
}

// TestEncodings: each text has the objects a and b.
func TestEncodings(t *testing.T) {
	const two = "kind: Pod\nmetadata: {name: a, labels: {x: \"\U0001f600\"}}\n---\nkind: Pod\nmetadata: {name: b}\n"
	for name, text := range map[string]string{
		"UTF-8": two, "with a mark": "\ufeff" + two, "of Windows": strings.ReplaceAll(two, "\n", "\r\n"),
		"UTF-16, little end first": wide(binary.LittleEndian, two), "UTF-16, big end first": wide(binary.BigEndian, two),
		"of PowerShell":      wide(binary.LittleEndian, strings.ReplaceAll(two, "\n", "\r\n")),
		"files put together": "\ufeffkind: Pod\nmetadata: {name: a}\n---\n\ufeffkind: Pod\nmetadata: {name: b}\n",
	} {
		objects, err := Read("f.yaml", strings.NewReader(text))
		if err != nil || len(objects) != 2 || manifest.Name(objects[1].Fields) != "b" || objects[1].Document != 2 {
			t.Errorf("%s: %v, %v", name, objects, err)
		}
	}
	for _, text := range []string{wide(binary.LittleEndian, two) + "x", strings.TrimPrefix(wide(binary.LittleEndian, two), "\xff\xfe")} {
		if objects, err := Read("f.yaml", strings.NewReader(text)); err == nil {
			t.Errorf("%q: %v", text[:8], objects)
		}
	}
}

// TestMergedKeysAreOverridden as in kubectl, and other keys are given once.
func TestMergedKeysAreOverridden(t *testing.T) {
	const merged = "kind: List\nitems:\n- &d\n  kind: Pod\n  metadata: {name: a}\n- <<: *d\n  metadata: {name: b}\n"
	objects, err := Read("f.yaml", strings.NewReader(merged))
	if err != nil || len(objects) != 2 || manifest.Name(objects[1].Fields) != "b" {
		t.Errorf("%v, %v", objects, err)
	}
	for name, text := range map[string]string{
		"next to a merge":   merged + "- {kind: Pod, metadata: {name: c}, metadata: {name: d}}\n",
		"in a merge":        strings.Replace(merged, "metadata: {name: b}", "metadata: {name: b}\n  metadata: {name: c}", 1),
		"in what is merged": strings.Replace(merged, "kind: Pod\n", "kind: Pod\n  kind: Job\n", 1),
	} {
		if _, err := Read("f.yaml", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "already set in map") {
			t.Errorf("a key twice %s: %v", name, err)
		}
	}
}

// TestFilesOfRepositories: which objects a directory has, and what is said of its other files.
func TestFilesOfRepositories(t *testing.T) {
	const web = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
	for _, tt := range []struct {
		name, file, text string
		notes, missing   string
		objects          int
	}{
		{"a manifest", "web.yaml", web, "", "", 1},
		{"another ending", "web.txt", web, "", "", 0},
		{"a hidden directory", ".git/web.yaml", web, "", "", 0},
		{"in capitals", "WEB.YAML", web, "", "", 1},
		{"values of Helm", "values.yaml", "replicaCount: 2\n", "Skipped files without Kubernetes objects: d/values.yaml.", "", 0},
		{"a dashboard", "board.json", `{"panels": [{"items": []}]}`, "Skipped files without Kubernetes objects: d/board.json.", "", 0},
		{"a policy of IAM", "iam.json", `{"Version": "2012-10-17", "Statement": []}`,
			"Skipped files without Kubernetes objects: d/iam.json.", "", 0},
		{"a JSON patch", "patch.yaml", "- {op: replace, path: /spec/replicas, value: 3}\n",
			"Skipped files without Kubernetes objects: d/patch.yaml.", "", 0},
		{"a file of a tool", ".commitlintrc.yml", "extends: [a]\n", "Skipped files without Kubernetes objects: d/.commitlintrc.yml.", "", 0},
		{"items that are no objects", "menu.yaml", "items: [{dish: soup}]\n", "Skipped files without Kubernetes objects: d/menu.yaml.", "", 0},
		{"words", "a.yml", "words\n", "Skipped files without Kubernetes objects: d/a.yml.", "", 0},
		{"nothing", "a.yml", "# nothing\n", "", "", 0},
		{"an object without a name", "istio.yaml", "apiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\nspec: {}\n",
			"Skipped files without Kubernetes objects: d/istio.yaml.", "", 0},
		{"a Deployment without a name", "web.yaml", "kind: Deployment\nspec: {}\n", "",
			"d/web.yaml: document 1: this is not a Kubernetes object with a kind and a name", 0},
		{"a name that is made", "run.yaml", "kind: PipelineRun\nmetadata: {generateName: run-}\n", "", "", 1},
		{"a kustomization", "kustomization.yaml", "resources: [web.yaml, below]\n",
			"Skipped d/kustomization.yaml: use the output of kustomize build.", "", 0},
		{"one with patches", "x/kustomization.yml", "patches: [{path: a.yaml}]\n", "",
			"d/x/kustomization.yml: it has patches; use the output of kustomize build", 0},
		{"one of objects below", "x/kustomization.yaml", "resources: [../base]\n",
			"Skipped d/x/kustomization.yaml: use the output of kustomize build.", "", 0},
		{"one of objects from elsewhere", "kustomization.yaml", "resources: [../base]\n", "",
			"d/kustomization.yaml: it has remote resources; use the output of kustomize build", 0},
		{"one from a URL", "kustomization.yaml", "resources: [\"https://example.com/web.yaml\"]\n", "",
			"d/kustomization.yaml: it has remote resources; use the output of kustomize build", 0},
		{"one that is none", "kustomization.yaml", "a: [\n", "",
			"d/kustomization.yaml: it has unreadable content; use the output of kustomize build", 0},
		{"a component", "part.yaml", "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nmetadata: {name: a}\n",
			"Skipped d/part.yaml: document 1: use the output of kustomize build.", "", 0},
		{"a template", "web.yaml", web + "spec: {replicas: {{ .Values.replicas }}}\n", "",
			"d/web.yaml: this looks like a Helm template: render it with \"helm template\"", 0},
		{"a template that is YAML", "web.yaml", "kind: Deployment\nmetadata: {name: '{{ .Release.Name }}'}\n", "",
			"d/web.yaml: this looks like a Helm template: render it with \"helm template\"", 0},
		{"a template of a kind", "web.yaml", "kind: {{ .Values.kind }}\nmetadata: {name: a}\n", "",
			"d/web.yaml: this looks like a Helm template: render it with \"helm template\"", 0},
		{"a template of a Service", "svc.yaml", "kind: Service\nmetadata: {name: {{ .Release.Name }}}\n",
			"Skipped d/svc.yaml: this looks like a Helm template: render it with \"helm template\".", "", 0},
		{"words in braces", "rule.yaml", "kind: PrometheusRule\nmetadata: {name: a}\nspec: {text: '{{ $value }}'}\n", "", "", 1},
		{"no YAML", "web.yaml", web + "---\n" + web + "  x: [\n", "",
			"d/web.yaml: document 2: not valid YAML: line 7: did not find expected key", 1},
		{"no YAML, and no pods", "a.yaml", "a: [\n",
			"Skipped d/a.yaml: document 1: not valid YAML: line 1: did not find expected node content.", "", 0},
		{"a Deployment in JSON that is cut short", "web.json", `{"apiVersion":"apps/v1","kind":"Deployment","meta`, "",
			"d/web.json: document 1: not valid YAML: line 2: found unexpected end of stream", 0},
		{"too much", "big.json", strings.Repeat("\n", 17<<20), "Skipped d/big.json: more than 16 MiB.", "", 0},
		{"too many pods", "big.yaml", web + strings.Repeat("\n", 17<<20), "", "d/big.yaml: more than 16 MiB", 0},
		{"text in UTF-16 without a mark", "web.yaml", strings.Join(strings.Split(web, ""), "\x00"), "",
			"d/web.yaml: document 1: yaml: control characters are not allowed", 0},
		{"a kind in other words", "web.yaml", "kind: !!str Deployment\nx: [\n", "",
			"d/web.yaml: document 1: not valid YAML: line 2: did not find expected node content", 0},
		{"a key in other words", "web.yaml", "\"\\u006bind\": Deployment\nx: [\n", "",
			"d/web.yaml: document 1: not valid YAML: line 2: did not find expected node content", 0},
		{"a kustomization without an ending", "x/Kustomization", "namePrefix: a-\ncomponents: [../b]\n", "",
			"d/x/Kustomization: it has components; use the output of kustomize build", 0},
		{"half a character", "web.yaml", wide(binary.BigEndian, web) + "x", "",
			"d/web.yaml: document 1: not valid YAML: line 5: could not find expected ':'", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fsys := fstest.MapFS{tt.file: {Data: []byte(tt.text)}}
			found, err := Directory{FS: fsys, Root: ".", Shown: "d", Kinds: []string{"Deployment", "Job"}}.Read()
			if err != nil {
				t.Fatal(err)
			}
			notes, missing := found.Notes()
			if diff := cmp.Diff([]string{tt.notes, tt.missing}, []string{strings.Join(notes, "|"), strings.Join(missing, "|")}); diff != "" ||
				len(found.Objects) != tt.objects {
				t.Errorf("%d objects, want %d (-want +got)\n%s", len(found.Objects), tt.objects, diff)
			}
		})
	}
}

// TestManyFilesAreOneNote.
func TestManyFilesAreOneNote(t *testing.T) {
	fsys := fstest.MapFS{}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		fsys["k8s/"+name+".yaml"] = &fstest.MapFile{Data: bytes.Repeat([]byte("a: b\n---\n"), 2)}
	}
	found, err := Directory{FS: fsys, Root: "k8s", Kinds: []string{"Job"}}.Read()
	if err != nil {
		t.Fatal(err)
	}
	notes, _ := found.Notes()
	want := []string{"Skipped files without Kubernetes objects: k8s/a.yaml, k8s/b.yaml, k8s/c.yaml and 2 more."}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Error(diff)
	}
}

// TestLinksToDirectoriesAreNamed, as they are not followed, and may lead to pods.
func TestLinksToDirectoriesAreNamed(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(dir, "apps")); err != nil {
		t.Fatal(err)
	}
	found, err := Directory{FS: os.DirFS(dir), Root: ".", Shown: "d", Kinds: []string{"Deployment"}, Links: true}.Read()
	if err != nil {
		t.Fatal(err)
	}
	_, missing := found.Notes()
	if diff := cmp.Diff([]string{"d/apps: links to directories are not followed"}, missing); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
