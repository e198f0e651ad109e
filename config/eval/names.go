package eval

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/diag"
)

// Beyond these limits, names are not compared, because it would take longer than the rest of a
// compilation.
const (
	maxLength      = 100 // of a name, in bytes
	maxNames       = 10_000
	maxSuggestions = 50 // of one run
)

// Suggest returns the name that was probably meant, or "". It prefers similar names, then the
// alphabetical order.
func Suggest(given string, names []string) string {
	if len(given) > maxLength || len(names) > maxNames {
		return ""
	}
	best, bestDistance := "", 3
	for _, name := range names {
		if abs(len(name)-len(given)) > 4*bestDistance { // a character has at most four bytes
			continue
		}
		d := levenshtein.Distance(strings.ToLower(given), strings.ToLower(name), nil)
		likelier := d < bestDistance || d == bestDistance && name < best
		if likelier && d < 3 && d < len(name) && (d < 2 || similar(given, name)) {
			best, bestDistance = name, d
		}
	}
	return best
}

func abs(n int) int { return max(n, -n) }

// similar reports whether two names have the same beginning or end, so two typing errors may separate
// them. This means little if half of a name differs: yaml is not meant to be html.
func similar(a, b string) bool {
	const alike = 2
	a, b = strings.ToLower(a), strings.ToLower(b)
	if len(a) < alike || len(b) < alike {
		return false
	}
	shorter, longer := min(len(a), len(b)), max(len(a), len(b))
	return a[:alike] == b[:alike] || a[0] == b[0] && shorter >= 2*alike ||
		longer >= 3*alike && a[len(a)-alike:] == b[len(b)-alike:]
}

// DidYouMean returns a suggestion as a sentence, with a leading space, or "".
func DidYouMean(given string, names []string) string {
	if s := Suggest(given, names); s != "" {
		return fmt.Sprintf(" Did you mean %q?", s)
	}
	return ""
}

func (s *Scope) unknownRoot(reference hcl.Traversal) hcl.Diagnostics {
	name := reference.RootName()
	var roots []string
	for root := range s.roots {
		if s.roots[root].Absent == "" {
			roots = append(roots, root)
		}
	}
	slices.Sort(roots)
	detail := fmt.Sprintf("The name %q is not declared.%s", name, DidYouMean(name, roots))
	switch absent := s.roots[name].Absent; {
	case absent != "":
		detail = absent
	case len(roots) == 0:
		detail = fmt.Sprintf("The value of a variable must be literal, so it cannot refer to %q. To compute a "+
			"value, declare a local. Write text in quotes.", name)
	case len(reference) == 1 && s.referenceTo(name) != "":
		detail += fmt.Sprintf(" Did you mean %s? Write text in quotes: %q.", s.referenceTo(name), name)
	case len(reference) == 1:
		detail += fmt.Sprintf(" Write text in quotes: %q.", name)
	default:
		detail += fmt.Sprintf(" References start with one of: %s.", strings.Join(roots, ", "))
	}
	return hcl.Diagnostics{diag.At("Unknown name", detail, reference.SourceRange())}
}

// referenceTo is the reference to what has a name, without its root, such as node_class.default of default; "" if
// there is nothing of this name.
func (s *Scope) referenceTo(name string) string {
	var all []string
	for root, of := range s.roots {
		if of.Absent == "" && of.Table != nil && of.Table.Nodes[name] != nil {
			all = append(all, root+"."+name)
		}
	}
	slices.Sort(all)
	return strings.Join(all, " or ")
}

func (s *Scope) unknownName(t *Table, name string, at hcl.Range) hcl.Diagnostics {
	return hcl.Diagnostics{diag.At("Unknown reference",
		fmt.Sprintf("No %s is named %q in this directory.%s", t.Noun, name,
			s.run.DidYouMean(name, maps.Keys(t.Nodes))), at)}
}

// DidYouMean is the function of this name with a limit: only the first errors of a run get a
// suggestion.
func (r *Run) DidYouMean(given string, names iter.Seq[string]) string {
	r.suggestions++
	if r.suggestions > maxSuggestions {
		return ""
	}
	return DidYouMean(given, slices.Collect(names))
}

func mixed(root string, at hcl.Range) hcl.Diagnostics {
	return hcl.Diagnostics{diag.At("Mixed references to all and to one",
		fmt.Sprintf("Here, %[1]s is all of them; elsewhere in the same expression, %[1]s.NAME is one. Move one "+
			"of the references to a local.", root), at)}
}

// Explain adds the attribute that was probably meant to HCL's diagnostics. For functions, it
// replaces HCL's suggestion, which varies between runs. For operations with null, it names what is null.
func (s *Scope) Explain(diags hcl.Diagnostics) hcl.Diagnostics {
	for _, d := range diags {
		if call, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallUnknownDiagExtra](d); ok {
			name := call.CalledFunctionNamespace() + call.CalledFunctionName()
			d.Detail = fmt.Sprintf("The function %q does not exist.", name)
			if advice := s.run.Advice[name]; advice != "" {
				d.Detail += " " + advice
			} else if meant := s.run.DidYouMean(name, maps.Keys(s.functions)); meant != "" {
				d.Detail += meant
			} else {
				d.Detail += " \"lkeplan explain\" lists all functions."
			}
		}
		if detail, ok := strings.CutPrefix(d.Detail, "Error during operation: "); ok {
			d.Detail = s.failedOperation(d, detail)
		}
		missing := d.Summary == "Unsupported attribute" || d.Summary == "Invalid index"
		if !missing || d.Subject == nil || d.Expression == nil || d.EvalContext == nil {
			continue
		}
		for _, reference := range d.Expression.Variables() {
			d.Detail += s.attributeHint(reference, d)
		}
	}
	return diags
}

// failedOperation explains an operation that has no result. HCL does not name the operand that is null.
func (s *Scope) failedOperation(d *hcl.Diagnostic, detail string) string {
	if !strings.HasPrefix(detail, "argument must not be null") {
		return "The operation has no result: " + detail
	}
	for _, operand := range operands(d.Expression) {
		reference, diags := hcl.AbsTraversalForExpr(operand)
		if diags.HasErrors() {
			continue
		}
		value, diags := reference.TraverseAbs(d.EvalContext)
		if diags.HasErrors() || !value.IsNull() {
			continue
		}
		name := diag.Written(reference)
		_, rest, _ := strings.Cut(name, ".")
		text := fmt.Sprintf("%s is null, and no operation is possible with null.", name)
		if why := s.roots[reference.RootName()].Nulls[rest]; why != "" {
			text += " " + why
		}
		return text
	}
	return "A value in the operation is null, and no operation is possible with null."
}

// operands returns the operands of an operation, without parentheses.
func operands(expr hcl.Expression) (all []hcl.Expression) {
	switch e := expr.(type) {
	case *hclsyntax.BinaryOpExpr:
		all = []hcl.Expression{e.LHS, e.RHS}
	case *hclsyntax.UnaryOpExpr:
		all = []hcl.Expression{e.Val}
	}
	for i := range all {
		all[i] = withoutParens(all[i])
	}
	return all
}

// withoutParens returns an expression without the parentheses around it.
func withoutParens(expr hcl.Expression) hcl.Expression {
	if e, ok := expr.(*hclsyntax.ParenthesesExpr); ok {
		return withoutParens(e.Expression)
	}
	return expr
}

// attributeHint returns a hint about the step of a reference that a diagnostic is about.
func (s *Scope) attributeHint(reference hcl.Traversal, d *hcl.Diagnostic) string {
	if s.run.suggestions >= maxSuggestions {
		return ""
	}
	for i, step := range reference {
		name, at := "", hcl.Range{}
		switch step := step.(type) {
		case hcl.TraverseAttr:
			name, at = step.Name, step.SrcRange
		case hcl.TraverseIndex:
			at = step.SrcRange
			if step.Key.Type() == cty.String {
				name = step.Key.AsString()
			}
		}
		if at != *d.Subject || i == 0 {
			continue
		}
		parent, diags := reference[:i].TraverseAbs(d.EvalContext)
		if diags.HasErrors() || parent.IsNull() {
			return ""
		}
		there := attributes(parent)
		return s.run.DidYouMean(name, slices.Values(there)) + existingNames(there)
	}
	return ""
}

// attributes returns the names of a value's attributes.
func attributes(v cty.Value) (names []string) {
	switch ty := v.Type(); {
	case ty.IsObjectType():
		return slices.Sorted(maps.Keys(ty.AttributeTypes()))
	case !ty.IsMapType() || !v.IsKnown():
		return nil
	}
	for it := v.ElementIterator(); it.Next(); {
		key, _ := it.Element()
		names = append(names, key.AsString())
	}
	return slices.Sorted(slices.Values(names))
}

// existingNames returns a sentence with the names, or the first of many.
func existingNames(names []string) string {
	const most = 12
	switch n := len(names); {
	case n == 0:
		return ""
	case n > most:
		return fmt.Sprintf(" Existing names: %s, and %d more.", strings.Join(names[:most], ", "), n-most)
	}
	return fmt.Sprintf(" Existing names: %s.", strings.Join(names, ", "))
}
