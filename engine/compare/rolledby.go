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

// carried is a desired object with the note of the live one on who has rolled its nodes: an
// apply without it would take it off, and so each object would change in each apply.
func carried(desired, live map[string]any) map[string]any {
	if note := annotationsOf(live)[manifest.AnnotationRolledBy]; note != "" {
		return manifest.Annotated(desired, manifest.AnnotationRolledBy, note)
	}
	return desired
}

// sign notes on the objects that are changed which revision rolls their nodes. A change that
// rolls none keeps the revision that has done so last.
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
		after, err := partOf(t.predicted)
		if err != nil {
			return err
		}
		if after == nil {
			continue
		}
		author := by
		if !rolls(changes[manifest.KeyOf(t.Desired)]) {
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

// rolls reports whether a change of an object itself replaces nodes, or makes it: what a
// class does to the nodes of its pools is noted on the class.
func rolls(c plan.Change) bool {
	return c.Action == plan.Create || slices.ContainsFunc(c.Fields, func(f plan.Field) bool { return f.Effect == plan.Roll })
}

// partOf is what of an object its nodes are replaced for; nil for objects without nodes.
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

// annotationsOf are the annotations that are text; one that is not hides no other.
func annotationsOf(obj map[string]any) map[string]string {
	texts := map[string]string{}
	for name, value := range manifest.Map(obj, "metadata", "annotations") {
		if text, ok := value.(string); ok {
			texts[name] = text
		}
	}
	return texts
}
