package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/engine/render"
)

const argoRepository = "testdata/argocd"

// plugin is the configuration of a config management plugin, which the server of Argo CD's
// sidecar reads.
type plugin struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version  string `json:"version"`
		Discover struct {
			FileName string `json:"fileName"`
		} `json:"discover"`
		Generate   command `json:"generate"`
		Parameters struct {
			Static  []render.Announcement `json:"static"`
			Dynamic command               `json:"dynamic"`
		} `json:"parameters"`
	} `json:"spec"`
}

type command struct {
	Command []string `json:"command"`
}

// argoPlugin is the plugin of examples/argocd.
func argoPlugin(t *testing.T) (p plugin) {
	t.Helper()
	readYAML(t, argoFiles+"install/plugin.yaml", &p)
	return p
}

// name is the name of the plugin in an Application.
func (p plugin) name() string { return p.Metadata.Name + "-" + p.Spec.Version }

// application is an Application, as the plugin's server sees it.
type application struct {
	repository string // testdata/argocd by default
	path       string // of its directory in the repository
	sent       string // the part of the repository that the server gets: by default all
	parameters string // in JSON
	env        []string
}

// runs copies what the server gets of the repository, and runs a command of the plugin in the
// Application's directory of the copy, with the environment that Argo CD 3.5 sets
// (cmpserver/plugin and reposerver/repository) and nothing in the PATH but lkeplan.
func (app application) runs(t *testing.T, c command) (stdout, stderr string, err error) {
	t.Helper()
	if app.repository == "" {
		app.repository = argoRepository
	}
	if app.parameters == "" {
		app.parameters = "null"
	}
	unpacked := t.TempDir()
	if err := os.CopyFS(unpacked, os.DirFS(filepath.Join(app.repository, app.sent))); err != nil {
		t.Fatal(err)
	}
	below, err := filepath.Rel(filepath.Join("/", app.sent), filepath.Join("/", app.path))
	if err != nil || len(c.Command) == 0 || c.Command[0] != "lkeplan" {
		t.Fatalf("run %q in %s: %v", c.Command, below, err)
	}
	var out, errors bytes.Buffer
	cmd := exec.CommandContext(t.Context(), bin(t, "lkeplan"), c.Command[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Join(unpacked, below), &out, &errors
	cmd.Env = append([]string{
		"PATH=" + filepath.Dir(bin(t, "lkeplan")), "HOME=/home/argocd", "ARGOCD_EXEC_TIMEOUT=90s",
		"ARGOCD_APP_NAME=nodes-prod", "ARGOCD_APP_NAMESPACE=lkeplan-system", "ARGOCD_APP_PROJECT_NAME=nodes",
		"ARGOCD_APP_REVISION=" + strings.Repeat("4f", 20), "ARGOCD_APP_REVISION_SHORT=4f4f4f4",
		"ARGOCD_APP_REVISION_SHORT_8=4f4f4f4f", "ARGOCD_APP_SOURCE_REPO_URL=https://example.com/fleet.git",
		"ARGOCD_APP_SOURCE_TARGET_REVISION=main", "ARGOCD_APP_SOURCE_PATH=" + app.path,
		"KUBE_VERSION=1.36.0", "KUBE_API_VERSIONS=v1,karpenter.sh/v1,karpenter.sh/v1/NodePool",
		"ARGOCD_APP_PARAMETERS=" + app.parameters,
		"PARAM_TEAMS_0=nobody", // Argo CD writes parameters a second time, which lkeplan does not read
	}, app.env...)
	err = cmd.Run()
	return out.String(), errors.String(), err
}

func TestArgoCDFindsThePlugin(t *testing.T) {
	t.Parallel()
	p := argoPlugin(t)
	if p.name() != "lkeplan-v1" || p.Kind != "ConfigManagementPlugin" {
		t.Errorf("Applications name the %s %s; the documentation says the plugin lkeplan-v1", p.Kind, p.name())
	}
	for path, want := range map[string]bool{"clusters/prod": true, "clusters": false, ".": false, "docs": false} {
		found, err := filepath.Glob(filepath.Join(argoRepository, path, p.Spec.Discover.FileName))
		if err != nil || (len(found) > 0) != want {
			t.Errorf("the plugin is for %s because of %q, %v; want %v", path, found, err, want)
		}
	}
}

func TestArgoCDListsParameters(t *testing.T) {
	t.Parallel()
	p := argoPlugin(t)
	for _, static := range p.Spec.Parameters.Static {
		if !strings.HasPrefix(static.Name, "lkeplan.") || static.Title == "" || static.Tooltip == "" {
			t.Errorf("announced %+v", static)
		}
	}
	out, said, err := application{path: "clusters/prod"}.runs(t, p.Spec.Parameters.Dynamic)
	var got []render.Announcement
	if err == nil {
		err = json.Unmarshal([]byte(out), &got)
	}
	if err != nil {
		t.Fatal(err, said)
	}
	want := []render.Announcement{
		{Name: "teams", Title: "teams", Tooltip: "Who gets a pool", Required: true, ItemType: "string",
			CollectionType: "array"},
		{Name: "sizes", Title: "sizes", Tooltip: "CPUs of a node", ItemType: "number", CollectionType: "map",
			Map: map[string]string{"min": "4", "max": "8"}},
		{Name: "owner", Title: "owner", Tooltip: "Whom to ask", ItemType: "string", CollectionType: "string",
			String: "platform"},
		{Name: "spot", Title: "spot", CollectionType: "string"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("announced (-want +got)\n%s", diff)
	}
}

// web is the parameter that clusters/prod requires.
const web = `[{"name":"teams","array":["web"]}]`

func TestArgoCDGetsTheObjectsOfAnApplication(t *testing.T) {
	t.Parallel()
	clone := t.TempDir() // with .git
	if err := os.CopyFS(filepath.Join(clone, "fleet"), os.DirFS(argoRepository)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(clone, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	const confirmed = "\n    argocd.argoproj.io/sync-options: ServerSideApply=true,Prune=confirm,Delete=confirm\n" +
		"    argocd.argoproj.io/sync-wave: \"0\"\n"
	const kept = "\n    argocd.argoproj.io/sync-options: ServerSideApply=true,Prune=false,Delete=false\n" +
		"    argocd.argoproj.io/sync-wave: \"0\"\n"
	two := []string{kept + "    example.com/owner: platform\n  name: general\n", confirmed + "  name: web\n"}
	for name, tt := range map[string]struct {
		app     application
		objects int
		want    []string // of what is printed
	}{
		"parameters and a file of values": {
			application{path: "clusters/prod", parameters: `[{"name":"teams","array":["search","web"]},
				{"name":"sizes","map":{"min":"2","max":"6"}},{"name":"lkeplan.var-files","array":["blue.lkevars.hcl"]}]`}, 5,
			[]string{kept + "    example.com/owner: blue\n  name: general\n", "- \"2\"\n", "- \"6\"\n",
				confirmed + "  name: search\n", confirmed + "  name: web\n", "kind: LinodeNodeClass\n", "kind: CapacityLimit\n"},
		},
		// Only in these Argo CD replaces $ARGOCD_APP_NAME, not in parameters.
		"variables of the environment, over a file": {
			application{path: "clusters/prod", env: []string{"ARGOCD_ENV_LKEPLAN_VAR_owner=nodes-prod@4f4f4f4"},
				parameters: `[{"name":"teams","array":[]},{"name":"lkeplan.var-files","array":["blue.lkevars.hcl"]}]`}, 3,
			[]string{kept + "    example.com/owner: nodes-prod@4f4f4f4\n  name: general\n"},
		},
		"there may be nothing": {application{path: "clusters/empty",
			parameters: `[{"name":"lkeplan.allow-empty","string":"true"}]`}, 0, nil},
		"no .git":                 {application{path: "clusters/prod", parameters: web}, 4, two},
		"below .git":              {application{repository: clone, path: "fleet/clusters/prod", parameters: web}, 4, two},
		"all that is needed sent": {application{repository: clone, path: "fleet/clusters/prod", sent: "fleet", parameters: web}, 4, two},
	} {
		t.Run(name, func(t *testing.T) {
			out, said, err := tt.app.runs(t, argoPlugin(t).Spec.Generate)
			if n := strings.Count("\n"+out, "\nkind: "); err != nil || n != tt.objects {
				t.Errorf("%d objects, want %d; %v\n%s", n, tt.objects, err, said)
			}
			mustContain(t, out, tt.want...)
		})
	}
}

func TestArgoCDShowsErrors(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		app  application
		code int
		want []string // of standard error, which is shown to people
	}{
		"a parameter is missing": {application{path: "clusters/prod"}, 1, []string{"clusters/prod/main.lke.hcl:1",
			`The variable "teams" has no default and is not set`}},
		"a parameter is unknown": {
			application{path: "clusters/prod", parameters: `[{"name":"teams","array":["web"]},{"name":"teems","array":[]}]`}, 1,
			[]string{"parameter teems", `"teams"?`}},
		"a parameter has another type": {application{path: "clusters/prod",
			parameters: `[{"name":"teams","array":["web"]},{"name":"sizes","map":{"min":"few","max":"8"}}]`}, 1,
			[]string{"parameter sizes:1"}},
		"the source is broken": {application{path: "clusters/broken"}, 1, []string{"clusters/broken/main.lke.hcl:7", "nosuch"}},
		"there is nothing":     {application{path: "clusters/empty"}, 1, []string{"compiles to no objects", "lkeplan.allow-empty"}},
		"there is no source":   {application{path: "docs"}, 1, []string{"No configuration files"}},
		"a file of the sidecar is asked for": {application{path: "clusters/prod", parameters: `[{"name":"teams","array":["web"]},
			{"name":"lkeplan.var-files","array":["../../../../../../../etc/passwd"]}]`}, 1, []string{"is not in the repository"}},
		"the modules are not sent": {application{path: "clusters/prod", sent: "clusters", parameters: web}, 1,
			[]string{"is outside of the repository"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, said, err := tt.app.runs(t, argoPlugin(t).Spec.Generate)
			if exited, ok := err.(*exec.ExitError); !ok || exited.ExitCode() != tt.code || out != "" {
				t.Errorf("%v, want exit status %d; it printed %q", err, tt.code, out)
			}
			mustContain(t, said, tt.want...)
		})
	}
}

// TestAPIServerAcceptsArgoCDObjects: the objects with their annotations, as Argo CD's
// own dry run sends them, and the manifests that install the plugin.
func TestAPIServerAcceptsArgoCDObjects(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	app := application{path: "clusters/prod", parameters: `[{"name":"teams","array":["search","web"]}]`}
	objects, said, err := app.runs(t, argoPlugin(t).Spec.Generate)
	if err != nil {
		t.Fatal(err, said)
	}
	said = s.kube(objects, "apply", "--server-side", "--dry-run=server", "--field-manager=argocd-controller", "-f", "-")
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
