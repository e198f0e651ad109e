// Package manifest reads Kubernetes objects as JSON has them: which object one
// is, what stands at a path of it, its Go type (typed.go), and whether text gives
// a key twice (jsonkeys.go). It has the note on an object that says which revision of which
// NodePlan last changed what replaces its nodes (rolledby.go).
//
// It is a leaf. It knows no kind and no field beyond the metadata that all
// objects have. Only Ensure changes what it reads.
package manifest

import "maps"

// Key says which object of a cluster one is, whatever it holds. Kinds of this
// project have different names, so that no API group is needed. The zero Key is
// that of no object.
type Key struct{ Kind, Namespace, Name string }

// Conflict is a field that an apply would leave as it is, because another manager has set it to
// another value.
type Conflict struct {
	Path  string // such as spec.weight
	Owner string // the field manager
	// Holder applies the whole object and would take it back: the NodePlan of that
	// name; "" where the field is all that is contested.
	Holder string
}

// KeyOf returns the key of an object. What the object does not say is empty.
func KeyOf(object map[string]any) Key {
	return Key{Kind: Kind(object), Namespace: Namespace(object), Name: Name(object)}
}

// String names the object for people: "NodePool general", or "CapacityBuffer
// web/spare" where it has a namespace.
func (k Key) String() string {
	if k.Namespace != "" {
		return k.Kind + " " + k.Namespace + "/" + k.Name
	}
	return k.Kind + " " + k.Name
}

// APIVersion returns the group and version of an object's kind.
func APIVersion(object map[string]any) string { return Text(object, "apiVersion") }

// Kind returns the kind of an object.
func Kind(object map[string]any) string { return Text(object, "kind") }

// Name returns the name of an object.
func Name(object map[string]any) string { return Text(object, "metadata", "name") }

// Namespace returns the namespace of an object; "" where its kind has none.
func Namespace(object map[string]any) string { return Text(object, "metadata", "namespace") }

// UID returns the identifier that the API server gave a live object; "" before.
func UID(object map[string]any) string { return Text(object, "metadata", "uid") }

// Label returns the value of a label; "" where the object does not have it.
func Label(object map[string]any, name string) string {
	return Text(object, "metadata", "labels", name)
}

// Deleted reports whether a live object has been deleted and stays until its
// finalizers are gone.
func Deleted(object map[string]any) bool {
	return Text(object, "metadata", "deletionTimestamp") != ""
}

// Text returns the string at a path of names; "" where there is none.
func Text(object map[string]any, path ...string) string {
	value, _ := Lookup(object, path...)
	text, _ := value.(string)
	return text
}

// Map returns the map at a path of names, which the object shares; nil where
// there is none.
func Map(object map[string]any, path ...string) map[string]any {
	value, _ := Lookup(object, path...)
	fields, _ := value.(map[string]any)
	return fields
}

// Lookup returns the value at a path of names. A null that is there is found.
func Lookup(object map[string]any, path ...string) (value any, found bool) {
	value, found = object, object != nil
	for _, name := range path {
		fields, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		if value, found = fields[name]; !found {
			return nil, false
		}
	}
	return value, found
}

// Annotated returns an object with an annotation, or with "" without it. It shares all else with the
// object, which is not changed.
func Annotated(object map[string]any, key, value string) map[string]any {
	object, metadata, annotations := maps.Clone(object), map[string]any{}, map[string]any{}
	maps.Copy(metadata, Map(object, "metadata"))
	maps.Copy(annotations, Map(metadata, "annotations"))
	if annotations[key] = value; value == "" {
		delete(annotations, key)
	}
	if metadata["annotations"] = annotations; len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	object["metadata"] = metadata
	return object
}

// Ensure returns the map at a path of names, which it makes where there is none.
func Ensure(object map[string]any, path ...string) map[string]any {
	for _, name := range path {
		inner, ok := object[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			object[name] = inner
		}
		object = inner
	}
	return object
}
