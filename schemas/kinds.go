package schemas

// Kind says what an argument's value looks like. Packages config/decode and config/encode decide
// how a value is read and written.
type Kind int

// The kinds of value. If HCL and Kubernetes spell a value alike, the kind is named after the value.
// If they differ, it is named after what the value stands for.
const (
	String       Kind = iota // text; a number or a bool is taken as text
	Bool                     //
	Number                   // a whole number
	ID                       // a whole number above zero, assigned by Linode
	Duration                 // "720h", "5m", or "Never" where the field allows it
	Strings                  // a list of strings, order kept
	Tags                     // a set of strings, sorted
	StringMap                // keys chosen by the user
	Quantities               // a map of resource names to amounts: { cpu = 400, memory = "1600Gi" }
	Taints                   // a list of "key=value:Effect"
	Requirements             // a map of keys to requirement values
	NodeClassRef             // a reference: node_class.default
	Any                      // any value, passed on as it is
	Type                     // a type expression; only in variable blocks
	Condition                // an expression that is true or false, evaluated in its own place
	Address                  // the address of a block or of one of its elements: pool.team["ml"]
	Selector                 // requirements that select existing things: without minValues
	PoolRefs                 // a list of references: [pool.general, pool.team["ml"]]
	Quantity                 // an amount: 400, "1600Gi"
	Money                    // US dollars: 5000, "99.50"
	LabelKeys                // a set of keys of labels and annotations, stored as text with commas
)

// The forms of text that an argument can have. A pattern matches the whole text.
const (
	DurationPattern = `^([0-9]+(s|m|h))+$|^Never$`
	QuantityPattern = `^[0-9]{1,18}(\.[0-9]{0,9})?([numkMGTPE]|[KMGTPE]i|[eE][0-9]{1,2})?$`
	MoneyPattern    = `^[0-9]{1,12}(\.[0-9]{1,2})?$`
)

// A kindRow describes the values of arguments of one kind, for the reference and the JSON Schema.
type kindRow struct {
	text string // for readers
	// forms are the forms that a value can have in JSON, in addition to an expression; nil allows
	// any. A value that an expression converts is accepted if the result is.
	forms []any
}

var (
	jsonScalar   = object{"type": []any{"string", "number", "boolean"}}
	jsonTaint    = object{"type": "string", "pattern": `:(NoSchedule|PreferNoSchedule|NoExecute)$|[$%]\{`}
	jsonList     = []any{object{"type": "array", "items": jsonScalar}}
	jsonAmount   = []any{object{"type": "number"}, object{"type": "string", "pattern": "^[0-9]"}}
	jsonNullable = object{"type": []any{"string", "number", "boolean", "null"}}
	jsonMap      = []any{object{"type": "object", "additionalProperties": jsonNullable}}
	jsonRef      = object{
		"type":       "object",
		"properties": object{"kind": jsonScalar, "name": jsonScalar},
		"required":   []any{"kind", "name"},
	}
)

// kinds has a row for each Kind.
var kinds = map[Kind]kindRow{
	String: {"text", []any{jsonScalar}},
	Bool:   {"true or false", []any{object{"enum": []any{true, false, "true", "false"}}}},
	Number: {"whole number", []any{object{"type": "integer"}, object{"type": "string", "pattern": "^-?[0-9]+$"}}},
	ID: {"id",
		[]any{object{"type": "integer", "minimum": 1}, object{"type": "string", "pattern": "^[0-9]+$"}}},
	Duration:     {"duration", []any{object{"type": "string", "pattern": DurationPattern}}},
	Strings:      {"list of text", jsonList},
	Tags:         {"list of text", jsonList},
	StringMap:    {"map of text", jsonMap},
	Quantities:   {"map of amounts", jsonMap},
	Taints:       {"list of taints", []any{object{"type": "array", "items": jsonTaint}}},
	Requirements: {"map of requirements", []any{jsonRequirements()}},
	Selector:     {"map of requirements", []any{jsonRequirements()}},
	NodeClassRef: {"reference", []any{jsonRef}},
	PoolRefs:     {"list of references", []any{object{"type": "array"}}},
	Any:          {"any value", nil},
	Type:         {"type", []any{object{"type": "string"}}},
	// Text too, as an error_message is.
	Condition: {"expression", []any{object{"type": []any{"string", "boolean"}}}},
	// An expression: "${pool.web}".
	Address:   {"address", []any{}},
	LabelKeys: {"list of text", jsonList},
	Quantity:  {"amount", jsonAmount},
	Money:     {"US dollars", jsonAmount},
}

// String describes a value of the kind to readers.
func (k Kind) String() string { return kinds[k].text }
