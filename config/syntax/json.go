package syntax

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/eval"
)

// A nativeBody presents a JSON body with native expressions. HCL's JSON expressions parse templates
// again for each evaluation, where the meter cannot check or count them.
type nativeBody struct {
	hcl.Body
	file    *jsonFile
	dynamic bool // its for_each repeats a block
}

// A jsonFile caches the translated expressions of one file by their place.
type jsonFile struct {
	meter       *eval.Meter
	expressions map[int]translated
}

type translated struct {
	expr  hcl.Expression
	diags hcl.Diagnostics
}

// Content returns the content of the JSON body, converted.
func (b nativeBody) Content(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	content, diags := b.Body.Content(schema)
	return content, append(diags, b.convert(content)...)
}

// PartialContent returns the partial content of the JSON body, converted.
func (b nativeBody) PartialContent(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Body, hcl.Diagnostics) {
	content, remain, diags := b.Body.PartialContent(schema)
	return content, nativeBody{remain, b.file, b.dynamic}, append(diags, b.convert(content)...)
}

// JustAttributes returns the attributes of the JSON body, converted.
func (b nativeBody) JustAttributes() (hcl.Attributes, hcl.Diagnostics) {
	attrs, diags := b.Body.JustAttributes()
	return attrs, append(diags, b.convertAttributes(attrs)...)
}

func (b nativeBody) convert(content *hcl.BodyContent) hcl.Diagnostics {
	for _, block := range content.Blocks {
		block.Body = nativeBody{block.Body, b.file, block.Type == dynamic}
	}
	return b.convertAttributes(content.Attributes)
}

func (b nativeBody) convertAttributes(attrs hcl.Attributes) (diags hcl.Diagnostics) {
	for _, attr := range attrs {
		t := b.file.translate(attr.Expr)
		attr.Expr = t.expr
		if loop, ok := t.expr.(hclsyntax.Expression); ok && b.dynamic && attr.Name == "for_each" {
			attr.Expr = b.file.meter.Loop(loop)
		}
		diags = append(diags, t.diags...)
	}
	return diags
}

func (f *jsonFile) translate(original hcl.Expression) translated {
	at := original.Range()
	if t, ok := f.expressions[at.Start.Byte]; ok {
		return t
	}
	expr, diags := native(original)
	if !diags.HasErrors() {
		diags = append(diags, guard(expr, f.meter)...)
	}
	if diags.HasErrors() { // not evaluated
		expr = &hclsyntax.LiteralValueExpr{Val: cty.DynamicVal, SrcRange: at}
	}
	f.expressions[at.Start.Byte] = translated{expr, diags}
	return f.expressions[at.Start.Byte]
}

// native translates a JSON value: arrays and objects to their native counterparts, strings to
// templates. The range of a template is that of the string, which is exact unless it contains
// escapes.
func native(expr hcl.Expression) (hclsyntax.Expression, hcl.Diagnostics) {
	if items, diags := hcl.ExprList(expr); !diags.HasErrors() {
		return nativeTuple(items, expr)
	}
	if items, diags := hcl.ExprMap(expr); !diags.HasErrors() {
		return nativeObject(items, expr)
	}
	v, diags := expr.Value(nil) // without a context, strings are not templates
	if v.Type() != cty.String || v.IsNull() || diags.HasErrors() {
		return &hclsyntax.LiteralValueExpr{Val: v, SrcRange: expr.Range()}, diags
	}
	return template(v.AsString(), expr.Range())
}

func nativeTuple(items []hcl.Expression, expr hcl.Expression) (hclsyntax.Expression, hcl.Diagnostics) {
	tuple := &hclsyntax.TupleConsExpr{SrcRange: expr.Range(), OpenRange: expr.StartRange()}
	var diags hcl.Diagnostics
	for _, item := range items {
		e, d := native(item)
		tuple.Exprs = append(tuple.Exprs, e)
		diags = append(diags, d...)
	}
	return tuple, diags
}

func nativeObject(items []hcl.KeyValuePair, expr hcl.Expression) (hclsyntax.Expression, hcl.Diagnostics) {
	object := &hclsyntax.ObjectConsExpr{SrcRange: expr.Range(), OpenRange: expr.StartRange()}
	var diags hcl.Diagnostics
	for _, item := range items {
		key, keyDiags := native(item.Key)
		value, valueDiags := native(item.Value)
		object.Items = append(object.Items, hclsyntax.ObjectConsItem{KeyExpr: key, ValueExpr: value})
		diags = append(append(diags, keyDiags...), valueDiags...)
	}
	return object, diags
}

func template(text string, at hcl.Range) (hclsyntax.Expression, hcl.Diagnostics) {
	start := at.Start
	start.Byte++ // the opening quote
	start.Column++
	if _, diags := scan(hclsyntax.LexTemplate, []byte(text), at.Filename, start); diags.HasErrors() {
		return &hclsyntax.LiteralValueExpr{Val: cty.DynamicVal, SrcRange: at}, diags
	}
	expr, diags := hclsyntax.ParseTemplate([]byte(text), at.Filename, start)
	// A string with a single expression is that expression, because addresses and types are read,
	// not evaluated.
	if wrap, ok := expr.(*hclsyntax.TemplateWrapExpr); ok {
		return wrap.Wrapped, diags
	}
	return expr, diags
}
