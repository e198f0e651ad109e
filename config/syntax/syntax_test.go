package syntax_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/syntax"
)

// TestJSON compares expressions in JSON with the results of HCL.
func TestJSON(t *testing.T) {
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{"x": cty.NumberIntVal(4),
		"list": cty.TupleVal([]cty.Value{cty.True})}}
	tests := []struct {
		src  string
		want cty.Value
	}{
		{`"text"`, cty.StringVal("text")},
		{`""`, cty.StringVal("")},
		{`"a ${x} b"`, cty.StringVal("a 4 b")},
		{`"${x}"`, cty.NumberIntVal(4)},
		{`"${list}"`, cty.TupleVal([]cty.Value{cty.True})},
		{`"$${x}"`, cty.StringVal("${x}")},
		{`"a \"quote\""`, cty.StringVal(`a "quote"`)},
		{`4`, cty.NumberIntVal(4)},
		{`true`, cty.True},
		{`null`, cty.NullVal(cty.DynamicPseudoType)},
		{`["a", "${x}", []]`, cty.TupleVal([]cty.Value{cty.StringVal("a"), cty.NumberIntVal(4), cty.EmptyTupleVal})},
		{`{"a": 1, "k${x}": {"b": "${x}"}}`, cty.ObjectVal(map[string]cty.Value{
			"a": cty.NumberIntVal(1), "k4": cty.ObjectVal(map[string]cty.Value{"b": cty.NumberIntVal(4)}),
		})},
	}
	for _, tt := range tests {
		t.Run(tt.src, func(t *testing.T) {
			file, diags := syntax.Parse("test.json", []byte(`{"a": `+tt.src+`}`))
			attrs, attrDiags := file.Body.JustAttributes()
			if diags = append(diags, attrDiags...); diags.HasErrors() {
				t.Fatal(diags)
			}
			got, diags := attrs["a"].Expr.Value(ctx)
			if diags.HasErrors() || !got.RawEquals(tt.want) {
				t.Errorf("got %#v, %v", got, diags)
			}
		})
	}
}

// TestPartsOfJSON: elements, keys and values of an expression in JSON are as strict as the whole.
func TestPartsOfJSON(t *testing.T) {
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{"x": cty.Zero}}
	for _, src := range []string{`["${1 / x}"]`, `[["${1 / x}"]]`, `{"${1 / x}": 1}`, `{"a": "${1 / x}"}`} {
		file, _ := syntax.Parse("test.json", []byte(`{"a": `+src+`}`))
		attrs, _ := file.Body.JustAttributes()
		parts, _ := hcl.ExprList(attrs["a"].Expr)
		pairs, _ := hcl.ExprMap(attrs["a"].Expr)
		for _, pair := range pairs {
			parts = append(parts, pair.Key, pair.Value)
		}
		var diags hcl.Diagnostics
		for _, part := range parts {
			_, more := part.Value(ctx)
			diags = append(diags, more...)
		}
		if !strings.Contains(diags.Error(), "division by zero") {
			t.Errorf("%s: %v", src, diags)
		}
	}
}

// TestNesting checks the maximum nesting, and one level more.
func TestNesting(t *testing.T) {
	for _, tt := range []struct {
		name, part, end string
		most            int
	}{
		{"brackets", "[", "]", 98},
		{"not", "!", "", 99},
		{"conditionals", "true?1:", "", 99},
		{"operators", "1+", "", 1000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			parses := func(n int) bool {
				src := strings.Repeat(tt.part, n) + "1" + strings.Repeat(tt.end, n)
				_, diags := syntax.ParseExpression("test", src)
				return !diags.HasErrors()
			}
			if !parses(tt.most) {
				t.Errorf("%d do not parse", tt.most)
			}
			if parses(tt.most + 2) {
				t.Errorf("%d parse", tt.most+2)
			}
		})
	}
}

// TestNestingInJSON: neither brackets of JSON nor those of a template in a string, also behind escapes, overflow the stack.
func TestNestingInJSON(t *testing.T) {
	template := func(n int) string { return "${" + strings.Repeat("[", n) + "1" + strings.Repeat("]", n) + "}" }
	for name, tt := range map[string]struct {
		src  string
		deep bool
	}{
		"arrays":             {strings.Repeat("[", 200) + strings.Repeat("]", 200), true},
		"a template":         {`{"a": "` + template(200) + `"}`, true},
		"a template of few":  {`{"a": "` + template(50) + `"}`, false},
		"a template in text": {`{"a": "\"\u0041 ` + template(200) + `"}`, true},
		"a key":              {`{"` + template(200) + `": 1}`, true},
		"brackets in text":   {`{"a": "` + strings.Repeat("[", 200) + `"}`, false},
	} {
		_, diags := syntax.Parse("test.json", []byte(tt.src))
		if deep := strings.Contains(diags.Error(), "Nested too deeply"); deep != tt.deep {
			t.Errorf("%s: %v", name, diags)
		}
	}
}

// TestOrdinary checks ordinary files that must not be rejected as nested too deeply.
func TestOrdinary(t *testing.T) {
	for name, src := range map[string]string{
		"many blocks":        strings.Repeat("b {\n  a = x ? 1 : 2\n  c = -1\n}\n", 2000),
		"many items":         "a = [\n" + strings.Repeat("  x ? -1 : -2,\n", 900) + "]\n",
		"an object's items":  "a = {\n" + strings.Repeat("  k = x ? { n = 1 } : { n = 2 }\n", 1) + "}\n",
		"a long text":        "a = <<E\n" + strings.Repeat("Is it [{( true!?\n", 3000) + "E\n",
		"a comment":          strings.Repeat("# ----------------------\n", 1000) + "a = 1\n",
		"templates in a row": "a = \"" + strings.Repeat("${x}", 900) + "\"\n",
		"directives":         "a = <<E\n" + strings.Repeat("%{if x}y%{else}z%{endif}\n", 500) + "E\n",
	} {
		t.Run(name, func(t *testing.T) {
			if _, diags := syntax.Parse("test.hcl", []byte(src)); diags.HasErrors() {
				t.Error(diags)
			}
		})
	}
}
