package schemas

import "slices"

// JSONSchema returns the schema of *.lke.json files (draft 2020-12), for editors and for programs
// that write such files. It is as strict as the table. It does not check the results of expressions
// or the rules of the CRDs.
func JSONSchema() map[string]any {
	s := jsonSchema{
		"expression": object{
			"description": "A template: text with ${...} or %{...} in it, evaluated as HCL.",
			"type":        "string",
			"pattern":     `[$%]\{`,
		},
		"requirement": object{
			"description": "A value that must match, a list of allowed values, or an expression such as " +
				"${between(4, 32)}.",
			"type":  []any{"string", "number", "boolean", "array", "null"},
			"items": object{"type": []any{"string", "number", "boolean"}},
		},
	}
	s.body(Block{Blocks: Document()}, "document", false)
	return object{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"title":       "lkeplan",
		"description": "Node pools for LKE, in JSON: the syntax of *.lke.json files.",
		"$ref":        "#/$defs/repeated." + s.repeated("document"),
		"$defs":       object(s),
	}
}

type object = map[string]any

// A jsonSchema collects the definitions that a schema refers to.
type jsonSchema object

// body defines the body of a block under a name. Blocks that compile to objects can have dynamic
// blocks.
func (s jsonSchema) body(block Block, name string, dynamic bool) {
	properties := object{"//": object{"description": "A comment."}}
	var required []any
	for _, arg := range block.Args {
		properties[arg.Name] = s.argument(arg)
		if arg.Required {
			required = append(required, arg.Name)
		}
	}
	generators := object{}
	for _, nested := range block.Blocks {
		of := name + "." + nested.Type
		if name == "document" {
			of = nested.Type
		}
		s.body(nested, of, dynamic || nested.Object != nil)
		properties[nested.Type] = s.labelled(nested.Labels, of)
		generators[nested.Type] = s.generator(of)
	}
	if dynamic && len(generators) > 0 {
		properties["dynamic"] = object{
			"description":          "Nested blocks that are generated for each element of a list or map.",
			"type":                 "object",
			"properties":           generators,
			"additionalProperties": false,
		}
	}
	body := object{"type": "object", "properties": properties, "additionalProperties": block.Open}
	if block.Doc != "" {
		body["description"] = block.Modes.prefix() + block.Doc
	}
	if len(required) > 0 {
		body["required"] = required
	}
	s[name] = body
}

// labelled returns the schema of the property for a block type: the body, below its labels.
func (s jsonSchema) labelled(labels []string, name string) object {
	schema := object{"$ref": "#/$defs/repeated." + s.repeated(name)}
	for _, label := range labels {
		level := object{"type": "object", "additionalProperties": schema}
		if label == "name" { // references contain it
			level["propertyNames"] = object{"pattern": `^[\p{L}_][\p{L}\p{N}_-]*$`}
		}
		schema = oneOrMany(level)
	}
	return schema
}

// generator returns the schema of a dynamic block.
func (s jsonSchema) generator(name string) object {
	s["dynamic."+name] = object{
		"type": "object",
		"properties": object{
			"for_each": object{"description": "The elements. The content refers to each as TYPE.key and TYPE.value."},
			"iterator": object{"type": "string", "description": "The name of the element in the content. " +
				"Default: the type of the block."},
			"labels":  object{"type": "array", "description": "The labels of the block."},
			"content": object{"$ref": "#/$defs/repeated." + s.repeated(name)},
		},
		"required":             []any{"for_each", "content"},
		"additionalProperties": false,
	}
	return oneOrMany(object{"$ref": "#/$defs/dynamic." + name})
}

// repeated defines a body, or a list of such bodies.
func (s jsonSchema) repeated(name string) string {
	s["repeated."+name] = oneOrMany(object{"$ref": "#/$defs/" + name})
	return name
}

// oneOrMany also allows a list of values of the schema. With a condition, editors show better
// messages than with a choice of two schemas.
func oneOrMany(schema object) object {
	return object{
		"if":   object{"type": "array"},
		"then": object{"items": schema},
		"else": schema,
	}
}

// argument returns the schema of an argument. Each argument can be an expression. Optional
// arguments can be null.
func (s jsonSchema) argument(arg Arg) object {
	forms := jsonForms(arg)
	schema := object{}
	if forms != nil {
		forms = append(forms, object{"$ref": "#/$defs/expression"})
		if !arg.Required {
			forms = append(forms, object{"type": "null"})
		}
		schema["anyOf"] = forms
	}
	schema["description"] = arg.About()
	if arg.Default != "" {
		schema["description"] = arg.About() + " Default: " + arg.Default + "."
	}
	return schema
}

// jsonForms returns the schemas of values other than expressions; nil allows any.
func jsonForms(arg Arg) []any {
	if len(arg.OneOf) == 0 {
		return slices.Clone(kinds[arg.Kind].forms)
	}
	var values []any
	for _, value := range arg.OneOf {
		values = append(values, value)
	}
	return []any{object{"enum": values}}
}

// jsonRequirements returns the schema of a map of short names, or full labels, to values.
func jsonRequirements() object {
	names, properties := []any{}, object{}
	for _, key := range Keys() {
		names = append(names, key.Name)
		properties[key.Name] = object{"$ref": "#/$defs/requirement", "description": key.Doc}
	}
	return object{
		"type":                 "object",
		"properties":           properties,
		"additionalProperties": object{"$ref": "#/$defs/requirement"},
		"propertyNames":        object{"anyOf": []any{object{"enum": names}, object{"pattern": `/|[$%]\{`}}},
	}
}
