package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// TestValidatedObjectsShareEqualParts: two equal objects, and the objects that they were written
// from, share their parts in memory. Sharing does not change them, and a modification of one of
// them is detected.
func TestValidatedObjectsShareEqualParts(t *testing.T) {
	v := newValidator()
	written := fromYAML(t, fullObjects[0])
	defaulted, errs := v.Validate(written, nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	before := runtime.DeepCopyJSON(written)
	Share(written, defaulted)
	if diff := cmp.Diff(before, written); diff != "" {
		t.Errorf("sharing changed the object (-want +got)\n%s", diff)
	}
	again, _ := v.Validate(before, nil)
	if diff := cmp.Diff(defaulted, again); diff != "" {
		t.Errorf("a second object differs (-want +got)\n%s", diff)
	}
	if altered := v.Altered(); len(altered) > 0 {
		t.Errorf("altered without a modification: %v", altered)
	}
	manifest.Ensure(again, "spec", "disruption")["mine"] = true
	if len(v.Altered()) == 0 {
		t.Error("a modification of an object is not detected")
	}
	if _, ok := manifest.Lookup(written, "spec", "disruption", "mine"); !ok {
		t.Error("equal objects do not share a part")
	}
}
