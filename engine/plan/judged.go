package plan

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config"
)

// Unnamed returns the paths that differ between two states of an object and that the change does not name: guards
// have not seen these changes. If a template or a requirement replaces nodes, a change names it only if its effect is
// Roll. Labels and annotations that lkeplan writes are in no plan.
func (c Change) Unnamed(before, after map[string]any) ([]string, error) {
	if c.Action == Create {
		return nil, nil
	}
	named := map[string]bool{}
	for _, f := range c.Fields {
		named[f.Path] = true
	}
	was, is := flattenFields(before), flattenFields(after)
	paths := maps.Clone(was)
	maps.Copy(paths, is)
	var unnamed []string
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if !named[path] && fieldDiffers(was, is, path) {
			unnamed = append(unnamed, path)
		}
	}
	s, err := sideOf(State{Objects: []config.Object{
		{Manifest: before, Defaulted: UnmarkRemoval(before)}, {Manifest: after, Defaulted: after},
	}})
	if err != nil || gravity[c.Effect] >= gravity[Roll] {
		return unnamed, err
	}
	old, changed := s.objects[0], s.objects[1]
	if templateDiffers(old, changed) {
		unnamed = append(unnamed, "the hash by which nodes are replaced")
	}
	misfit := changedRequirements(old, changed)
	for _, key := range slices.Sorted(maps.Keys(misfit)) {
		if misfit[key] {
			unnamed = append(unnamed, "the requirement "+key+", by which nodes are replaced")
		}
	}
	return unnamed, nil
}

// fieldDiffers reports whether a field differs between two flattened objects. A map or a list that is no longer empty
// differs in its elements instead.
func fieldDiffers(before, after map[string]any, path string) bool {
	was, is := before[path], after[path]
	changesHands := (path == inventory || path == directory) && was != nil && is != nil
	return !reflect.DeepEqual(was, is) && (!ownField(path) || changesHands) &&
		!(is == nil && isEmptyValue(was) && hasFieldBelow(after, path)) && !(was == nil && isEmptyValue(is) && hasFieldBelow(before, path))
}

// hasFieldBelow reports whether an object has fields below a path.
func hasFieldBelow(fields map[string]any, path string) bool {
	for at := range fields {
		if strings.HasPrefix(at, path+".") || strings.HasPrefix(at, path+"[") {
			return true
		}
	}
	return false
}
