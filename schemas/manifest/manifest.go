// Package manifest reads Kubernetes objects in their JSON form: the identity of an object, values
// at a path, conversion to a Go type (typed.go), and duplicate keys in text (jsonkeys.go). It
// defines the annotation that names the revision of a NodePlan that last changed a part of an
// object which replaces nodes (rolledby.go).
//
// It imports no other package of this project, and knows no kind and no field beyond the metadata
// of all objects. Only Ensure modifies its argument.
package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
)

// Line writes a value as one line of JSON, with its keys in a fixed order. JSON must be able to write all its parts.
func Line(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("write %T as JSON: %v", v, err))
	}
	return string(text)
}

// Key identifies an object in a cluster, independent of its content. The kinds of this project have
// distinct names, so no API group is needed. The zero Key identifies no object.
type Key struct{ Kind, Namespace, Name string }

// Conflict is a field that an apply would not change, because another manager has set it to another
// value.
type Conflict struct {
	Path  string `json:"path"` // such as spec.weight
	Owner string `json:"owner" doc:"The field manager."`
	// Holder is the name of the NodePlan that applies the whole object and would revert the change;
	// "" if only the field is contested.
	Holder string `json:"holder,omitempty" doc:"The NodePlan that manages the whole object."`
}

// KeyOf returns the key of an object. Fields that the object does not set are empty.
func KeyOf(object map[string]any) Key {
	return Key{Kind: Kind(object), Namespace: Namespace(object), Name: Name(object)}
}

// String names the object for people: "NodePool general", or "CapacityBuffer web/spare" if it has a
// namespace.
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

// Namespace returns the namespace of an object; "" if its kind has none.
func Namespace(object map[string]any) string { return Text(object, "metadata", "namespace") }

// UID returns the UID of a live object; "" for others.
func UID(object map[string]any) string { return Text(object, "metadata", "uid") }

// Label returns the value of a label; "" if the object does not have it.
func Label(object map[string]any, name string) string {
	return Text(object, "metadata", "labels", name)
}

// Deleted reports whether a live object has been deleted and waits for its finalizers.
func Deleted(object map[string]any) bool {
	return Text(object, "metadata", "deletionTimestamp") != ""
}

// Text returns the string at a path of names; "" if there is none.
func Text(object map[string]any, path ...string) string {
	value, _ := Lookup(object, path...)
	text, _ := value.(string)
	return text
}

// Map returns the map at a path of names, shared with the object; nil if there is none.
func Map(object map[string]any, path ...string) map[string]any {
	value, _ := Lookup(object, path...)
	fields, _ := value.(map[string]any)
	return fields
}

// Lookup returns the value at a path of names. It finds null values.
func Lookup(object map[string]any, path ...string) (value any, found bool) {
	value, found = object, object != nil
	for _, name := range path {
		fields, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		value, found = fields[name]
		if !found {
			return nil, false
		}
	}
	return value, found
}

// Annotated returns a copy of an object with an annotation; "" removes it. The copy shares
// everything else with the object, which is not modified.
func Annotated(object map[string]any, key, value string) map[string]any {
	object, metadata, annotations := maps.Clone(object), map[string]any{}, map[string]any{}
	maps.Copy(metadata, Map(object, "metadata"))
	maps.Copy(annotations, Map(metadata, "annotations"))
	annotations[key] = value
	if value == "" {
		delete(annotations, key)
	}
	metadata["annotations"] = annotations
	if len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	object["metadata"] = metadata
	return object
}

// Ensure returns the map at a path of names, and creates it if there is none.
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
