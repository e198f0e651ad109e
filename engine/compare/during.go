package compare

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/during"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// at returns objects with the values of their during blocks at a time.
func at(objects []config.Object, now time.Time) ([]config.Object, error) {
	objects = slices.Clone(objects)
	for i, o := range objects {
		var err error
		if o.Manifest, _, err = during.At(o.Manifest, now); err != nil {
			return nil, err
		}
		if o.Defaulted, _, err = during.At(o.Defaulted, now); err != nil {
			return nil, err
		}
		objects[i] = o
	}
	return objects, nil
}

// EditedOf reports which fields of a live object other users have set: its during blocks do not switch them.
func EditedOf(live map[string]any) (func(path string) bool, error) {
	others, err := plan.SetByOthers(live, kube.FieldManager)
	if err != nil {
		return nil, err
	}
	return func(path string) bool {
		return slices.ContainsFunc(others, func(d plan.Drift) bool {
			return d.Path == path || strings.HasPrefix(d.Path, path+".") || strings.HasPrefix(d.Path, path+"[")
		})
	}, nil
}

// declared returns a live object with the values outside of all windows, and the fields that other users have set. An
// annotation that cannot be read declares nothing: another user has changed it, and an apply replaces it.
func declared(live map[string]any) (map[string]any, []string, error) {
	if manifest.Text(live, "metadata", "annotations", manifest.AnnotationDuring) == "" {
		return live, nil, nil
	}
	edited, err := EditedOf(live)
	if err != nil {
		return nil, nil, err
	}
	if base, kept, err := during.Declared(live, kube.SameFields(live), edited); err == nil {
		return base, kept, nil
	}
	return live, nil, nil
}

// undated returns a live object with the values outside of all windows, and without its during blocks.
func undated(live map[string]any) map[string]any {
	base, _, err := declared(live)
	if err != nil {
		base = live
	}
	return manifest.Annotated(base, manifest.AnnotationDuring, "")
}

// declare sets the declared forms of a target, in which a plan compares it. A field that another user has set is
// compared with the value that is applied now.
func (t *Target) declare(ctx context.Context, desired map[string]any, predict Predictor) error {
	base, edited, err := declared(t.Live)
	if err != nil {
		return err
	}
	_, switches := manifest.Lookup(desired, "metadata", "annotations", manifest.AnnotationDuring)
	if t.before, t.after = base, t.predicted; !switches {
		return nil
	}
	if t.after, _, err = predict(ctx, base, kube.Spelled(desired, base)); err != nil {
		return err
	}
	for _, path := range edited {
		value, found := manifest.Field(t.predicted, path)
		t.after = manifest.WithField(t.after, path, value, found)
	}
	return nil
}
