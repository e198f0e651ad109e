package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// served is the metadata that identifies an object, or that the API server writes.
var served = []string{
	"name", "namespace", "generateName", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
	"deletionGracePeriodSeconds", "managedFields", "selfLink",
}

// flattenFields lists the fields of an object by path. Requirements and taints are identified by their keys, so that
// their order does not matter; other lists are one value.
func flattenFields(obj map[string]any) map[string]any {
	fields := map[string]any{}
	for key, value := range obj {
		switch key {
		case "apiVersion", "kind", "status":
		case "metadata":
			metadata, _ := value.(map[string]any)
			for part, of := range metadata {
				if !slices.Contains(served, part) {
					flattenInto(fields, "metadata."+part, of)
				}
			}
		default:
			flattenInto(fields, key, value)
		}
	}
	return fields
}

func flattenInto(fields map[string]any, path string, value any) {
	switch v := value.(type) {
	case nil:
	case map[string]any:
		if len(v) == 0 {
			fields[path] = v // the hash of an empty map differs from that of none
		}
		for key, inner := range v {
			flattenInto(fields, joinPath(path, key), inner)
		}
	case []any:
		name := elementNamer(path)
		if name == nil || len(v) == 0 {
			fields[path] = v
			return
		}
		for _, element := range v {
			at := path + "[" + name(element) + "]"
			same, _ := fields[at].([]any)
			fields[at] = append(same, element)
		}
	default:
		fields[path] = v
	}
}

// joinPath adds a key to a path. Keys with dots or slashes, such as labels, are in brackets.
func joinPath(path, key string) string {
	if strings.ContainsAny(key, "./") {
		return path + "[" + key + "]"
	}
	return path + "." + key
}

// PathOf turns a JSON pointer into the path of a field.
func PathOf(pointer string) string {
	unescaped := strings.NewReplacer("~1", "/", "~0", "~")
	path := ""
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		path = joinPath(path, unescaped.Replace(step))
	}
	return strings.TrimPrefix(path, ".")
}

// elementNamer returns the function that names the elements of the list at a path; nil for lists that are compared as
// a whole.
func elementNamer(path string) func(any) string {
	field := func(element any, key string) string {
		m, _ := element.(map[string]any)
		return fmt.Sprint(m[key])
	}
	switch {
	case strings.HasSuffix(path, ".requirements"):
		return func(e any) string { return field(e, "key") }
	case strings.HasSuffix(path, ".taints"), strings.HasSuffix(path, ".startupTaints"):
		return func(e any) string { return field(e, "key") + ":" + field(e, "effect") }
	}
	return nil
}

// manifestPath turns a path of flattenFields into one of the manifest, with indexes of list elements. It returns
// false if the manifest does not have the field.
func manifestPath(manifest map[string]any, path string) (string, bool) {
	list, rest, inList := strings.Cut(path, "[")
	if !inList {
		return path, lookupPath(manifest, path) != nil
	}
	name := strings.TrimSuffix(rest, "]")
	switch v := lookupPath(manifest, list).(type) {
	case map[string]any:
		_, ok := v[name]
		return list + "." + name, ok
	case []any:
		of := elementNamer(list)
		i := slices.IndexFunc(v, func(e any) bool { return of != nil && of(e) == name })
		return fmt.Sprintf("%s.%d", list, i), i >= 0
	}
	return "", false
}

// lookupPath returns the value at a dotted path; nil if there is none.
func lookupPath(obj map[string]any, path string) any {
	value, _ := manifest.Lookup(obj, strings.Split(path, ".")...)
	return value
}
