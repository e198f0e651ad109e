package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/schemas"
)

// A Policy is a rule for changes. It has been checked as far as possible without a change.
type Policy struct {
	Name  string
	Range hcl.Range

	block *hcl.Block
	in    *compiler
}

// Evaluate returns an error if the change violates the policy. The plan is a value of
// planvalue.Type, and nulls are why parts of it are null, as in [eval.Root]. The result is unknown if the
// policy depends on an unknown value.
func (p Policy) Evaluate(plan cty.Value, nulls map[string]string) (decided bool, diags hcl.Diagnostics) {
	plan, err := convert.Convert(plan, Type())
	if err != nil {
		return false, hcl.Diagnostics{diag.Error("Unexpected form of plan",
			fmt.Sprintf("The policy %q cannot be evaluated for this plan: %v.", p.Name, err))}
	}
	scope := p.in.scope.With("plan", eval.Root{Value: plan, Nulls: nulls})
	diags = p.in.assert(schemas.Policy, p.block, "Policy violated", scope)
	content, _, _ := p.block.Body.PartialContent(decode.Schema(schemas.Policy))
	attr := content.Attributes["condition"]
	condition, _, conditionDiags := scope.Private().Value(attr.Expr)
	if !condition.IsKnown() && plan.IsWhollyKnown() && !conditionDiags.HasErrors() {
		diags = append(diags, diag.AtExpression("Value cannot be computed",
			"The condition has no value, although all values of the change are known.", attr.Expr))
	}
	if lacksPlanValues(plan, attr.Expr, !conditionDiags.HasErrors()) {
		diags = hcl.Diagnostics{diag.AtExpression("No pods are simulated", "The policy needs a simulation of "+
			"pods, and none was run. Add --simulate and a source of pods.", attr.Expr)}
	}
	return condition.IsKnown() || diags.HasErrors(), diags
}

// Source returns the source of the policy's arguments, ordered by name, with commas between them. Files are those of
// the module.
func (p Policy) Source(files map[string]*hcl.File) string {
	content, _, _ := p.block.Body.PartialContent(decode.Schema(schemas.Policy))
	var all []string
	for _, name := range slices.Sorted(maps.Keys(content.Attributes)) {
		at := content.Attributes[name].Expr.Range()
		if file := files[at.Filename]; file != nil && at.CanSliceBytes(file.Bytes) {
			all = append(all, fmt.Sprintf("%s = %s", name, at.SliceBytes(file.Bytes)))
		}
	}
	return strings.Join(all, ", ")
}

// policies reads the policy blocks and evaluates them with a plan of which only the type is known,
// to find errors that do not depend on the plan.
func (c *compiler) policies() (policies []Policy) {
	at := map[string]hcl.Range{}
	for _, block := range c.dir.Blocks.OfType(schemas.Policy.Type) {
		name := block.Labels[0]
		if !decode.PlainName(name) {
			c.report(decode.WrongName(schemas.Policy.Type, name, block.LabelRanges[0]))
		}
		if earlier, again := at[name]; again {
			c.report(diag.At("Duplicate name",
				fmt.Sprintf("A policy named %q was already declared at %s.", name, diag.Line(earlier)), block.DefRange))
		}
		at[name] = block.DefRange
		p := Policy{Name: name, Range: block.DefRange, block: block, in: c}
		scope := c.scope.With("plan", eval.Root{Value: cty.UnknownVal(Type())})
		diags := c.assert(schemas.Policy, block, "Policy violated", scope)
		content, _, _ := block.Body.PartialContent(decode.Schema(schemas.Policy))
		if content.Attributes["error_message"] != nil {
			_, messageDiags := c.message(content.Attributes["error_message"], scope)
			diags = append(diags, messageDiags...)
		}
		c.report(diags...)
		policies = append(policies, p)
	}
	return policies
}
