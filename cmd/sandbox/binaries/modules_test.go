package binaries

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

// The tool directives of the embedded modules and the table name the same programs,
// so that `go mod tidy` keeps what the table needs.
func TestProgramsAreTools(t *testing.T) {
	for _, m := range ControlPlane() {
		mod, sum, err := m.source()
		if err != nil {
			t.Fatal(err)
		}
		if len(sum) == 0 {
			t.Errorf("%s.sum is empty", m.Name)
		}
		parsed, err := modfile.Parse(m.Name, mod, nil)
		if err != nil {
			t.Fatal(err)
		}
		var tools, packages []string
		for _, tool := range parsed.Tool {
			tools = append(tools, tool.Path)
		}
		for _, other := range append(ControlPlane(), Machine()) {
			if other.Name != m.Name && other.From != m.Name {
				continue
			}
			for _, p := range other.Programs {
				packages = append(packages, p.Package)
			}
		}
		slices.Sort(tools)
		slices.Sort(packages)
		if !slices.Equal(tools, packages) {
			t.Errorf("%s.mod has the tools\n  %s\nand the table the packages\n  %s",
				m.Name, strings.Join(tools, "\n  "), strings.Join(packages, "\n  "))
		}
	}
}

// The staging modules must be those of the same release, or kube-apiserver is a
// an untested mixture.
func TestStagingVersions(t *testing.T) {
	m := kubernetes()
	version, err := m.version()
	if err != nil {
		t.Fatal(err)
	}
	want := "v0." + strings.TrimPrefix(version, "v1.")
	mod, _, err := m.source()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := modfile.Parse(m.Name, mod, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(parsed.Replace) < 30 {
		t.Errorf("only %d staging modules are replaced", len(parsed.Replace))
	}
	for _, r := range parsed.Replace {
		if r.New.Path != r.Old.Path || r.New.Version != want {
			t.Errorf("%s is replaced by %s %s, want %s of itself", r.Old.Path, r.New.Path, r.New.Version, want)
		}
	}
}

func TestVersions(t *testing.T) {
	for _, m := range append(ControlPlane(), Extras()...) {
		if version, err := m.version(); err != nil || !strings.HasPrefix(version, "v") {
			t.Errorf("%s: version %q, %v", m.Name, version, err)
		}
	}
	if _, err := (Module{Name: "kwok", Main: "example.com/none"}).version(); err == nil {
		t.Error("a module that is not required has a version")
	}
}

func TestDigest(t *testing.T) {
	base := func() Module { return kwok() }
	digest := func(m Module, toolchain string) string {
		t.Helper()
		d, err := m.digest(toolchain)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	want := digest(base(), "go1")
	if again := digest(base(), "go1"); again != want {
		t.Errorf("the digest is %s and then %s", want, again)
	}
	changes := map[string]func(*Module){
		"source":  func(m *Module) { m.Name, m.Main = "kubernetes", "k8s.io/kubernetes" },
		"program": func(m *Module) { m.Programs[0].Package += "/x" },
		"stamp":   func(m *Module) { m.Stamp = kubernetesVersion },
		"asset":   func(m *Module) { m.Assets[0].Path += "x" },
	}
	for name, change := range changes {
		m := base()
		change(&m)
		if digest(m, "go1") == want {
			t.Errorf("another %s does not change the digest", name)
		}
	}
	if digest(base(), "go2") == want {
		t.Error("another toolchain does not change the digest")
	}
}

func TestKubernetesVersion(t *testing.T) {
	pairs := strings.Join(kubernetesVersion("v1.36.4"), " ")
	for _, want := range []string{"version.gitVersion=v1.36.4", "version.gitMajor=1", "version.gitMinor=36"} {
		if !strings.Contains(pairs, want) {
			t.Errorf("%s is missing in %s", want, pairs)
		}
	}
}
