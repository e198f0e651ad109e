package e2e

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/kube"
)

// A corpus is a valid object, and mutations of it.
type corpus struct {
	base           map[string]any
	create, update []map[string]any // entries as they are written
}

// TestValidationAgrees: the offline validation and the API server accept the same
// objects, refuse the same, and name the same fields.
func TestValidationAgrees(t *testing.T) {
	t.Parallel()
	validator := kube.BuiltinValidator()
	s := startSandbox(t)
	s.installCRDs()
	files, err := filepath.Glob("testdata/mutations/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no mutations: %v", err)
	}
	for _, path := range files {
		kind := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(kind, func(t *testing.T) {
			c := readCorpus(t, path)
			if n := len(c.create) + len(c.update); kind == "nodepool" && n < 60 {
				t.Errorf("only %d mutations", n)
			}
			for _, m := range c.create {
				t.Run("create/"+m["name"].(string), func(t *testing.T) {
					obj := merge(c.base, part(m, "patch"))
					_, errs := validator.Validate(obj, nil)
					var offline []string
					for _, err := range errs {
						offline = append(offline, err.Field)
					}
					agree(t, offline, s.create(obj))
				})
			}
			for _, m := range c.update {
				t.Run("update/"+m["name"].(string), func(t *testing.T) {
					old, obj := merge(c.base, part(m, "from")), merge(c.base, part(m, "to"))
					stored := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(old)}
					if err := s.client.Create(t.Context(), stored); err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() {
						if err := s.client.Delete(context.Background(), stored); err != nil {
							t.Error(err)
						}
					})
					_, errs := validator.Validate(obj, old)
					var offline []string
					for _, err := range errs {
						offline = append(offline, err.Field)
					}
					agree(t, offline, s.update(obj, stored.GetResourceVersion()))
				})
			}
		})
	}
}

// create has the API server validate a new object.
func (s *sandbox) create(obj map[string]any) error {
	asked := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(obj)}
	return s.client.Create(s.t.Context(), asked, client.DryRunAll, client.FieldValidation("Strict"))
}

// update has the API server validate a change.
func (s *sandbox) update(obj map[string]any, version string) error {
	asked := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(obj)}
	asked.SetResourceVersion(version)
	return s.client.Update(s.t.Context(), asked, client.DryRunAll, client.FieldValidation("Strict"))
}

// agree compares the refused fields; none means accepted.
func agree(t *testing.T, offline []string, err error) {
	t.Helper()
	slices.Sort(offline)
	if diff := cmp.Diff(slices.Compact(offline), refused(t, err)); diff != "" {
		t.Errorf("fields that are refused (-offline +API server):\n%s\nthe API server says: %v", diff, err)
	}
}

// unknownField matches a strict API server's error about a field that does not exist.
var unknownField = regexp.MustCompile(`unknown field "([^"]*)"`)

// notChecked is the API server's error, without a field, that it skipped the CEL
// rules. The offline validation skips them without one.
const notChecked = "some validation rules were not checked"

// refused returns the fields that an answer refuses, sorted.
func refused(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		t.Fatalf("the API server does not answer: %v", err)
	}
	fields := map[string]bool{}
	for _, m := range unknownField.FindAllStringSubmatch(status.Status().Message, -1) {
		fields[m[1]] = true
	}
	if details := status.Status().Details; details != nil {
		for _, cause := range details.Causes {
			if strings.Contains(cause.Message, notChecked) {
				continue
			}
			fields[strings.TrimPrefix(cause.Field, ".")] = true // the scale subresource writes .spec.replicas
		}
	}
	if len(fields) == 0 {
		t.Errorf("the API server names no field: %v", err)
	}
	return slices.Sorted(maps.Keys(fields))
}

func readCorpus(t *testing.T, path string) corpus {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(file(t, strings.TrimPrefix(path, "testdata/"))))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	// Whole numbers must stay whole, as in an API server.
	var document map[string]any
	if err := utiljson.Unmarshal(raw, &document); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return corpus{part(document, "base"), parts(document, "create"), parts(document, "update")}
}

func part(m map[string]any, key string) map[string]any {
	p, _ := m[key].(map[string]any)
	return p
}

func parts(m map[string]any, key string) (all []map[string]any) {
	list, _ := m[key].([]any)
	for _, p := range list {
		all = append(all, p.(map[string]any))
	}
	return all
}

// merge applies a merge patch: null removes a field.
func merge(base, patch map[string]any) map[string]any {
	merged := runtime.DeepCopyJSON(base)
	for key, value := range patch {
		nested, ok := value.(map[string]any)
		there, _ := merged[key].(map[string]any)
		switch {
		case value == nil:
			delete(merged, key)
		case ok && there != nil:
			merged[key] = merge(there, nested)
		default:
			merged[key] = value
		}
	}
	return merged
}
