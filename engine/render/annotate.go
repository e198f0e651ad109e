package render

import (
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// A treatment is how Argo CD is to sync the objects of one kind. Waves are
// applied in ascending and pruned in descending order.
type treatment struct {
	wave      string
	options   []string
	protected bool // the options hold, even if the author has written others
}

// syncTreatments returns how the objects of each kind are synced. Limits, overlays and
// classes come before the pools that make nodes by them. The nodes of a pool are
// deleted with it, and can be with their class, so both deletions need a
// confirmation.
func syncTreatments() map[string]treatment {
	return map[string]treatment{
		schemas.NodeClass.Object.Kind: {wave: "-1", options: []string{"Prune=confirm", "Delete=confirm", "PruneLast=true"}},
		schemas.Limits.Object.Kind:    {wave: "-1"},
		schemas.Overlay.Object.Kind:   {wave: "-1"},
		schemas.Pool.Object.Kind:      {wave: "0", options: []string{"Prune=confirm", "Delete=confirm"}},
		schemas.Buffer.Object.Kind:    {wave: "1"},
	}
}

// Annotate returns what was compiled with annotations for Argo CD on the objects:
// their order, server-side apply, and which of them are not deleted when they are
// no longer in the source. Pools that a guard protects are never deleted. Other options
// that the author has written stay as they are; the compiler takes none by which Argo CD would
// delete more.
func Annotate(compiled compile.Result) compile.Result {
	byKind := syncTreatments()
	compiled.Objects = slices.Clone(compiled.Objects)
	for i, r := range compiled.Objects {
		t := byKind[r.Kind()]
		if r.Kind() == schemas.Pool.Object.Kind && slices.Contains(compiled.Guards.Protected, r.Name()) {
			t.options, t.protected = []string{"Prune=false", "Delete=false"}, true
		}
		compiled.Objects[i].Manifest = annotate(r.Manifest, t)
	}
	return compiled
}

// annotate returns a copy of an object with the annotations.
func annotate(obj map[string]any, t treatment) map[string]any {
	if _, written := manifest.Lookup(obj, "metadata", "annotations", schemas.ArgoWave); !written {
		obj = manifest.Annotated(obj, schemas.ArgoWave, t.wave)
	}
	options := strings.Split(manifest.Text(obj, "metadata", "annotations", schemas.ArgoOptions), ",")
	ours := append([]string{"ServerSideApply=true"}, t.options...)
	if t.protected {
		options, ours = ours, options
	}
	return manifest.Annotated(obj, schemas.ArgoOptions, mergeOptions(options, ours))
}

// mergeOptions joins options. The name of an option is the part before its "=", and the first one of a
// name counts.
func mergeOptions(first, second []string) string {
	var merged, names []string
	for _, option := range slices.Concat(first, second) {
		option = strings.TrimSpace(option)
		if name, _, _ := strings.Cut(option, "="); option != "" && !slices.Contains(names, name) {
			merged, names = append(merged, option), append(names, name)
		}
	}
	return strings.Join(merged, ",")
}
