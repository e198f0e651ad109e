package argocd

import (
	"maps"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// The annotations that Argo CD reads.
const (
	waveAnnotation    = "argocd.argoproj.io/sync-wave"
	optionsAnnotation = "argocd.argoproj.io/sync-options"
)

// A treatment is how Argo CD is to sync the objects of one kind. Waves are
// applied in ascending and pruned in descending order.
type treatment struct {
	wave    string
	options []string
}

// treatments returns how the objects of each kind are synced. Limits, overlays and
// classes come before the pools that make nodes by them. The nodes of a pool are
// deleted with it, and can be with their class, so both deletions need a
// confirmation.
func treatments() map[string]treatment {
	return map[string]treatment{
		schemas.NodeClass.Object.Kind: {"-1", []string{"Prune=confirm", "Delete=confirm", "PruneLast=true"}},
		schemas.Limits.Object.Kind:    {"-1", nil},
		schemas.Overlay.Object.Kind:   {"-1", nil},
		schemas.Pool.Object.Kind:      {"0", []string{"Prune=confirm", "Delete=confirm"}},
		schemas.Buffer.Object.Kind:    {"1", nil},
	}
}

// Annotate returns what was compiled with annotations for Argo CD on the objects:
// their order, server-side apply, and which of them are not deleted when they are
// no longer in the source. Pools that a guard protects are never deleted. Options
// that the author has written stay as they are.
func Annotate(compiled compile.Result) compile.Result {
	byKind := treatments()
	compiled.Objects = slices.Clone(compiled.Objects)
	for i, r := range compiled.Objects {
		t := byKind[r.Kind()]
		if r.Kind() == schemas.Pool.Object.Kind && slices.Contains(compiled.Guards.Protected, r.Name()) {
			t.options = []string{"Prune=false", "Delete=false"}
		}
		compiled.Objects[i].Manifest = annotate(r.Manifest, t)
	}
	return compiled
}

// annotate returns a copy of an object with the annotations.
func annotate(obj map[string]any, t treatment) map[string]any {
	obj = maps.Clone(obj)
	metadata, annotations := map[string]any{}, map[string]any{}
	maps.Copy(metadata, manifest.Map(obj, "metadata"))
	maps.Copy(annotations, manifest.Map(obj, "metadata", "annotations"))
	if annotations[waveAnnotation] == nil {
		annotations[waveAnnotation] = t.wave
	}
	written, _ := annotations[optionsAnnotation].(string)
	annotations[optionsAnnotation] = merge(written, append([]string{"ServerSideApply=true"}, t.options...))
	metadata["annotations"] = annotations
	obj["metadata"] = metadata
	return obj
}

// merge adds options to those that are written. The name of an option is the part
// before its "=".
func merge(written string, options []string) string {
	var merged, names []string
	for option := range strings.SplitSeq(written, ",") {
		if option = strings.TrimSpace(option); option != "" {
			name, _, _ := strings.Cut(option, "=")
			merged, names = append(merged, option), append(names, name)
		}
	}
	for _, option := range options {
		if name, _, _ := strings.Cut(option, "="); !slices.Contains(names, name) {
			merged = append(merged, option)
		}
	}
	return strings.Join(merged, ",")
}
