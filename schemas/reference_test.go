package schemas_test

import (
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/schemas"
)

// TestKinds checks that the reference and the JSON Schema know each kind of value. A missing kind
// would be "any value".
func TestKinds(t *testing.T) {
	defs := schemas.JSONSchema()["$defs"].(map[string]any)
	var walk func(block schemas.Block, name string)
	walk = func(block schemas.Block, name string) {
		properties := defs[name].(map[string]any)["properties"].(map[string]any)
		for _, arg := range block.Args {
			_, limited := properties[arg.Name].(map[string]any)["anyOf"]
			if free := arg.Kind == schemas.Any; free == limited {
				t.Errorf("%s.%s: the schema limits the value: %v", name, arg.Name, limited)
			}
			if (arg.Kind == schemas.Any) != (arg.Kind.String() == "any value") {
				t.Errorf("%s.%s: the reference calls the value %q", name, arg.Name, arg.Kind)
			}
		}
		for _, nested := range block.Blocks {
			walk(nested, strings.TrimPrefix(name+"."+nested.Type, "document."))
		}
	}
	walk(schemas.Block{Blocks: schemas.Document()}, "document")
}

// TestReferenceEscapes checks that pipes in a text do not end a table cell.
func TestReferenceEscapes(t *testing.T) {
	page := schemas.Reference([]schemas.Function{{Group: "G", Signature: "f()", Doc: "a | b", Example: "x || y",
		Result: "z"}}, nil)
	if want := "| `f()` | a \\| b | `x \\|\\| y` | `z` |\n"; !strings.Contains(page, want) {
		t.Errorf("got %s", page[len(page)-80:])
	}
}
