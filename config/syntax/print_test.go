package syntax_test

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/requirement"
	"github.com/lkeplan/lkeplan/config/syntax"
)

func TestPrint(t *testing.T) {
	long := cty.StringVal("a string that is long enough for two of it not to fit on one line")
	tests := []struct {
		v    cty.Value
		want string
	}{
		{cty.NullVal(cty.String), `null`},
		{cty.DynamicVal, `(unknown)`},
		{cty.StringVal("a\n${b}"), `"a\n$${b}"`},
		{cty.NumberFloatVal(1.5), `1.5`},
		{cty.SetVal([]cty.Value{cty.True}), `toset([true])`},
		{cty.EmptyTupleVal, `[]`},
		{cty.EmptyObjectVal, `{}`},
		{requirement.Value(requirement.Requirement{Terms: []requirement.Term{{Operator: requirement.DoesNotExist}}}),
			`absent()`},
		{cty.ObjectVal(map[string]cty.Value{"b": cty.True, "a/b": cty.False}), `{ "a/b" = false, b = true }`},
		{cty.TupleVal([]cty.Value{long, long}),
			"[\n  " + `"` + long.AsString() + "\",\n  \"" + long.AsString() + "\",\n]"},
		{cty.ObjectVal(map[string]cty.Value{"a": long, "bc": cty.EmptyTupleVal}),
			"{\n  a  = \"" + long.AsString() + "\"\n  bc = []\n}"},
	}
	for _, tt := range tests {
		if got := syntax.Print(tt.v); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}
