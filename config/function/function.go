// Package function contains the functions of the language. A table has one row for each, which is
// used by expressions and the reference. All functions are pure: a directory compiles to
// the same objects on each machine and at any time, so functions cannot read the time, random
// numbers, the environment or the network. The package does not read files: the caller provides
// their content, and decides which files can be read.
package function

import (
	"fmt"
	"maps"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/lkeplan/lkeplan/config/requirement"
	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/schemas"
)

// Table returns the functions by name. If files is nil, no file exists.
func Table(files Files) map[string]function.Function {
	table := map[string]function.Function{}
	for _, group := range groups(files) {
		for _, row := range group.rows {
			table[row.name()] = row.impl
		}
	}
	const template = "templatestring"
	others := maps.Clone(table)
	delete(others, template)
	table[template] = templateFunc(others)
	return table
}

// Reference returns the documentation of the functions, in the order of the reference. It evaluates
// the examples, so their results are right.
func Reference() ([]schemas.Function, error) {
	var list []schemas.Function
	for _, group := range groups(nil) {
		for _, row := range group.rows {
			result, err := exampleResult(row.example)
			if err != nil {
				return nil, fmt.Errorf("evaluate the example %s: %w", row.example, err)
			}
			list = append(list, schemas.Function{
				Group: group.title, Terraform: group.terraform, Name: row.name(), Signature: row.signature,
				Doc: row.doc, Example: row.example, Result: result,
			})
		}
	}
	return list, nil
}

// exampleResult evaluates an example. It shows requirements in Kubernetes notation, and other
// values in HCL.
func exampleResult(example string) (string, error) {
	expr, diags := syntax.ParseExpression("example", example)
	if diags.HasErrors() {
		return "", diags
	}
	v, diags := expr.Value(&hcl.EvalContext{Functions: Table(nil),
		Variables: map[string]cty.Value{"local": cty.EmptyObjectVal}})
	if diags.HasErrors() {
		return "", diags
	}
	if !v.Type().Equals(requirement.Type) {
		return syntax.Print(v), nil
	}
	r, err := requirement.FromValue(v)
	if err != nil {
		return "", err
	}
	var terms []string
	for _, term := range r.Terms {
		text := strings.TrimSpace(string(term.Operator) + " " + strings.Join(term.Values, ", "))
		if term.MinValues > 0 {
			text += fmt.Sprintf(" with minValues %d", term.MinValues)
		}
		terms = append(terms, text)
	}
	return strings.Join(terms, "; "), nil
}
