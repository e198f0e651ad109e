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

	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/schemas"
)

// An input is the value of a variable and where it was set.
type input struct {
	source string         // for messages: "prod.lkevars.hcl:3", "--var"
	expr   hcl.Expression // nil for text
	text   string
	scope  *eval.Scope // what the expression can refer to; nil for functions only
	secret bool
}

// inputs holds the strongest value of each variable: what is added later
// replaces what was there.
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

// A constraint is the type of a variable, with the defaults of the optional
// attributes in it: a value gets the defaults first and the type after.
type constraint struct {
	ty       cty.Type
	defaults *typeexpr.Defaults
}

func (c constraint) convert(v cty.Value, m *eval.Meter) (cty.Value, error) {
	if c.defaults != nil {
		v = m.Fill(v, c.defaults)
	}
	return m.Convert(v, c.ty)
}

// undeclared is the summary of the error about a value that no variable takes.
const undeclared = "Value for a variable that is not declared"

// declareVariables makes var.NAME for each variable block, and reports values
// for variables that are not declared.
func (c *compiler) declareVariables() *eval.Table {
	table := &eval.Table{Noun: "variable", Nodes: map[string]*eval.Node{}}
	for _, block := range c.dir.Blocks.OfType(schemas.Variable.Type) {
		c.enter(table, declarationOf("var", block), c.variable(block))
	}
	for _, name := range slices.Sorted(maps.Keys(c.inputs)) {
		if table.Nodes[name] == nil {
			c.report(diag.Error(undeclared,
				fmt.Sprintf("There is no variable %q, which %s sets.%s",
					name, c.inputs[name].source, c.run.DidYouMean(name, maps.Keys(table.Nodes)))))
		}
	}
	return table
}

// variable makes the node of one variable block.
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
			diags = hcl.Diagnostics{diag.AtExpression("Null for a variable that takes none",
				fmt.Sprintf("With nullable = false, the default of var.%s stands for null, so it cannot be null itself.",
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

// nullable reads whether null is a value of a variable, which is written out.
func (c *compiler) nullable(attr *hcl.Attribute) (bool, hcl.Diagnostics) {
	if attr == nil {
		return true, nil
	}
	v, diags := attr.Expr.Value(nil)
	if b, err := eval.ConvertMetered(v, cty.Bool); !diags.HasErrors() && err == nil && b.IsKnown() && !b.IsNull() {
		return b.True(), nil
	}
	return true, hcl.Diagnostics{diag.AtExpression("Wrong type of value",
		"The argument nullable is true or false, written out.", attr.Expr)}
}

func (c *compiler) constraint(attr *hcl.Attribute) (constraint, hcl.Diagnostics) {
	if attr == nil {
		return constraint{ty: cty.DynamicPseudoType}, nil
	}
	if c.run.Meter.Begin(attr.Expr.Range()); !c.run.Meter.Spend(1) {
		return constraint{ty: cty.DynamicPseudoType}, nil // which is reported
	}
	expr, diags := c.typeExpression(attr.Expr)
	if diags.HasErrors() {
		return constraint{}, diags
	}
	ty, defaults, diags := typeexpr.TypeConstraintWithDefaults(expr)
	if !c.run.Meter.Type(ty) {
		return constraint{ty: cty.DynamicPseudoType}, diags
	}
	return constraint{ty, defaults}, at(diags, attr.Expr)
}

// typeExpression returns the type that JSON has in quotes: "list(string)".
func (c *compiler) typeExpression(expr hcl.Expression) (hcl.Expression, hcl.Diagnostics) {
	name := expr.Range().Filename
	v, diags := expr.Value(nil)
	if !strings.HasSuffix(name, ".json") || diags.HasErrors() || v.Type() != cty.String || !v.IsKnown() || v.IsNull() {
		return expr, nil
	}
	parsed, diags := syntax.ParseExpression(name, v.AsString(), c.module.meter)
	return parsed, at(diags, expr)
}

// at moves diagnostics about text within a string of JSON to the string.
func at(diags hcl.Diagnostics, expr hcl.Expression) hcl.Diagnostics {
	if !strings.HasSuffix(expr.Range().Filename, ".json") {
		return diags
	}
	for _, d := range diags {
		d.Subject = expr.Range().Ptr()
	}
	return diags
}

// given converts the value that was passed in. Messages are about the place it
// was set in, which may be far from the declaration.
func (c *compiler) given(block *hcl.Block, in input, ty constraint) (cty.Value, hcl.Diagnostics) {
	v, diags := c.evaluateInput(block, in, ty)
	if diags.HasErrors() && in.secret {
		return cty.DynamicVal, hcl.Diagnostics{diag.At("Wrong value for variable",
			fmt.Sprintf("The variable %q does not take the value from the Secret, which is not shown.", block.Labels[0]),
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
		fmt.Sprintf("The variable %q, declared at %s, does not take this value",
			block.Labels[0], diag.Line(block.DefRange)))
}

// evaluate evaluates an expression and converts its value. A value of another
// type is the problem, to which the diagnostic adds the reason.
func (c constraint) evaluate(expr hcl.Expression, scope *eval.Scope, summary, problem string) (cty.Value,
	hcl.Diagnostics) {
	v, ctx, diags := scope.Value(expr)
	if diags = append(diags, decode.UnknownAttributes(expr, c.ty, scope)...); diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	v, err := c.convert(v, scope.Meter())
	if err != nil {
		if ctx == nil { // it is made from a secret, and the error may show some of it
			return cty.DynamicVal, hcl.Diagnostics{diag.AtExpression(summary, problem+".", expr)}
		}
		d := diag.AtExpression(summary, fmt.Sprintf("%s: %v.", problem, err), expr)
		d.EvalContext = ctx
		return cty.DynamicVal, hcl.Diagnostics{d}
	}
	return v, nil
}

// inputExpression parses a value from a command line. It is taken literally
// where text is required, so that nobody needs quotes within quotes.
func (c *compiler) inputExpression(in input, ty constraint) (hcl.Expression, hcl.Diagnostics) {
	if in.expr != nil {
		return in.expr, nil
	}
	literal := hcl.StaticExpr(cty.StringVal(in.text),
		hcl.Range{Filename: in.source, Start: hcl.InitialPos, End: hcl.InitialPos})
	if ty.ty == cty.String {
		return literal, nil
	}
	expr, diags := syntax.ParseExpression(in.source, in.text, c.module.meter)
	if !diags.HasErrors() && len(expr.Variables()) > 0 || diags.HasErrors() && ty.ty == cty.DynamicPseudoType {
		return literal, nil // a word, which may not be of the type
	}
	return expr, diags
}

func (c *compiler) defaultValue(block *hcl.Block, attr *hcl.Attribute, ty constraint) (cty.Value, hcl.Diagnostics) {
	name := block.Labels[0]
	if attr == nil {
		return cty.DynamicVal, hcl.Diagnostics{diag.At("No value for variable",
			fmt.Sprintf("The variable %q has no default and is not set. Set it in a file named *.auto.lkevars.hcl, "+
				"or with --var %s=VALUE.", name, name), block.DefRange)}
	}
	return ty.evaluate(attr.Expr, eval.NewScope(c.run, nil, c.functions), "Wrong type for default",
		fmt.Sprintf("The default of var.%s does not have the declared type", name))
}
