// Package decode reads the blocks of the language by their tables. Arguments become values for
// expressions and fields of a Kubernetes object, with their places in the source. Package encode is
// its inverse.
//
// It reads one body at a time, and knows no names, modules or other blocks: a scope resolves the
// references of expressions, and the caller interprets the block. It repeats no rules of the CRDs,
// except to give better messages.
package decode

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/dynblock"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// A Result is the content of a body.
type Result struct {
	Value   cty.Value      // the arguments by name, as values in expressions
	Fields  map[string]any // the same by path of the table, in JSON form, with whole numbers as int64
	Origins Origins        // of the fields
	Unknown []hcl.Range    // of unknown values, usually because of an error elsewhere
	Diags   hcl.Diagnostics
}

// Whole reports whether all values are known.
func (r Result) Whole() bool { return len(r.Unknown) == 0 && !r.Diags.HasErrors() }

// Block reads the body of a block by its table.
func Block(table schemas.Block, block *hcl.Block, scope *eval.Scope) Result {
	d := newDecoder(block, scope)
	fields := map[string]any{}
	value := d.block(table, block.Body, place{fields: fields})
	return d.result(value, fields)
}

// Object reads the body of a block that compiles to an object. It expands dynamic blocks and merges
// the argument manifest over the fields of the table. The fields are the complete object, except
// for the name if the block does not set one.
func Object(table schemas.Block, block *hcl.Block, scope *eval.Scope) Result {
	d := newDecoder(block, scope)
	object := map[string]any{"apiVersion": table.Object.APIVersion, "kind": table.Object.Kind}
	value := d.object(table, block.Body, place{fields: object})
	// With server-side apply, an object without fields would have no owner.
	place{fields: object}.sub("spec")
	if !d.diags.HasErrors() {
		d.checkReserved(object)
		d.checkInPlace(object)
		d.checkRefresh(object)
	}
	if !d.diags.HasErrors() && hasEndless(object) {
		d.checkEndless(originsOf(slices.Clone(d.origins)), "", object)
	}
	return d.result(value, object)
}

// A decoder reads one block by its table: each argument becomes a value for expressions and a field
// of the manifest, with its origin.
type decoder struct {
	scope   *eval.Scope
	origins []placed // in the order found
	diags   hcl.Diagnostics
	unknown []hcl.Range // of unknown values, usually because of an error elsewhere

	requirements []requirementEntry // written last, with the requirements of all pools
	anyCapacity  bool               // whether these are removed
}

func newDecoder(block *hcl.Block, scope *eval.Scope) *decoder {
	d := &decoder{scope: scope, origins: make([]placed, 0, usualOrigins)}
	d.locate("", Origin{Range: block.DefRange})
	return d
}

func (d *decoder) result(value cty.Value, fields map[string]any) Result {
	return Result{Value: value, Fields: fields, Origins: originsOf(d.origins), Unknown: d.unknown, Diags: d.diags}
}

// A place is an object in a manifest.
type place struct {
	fields map[string]any
	path   string // of fields in the manifest, "" at the top
}

func (p place) join(path string) string {
	if p.path == "" {
		return strings.Trim(path, ".")
	}
	return strings.Trim(p.path+"."+path, ".")
}

// sub returns the object at path, and creates it if it is missing.
func (p place) sub(path string) place {
	return place{manifest.Ensure(p.fields, strings.Split(path, ".")...), p.join(path)}
}

func (p place) set(path string, v any) {
	keys := schemas.Steps(path)
	last := len(keys) - 1
	manifest.Ensure(p.fields, keys[:last]...)[keys[last]] = v
}

// object reads the block of an object. It expands dynamic blocks, and handles special arguments
// last.
func (d *decoder) object(table schemas.Block, body hcl.Body, at place) cty.Value {
	if mayExpand(body) {
		ctx, diags := d.scope.Context(collectReferences(dynblock.WalkExpandVariables(body), table))
		if diags.HasErrors() {
			d.fail(diags...)
			return cty.EmptyObjectVal
		}
		body = dynblock.Expand(body, ctx)
	}
	value, content := d.read(table, body, at)
	for _, arg := range table.Args {
		if arg.Kind == schemas.Requirements || arg.Kind == schemas.Selector {
			d.writeRequirements(at, arg)
		}
	}
	if attr := content.Attributes["manifest"]; attr != nil {
		d.manifest(table, attr, at)
	}
	return value
}

// mayExpand reports whether a body contains dynamic blocks at any depth. Without any, it is used as
// it is.
func mayExpand(body hcl.Body) bool {
	native, ok := body.(*hclsyntax.Body)
	return !ok || slices.ContainsFunc(native.Blocks, func(b *hclsyntax.Block) bool {
		return b.Type == "dynamic" || mayExpand(b.Body)
	})
}

// collectReferences collects the references of the expressions that a walk visits in a body and its nested
// blocks.
func collectReferences(node dynblock.WalkVariablesNode, table schemas.Block) []hcl.Traversal {
	found, children := node.Visit(Schema(table))
	for _, child := range children {
		for _, nested := range table.Blocks {
			if nested.Type == child.BlockTypeName {
				found = append(found, collectReferences(child.Node, nested)...)
			}
		}
	}
	return found
}

// block reads the arguments and nested blocks of one body and returns them as
// an object.
func (d *decoder) block(table schemas.Block, body hcl.Body, at place) cty.Value {
	value, _ := d.read(table, body, at)
	return value
}

func (d *decoder) read(table schemas.Block, body hcl.Body, at place) (cty.Value, *hcl.BodyContent) {
	content, diags := body.Content(Schema(table))
	d.fail(d.scope.Explain(withoutMisspelled(diags))...)
	values := map[string]cty.Value{}
	for i := range table.Args {
		arg := &table.Args[i] // the table lives longer than decoded values
		attr, ok := content.Attributes[arg.Name]
		if !ok || arg.Meta {
			continue
		}
		if v, ok := d.argument(arg, attr, at); ok {
			values[arg.Name] = v
		}
	}
	for _, nested := range table.Blocks {
		blocks := content.Blocks.OfType(nested.Type)
		if len(blocks) > 0 {
			values[nested.Type] = d.nested(nested, blocks, at)
		}
	}
	return cty.ObjectVal(values), content
}

// argument evaluates one argument and writes its field. The second result is false if the argument
// counts as omitted.
func (d *decoder) argument(arg *schemas.Arg, attr *hcl.Attribute, at place) (cty.Value, bool) {
	v, ctx, diags := d.scope.Value(attr.Expr)
	d.fail(diags...)
	src := d.source(arg, attr.Expr, ctx, plainPath.Replace(at.join(arg.Path)))
	kind := kindOf(arg.Kind)
	written := v.Type()
	v, err := convert.Convert(v, kind.ty)
	switch {
	case err != nil:
		d.problem(src, "Wrong type of value", fmt.Sprintf("The argument %s takes %s%s.", arg.Name, kind.takes,
			insteadOf(written, kind.ty, err)))
		return cty.DynamicVal, true
	case v.IsNull() && (arg.Required || arg.NotNull):
		d.problem(src, "Missing value", nullDetail(arg))
		return cty.DynamicVal, true
	case v.IsNull():
		return v, false
	case !v.IsWhollyKnown():
		d.unknown = append(d.unknown, attr.Expr.Range())
		return v, true
	}
	if !arg.Numeric && slices.Contains(texts, arg.Kind) && hasNumber(written) {
		d.problem(src, "Text required", fmt.Sprintf("The argument %s takes %s, and a number loses its form: 1.40 is 1.4. Write it in "+
			`quotes, such as "1.40".`, arg.Name, kind.takes))
		return cty.DynamicVal, true
	}
	if len(arg.OneOf) > 0 && !slices.Contains(arg.OneOf, v.AsString()) {
		d.problem(src, "Unknown value", fmt.Sprintf("The argument %s is %q. It must be %s.%s",
			arg.Name, v.AsString(), diag.AnyOf(arg.OneOf), eval.DidYouMean(v.AsString(), arg.OneOf)))
	}
	d.locate(src.path, src.origin())
	if field := kind.encode(d, v, src); arg.Path != "" && field != nil {
		at.set(arg.Path, field)
	}
	return v, true
}

// texts are the kinds of text that a number is never meant for.
var texts = []schemas.Kind{schemas.String, schemas.Strings, schemas.Tags}

// hasNumber reports whether a value is a number, or a list with one.
func hasNumber(ty cty.Type) bool {
	switch {
	case ty.IsTupleType():
		return slices.ContainsFunc(ty.TupleElementTypes(), hasNumber)
	case ty.IsListType(), ty.IsSetType():
		return hasNumber(ty.ElementType())
	}
	return ty == cty.Number
}

func nullDetail(arg *schemas.Arg) string {
	if arg.Kind == schemas.NodeClassRef {
		return "The argument node_class is null, and a pool needs a node class. If it refers to a block with " +
			"enabled = false, refer to another block."
	}
	return fmt.Sprintf("The argument %s is null. Write a value, or delete the argument.", arg.Name)
}

// insteadOf says after the name of a type which type was written; if the types are alike, it is the error, which is
// about an element.
func insteadOf(written, wanted cty.Type, err error) string {
	kind := func(ty cty.Type) string {
		switch {
		case ty.IsMapType(), ty.IsObjectType():
			return "a map"
		case ty.IsCollectionType(), ty.IsTupleType():
			return "a list"
		case ty == cty.String:
			return "text"
		case ty == cty.Number:
			return "a number"
		case ty == cty.Bool:
			return "true or false"
		}
		return ""
	}
	if is := kind(written); is != "" && is != kind(wanted) {
		return ", not " + is
	}
	what := strings.Replace(err.Error(), "required, but have ", "required, not ", 1)
	return ". " + strings.ToUpper(what[:1]) + what[1:]
}

// nested reads the blocks of one type within a body.
func (d *decoder) nested(table schemas.Block, blocks hcl.Blocks, at place) cty.Value {
	switch {
	case table.List:
		return d.list(table, blocks, at)
	case len(table.Labels) > 0:
		return d.labelled(table, blocks, at)
	case len(blocks) > 1:
		d.fail(diag.At("Duplicate block", fmt.Sprintf("Only one %s block is allowed here. Merge the blocks.", table.Type),
			blocks[1].DefRange))
	}
	d.locate(at.join(table.Path), Origin{Range: blocks[0].DefRange})
	return d.block(table, blocks[0].Body, at.sub(table.Path))
}

func (d *decoder) list(table schemas.Block, blocks hcl.Blocks, at place) cty.Value {
	var fields []any
	var values []cty.Value
	for i, block := range blocks {
		element := place{map[string]any{}, at.join(table.Path + "." + strconv.Itoa(i))}
		d.locate(element.path, Origin{Range: block.DefRange})
		values = append(values, d.block(table, block.Body, element))
		fields = append(fields, element.fields)
	}
	at.set(table.Path, fields)
	return cty.TupleVal(values)
}

// PlainName reports whether a name that no reference uses has only letters, digits, dashes and underscores. Names of
// guards are part of the permissions that messages print for a shell: lkeplan nodeplan approve --guard freeze:NAME.
func PlainName(name string) bool { return name != "" && hclsyntax.ValidIdentifier("_"+name) }

// WrongName is the error about a name that is not plain.
func WrongName(blockType, name string, at hcl.Range) *hcl.Diagnostic {
	return diag.At("Invalid name", fmt.Sprintf("The name of a %s block contains letters, digits, dashes and underscores, "+
		"not %q.", blockType, name), at)
}

func (d *decoder) labelled(table schemas.Block, blocks hcl.Blocks, at place) cty.Value {
	values := map[string]cty.Value{}
	for _, block := range blocks {
		label := block.Labels[0]
		if strings.Contains(label, ".") { // it would be read as a path
			d.fail(diag.At("Invalid name", fmt.Sprintf("The name of a %s block contains no dots, not %q.", table.Type, label),
				block.LabelRanges[0]))
			continue
		}
		if !PlainName(label) {
			d.fail(WrongName(table.Type, label, block.LabelRanges[0]))
			continue
		}
		if _, taken := values[label]; taken {
			d.fail(diag.At("Duplicate block", fmt.Sprintf("A %s block named %q is already declared here. Give each %s block another "+
				"name, or merge the blocks.", table.Type, label, table.Type), block.DefRange))
		}
		element := at.sub(table.Path + "." + label)
		d.locate(element.path, Origin{Range: block.DefRange})
		values[label] = d.block(table, block.Body, element)
	}
	return cty.ObjectVal(values)
}

// withoutMisspelled leaves out the error about a missing argument if another error says that its name is misspelled.
func withoutMisspelled(diags hcl.Diagnostics) hcl.Diagnostics {
	misspelled := func(d *hcl.Diagnostic) bool {
		_, name, ok := strings.Cut(d.Detail, "The argument ")
		name, _, _ = strings.Cut(name, " is required")
		return ok && slices.ContainsFunc(diags, func(other *hcl.Diagnostic) bool {
			return strings.HasSuffix(other.Detail, " Did you mean "+name+"?")
		})
	}
	return slices.DeleteFunc(slices.Clone(diags), misspelled)
}

func (d *decoder) fail(diags ...*hcl.Diagnostic) {
	d.diags = append(d.diags, diags...)
}

// problem reports an error about an argument's value.
func (d *decoder) problem(src source, summary, detail string) {
	d.report(hcl.DiagError, src, summary, detail)
}

func (d *decoder) report(severity hcl.DiagnosticSeverity, src source, summary, detail string) {
	d.diags = d.diags.Append(&hcl.Diagnostic{
		Severity: severity, Summary: summary, Detail: detail,
		Subject: src.expr.Range().Ptr(), Expression: src.expr, EvalContext: src.ctx,
	})
}

// Schema returns the arguments and blocks that the body of a block can have, as an HCL schema.
func Schema(table schemas.Block) *hcl.BodySchema {
	schema := &hcl.BodySchema{}
	for _, arg := range table.Args {
		schema.Attributes = append(schema.Attributes, hcl.AttributeSchema{Name: arg.Name, Required: arg.Required})
	}
	for _, block := range table.Blocks {
		schema.Blocks = append(schema.Blocks, hcl.BlockHeaderSchema{Type: block.Type, LabelNames: block.Labels})
	}
	return schema
}

// Literal reads an argument whose value must be literal, because it is needed before evaluation.
func Literal(attr *hcl.Attribute) (string, hcl.Diagnostics) {
	if len(attr.Expr.Variables()) == 0 {
		v, diags := attr.Expr.Value(&hcl.EvalContext{})
		if !diags.HasErrors() && !v.IsNull() && v.Type().FriendlyName() == "string" {
			return v.AsString(), nil
		}
	}
	return "", hcl.Diagnostics{diag.AtExpression("Literal text required",
		fmt.Sprintf("The value of %s is needed before expressions are evaluated, so it must be literal text in "+
			"quotes.",
			attr.Name), attr.Expr)}
}
