package compare

import (
	"fmt"
	"maps"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// carried is a desired object with the note of the live one on who has rolled its nodes: an
// apply without it would take it off, and so each object would change in each apply.
func carried(desired, live map[string]any) map[string]any {
	if note, ok := manifest.Map(live, "metadata", "annotations")[manifest.AnnotationRolledBy].(string); ok {
		annotate(desired, note)
	}
	return desired
}

// annotate writes the note, or with "" takes it off. The maps below the object may be those
// of the configuration, and are copied.
func annotate(desired map[string]any, note string) {
	metadata := maps.Clone(manifest.Map(desired, "metadata"))
	annotations := maps.Clone(manifest.Map(metadata, "annotations"))
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations[manifest.AnnotationRolledBy] = note
	if note == "" {
		delete(annotations, manifest.AnnotationRolledBy)
	}
	metadata["annotations"] = annotations
	if len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	desired["metadata"] = metadata
}

// sign notes on the objects that are changed which revision rolls their nodes. A change that
// rolls none keeps the revision that has done so last.
func (c *Comparison) sign(by manifest.RolledBy) error {
	changes := map[manifest.Key]plan.Change{}
	for _, change := range c.Plan.Changes {
		changes[change.Key()] = change
	}
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
		if err := t.note(author, after); err != nil {
			return err
		}
	}
	return nil
}

// note writes who has rolled the nodes of a target last; nobody is named who is not known.
func (t *Target) note(author manifest.RolledBy, part any) error {
	note, err := manifest.RolledByNote(author, part)
	if err != nil {
		return fmt.Errorf("%s: %w", manifest.KeyOf(t.Desired), err)
	}
	annotate(t.Desired, note)
	return nil
}

// rolls reports whether a change of an object itself replaces nodes, or makes it: what a
// class does to the nodes of its pools is noted on the class.
func rolls(c plan.Change) bool {
	if c.Action == plan.Create {
		return true
	}
	for _, f := range c.Fields {
		if f.Effect == plan.Roll {
			return true
		}
	}
	return false
}

// partOf is what of an object its nodes are replaced for; nil for objects without nodes.
func partOf(obj map[string]any) (any, error) {
	switch manifest.Kind(obj) {
	case schemas.Pool.Object.Kind:
		pool, err := manifest.As[karpv1.NodePool](obj)
		if err != nil {
			return nil, err
		}
		return pool.Spec.Template, nil
	case schemas.NodeClass.Object.Kind:
		class, err := manifest.As[linodev1alpha1.LinodeNodeClass](obj)
		if err != nil {
			return nil, err
		}
		return class.Spec, nil
	}
	return nil, nil
}

func annotationsOf(obj map[string]any) map[string]string {
	texts := map[string]string{}
	for name, value := range manifest.Map(obj, "metadata", "annotations") {
		if text, ok := value.(string); ok {
			texts[name] = text
		}
	}
	return texts
}
