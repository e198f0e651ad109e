package during

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Names are the names of the during blocks of pools, sorted.
func Names(objects []map[string]any) []string {
	names := map[string]bool{}
	for _, obj := range objects {
		d, _ := manifest.ReadDuring(obj) // Choose returns the error
		if d == nil || !isPool(obj) {
			continue
		}
		for _, w := range d.Windows {
			names[w.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func isPool(obj map[string]any) bool { return manifest.Kind(obj) == schemas.Pool.Object.Kind }

// Choose returns objects in which pools have the values of the windows with some names, regardless of the time, and
// sentences about the values of the pools with during blocks. Names that a pool does not have are ignored. The objects
// are not modified.
func Choose(objects []map[string]any, names ...string) (chosen []map[string]any, notes []string, err error) {
	chosen = slices.Clone(objects)
	for i, obj := range objects {
		d, err := manifest.ReadDuring(obj)
		if err != nil {
			return nil, nil, err
		}
		if d == nil || !isPool(obj) {
			continue
		}
		var active, others []string
		for _, w := range d.Windows {
			if slices.Contains(names, w.Name) {
				active = append(active, w.Name)
			} else {
				others = append(others, fmt.Sprintf("%s (%s)", w.Name, Period(w)))
			}
		}
		object := "pool " + manifest.Name(obj)
		if len(active) == 0 {
			notes = append(notes, fmt.Sprintf("The %s has the values outside of its during blocks: %s.", object,
				strings.Join(others, ", ")))
			continue
		}
		if !slices.ContainsFunc(Combinations(d), func(set []string) bool { return slices.Equal(set, active) }) {
			return nil, nil, fmt.Errorf("the during blocks %s of %s set the same argument, so they do not apply at "+
				"the same time", strings.Join(active, " and "), object)
		}
		chosen[i] = With(obj, d, active...)
		notes = append(notes, fmt.Sprintf("The %s has the values of during %s.", object, strings.Join(active, " and ")))
	}
	return chosen, notes, nil
}
