package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/schemas"
)

const argoFiles = "../../../examples/argocd/"

// TestArgoCDsConfigMapHasTheScripts: the tests run the files, and an administrator
// installs the ConfigMap.
func TestArgoCDsConfigMapHasTheScripts(t *testing.T) {
	t.Parallel()
	var configMap struct {
		Data map[string]string `json:"data"`
	}
	raw, err := os.ReadFile(argoFiles + "install/argocd-cm.yaml")
	if err == nil {
		err = yaml.Unmarshal(raw, &configMap)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts(t, "*/*/health.lua") {
		key := "resource.customizations.health." + groupAndKind(filepath.Dir(script))
		if diff := cmp.Diff(readText(t, script), configMap.Data[key]); diff != "" {
			t.Errorf("%s (-file +ConfigMap)\n%s", key, diff)
		}
	}
	for _, script := range scripts(t, "*/*/actions/discovery.lua") {
		dir := filepath.Dir(script)
		key := "resource.customizations.actions." + groupAndKind(filepath.Dir(dir))
		type definition struct {
			Name   string `json:"name"`
			Script string `json:"action.lua"`
		}
		var got struct {
			Discovery   string       `json:"discovery.lua"`
			Definitions []definition `json:"definitions"`
		}
		if err := yaml.UnmarshalStrict([]byte(configMap.Data[key]), &got); err != nil {
			t.Errorf("%s: %v", key, err)
		}
		want := map[string]string{"discovery": readText(t, script)}
		for _, action := range scripts(t, strings.TrimPrefix(dir, customizations)+"/*/action.lua") {
			want[filepath.Base(filepath.Dir(action))] = readText(t, action)
		}
		have := map[string]string{"discovery": got.Discovery}
		for _, d := range got.Definitions {
			have[d.Name] = d.Script
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("%s (-files +ConfigMap)\n%s", key, diff)
		}
	}
}

// groupAndKind is the key of the ConfigMap for a directory of the customizations.
func groupAndKind(dir string) string {
	return filepath.Base(filepath.Dir(dir)) + "_" + filepath.Base(dir)
}

// document has the fields of Argo CD's objects that the tests read.
type document struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Cluster    []groupKind `json:"clusterResourceWhitelist"`
		Namespaced []groupKind `json:"namespaceResourceWhitelist"`
		Project    string      `json:"project"`
		Source     source      `json:"source"`
		Template   struct {
			Spec struct {
				Project string `json:"project"`
				Source  source `json:"source"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

type groupKind struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
}

// source is the source of an Application.
type source struct {
	Path   string `json:"path"`
	Plugin struct {
		Name string `json:"name"`
	} `json:"plugin"`
}

// TestArgoCDsApplicationsFitTogether: the projects exist and allow each kind that is
// rendered, and the plugin's name is that of its server.
func TestArgoCDsApplicationsFitTogether(t *testing.T) {
	t.Parallel()
	plugin := argoPlugin(t)
	projects := map[string]document{}
	var users []document
	for _, name := range []string{"appproject.yaml", "application.yaml", "applicationset.yaml"} {
		for part := range strings.SplitSeq(readText(t, argoFiles+"applications/"+name), "\n---\n") {
			var d document
			if err := yaml.Unmarshal([]byte(part), &d); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if d.Kind == "AppProject" {
				projects[d.Metadata.Name] = d
			} else {
				users = append(users, d)
			}
		}
	}
	for name, project := range projects {
		allowed := map[groupKind]bool{}
		for _, gk := range append(project.Spec.Cluster, project.Spec.Namespaced...) {
			allowed[gk] = true
		}
		for _, block := range schemas.Document() {
			if block.Object == nil {
				continue
			}
			group, _, _ := strings.Cut(block.Object.APIVersion, "/")
			if gk := (groupKind{group, block.Object.Kind}); !allowed[gk] {
				t.Errorf("the project %s does not allow %v, which lkeplan renders", name, gk)
			}
		}
	}
	for _, d := range users {
		project, from := d.Spec.Project, d.Spec.Source
		if d.Kind == "ApplicationSet" {
			project, from = d.Spec.Template.Spec.Project, d.Spec.Template.Spec.Source
		}
		if _, there := projects[project]; !there || from.Plugin.Name != plugin.name() {
			t.Errorf("%s %s is of project %q and for plugin %q, want %q", d.Kind, d.Metadata.Name, project, from.Plugin.Name,
				plugin.name())
		}
	}
}

// TestTheChartGetsTheSameSidecar: Helm's values and the patch of kustomize are
// equivalent.
func TestTheChartGetsTheSameSidecar(t *testing.T) {
	t.Parallel()
	var values struct {
		Configs struct {
			CMP struct {
				Plugins map[string]any `json:"plugins"`
			} `json:"cmp"`
		} `json:"configs"`
		RepoServer struct {
			Containers []map[string]any `json:"extraContainers"`
		} `json:"repoServer"`
	}
	var patch struct {
		Spec struct {
			Template struct {
				Spec struct {
					Containers []map[string]any `json:"containers"`
				} `json:"spec"`
			} `json:"template"`
		} `json:"spec"`
	}
	var plugin map[string]any
	for name, into := range map[string]any{"values.yaml": &values, "repo-server.yaml": &patch, "plugin.yaml": &plugin} {
		if err := yaml.Unmarshal([]byte(readText(t, argoFiles+"install/"+name)), into); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if diff := cmp.Diff(plugin["spec"], values.Configs.CMP.Plugins["lkeplan"]); diff != "" {
		t.Errorf("the plugin (-plugin.yaml +values.yaml)\n%s", diff)
	}
	containers := [][]map[string]any{patch.Spec.Template.Spec.Containers, values.RepoServer.Containers}
	for _, list := range containers {
		if len(list) != 1 {
			t.Fatalf("%d containers, want one", len(list))
		}
		delete(list[0], "volumeMounts") // the chart has its own ConfigMap for all plugins
	}
	if diff := cmp.Diff(containers[0], containers[1]); diff != "" {
		t.Errorf("the sidecar (-repo-server.yaml +values.yaml)\n%s", diff)
	}
}

// kustomize builds a directory with the kubectl of a sandbox.
func (s *sandbox) kustomize(dir string) (objects []map[string]any) {
	s.t.Helper()
	for part := range strings.SplitSeq(s.kube("", "kustomize", dir), "\n---\n") {
		var obj map[string]any
		if err := yaml.Unmarshal([]byte(part), &obj); err != nil {
			s.t.Fatalf("%s: %v\n%s", dir, err, part)
		}
		objects = append(objects, obj)
	}
	return objects
}

// argoCD is the part of Argo CD that the component patches.
const argoCD = `apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm, namespace: argocd}
data: {url: https://argocd.example.com}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: argocd-repo-server, namespace: argocd}
spec:
  selector: {matchLabels: {app: argocd-repo-server}}
  template:
    metadata: {labels: {app: argocd-repo-server}}
    spec:
      containers:
      - {name: argocd-repo-server, image: registry.example.com/argocd:v3.5.1}
      volumes:
      - {name: var-files, emptyDir: {}}
      - {name: plugins, emptyDir: {}}
`

// installsThePlugin adds the component to an installation of Argo CD, and has the API
// server validate the result.
func (s *sandbox) installsThePlugin() {
	s.t.Helper()
	overlay := s.t.TempDir()
	component, err := filepath.Abs(argoFiles + "install")
	if err != nil {
		s.t.Fatal(err)
	}
	if component, err = filepath.Rel(overlay, component); err != nil {
		s.t.Fatal(err)
	}
	kustomization,
		err := json.Marshal(map[string]any{"resources": []string{"argocd.yaml"}, "components": []string{component}})
	if err != nil {
		s.t.Fatal(err)
	}
	for name, text := range map[string]string{"argocd.yaml": argoCD, "kustomization.yaml": string(kustomization)} {
		if err := os.WriteFile(filepath.Join(overlay, name), []byte(text), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	objects := s.kustomize(overlay)
	raw, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	if err != nil {
		s.t.Fatal(err)
	}
	s.kube("", "create", "namespace", "argocd")
	said := s.kube(string(raw), "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-")
	for _, want := range []string{"configmap/lkeplan-plugin-", "configmap/argocd-cm",
		"deployment.apps/argocd-repo-server"} {
		if !strings.Contains(said, want) {
			s.t.Errorf("no %s among:\n%s", want, said)
		}
	}
	for _, want := range []string{`"url":`, "resource.customizations.actions.lkeplan.dev_NodePlan",
		"/var/run/argocd/argocd-cmp-server", "registry.example.com/argocd:"} {
		if !strings.Contains(string(raw), want) {
			s.t.Errorf("no %s in what kustomize makes", want)
		}
	}
}
