// Package function has the functions of the language: one row of a table for
// each, from which expressions, the meter and the reference take what they need.
//
// All of them are pure: a directory compiles to the same objects wherever and
// whenever it is compiled, so there is no time, no randomness, no environment
// and no network. The package reads no files either: what a file has is for
// the caller to say, and so is which may be read.
package function

import (
	"fmt"
	"maps"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/config/requirement"
	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/schemas"
)

// Table returns the functions by name. Their work is counted by the meter. Where
// files is nil, there are none.
func Table(m *eval.Meter, files Files) map[string]function.Function {
	table := map[string]function.Function{}
	for _, group := range groups(files) {
		for _, row := range group.rows {
			table[row.name()] = m.Function(row.impl, row.cost)
		}
	}
	const template = "templatestring"
	others := maps.Clone(table)
	delete(others, template)
	table[template] = m.Function(templateFunc(m, others), templateCost)
	return table
}

// Reference describes the functions in the order of the reference. The results
// of their examples are worked out here and now, so they are right.
func Reference() ([]schemas.Function, error) {
	var list []schemas.Function
	for _, group := range groups(nil) {
		for _, row := range group.rows {
			result, err := exampleResult(row.example)
			if err != nil {
				return nil, fmt.Errorf("evaluate the example %s: %w", row.example, err)
			}
			list = append(list, schemas.Function{
				Group: group.title, Name: row.name(), Signature: row.signature, Doc: row.doc,
				Example: row.example, Result: result,
			})
		}
	}
	return list, nil
}

// exampleResult evaluates an example. Requirements are shown as Kubernetes has
// them, everything else as HCL.
func exampleResult(example string) (string, error) {
	m := eval.NewMeter()
	expr, diags := syntax.ParseExpression("example", example, m)
	if diags.HasErrors() {
		return "", diags
	}
	m.Begin(expr.Range())
	v, diags := expr.Value(&hcl.EvalContext{Functions: Table(m, nil),
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
