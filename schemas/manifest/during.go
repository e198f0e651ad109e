package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// During is the content of the annotation lkeplan.dev/during: the values of an object at recurring times. Fields are
// identified by their paths, such as spec.limits, and replaced as a whole. Whole numbers are int64.
type During struct {
	// Base are the values of the fields outside of all windows. It lacks fields that the object then does not set.
	Base map[string]any `json:"base"`
	// Windows are sorted by name.
	Windows []DuringWindow `json:"windows"`
}

// DuringWindow is a recurring period with other values.
type DuringWindow struct {
	Name     string         `json:"name"`
	Schedule string         `json:"schedule"`           // cron notation
	Duration string         `json:"duration"`           // of Go: 10h0m0s, 10h
	TimeZone string         `json:"timeZone,omitempty"` // "" is UTC
	Set      map[string]any `json:"set"`                // values by path
}

// AnnotationDuring is the key of the annotation.
const AnnotationDuring = "lkeplan.dev/during"

// MaxDuring is the maximum number of during blocks of an object: all combinations of them are evaluated.
const MaxDuring = 6

// ReadDuring returns the during blocks of an object; nil if it has none. The error names the object.
func ReadDuring(object map[string]any) (*During, error) {
	text := Text(object, "metadata", "annotations", AnnotationDuring)
	if text == "" {
		return nil, nil
	}
	var d During
	var fields map[string]any // not d: inside of typed values, JSON reads whole numbers as float64
	err := utiljson.Unmarshal([]byte(text), &fields)
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &d)
	}
	if err != nil {
		return nil, fmt.Errorf("read the annotation %s of %s: %w", AnnotationDuring, KeyOf(object), err)
	}
	if len(d.Windows) > MaxDuring {
		return nil, fmt.Errorf("read the annotation %s of %s: it has %d during blocks, and an object can have at most %d",
			AnnotationDuring, KeyOf(object), len(d.Windows), MaxDuring)
	}
	for _, values := range d.Values() {
		for path := range values {
			if !strings.HasPrefix(path, "spec.") || strings.HasPrefix(path, "spec.template") {
				return nil, fmt.Errorf("read the annotation %s of %s: it may not set %s", AnnotationDuring, KeyOf(object), path)
			}
		}
	}
	slices.SortStableFunc(d.Windows, func(a, b DuringWindow) int { return strings.Compare(a.Name, b.Name) })
	return &d, nil
}

// Values are the values of the base and of each window, by path. They are shared with d.
func (d *During) Values() (all []map[string]any) {
	all = append(all, d.Base)
	for _, w := range d.Windows {
		all = append(all, w.Set)
	}
	return all
}

// WithDuring returns a copy of an object with the annotation, in a form that is the same for the same content. Nil
// removes it. The object is not modified.
func WithDuring(object map[string]any, d *During) (map[string]any, error) {
	if d == nil || len(d.Windows) == 0 {
		return Annotated(object, AnnotationDuring, ""), nil
	}
	text, err := json.Marshal(d) // the keys of maps are sorted
	if err != nil {
		return nil, fmt.Errorf("write the during blocks of %s: %w", KeyOf(object), err)
	}
	return Annotated(object, AnnotationDuring, string(text)), nil
}

// Paths are the paths of the fields that windows set, sorted.
func (d *During) Paths() []string {
	if d == nil {
		return nil
	}
	paths := map[string]bool{}
	for _, w := range d.Windows {
		for path := range w.Set {
			paths[path] = true
		}
	}
	return slices.Sorted(maps.Keys(paths))
}

// Field returns the value at a path such as spec.limits.
func Field(object map[string]any, path string) (value any, found bool) {
	return Lookup(object, strings.Split(path, ".")...)
}

// WithField returns a copy of an object with a value at a path; if found is false, without that field. The object is
// not modified, and the copy shares other parts with it.
func WithField(object map[string]any, path string, value any, found bool) map[string]any {
	if was, there := Field(object, path); there == found && reflect.DeepEqual(was, value) {
		return object
	}
	object = maps.Clone(object)
	steps := strings.Split(path, ".")
	at := object
	for _, step := range steps[:len(steps)-1] {
		inner, is := at[step].(map[string]any)
		if !is && !found {
			return object
		}
		inner = maps.Clone(inner)
		if inner == nil {
			inner = map[string]any{}
		}
		at[step], at = inner, inner
	}
	if last := steps[len(steps)-1]; found {
		at[last] = runtime.DeepCopyJSONValue(value)
	} else {
		delete(at, last)
	}
	return object
}
