package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// customizations is laid out as in Argo CD's repository: GROUP/KIND/health.lua.
const customizations = "../../../examples/argocd/resource_customizations"

// healthTests is the file health_test.yaml.
type healthTests struct {
	Tests []struct {
		InputPath    string `json:"inputPath"`
		HealthStatus health `json:"healthStatus"`
	} `json:"tests"`
}

// actionTests is the file action_test.yaml.
type actionTests struct {
	DiscoveryTests []struct {
		InputPath string `json:"inputPath"`
		Result    []struct {
			Name     string `json:"name"`
			Disabled bool   `json:"disabled"`
		} `json:"result"`
	} `json:"discoveryTests"`
	ActionTests []struct {
		Action               string `json:"action"`
		InputPath            string `json:"inputPath"`
		ExpectedOutputPath   string `json:"expectedOutputPath"`
		ExpectedErrorMessage string `json:"expectedErrorMessage"`
	} `json:"actionTests"`
}

// scripts finds the files of a name below the customizations.
func scripts(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(customizations, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	return files
}

// readYAML reads a file and refuses unknown fields.
func readYAML(t *testing.T, name string, into any) {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err == nil {
		err = yaml.UnmarshalStrict(raw, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// readObject reads an object, whole numbers as int64.
func readObject(t *testing.T, name string) (obj map[string]any) {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err == nil {
		raw, err = yaml.YAMLToJSON(raw)
	}
	if err == nil {
		err = utiljson.Unmarshal(raw, &obj)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return obj
}

func readText(t testing.TB, name string) string {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestArgoCDShowsHealth(t *testing.T) {
	t.Parallel()
	for _, script := range scripts(t, "*/*/health.lua") {
		dir := filepath.Dir(script)
		var tests healthTests
		readYAML(t, filepath.Join(dir, "health_test.yaml"), &tests)
		tried := map[string]bool{}
		for _, tt := range tests.Tests {
			tried[filepath.Base(tt.InputPath)] = true
			t.Run(strings.TrimPrefix(filepath.Join(dir, tt.InputPath), customizations+"/"), func(t *testing.T) {
				got, err := argoHealth(t.Context(), readText(t, script), readObject(t, filepath.Join(dir, tt.InputPath)))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.HealthStatus, got); diff != "" {
					t.Errorf("health (-want +got)\n%s", diff)
				}
			})
		}
		for _, data := range scripts(t, strings.TrimPrefix(dir, customizations)+"/testdata/*.yaml") {
			if !tried[filepath.Base(data)] {
				t.Errorf("%s is in no test", data)
			}
		}
	}
}

func TestArgoCDOffersActions(t *testing.T) {
	t.Parallel()
	for _, script := range scripts(t, "*/*/actions/discovery.lua") {
		dir := filepath.Dir(script)
		var tests actionTests
		readYAML(t, filepath.Join(dir, "action_test.yaml"), &tests)
		tried := map[string]bool{}
		for _, tt := range tests.DiscoveryTests {
			want := map[string]bool{}
			for _, action := range tt.Result {
				want[action.Name] = action.Disabled
			}
			got, err := argoActions(t.Context(), readText(t, script), readObject(t, filepath.Join(dir, tt.InputPath)))
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%s: %v; disabled actions (-want +got)\n%s", tt.InputPath, err, diff)
			}
		}
		for _, tt := range tests.ActionTests {
			tried[tt.Action] = true
			got, err := argoAct(t.Context(), readText(t, filepath.Join(dir, tt.Action, "action.lua")),
				readObject(t, filepath.Join(dir, tt.InputPath)))
			if tt.ExpectedErrorMessage != "" {
				if err == nil || !strings.Contains(err.Error(), tt.ExpectedErrorMessage) {
					t.Errorf("%s of %s: %v, want an error with %q", tt.Action, tt.InputPath, err, tt.ExpectedErrorMessage)
				}
				continue
			}
			if diff := cmp.Diff(readObject(t, filepath.Join(dir, tt.ExpectedOutputPath)), timeless(t, got)); err != nil ||
				diff != "" {
				t.Errorf("%s of %s: %v; the object (-want +got)\n%s", tt.Action, tt.InputPath, err, diff)
			}
		}
		for _, action := range scripts(t, strings.TrimPrefix(dir, customizations)+"/*/action.lua") {
			if name := filepath.Base(filepath.Dir(action)); !tried[name] {
				t.Errorf("the action %s is in no test", name)
			}
		}
	}
}

// timeless replaces the time of a request by NOW, and the end of an approval by that of
// the test data, after checking that they are times.
func timeless(t *testing.T, obj map[string]any) map[string]any {
	t.Helper()
	annotations := manifest.Map(obj, "metadata", "annotations")
	if asked, ok := annotations["reconcile.fluxcd.io/requestedAt"].(string); ok {
		if at, err := time.Parse(time.RFC3339, asked); err != nil || time.Since(at).Abs() > time.Minute {
			t.Errorf("asked for at %q, which is not now: %v", asked, err)
		}
		annotations["reconcile.fluxcd.io/requestedAt"] = "NOW"
	}
	approval := manifest.Map(obj, "status", "approval")
	if ends, ok := approval["expires"].(string); ok {
		if at, err := time.Parse(time.RFC3339, ends); err != nil || (time.Until(at)-24*time.Hour).Abs() > time.Minute {
			t.Errorf("approved until %q, which is not in a day: %v", ends, err)
		}
		approval["expires"] = "2026-11-21T10:00:00Z"
	}
	return obj
}

// TestTheTestDataOfArgoCDCanExist validates the objects against their CRDs: a health
// script must not be tested with fields that no controller writes.
func TestTheTestDataOfArgoCDCanExist(t *testing.T) {
	t.Parallel()
	validator := kube.BuiltinValidator()
	for _, name := range append(scripts(t, "*/*/testdata/*.yaml"), scripts(t, "*/*/actions/testdata/*.yaml")...) {
		if _, errs := validator.Validate(readObject(t, name), nil); len(errs) > 0 {
			t.Errorf("%s: %v", name, errs)
		}
	}
}
