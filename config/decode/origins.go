package decode

import (
	"slices"
	"strings"
	"unique"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/schemas"
)

// An Origin is the source of a field, with the information to explain its value.
type Origin struct {
	Range      hcl.Range
	Expression hcl.Expression   // nil if the field is not from an expression
	Context    *hcl.EvalContext // the context in which the expression was evaluated
	Arg        *schemas.Arg     // the argument that sets it, if any
}

// Error returns an error about the value of the field.
func (o Origin) Error(summary, detail string) *hcl.Diagnostic {
	return &hcl.Diagnostic{
		Severity: hcl.DiagError, Summary: summary, Detail: detail,
		Subject: o.Range.Ptr(), Expression: o.Expression, EvalContext: o.Context,
	}
}

// Warning returns a warning about the value of the field.
func (o Origin) Warning(summary, detail string) *hcl.Diagnostic {
	d := o.Error(summary, detail)
	d.Severity = hcl.DiagWarning
	return d
}

// Origins are the origins of the fields of a manifest, sorted by path. A path consists of keys and
// indexes joined by dots: spec.template.spec.taints.0. They are a list because each object has one
// and most are never read.
type Origins []placed

type placed struct {
	path   string
	origin Origin
}

// usualOrigins is the usual number of fields with origins in an object.
const usualOrigins = 40

// locate records the origin of the field at a path.
func (d *decoder) locate(path string, origin Origin) {
	d.origins = append(d.origins, placed{unique.Make(path).Value(), origin})
}

// located returns the recorded origin for a path.
func (d *decoder) located(path string) Origin {
	for _, p := range slices.Backward(d.origins) {
		if p.path == path {
			return p.origin
		}
	}
	return Origin{}
}

// originsOf sorts origins. For equal paths, the last one is kept.
func originsOf(all []placed) Origins {
	slices.SortStableFunc(all, func(a, b placed) int { return strings.Compare(a.path, b.path) })
	kept := make(Origins, 0, len(all)+1) // the name of an object is set later
	for i, p := range all {
		if i+1 == len(all) || all[i+1].path != p.path {
			kept = append(kept, p)
		}
	}
	return kept
}

var plainPath = strings.NewReplacer("[", ".", "]", "")

// Find returns the origin of the field at path, or that of the nearest field around it. Indexes and
// keys can be in brackets, as Kubernetes prints them.
func (o Origins) Find(path string) Origin {
	path = plainPath.Replace(path)
	for {
		if i, ok := o.search(path); ok {
			return o[i].origin
		}
		end := strings.LastIndexByte(path, '.')
		if end < 0 && path == "" {
			return Origin{}
		}
		path = path[:max(end, 0)]
	}
}

// Set adds an origin, or replaces the one for its path.
func (o *Origins) Set(path string, origin Origin) {
	i, ok := o.search(path)
	if !ok {
		*o = slices.Insert(*o, i, placed{path: path})
	}
	(*o)[i].origin = origin
}

func (o Origins) search(path string) (int, bool) {
	return slices.BinarySearchFunc(o, path, func(p placed, path string) int { return strings.Compare(p.path, path) })
}
