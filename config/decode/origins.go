package decode

import (
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/schemas"
)

// An Origin is the place in the source that a field comes from, with what is
// needed to explain its value.
type Origin struct {
	Range      hcl.Range
	Expression hcl.Expression   // nil if the field is not from an expression
	Context    *hcl.EvalContext // the values the expression was evaluated with
	Arg        *schemas.Arg     // the argument it is the value of, if any
}

// Error is an error about the value of the field.
func (o Origin) Error(summary, detail string) *hcl.Diagnostic {
	return &hcl.Diagnostic{
		Severity: hcl.DiagError, Summary: summary, Detail: detail,
		Subject: o.Range.Ptr(), Expression: o.Expression, EvalContext: o.Context,
	}
}

// Origins maps paths of a manifest to their origins. A path is its keys and
// indexes joined by dots: spec.template.spec.taints.0.
type Origins map[string]Origin

var plainPath = strings.NewReplacer("[", ".", "]", "")

// Find returns the origin of the field at path, or else of the nearest field
// around it. Indexes and keys may be in brackets, as Kubernetes prints them.
func (o Origins) Find(path string) Origin {
	path = plainPath.Replace(path)
	for {
		if origin, ok := o[path]; ok {
			return origin
		}
		end := strings.LastIndexByte(path, '.')
		if end < 0 {
			return o[""]
		}
		path = path[:end]
	}
}
