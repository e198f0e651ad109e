package eval

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/diag"
)

// Suggest returns the name that was probably meant, or "". Names are tried in
// order of likeness, then alphabetically.
func Suggest(given string, names []string) string {
	best, bestDistance := "", 3
	for _, name := range slices.Sorted(slices.Values(names)) {
		if d := levenshtein.Distance(given, name, nil); d < bestDistance && d < len(name) {
			best, bestDistance = name, d
		}
	}
	return best
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
		detail = "This value is needed before anything can be referred to, so it is written out."
	case len(reference) == 1:
		detail += fmt.Sprintf(" Text is written in quotes: %q.", name)
	default:
		detail += fmt.Sprintf(" References begin with one of: %s.", strings.Join(roots, ", "))
	}
	return hcl.Diagnostics{diag.At("Unknown name", detail, reference.SourceRange())}
}

func (t *Table) unknownName(name string, at hcl.Range) hcl.Diagnostics {
	names := slices.Sorted(maps.Keys(t.Nodes))
	return hcl.Diagnostics{diag.At("Unknown reference",
		fmt.Sprintf("There is no %s named %q in this directory.%s", t.Noun, name, DidYouMean(name, names)), at)}
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
			d.Detail = fmt.Sprintf("There is no function named %q.%s", name,
				DidYouMean(name, slices.Collect(maps.Keys(s.functions))))
		}
		if d.Summary != "Unsupported attribute" || d.Subject == nil || d.Expression == nil || d.EvalContext == nil {
			continue
		}
		for _, reference := range d.Expression.Variables() {
			d.Detail += attributeHint(reference, d)
		}
	}
	return diags
}

// attributeHint looks for the step of a reference that a diagnostic is about.
func attributeHint(reference hcl.Traversal, d *hcl.Diagnostic) string {
	for i, step := range reference {
		attr, ok := step.(hcl.TraverseAttr)
		if !ok || attr.SrcRange != *d.Subject {
			continue
		}
		parent, diags := reference[:i].TraverseAbs(d.EvalContext)
		if diags.HasErrors() || parent.IsNull() {
			return ""
		}
		return DidYouMean(attr.Name, attributes(parent.Type()))
	}
	return ""
}

func attributes(t cty.Type) []string {
	if !t.IsObjectType() {
		return nil
	}
	return slices.Sorted(maps.Keys(t.AttributeTypes()))
}
