package eval

import (
	"iter"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/lkeplan/lkeplan/config/diag"
)

// A Scope contains the names that expressions in one place can refer to.
type Scope struct {
	run       *Run
	roots     map[string]Root
	functions map[string]function.Function
	private   bool                        // values are not shown
	contexts  map[string]*hcl.EvalContext // cached contexts, by their references
}

// A Root is the first name of a reference, such as var in var.environment. Exactly one of Value, Node,
// Table and Absent is set.
type Root struct {
	Value  cty.Value // a known value: each
	Node   *Node     // a value to evaluate: cluster
	Table  *Table    // names below the root: var, local, pool
	Absent string    // why this root does not exist, for names that users try

	// Nulls are why parts of Value are null, as sentences, by the names after the root: cost.ceiling.
	Nulls map[string]string
}

// A Table contains the names below one root.
type Table struct {
	Noun  string // for messages: "variable"
	Nodes map[string]*Node

	// Whole is the value of the root without a name, as in [for p in pool : p.name]. If unset, it
	// is an object of all names.
	Whole func() cty.Value
}

// NewScope returns a scope with the given roots and functions.
func NewScope(run *Run, roots map[string]Root, functions map[string]function.Function) *Scope {
	return &Scope{run: run, roots: roots, functions: functions}
}

// With returns a scope with an additional root.
func (s *Scope) With(name string, root Root) *Scope {
	roots := maps.Clone(s.roots)
	roots[name] = root
	return &Scope{run: s.run, roots: roots, functions: s.functions, private: s.private}
}

// Private returns a scope whose expressions can refer to secrets, because their values stay in the
// evaluation or only make decisions. In other scopes, such a reference is an error.
func (s *Scope) Private() *Scope {
	private := *s
	private.private = true
	return &private
}

// Value evaluates an expression. It returns the value and the context of the evaluation, for
// further diagnostics. The value is unknown if the expression, or a name that it refers to, has an
// error.
func (s *Scope) Value(expr hcl.Expression) (cty.Value, *hcl.EvalContext, hcl.Diagnostics) {
	at, references := expr.Range(), s.run.referencesOf(expr)
	ctx, diags := s.Context(references)
	if diags.HasErrors() {
		return cty.DynamicVal, ctx, diags
	}
	shown := ctx
	secrets := s.secretsAmong(references)
	if len(secrets) > 0 {
		s.run.usesSecret()
		shown = nil // a diagnostic would show the values of the references
	}
	value, diags := expr.Value(ctx)
	if diags.HasErrors() && len(secrets) > 0 {
		return cty.DynamicVal, shown, hcl.Diagnostics{diag.At("Error in an expression with a secret",
			"This expression refers to a value from a Secret, so its error is not shown.", at)}
	}
	if diags.HasErrors() {
		return cty.DynamicVal, ctx, s.Explain(diag.Append(nil, diags...))
	}
	return value, shown, nil
}

// DidYouMean is Run.DidYouMean.
func (s *Scope) DidYouMean(given string, names iter.Seq[string]) string {
	return s.run.DidYouMean(given, names)
}

// Context resolves references and returns a context with only their values. It looks up all
// references before it evaluates any, so unknown names are reported even if evaluation fails.
// Expressions with the same references can share a context.
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

// A use is the set of names below a root that are referred to, or all of them.
type use struct {
	names map[string]bool
	whole *hcl.Range
}

// lookup resolves a reference and records it in uses.
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

// SecondName returns the name after the root, written pool.x or pool["x"], and the place of both.
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
