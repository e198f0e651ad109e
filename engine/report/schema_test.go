package report

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/engine/plan"
)

// Schema is the JSON Schema (draft 2020-12) of a Document or a Fleet.
// It is generated from the Go types, so that it cannot differ from them.
func Schema() map[string]any {
	s := schema{}
	top := s.of(reflect.TypeFor[Document]())
	fleet := s.of(reflect.TypeFor[Fleet]())
	return map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "lkeplan plan",
		"description": fmt.Sprintf("What lkeplan diff -o json writes, version %s: a document of one directory, or a fleet "+
			"of several.", FormatVersion),
		"anyOf": []any{top, fleet},
		"$defs": s,
	}
}

// schema is the definitions of types by their names.
type schema map[string]any

// of describes a type. Structs are defined once and referred to.
func (s schema) of(t reflect.Type) map[string]any {
	if t.Kind() == reflect.String {
		if words, ok := values[reflect.Zero(t).Interface()]; ok {
			return map[string]any{"enum": words}
		}
	}
	switch t {
	case reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case reflect.TypeFor[plan.Count]():
		return map[string]any{"anyOf": []any{map[string]any{"type": "integer"}, map[string]any{"type": "null"}}}
	case reflect.TypeFor[amount](), reflect.TypeFor[plan.Amount]():
		return map[string]any{"type": "string", "pattern": `^(-?[0-9]+\.[0-9]{2}|` + string(unlimited+"|"+unknown) + `)$`}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Struct:
		if t.NumField() == 0 {
			return map[string]any{"type": "object", "additionalProperties": false}
		}
		name := names[t]
		if name == "" {
			name = strings.ToLower(t.Name()[:1]) + t.Name()[1:]
		}
		if _, done := s[name]; !done {
			s[name] = nil // types may contain themselves
			s[name] = s.structure(t)
		}
		return map[string]any{"$ref": "#/$defs/" + name}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int:
		return map[string]any{"type": "integer"}
	}
	return map[string]any{} // any value
}

// structure describes the members of a struct. Members with omitempty are optional; other pointers and maps may be null.
func (s schema) structure(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []any{}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || f.Anonymous || name == "-" || f.Tag.Get("doc") == "-" {
			continue
		}
		property := s.of(f.Type)
		if options == "" {
			required = append(required, name)
			if f.Type.Kind() == reflect.Pointer || f.Type.Kind() == reflect.Map {
				property = map[string]any{"anyOf": []any{property, map[string]any{"type": "null"}}}
			}
		}
		if doc := f.Tag.Get("doc"); doc != "" {
			property["description"] = doc
		}
		properties[name] = property
	}
	return map[string]any{
		"type": "object", "properties": properties, "required": required, "additionalProperties": false,
	}
}

// names are the definitions that are not named after their types.
var names = map[reflect.Type]string{
	reflect.TypeFor[plan.Verdict](): "guard", reflect.TypeFor[plan.Pace](): "budgetReport", reflect.TypeFor[plan.Held](): "hold",
	reflect.TypeFor[plan.Move](): "nodeMove",
}

// values are the possible values of the string types of a plan.
var values = map[any][]any{
	plan.Action(""):       {plan.Create, plan.Update, plan.Delete, plan.Keep, plan.Forget},
	plan.Effect(""):       {plan.None, plan.InPlace, plan.MayRemove, plan.Roll, plan.DeleteNodes},
	plan.RemovalStage(""): {plan.StartRemoval, plan.Drained, plan.CancelRemoval},
	plan.Status(""):       {plan.Passed, plan.Blocked, plan.Allowed, plan.Unknown, plan.Changed, plan.Waiting},
	plan.HoldReason(""):   {plan.HeldByPDB, plan.HeldByDoNotDisrupt, plan.NoRoom, plan.HeldAsLoop, plan.NoOtherPlace},
}
