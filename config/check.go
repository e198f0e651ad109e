package config

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/schemas"
)

// check evaluates the check blocks, after all objects are compiled.
func (c *compiler) check() {
	for _, block := range c.dir.Blocks.OfType(schemas.Check.Type) {
		content, diags := block.Body.Content(decode.Schema(schemas.Check))
		c.report(diags...)
		for _, assert := range content.Blocks {
			c.report(c.assert(schemas.Check.Blocks[0], assert, "Check failed", c.scope)...)
		}
	}
}

// assert evaluates a block with a condition and an error_message. An unknown condition has no
// result: in a policy, it depends on the change; elsewhere, another error is the cause.
func (c *compiler) assert(table schemas.Block, block *hcl.Block, summary string, scope *eval.Scope) hcl.Diagnostics {
	content, diags := block.Body.Content(decode.Schema(table))
	condition, message := content.Attributes["condition"], content.Attributes["error_message"]
	if diags.HasErrors() {
		return diags
	}
	if len(condition.Expr.Variables()) == 0 {
		example := "var.NAME"
		if table.Type == schemas.Policy.Type {
			example = "plan.nodes.deleted"
		}
		return hcl.Diagnostics{diag.AtExpression("Constant condition", "The condition contains no references, so it checks "+
			"nothing. Refer to the value that it must check, such as "+example+".", condition.Expr)}
	}
	v, ctx, diags := scope.Private().Value(condition.Expr)
	if diags.HasErrors() {
		return diags
	}
	kept, err := convert.Convert(v, cty.Bool)
	if err != nil || v.IsNull() {
		d := diag.AtExpression("Invalid condition", "A condition must be true or false."+isNull(v), condition.Expr)
		d.EvalContext = ctx
		return hcl.Diagnostics{d}
	}
	if !v.IsKnown() {
		if table.Type != schemas.Policy.Type {
			c.recordUnknown(v, condition.Expr)
		}
		return nil
	}
	if kept.True() {
		return nil
	}
	text, diags := c.message(message, scope)
	failed := diag.AtExpression(summary, text, condition.Expr)
	failed.EvalContext = ctx
	return append(diags, failed)
}

// message evaluates an error_message.
func (c *compiler) message(attr *hcl.Attribute, scope *eval.Scope) (string, hcl.Diagnostics) {
	const unsaid = "The condition is false."
	v, _, diags := scope.Value(attr.Expr)
	if diags.HasErrors() {
		return unsaid, diags
	}
	v, err := convert.Convert(v, cty.String)
	switch {
	case err != nil:
		return unsaid, hcl.Diagnostics{diag.AtExpression("Invalid error message",
			fmt.Sprintf("The error message must be a string: %v.", err), attr.Expr)}
	case v.IsNull():
		return unsaid, hcl.Diagnostics{diag.AtExpression("Invalid error message",
			"The error message is null, but must be a string.", attr.Expr)}
	case !v.IsKnown():
		return unsaid, nil
	}
	return strings.TrimSpace(v.AsString()), nil
}
