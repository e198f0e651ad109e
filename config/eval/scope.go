package eval

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/lkeplan/lkeplan/config/diag"
)

// A Scope is what expressions in one place can refer to.
type Scope struct {
	run       *Run
	roots     map[string]Root
	functions map[string]function.Function
	private   bool                        // what is worked out is not shown
	contexts  map[string]*hcl.EvalContext // that were made before, by what is referred to
}

// A Root is the first name of a reference: var in var.environment. Exactly one
// of its fields is set.
type Root struct {
	Value  cty.Value // a value that is at hand: each
	Node   *Node     // a value to be worked out: cluster
	Table  *Table    // names below the root: var, local, pool
	Absent string    // a sentence on why there is no such root, for names that people try
}

// A Table holds the names below one root.
type Table struct {
	Noun  string // for messages: "variable"
	Nodes map[string]*Node

	// Whole is the value of the root where it is used without a name, as in
	// [for p in pool : p.name]; without it, the object of all names.
	Whole func() cty.Value
}

// NewScope returns a scope with the given roots and functions.
func NewScope(run *Run, roots map[string]Root, functions map[string]function.Function) *Scope {
	return &Scope{run: run, roots: roots, functions: functions}
}

// With returns a scope that has one more root.
func (s *Scope) With(name string, root Root) *Scope {
	roots := maps.Clone(s.roots)
	roots[name] = root
	return &Scope{run: s.run, roots: roots, functions: s.functions, private: s.private}
}

// Private returns the scope for expressions whose values stay names of the language,
// or only decide something: these may refer to secrets. In other scopes that is an
// error.
func (s *Scope) Private() *Scope {
	private := *s
	private.private = true
	return &private
}

// Value evaluates an expression and returns with its value the context it was
// evaluated in, for use in further diagnostics. The value is unknown where the
// expression, or something it refers to, is in error.
func (s *Scope) Value(expr hcl.Expression) (cty.Value, *hcl.EvalContext, hcl.Diagnostics) {
	at, references := expr.Range(), s.run.referencesOf(expr)
	s.run.Meter.Begin(at)
	ctx, diags := s.Context(references)
	if diags.HasErrors() {
		return cty.DynamicVal, ctx, diags
	}
	shown := ctx
	secrets := s.secretsAmong(references)
	if len(secrets) > 0 {
		s.run.usesSecret()
		shown = nil // the values of the references would be shown with a diagnostic
	}
	s.run.Meter.Begin(at) // once more: other expressions were evaluated
	if !s.run.Meter.Spend(evaluation + at.End.Byte - at.Start.Byte) {
		return cty.DynamicVal, shown, nil
	}
	value, diags := expr.Value(ctx)
	if diags.HasErrors() && len(secrets) > 0 {
		return cty.DynamicVal, shown, hcl.Diagnostics{diag.At("Error with a secret",
			"This expression refers to a value from a Secret, so what is wrong with it is not shown.", at)}
	}
	if diags.HasErrors() {
		return cty.DynamicVal, ctx, s.Explain(diag.Append(nil, diags...))
	}
	size := SizeOf(value)
	if size > MaxSize {
		return cty.DynamicVal, shown, hcl.Diagnostics{tooLarge(expr)}
	}
	if !s.run.Meter.Spend(size * element) {
		return cty.DynamicVal, shown, nil
	}
	return value, shown, nil
}

// What the meter counts besides what the expression does.
const (
	evaluation = 40 // to look names up and make a context; and one for each byte of the expression
	element    = 3  // of the value: to find out how large it is
	perName    = 40 // of all names below a root
)

// DidYouMean is that of the run.
func (s *Scope) DidYouMean(given string, names iter.Seq[string]) string {
	return s.run.DidYouMean(given, names)
}

// Meter is that of the run.
func (s *Scope) Meter() *Meter { return s.run.Meter }

// Spend has the meter count work that is done with a value, and reports whether
// it may be done. Where not, the value counts as unknown.
func (s *Scope) Spend(work int) bool { return s.run.Meter.Spend(work) }

// Begin tells the meter that the evaluation of what stands in one place begins.
// Value does it by itself; it is for bodies that evaluate as they are read.
func (s *Scope) Begin(at hcl.Range) { s.run.Meter.Begin(at) }

// Context resolves references and returns a context that holds their values
// and nothing else. All references are looked up before anything is worked
// out, so a name that does not exist is reported even where other things fail.
// The context may be shared by all that refer to the same.
func (s *Scope) Context(references []hcl.Traversal) (*hcl.EvalContext, hcl.Diagnostics) {
	uses := map[string]use{}
	var diags hcl.Diagnostics
	for _, reference := range references {
		diags = append(diags, s.lookup(reference, uses)...)
	}
	if diags.HasErrors() {
		return &hcl.EvalContext{}, diags
	}
	ctx := s.context(uses)
	if diags := s.refuseSecrets(references); diags.HasErrors() {
		return &hcl.EvalContext{}, diags
	}
	return ctx, nil
}

// A use says which names below a root are referred to: some, or all of them.
type use struct {
	names map[string]bool
	whole *hcl.Range
}

// lookup finds what a reference refers to and notes it in uses.
func (s *Scope) lookup(reference hcl.Traversal, uses map[string]use) hcl.Diagnostics {
	rootName := reference.RootName()
	root, ok := s.roots[rootName]
	if !ok || root.Absent != "" {
		return s.unknownRoot(reference)
	}
	u := uses[rootName]
	if root.Table != nil {
		name, at, named := SecondName(reference)
		switch {
		case !named:
			u.whole = &at
		case root.Table.Nodes[name] == nil:
			return s.unknownName(root.Table, name, at)
		default:
			if u.names == nil {
				u.names = map[string]bool{}
			}
			u.names[name] = true
		}
		if u.whole != nil && u.names != nil && root.Table.Whole != nil {
			return mixed(rootName, *u.whole)
		}
	}
	uses[rootName] = u
	return nil
}

// SecondName returns the name after the root, written pool.x or pool["x"], and
// the place of both.
func SecondName(reference hcl.Traversal) (name string, at hcl.Range, ok bool) {
	if len(reference) == 1 {
		return "", reference.SourceRange(), false
	}
	at = hcl.RangeBetween(reference[0].SourceRange(), reference[1].SourceRange())
	switch step := reference[1].(type) {
	case hcl.TraverseAttr:
		return step.Name, at, true
	case hcl.TraverseIndex:
		if step.Key.Type() == cty.String {
			return step.Key.AsString(), at, true
		}
	}
	return "", at, false
}

func (s *Scope) value(root Root, u use) cty.Value {
	switch {
	case root.Table == nil && root.Node == nil:
		return root.Value
	case root.Table == nil:
		return s.run.Value(root.Node)
	case u.whole != nil && root.Table.Whole != nil:
		return root.Table.Whole()
	}
	names := u.names
	if u.whole != nil {
		if !s.run.Meter.Spend(len(root.Table.Nodes) * perName) {
			return cty.DynamicVal
		}
		names = map[string]bool{}
		for name := range root.Table.Nodes {
			names[name] = true
		}
	}
	values := map[string]cty.Value{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		values[name] = s.run.Value(root.Table.Nodes[name])
	}
	return cty.ObjectVal(values)
}

func tooLarge(expr hcl.Expression) *hcl.Diagnostic {
	return diag.At("Value too large",
		fmt.Sprintf("This value has more than %d elements or four times as many characters.", MaxSize),
		expr.Range())
}
