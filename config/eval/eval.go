// Package eval evaluates HCL expressions on demand: a name that an expression
// refers to is worked out when the expression is, once, and its value kept.
// No graph is built and no order is computed; a cycle is a name that is asked
// for while it is being worked out.
//
// The package knows names and values. It knows no block types: what a name
// stands for is a function that its creator provides.
//
// A [Meter] counts the work and stops it before it gets out of hand. HCL
// evaluates without a context: once begun, an expression runs to its end, and
// seventy characters can keep it busy for hours or fill the memory. The Meter is
// attached to those parts of expressions that repeat work or multiply data:
// loops, templates, operators, functions. What is over the limit comes out
// unknown, and the limit is reported once.
//
// A value that cannot be worked out is unknown, and everything made from it is
// unknown as well, silently: the cause has been reported where it is. Nothing
// else in the language is unknown.
package eval

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/diag"
)

// MaxChain is the longest chain of names that refer to one another.
const MaxChain = 500

// A Run is one evaluation of one configuration: it collects the diagnostics of
// all names and knows which of them are being worked out.
type Run struct {
	Meter  *Meter
	Advice map[string]string // what to use instead of functions that people try, by name
	Diags  hcl.Diagnostics   // of names, in the order in which they were asked for
	// Unknown are names without a definite value although nothing is wrong with
	// them, the cause before what is made from it.
	Unknown []*Node

	references  map[hclsyntax.Expression][]hcl.Traversal // of expressions that were evaluated
	busy        []*Node
	suggestions int // asked for so far
}

// A Node is a name and the way to its value.
type Node struct {
	Name  string    // as written in expressions: "local.base"
	Range hcl.Range // of its definition

	// Eval works the value out. Where it returns errors, the value is taken
	// as unknown.
	Eval func() (cty.Value, hcl.Diagnostics)

	// Check, where it is set, is called once with the value and may refer to
	// the node itself. Errors make the value unknown to later readers.
	Check func(cty.Value) hcl.Diagnostics

	// Secret is that the value must not be shown. A node becomes secret when it is
	// worked out from one that is.
	Secret bool

	done  bool
	value cty.Value
}

// Value returns the node's value, which is unknown where it, or something it
// refers to, is in error.
func (r *Run) Value(n *Node) cty.Value {
	if n.done {
		return n.value
	}
	if diags := r.enter(n); diags.HasErrors() {
		r.Diags = diag.Append(r.Diags, diags...)
		return cty.DynamicVal
	}
	value, diags := n.Eval()
	r.settle(n, value, diags)
	if n.Check != nil && n.value.IsWhollyKnown() {
		secret := n.Secret
		r.settle(n, value, n.Check(value))
		n.Secret = secret // what a check compares it with is not in the value
	}
	r.busy = r.busy[:len(r.busy)-1]
	return n.value
}

// usesSecret notes that what is being worked out is made from a secret.
func (r *Run) usesSecret() {
	if len(r.busy) > 0 {
		r.busy[len(r.busy)-1].Secret = true
	}
}

func (r *Run) settle(n *Node, value cty.Value, diags hcl.Diagnostics) {
	r.Diags = diag.Append(r.Diags, diags...)
	if diags.HasErrors() {
		value = cty.DynamicVal
	} else if !value.IsWhollyKnown() {
		r.Unknown = append(r.Unknown, n)
	}
	n.value, n.done = value, true
}

// maxReferences is how many expressions a run remembers the references of: more than a
// block has that is repeated.
const maxReferences = 1000

// referencesOf is what an expression refers to. To find that out, the whole
// expression is walked, and what is repeated would be walked often.
func (r *Run) referencesOf(expr hcl.Expression) []hcl.Traversal {
	native, ok := expr.(hclsyntax.Expression)
	if !ok {
		return expr.Variables()
	}
	found, known := r.references[native]
	if !known {
		if r.references == nil || len(r.references) == maxReferences {
			r.references = map[hclsyntax.Expression][]hcl.Traversal{}
		}
		found = native.Variables()
		r.references[native] = found
	}
	return found
}

// settled reports whether a name has the value that it will keep.
func (r *Run) settled(n *Node) bool { return n.done && !slices.Contains(r.busy, n) }

// enter notes that n is being worked out, unless it already is.
func (r *Run) enter(n *Node) hcl.Diagnostics {
	if i := slices.Index(r.busy, n); i >= 0 {
		return cycle(r.busy[i:])
	}
	if len(r.busy) == MaxChain {
		return hcl.Diagnostics{diag.At("Chain of references too long",
			fmt.Sprintf("More than %d names refer to one another in a chain that ends here.", MaxChain), n.Range)}
	}
	r.busy = append(r.busy, n)
	return nil
}

func cycle(steps []*Node) hcl.Diagnostics {
	var names []string
	for _, n := range steps {
		names = append(names, fmt.Sprintf("%s (%s)", n.Name, diag.Line(n.Range)))
	}
	names = append(names, steps[0].Name)
	return hcl.Diagnostics{diag.At("Values refer to each other in a cycle",
		fmt.Sprintf("None of these can be worked out, because each needs the next: %s.",
			strings.Join(names, " → ")), steps[0].Range)}
}
