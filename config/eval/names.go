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

// Names beyond these are not compared: it would take longer than the rest of a
// compilation.
const (
	maxLength      = 100 // of a name, in bytes
	maxNames       = 10_000
	maxSuggestions = 50 // of one run
)

// Suggest returns the name that was probably meant, or "". Names are tried in
// order of likeness, then alphabetically.
func Suggest(given string, names []string) string {
	if len(given) > maxLength || len(names) > maxNames {
		return ""
	}
	best, bestDistance := "", 3
	for _, name := range names {
		if abs(len(name)-len(given)) > 4*bestDistance { // a character has four bytes at most
			continue
		}
		d := levenshtein.Distance(strings.ToLower(given), strings.ToLower(name), nil)
		likelier := d < bestDistance || d == bestDistance && name < best
		if likelier && d < 3 && d < len(name) && (d < 2 || akin(given, name)) {
			best, bestDistance = name, d
		}
	}
	return best
}

func abs(n int) int { return max(n, -n) }

// akin reports whether two names begin or end alike, so that they may be one name
// with two mistakes.
func akin(a, b string) bool {
	const alike = 2
	a, b = strings.ToLower(a), strings.ToLower(b)
	return len(a) >= alike && len(b) >= alike && (a[:alike] == b[:alike] || a[len(a)-alike:] == b[len(b)-alike:])
}

// DidYouMean is the sentence that offers a suggestion, with a space in front,
// or "" where there is none.
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
	detail := fmt.Sprintf("There is nothing named %q here.%s", name, DidYouMean(name, roots))
	switch absent := s.roots[name].Absent; {
	case absent != "":
		detail = absent
	case len(roots) == 0:
		detail = fmt.Sprintf("The value of a variable is written out and refers to nothing, and so not to %q. To work a "+
			"value out, use a local. Text is written in quotes.", name)
	case len(reference) == 1:
		detail += fmt.Sprintf(" Text is written in quotes: %q.", name)
	default:
		detail += fmt.Sprintf(" References begin with one of: %s.", strings.Join(roots, ", "))
	}
	return hcl.Diagnostics{diag.At("Unknown name", detail, reference.SourceRange())}
}

func (s *Scope) unknownName(t *Table, name string, at hcl.Range) hcl.Diagnostics {
	return hcl.Diagnostics{diag.At("Unknown reference",
		fmt.Sprintf("There is no %s named %q in this directory.%s", t.Noun, name,
			s.run.DidYouMean(name, maps.Keys(t.Nodes))), at)}
}

// DidYouMean is the function of this name for what may be wrong very often: there is
// a suggestion for the first mistakes of a run only.
func (r *Run) DidYouMean(given string, names iter.Seq[string]) string {
	if r.suggestions++; r.suggestions > maxSuggestions {
		return ""
	}
	return DidYouMean(given, slices.Collect(names))
}

func mixed(root string, at hcl.Range) hcl.Diagnostics {
	return hcl.Diagnostics{diag.At("Reference to all and to one",
		fmt.Sprintf("Here %[1]s stands for all of them, elsewhere in the same expression %[1]s.NAME "+
			"stands for one. Put one of the two into a local.", root), at)}
}

// Explain adds to HCL's own diagnostics what it cannot know: which attribute
// was probably meant. Of functions, HCL suggests a different one each time.
func (s *Scope) Explain(diags hcl.Diagnostics) hcl.Diagnostics {
	for _, d := range diags {
		if call, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallUnknownDiagExtra](d); ok {
			name := call.CalledFunctionNamespace() + call.CalledFunctionName()
			d.Detail = fmt.Sprintf("There is no function named %q.", name)
			if advice := s.run.Advice[name]; advice != "" {
				d.Detail += " " + advice
			} else {
				d.Detail += s.run.DidYouMean(name, maps.Keys(s.functions))
			}
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

// attributeHint looks for the step of a reference that a diagnostic is about.
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
			if at = step.SrcRange; step.Key.Type() == cty.String {
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
		return s.run.DidYouMean(name, slices.Values(there)) + whatIsThere(there)
	}
	return ""
}

// attributes are the names that a value has values under.
func attributes(v cty.Value) (names []string) {
	switch ty := v.Type(); {
	case LengthOf(v) > maxNames:
		return nil
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

// whatIsThere is the sentence that lists names, the first of them where they are
// many.
func whatIsThere(names []string) string {
	const most = 12
	switch n := len(names); {
	case n == 0:
		return ""
	case n > most:
		return fmt.Sprintf(" There are %s and %d more.", strings.Join(names[:most], ", "), n-most)
	}
	return fmt.Sprintf(" There are: %s.", strings.Join(names, ", "))
}
