package compare

import (
	"fmt"
	"slices"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// withRolledBy returns a desired object with the live annotation of the revision that rolled its nodes. An apply
// without the annotation would remove it, and so change each object.
func withRolledBy(desired, live map[string]any) map[string]any {
	if note := annotationsOf(live)[manifest.AnnotationRolledBy]; note != "" {
		return manifest.Annotated(desired, manifest.AnnotationRolledBy, note)
	}
	return desired
}

// sign sets the annotation of the revision on changed objects whose nodes it rolls. Other changes keep the previous
// revision.
func (c *Comparison) sign(by manifest.RolledBy) error {
	changes := c.Plan.ByKey()
	for i := range c.Targets {
		t := &c.Targets[i]
		if t.Unchanged {
			continue
		}
		before, err := partOf(t.Live)
		if err != nil {
			return err
		}
		after, err := partOf(t.stored)
		if err != nil {
			return err
		}
		if after == nil {
			continue
		}
		author := by
		if !rollsByItself(changes[manifest.KeyOf(t.Desired)]) {
			author, _ = manifest.ReadRolledBy(annotationsOf(t.Live), before)
		}
		note, err := manifest.RolledByNote(author, after)
		if err != nil {
			return fmt.Errorf("%s: %w", manifest.KeyOf(t.Desired), err)
		}
		t.Desired = manifest.Annotated(t.Desired, manifest.AnnotationRolledBy, note)
	}
	return nil
}

// rollsByItself reports whether a change creates an object, or replaces nodes through the object itself. A roll by
// a class is recorded on the class, not on its pools.
func rollsByItself(c plan.Change) bool {
	return c.Action == plan.Create || slices.ContainsFunc(c.Fields, func(f plan.Field) bool { return f.Effect == plan.Roll })
}

// partOf returns the part of an object that determines its nodes; nil for objects without nodes.
func partOf(obj map[string]any) (any, error) {
	switch manifest.Kind(obj) {
	case schemas.Pool.Object.Kind:
		pool, err := manifest.As[karpv1.NodePool](obj)
		if err == nil {
			return pool.Spec.Template, nil
		}
		return nil, err
	case schemas.NodeClass.Object.Kind:
		class, err := manifest.As[linodev1alpha1.LinodeNodeClass](obj)
		if err == nil {
			return class.Spec, nil
		}
		return nil, err
	}
	return nil, nil
}

// annotationsOf returns the annotations that are strings.
func annotationsOf(obj map[string]any) map[string]string {
	texts := map[string]string{}
	for name, value := range manifest.Map(obj, "metadata", "annotations") {
		if text, ok := value.(string); ok {
			texts[name] = text
		}
	}
	return texts
}
