package diag

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// maxLine is the maximum length of a shown line, in bytes.
const maxLine = 400

// newSnippet returns the first line of the diagnostic's range.
func newSnippet(d *hcl.Diagnostic, file *hcl.File) *Snippet {
	at := d.Subject
	start := min(at.Start.Byte, len(file.Bytes))
	lineStart := bytes.LastIndexByte(file.Bytes[:start], '\n') + 1
	lineEnd := len(file.Bytes)
	if i := bytes.IndexByte(file.Bytes[start:], '\n'); i >= 0 {
		lineEnd = start + i
	}
	line := file.Bytes[lineStart:lineEnd]
	s := &Snippet{
		Context: contextOf(file, at.Start.Byte),
		Line:    string(bytes.TrimRight(line[:min(len(line), maxLine)], "\r")),
		Values:  referenceValues(d),
	}
	s.start = min(start-lineStart, len(s.Line))
	s.end = max(s.start, min(at.End.Byte-lineStart, len(s.Line)))
	return s
}

// contextOf returns the header of the block around a place, as written.
func contextOf(file *hcl.File, offset int) string {
	nav, ok := file.Nav.(interface{ ContextString(offset int) string })
	if !ok {
		return ""
	}
	return OneLine(nav.ContextString(offset))
}

// maxExpression is the maximum length of an expression that is searched for references, in bytes.
// For longer ones, values do not help.
const maxExpression = 2000

// referenceValues lists the values of the expression's references, if they are short.
func referenceValues(d *hcl.Diagnostic) []string {
	if d.Expression == nil || d.EvalContext == nil {
		return nil
	}
	if at := d.Expression.Range(); at.End.Byte-at.Start.Byte > maxExpression {
		return nil
	}
	var list []string
	for _, reference := range d.Expression.Variables() {
		v, diags := reference.TraverseAbs(d.EvalContext)
		if diags.HasErrors() || !v.IsKnown() {
			continue
		}
		list = append(list, fmt.Sprintf("%s is %s", Written(reference), shortValue(v)))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Written returns a reference in HCL syntax.
func Written(reference hcl.Traversal) string {
	return OneLine(string(hclwrite.TokensForTraversal(reference).Bytes()))
}

// shortValue returns primitive values as text, and a description of others.
func shortValue(v cty.Value) string {
	switch {
	case v.IsNull():
		return "null"
	case v.Type().IsPrimitiveType():
		text := string(hclwrite.TokensForValue(v).Bytes())
		if len(text) > 60 {
			text = text[:60] + "..."
		}
		return OneLine(text)
	case (v.Type().IsObjectType() || v.Type().IsMapType()) && v.LengthInt() <= maxNames:
		return objectNames(v)
	case v.Type().IsCapsuleType():
		return v.Type().FriendlyName()
	}
	return fmt.Sprintf("%s with %d elements", v.Type().FriendlyNameForConstraint(), v.LengthInt())
}

// maxNames is the maximum number of attributes of an object whose first names are shown.
const maxNames = 100

// objectNames returns the names in an object.
func objectNames(v cty.Value) string {
	var names []string
	for it := v.ElementIterator(); it.Next(); {
		name, _ := it.Element()
		text := name.AsString()
		if !hclsyntax.ValidIdentifier(text) {
			text = fmt.Sprintf("%q", text)
		}
		names = append(names, text)
	}
	if len(names) > 6 {
		names = append(names[:6], "...")
	}
	return OneLine("an object with " + strings.Join(names, ", "))
}
