package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lkeplan/lkeplan/schemas/crd"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// TestValidatedObjectsShareEqualParts: two equal objects and what they were written as have
// their parts in memory once, are as they were without that, and it is seen when somebody
// writes into one of them.
func TestValidatedObjectsShareEqualParts(t *testing.T) {
	crds, err := crd.All()
	if err != nil {
		t.Fatal(err)
	}
	v, err := NewValidator(crds)
	if err != nil {
		t.Fatal(err)
	}
	written := fromYAML(t, fullObjects[0])
	defaulted, errs := v.Validate(written, nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	before := runtime.DeepCopyJSON(written)
	Share(written, defaulted)
	if diff := cmp.Diff(before, written); diff != "" {
		t.Errorf("sharing has changed the object (-want +got)\n%s", diff)
	}
	again, _ := v.Validate(before, nil)
	if diff := cmp.Diff(defaulted, again); diff != "" {
		t.Errorf("a second object is another one (-want +got)\n%s", diff)
	}
	if altered := v.Altered(); len(altered) > 0 {
		t.Errorf("nobody has written, and this is altered: %v", altered)
	}
	manifest.Ensure(again, "spec", "disruption")["mine"] = true
	if len(v.Altered()) == 0 {
		t.Error("somebody has written into an object, and it is not seen")
	}
	if _, ok := manifest.Lookup(written, "spec", "disruption", "mine"); !ok {
		t.Error("each object has a part of its own, although they are equal")
	}
}
