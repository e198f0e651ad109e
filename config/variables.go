package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/schemas"
)

// An input is the value of a variable and its source.
type input struct {
	source string         // for messages: "prod.lkevars.hcl:3", "--var"
	expr   hcl.Expression // nil for text
	text   string
	scope  *eval.Scope // the names that the expression can refer to; nil for functions only
	secret bool
}

// inputs contains the value of each variable. A later value replaces an earlier one.
type inputs map[string]input

func (in inputs) addFile(body hcl.Body, name string) hcl.Diagnostics {
	attrs, diags := body.JustAttributes()
	for _, attr := range attrs {
		in[attr.Name] = input{source: fmt.Sprintf("%s:%d", name, attr.Range.Start.Line), expr: attr.Expr}
	}
	return diags
}

func (in inputs) addFlag(v Var) (source string) {
	source = cmp.Or(v.Source, "--var "+v.Name)
	in[v.Name] = input{source: source, text: v.Value, secret: v.Secret}
	return source
}

// A constraint is the type of a variable, with the defaults of its optional attributes. They are
// applied to a value before it is converted to the type.
type constraint struct {
	ty       cty.Type
	defaults *typeexpr.Defaults
}

func (c constraint) convert(v cty.Value) (cty.Value, error) {
	if c.defaults != nil && v.IsKnown() && !v.IsNull() {
		v = c.defaults.Apply(v)
	}
	return convert.Convert(v, c.ty)
}

// undeclared is the summary of the error about a value for a variable that is not declared.
const undeclared = "Value for undeclared variable"

// declareVariables declares var.NAME for each variable block, and reports values for undeclared
// variables.
func (c *compiler) declareVariables() *eval.Table {
	table := &eval.Table{Noun: "variable", Nodes: map[string]*eval.Node{}}
	for _, block := range c.dir.Blocks.OfType(schemas.Variable.Type) {
		c.enter(table, declarationOf("var", block), c.variable(block))
	}
	for _, name := range slices.Sorted(maps.Keys(c.inputs)) {
		if table.Nodes[name] == nil {
			c.report(diag.Error(undeclared,
				fmt.Sprintf("The variable %q, set by %s, is not declared.%s",
					name, c.inputs[name].source, c.run.DidYouMean(name, maps.Keys(table.Nodes)))))
		}
	}
	return table
}

// variable declares the node of one variable block.
func (c *compiler) variable(block *hcl.Block) *eval.Node {
	content, diags := block.Body.Content(decode.Schema(schemas.Variable))
	c.report(diags...)
	node := &eval.Node{Secret: c.inputs[block.Labels[0]].secret}
	node.Eval = func() (cty.Value, hcl.Diagnostics) {
		ty, diags := c.constraint(content.Attributes["type"])
		if diags.HasErrors() {
			return cty.DynamicVal, diags
		}
		nullable, diags := c.nullable(content.Attributes["nullable"])
		if diags.HasErrors() {
			return cty.DynamicVal, diags
		}
		if in, ok := c.inputs[block.Labels[0]]; ok {
			v, diags := c.given(block, in, ty)
			if diags.HasErrors() || nullable || !v.IsNull() {
				return v, diags
			}
		}
		v, diags := c.defaultValue(block, content.Attributes["default"], ty)
		if !diags.HasErrors() && !nullable && v.IsNull() {
			diags = hcl.Diagnostics{diag.AtExpression("Null for a variable that is not nullable",
				fmt.Sprintf("With nullable = false, the default of var.%s replaces null, so the default cannot "+
					"be null.",
					block.Labels[0]), content.Attributes["default"].Expr)}
		}
		return v, diags
	}
	node.Check = func(cty.Value) (diags hcl.Diagnostics) {
		for _, validation := range content.Blocks {
			diags = append(diags, c.assert(schemas.Validation, validation, "Invalid value for variable", c.scope)...)
		}
		return diags
	}
	return node
}

// nullable reads the literal argument nullable.
func (c *compiler) nullable(attr *hcl.Attribute) (bool, hcl.Diagnostics) {
	if attr == nil {
		return true, nil
	}
	v, diags := attr.Expr.Value(nil)
	if b, err := convert.Convert(v, cty.Bool); !diags.HasErrors() && err == nil && b.IsKnown() && !b.IsNull() {
		return b.True(), nil
	}
	return true, hcl.Diagnostics{diag.AtExpression("Wrong type of value",
		"The argument nullable must be the literal true or false.", attr.Expr)}
}

func (c *compiler) constraint(attr *hcl.Attribute) (constraint, hcl.Diagnostics) {
	if attr == nil {
		return constraint{ty: cty.DynamicPseudoType}, nil
	}
	expr, diags := c.typeExpression(attr.Expr)
	if diags.HasErrors() {
		return constraint{}, diags
	}
	ty, defaults, diags := typeexpr.TypeConstraintWithDefaults(expr)
	return constraint{ty, defaults}, toStringInJSON(diags, attr.Expr)
}

// typeExpression returns the type in a JSON string: "list(string)".
func (c *compiler) typeExpression(expr hcl.Expression) (hcl.Expression, hcl.Diagnostics) {
	name, expr := expr.Range().Filename, syntax.Wrapped(expr)
	v, diags := expr.Value(nil)
	if !strings.HasSuffix(name, ".json") || diags.HasErrors() || v.Type() != cty.String || !v.IsKnown() || v.IsNull() {
		return expr, nil
	}
	parsed, diags := syntax.ParseExpression(name, v.AsString())
	return parsed, toStringInJSON(diags, expr)
}

// toStringInJSON changes the place of diagnostics about text inside a JSON string to the place of the string.
func toStringInJSON(diags hcl.Diagnostics, expr hcl.Expression) hcl.Diagnostics {
	if !strings.HasSuffix(expr.Range().Filename, ".json") {
		return diags
	}
	for _, d := range diags {
		d.Subject = expr.Range().Ptr()
	}
	return diags
}

// given converts the value of an input. Messages show the place where it was set, which can be far
// from the declaration.
func (c *compiler) given(block *hcl.Block, in input, ty constraint) (cty.Value, hcl.Diagnostics) {
	v, diags := c.evaluateInput(block, in, ty)
	if diags.HasErrors() && in.secret {
		return cty.DynamicVal, hcl.Diagnostics{diag.At("Wrong value for variable",
			fmt.Sprintf("The value from the Secret is not valid for the variable %q. The value is not shown.", block.Labels[0]),
			block.DefRange)}
	}
	return v, diags
}

func (c *compiler) evaluateInput(block *hcl.Block, in input, ty constraint) (cty.Value, hcl.Diagnostics) {
	expr, diags := c.inputExpression(in, ty)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	scope := in.scope
	if scope == nil {
		scope = eval.NewScope(c.run, nil, c.functions)
	}
	return ty.evaluate(expr, scope.Private(), "Wrong type for variable",
		fmt.Sprintf("The value is not valid for the variable %q, declared at %s",
			block.Labels[0], diag.Line(block.DefRange)))
}

// evaluate evaluates an expression and converts its value. If the value has another type, problem
// is the beginning of the message, and the diagnostic adds the reason.
func (c constraint) evaluate(expr hcl.Expression, scope *eval.Scope, summary, problem string) (cty.Value,
	hcl.Diagnostics) {
	v, ctx, diags := scope.Value(expr)
	diags = append(diags, decode.UnknownAttributes(expr, c.ty, scope)...)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	v, err := c.convert(v)
	if err != nil {
		if ctx == nil { // its value depends on a secret, which the error may show
			return cty.DynamicVal, hcl.Diagnostics{diag.AtExpression(summary, problem+".", expr)}
		}
		d := diag.AtExpression(summary, fmt.Sprintf("%s: %v.", problem, err), expr)
		d.EvalContext = ctx
		return cty.DynamicVal, hcl.Diagnostics{d}
	}
	return v, nil
}

// inputExpression parses a value from a command line. For a variable of type string it is literal
// text, so no quotes within quotes are needed.
func (c *compiler) inputExpression(in input, ty constraint) (hcl.Expression, hcl.Diagnostics) {
	if in.expr != nil {
		return in.expr, nil
	}
	literal := hcl.StaticExpr(cty.StringVal(in.text),
		hcl.Range{Filename: in.source, Start: hcl.InitialPos, End: hcl.InitialPos})
	if ty.ty == cty.String {
		return literal, nil
	}
	expr, diags := syntax.ParseExpression(in.source, in.text)
	if !diags.HasErrors() && len(expr.Variables()) > 0 || diags.HasErrors() && ty.ty == cty.DynamicPseudoType {
		return literal, nil // a word, possibly of the wrong type
	}
	return expr, diags
}

func (c *compiler) defaultValue(block *hcl.Block, attr *hcl.Attribute, ty constraint) (cty.Value, hcl.Diagnostics) {
	name := block.Labels[0]
	if attr == nil {
		return cty.DynamicVal, hcl.Diagnostics{diag.At("No value for required variable",
			fmt.Sprintf("The variable %q has no default and is not set. Set it in a file named "+
				"*.auto.lkevars.hcl, or with --var %s=VALUE.", name, name), block.DefRange)}
	}
	return ty.evaluate(attr.Expr, eval.NewScope(c.run, nil, c.functions), "Wrong type for default",
		fmt.Sprintf("The default of var.%s does not have the declared type", name))
}
