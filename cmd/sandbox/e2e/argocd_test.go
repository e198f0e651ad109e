package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/cmd/sandbox/e2e/argo"
	"github.com/lkeplan/lkeplan/engine/render"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

const argoRepository = "testdata/argocd"

// argoServer is the sidecar of examples/argocd, with nothing in it but the
// program.
func argoServer(t *testing.T) argo.Server {
	t.Helper()
	plugin, err := argo.ReadPlugin("../../../examples/argocd/install/plugin.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if plugin.Name() != "lkeplan-v1" {
		t.Errorf("Applications name the plugin %s; the documentation says lkeplan-v1", plugin.Name())
	}
	environ := []string{"PATH=" + filepath.Dir(bin(t, "lkeplan")), "HOME=/home/argocd", "ARGOCD_EXEC_TIMEOUT=90s"}
	return argo.Server{Plugin: plugin, Environ: environ, Scratch: t.TempDir()}
}

// application is one for a directory of the repository in testdata.
func application(path string, parameters ...argo.Parameter) argo.Application {
	return argo.Application{
		Name: "nodes-prod", Namespace: "lkeplan-system", Project: "nodes",
		Repository: "https://example.com/fleet.git", Path: path, TargetRevision: "main",
		Revision: strings.Repeat("4f", 20), KubeVersion: "1.36.0",
		APIVersions: []string{"v1", "karpenter.sh/v1", "karpenter.sh/v1/NodePool"},
		Parameters:  parameters,
	}
}

// teams is the parameter that clusters/prod requires.
func teams(names ...string) argo.Parameter { return argo.Parameter{Name: "teams", Array: names} }

func text(value string) *string { return &value }

func TestArgoCDFindsThePlugin(t *testing.T) {
	t.Parallel()
	server := argoServer(t)
	for path, want := range map[string]bool{"clusters/prod": true, "clusters": false, ".": false, "docs": false} {
		if got, err := server.Matches(argoRepository, application(path)); err != nil || got != want {
			t.Errorf("the plugin is for %s: %v, %v; want %v", path, got, err, want)
		}
	}
}

func TestArgoCDIsToldOfParameters(t *testing.T) {
	t.Parallel()
	server := argoServer(t)
	got, err := server.Announced(t.Context(), argoRepository, application("clusters/prod"))
	if err != nil {
		t.Fatal(err)
	}
	want := append([]render.Announcement{
		{Name: "teams", Title: "teams", Tooltip: "Who gets a pool", Required: true, ItemType: "string",
			CollectionType: "array"},
		{Name: "sizes", Title: "sizes", Tooltip: "CPUs of a node", ItemType: "number", CollectionType: "map",
			Map: map[string]string{"min": "4", "max": "8"}},
		{Name: "owner", Title: "owner", Tooltip: "Whom to ask", ItemType: "string", CollectionType: "string",
			String: "platform"},
		{Name: "spot", Title: "spot", CollectionType: "string"},
	}, server.Plugin.Spec.Parameters.Static...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("announced (-want +got)\n%s", diff)
	}
}

// pool has the fields of a NodePool that the tests read.
type pool struct {
	Metadata struct {
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Template struct {
			Spec struct {
				Requirements []struct {
					Values []string `json:"values"`
				} `json:"requirements"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

// values are the values of all its requirements.
func (p pool) values() (values []string) {
	for _, r := range p.Spec.Template.Spec.Requirements {
		values = append(values, r.Values...)
	}
	return values
}

// poolsOf are the NodePools among objects.
func poolsOf(t *testing.T, objects []map[string]any) (pools []pool) {
	t.Helper()
	for _, obj := range objects {
		if manifest.Kind(obj) != "NodePool" {
			continue
		}
		raw, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		var p pool
		if err := json.Unmarshal(raw, &p); err != nil {
			t.Fatal(err)
		}
		pools = append(pools, p)
	}
	return pools
}

func TestArgoCDGetsTheObjectsOfAnApplication(t *testing.T) {
	t.Parallel()
	server := argoServer(t)
	app := application("clusters/prod",
		teams("search", "web"),
		argo.Parameter{Name: "sizes", Map: map[string]string{"min": "2", "max": "6"}},
		argo.Parameter{Name: "lkeplan.var-files", Array: []string{"blue.lkevars.hcl"}})
	objects, err := server.Generate(t.Context(), argoRepository, app)
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 5 {
		t.Errorf("%d objects, want a class, a limit and three pools", len(objects))
	}
	var names []string
	for _, p := range poolsOf(t, objects) {
		names = append(names, p.Metadata.Name)
		want := "ServerSideApply=true,Prune=confirm,Delete=confirm"
		if p.Metadata.Name == "general" {
			want = "ServerSideApply=true,Prune=false,Delete=false"
			if owner := p.Metadata.Annotations["example.com/owner"]; owner != "blue" {
				t.Errorf("the owner is %q, which the file of values does not say", owner)
			}
			if values := p.values(); !slices.Contains(values, "2") || !slices.Contains(values, "6") {
				t.Errorf("its requirements have %v, want the sizes of the parameter", values)
			}
		}
		if got := p.Metadata.Annotations["argocd.argoproj.io/sync-options"]; got != want {
			t.Errorf("%s is synced with %s, want %s", p.Metadata.Name, got, want)
		}
	}
	if want := []string{"general", "search", "web"}; !slices.Equal(names, want) {
		t.Errorf("pools %v, want %v", names, want)
	}

	// Only the environment has the Application's name, not its parameters.
	app.Env = []argo.Env{{Name: "LKEPLAN_VAR_owner", Value: "${ARGOCD_APP_NAME}@$ARGOCD_APP_REVISION_SHORT"}}
	objects, err = server.Generate(t.Context(), argoRepository, app)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range poolsOf(t, objects) {
		if owner := p.Metadata.Annotations["example.com/owner"]; p.Metadata.Name == "general" &&
			owner != "nodes-prod@4f4f4f4" {
			t.Errorf("the owner is %q, want the name of the Application", owner)
		}
	}
}

func TestArgoCDIsToldWhatIsWrong(t *testing.T) {
	t.Parallel()
	server := argoServer(t)
	tests := []struct {
		name string
		app  argo.Application
		want []string // in the error, which is shown to people; none where there is no error
	}{
		{"a parameter is missing", application("clusters/prod"), []string{"exit status 1", "clusters/prod/main.lke.hcl:1",
			`The variable "teams" has no default and is not set`}},
		{"a parameter is unknown",
			application("clusters/prod", teams("web"), argo.Parameter{Name: "teems", Array: []string{}}),
			[]string{"parameter teems", `"teams"?`}},
		{"a parameter has another type",
			application("clusters/prod", teams("web"),
				argo.Parameter{Name: "sizes", Map: map[string]string{"min": "few", "max": "8"}}), []string{"parameter sizes:1"}},
		{"the source is broken", application("clusters/broken"), []string{"clusters/broken/main.lke.hcl:7", "nosuch"}},
		{"there is nothing", application("clusters/empty"), []string{"exit status 3", "compiles to no objects",
			"lkeplan.allow-empty"}},
		{"there may be nothing",
			application("clusters/empty", argo.Parameter{Name: "lkeplan.allow-empty", String: text("true")}), nil},
		{"there is no source", application("docs"), []string{"No configuration files"}},
		{"a file of the sidecar is asked for",
			application("clusters/prod", teams("web"),
				argo.Parameter{Name: "lkeplan.var-files", Array: []string{"../../../../../../../etc/passwd"}}),
			[]string{"is not in the repository"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			objects, err := server.Generate(t.Context(), argoRepository, tt.app)
			if (err == nil) != (tt.want == nil) || len(objects) > 0 {
				t.Fatalf("%d objects, error %v", len(objects), err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q:\n%v", want, err)
				}
			}
		})
	}
}

// TestArgoCDFindsModulesInWhatItSends: with .git, without it, and where the
// Application's annotation excludes a part of the repository.
func TestArgoCDFindsModulesInWhatItSends(t *testing.T) {
	t.Parallel()
	server := argoServer(t)
	clone := t.TempDir()
	if err := os.CopyFS(filepath.Join(clone, "fleet"), os.DirFS(argoRepository)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(clone, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, repository, path, sent, want string
	}{
		{"no .git", argoRepository, "clusters/prod", "", ""},
		{"below .git", clone, "fleet/clusters/prod", "", ""},
		{"all that is needed is sent", clone, "fleet/clusters/prod", "fleet", ""},
		{"the modules are not sent", clone, "fleet/clusters/prod", "fleet/clusters", "leads out of the repository"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			app := application(tt.path, teams("web"))
			app.Sent = tt.sent
			objects, err := server.Generate(t.Context(), tt.repository, app)
			switch {
			case tt.want == "" && (err != nil || len(poolsOf(t, objects)) != 2):
				t.Errorf("%d objects, %v; want two pools among them", len(objects), err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("error %v, want one that says %q", err, tt.want)
			}
		})
	}
}

// TestAServerTakesWhatArgoCDApplies: the objects with their annotations, as Argo CD's
// own dry run sends them, and the manifests that install the plugin.
func TestAServerTakesWhatArgoCDApplies(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	objects, err := argoServer(t).Generate(t.Context(), argoRepository,
		application("clusters/prod", teams("search", "web")))
	if err != nil {
		t.Fatal(err)
	}
	var stream bytes.Buffer
	for _, obj := range objects {
		if err := json.NewEncoder(&stream).Encode(obj); err != nil {
			t.Fatal(err)
		}
	}
	said := s.kube(stream.String(), "apply", "--server-side", "--dry-run=server", "--field-manager=argocd-controller",
		"-f", "-")
	for _, want := range []string{"capacitylimit.lkeplan.dev/all", "linodenodeclass.karpenter.k8s.linode/default",
		"nodepool.karpenter.sh/general", "nodepool.karpenter.sh/search", "nodepool.karpenter.sh/web"} {
		if !strings.Contains(said, want+" serverside-applied (server dry run)") {
			t.Errorf("%s was not accepted:\n%s", want, said)
		}
	}
	s.installsThePlugin()
	if left := s.kube("", "get", "nodepools", "-o", "name"); strings.TrimSpace(left) != "" {
		t.Errorf("the dry run left %s", left)
	}
}
