// Package eval evaluates HCL expressions on demand. A name is evaluated when an expression first
// refers to it, and its value is kept. There is no graph and no order: a cycle is a reference to a
// name during its own evaluation. The package knows names and values, but no block types: a name is
// a function that its creator provides.
//
// HCL evaluates without a context: once begun, an expression runs to its end, and seventy characters
// can keep it busy for hours or fill the memory. The controller evaluates in a child process, which is
// killed at its memory and time; the command line runs where its author's job has limits.
//
// A value with an error is unknown, and values that depend on it are unknown too, without further
// messages: the cause has been reported. Nothing else in the language is unknown.
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

// MaxChain is the maximum length of a chain of references.
const MaxChain = 500

// A Run is one evaluation of one configuration. It collects the diagnostics of all names and tracks
// which names are being evaluated.
type Run struct {
	Advice map[string]string // advice for functions that do not exist, by name
	Diags  hcl.Diagnostics   // of names, in the order of evaluation
	// Unknown lists names whose value is unknown without an error, causes before their dependents.
	Unknown []*Node

	references  map[hclsyntax.Expression][]hcl.Traversal // of expressions that were evaluated
	busy        []*Node
	suggestions int // requested so far
}

// A Node is a name and the function that evaluates it.
type Node struct {
	Name  string    // as in expressions: "local.base"
	Range hcl.Range // of its definition

	// Eval evaluates the node. If it returns errors, the value is unknown.
	Eval func() (cty.Value, hcl.Diagnostics)

	// Check, if set, is called once with the value, and can refer to the node itself. After an
	// error, the value is unknown to later readers.
	Check func(cty.Value) hcl.Diagnostics

	// Secret is whether the value must not be shown. A node that depends on a secret node becomes
	// secret when it is evaluated.
	Secret bool

	done  bool
	value cty.Value
}

// Value returns the node's value. It is unknown if the node, or a name that it refers to, has an
// error.
func (r *Run) Value(n *Node) cty.Value {
	if n.done {
		return n.value
	}
	if diags := r.enter(n); diags.HasErrors() {
		r.Diags = diag.Append(r.Diags, diags...)
		return cty.DynamicVal
	}
	value, diags := n.Eval()
	r.finish(n, value, diags)
	if n.Check != nil && n.value.IsWhollyKnown() {
		secret := n.Secret
		r.finish(n, value, n.Check(value))
		n.Secret = secret // the value does not contain the references of a check
	}
	r.busy = r.busy[:len(r.busy)-1]
	return n.value
}

// usesSecret records that the names being evaluated depend on a secret.
func (r *Run) usesSecret() {
	if len(r.busy) > 0 {
		r.busy[len(r.busy)-1].Secret = true
	}
}

func (r *Run) finish(n *Node, value cty.Value, diags hcl.Diagnostics) {
	r.Diags = diag.Append(r.Diags, diags...)
	if diags.HasErrors() {
		value = cty.DynamicVal
	} else if !value.IsWhollyKnown() {
		r.Unknown = append(r.Unknown, n)
	}
	n.value, n.done = value, true
}

// maxReferences is the maximum number of expressions whose references a run caches: more than a
// repeated block contains.
const maxReferences = 1000

// referencesOf returns the references of an expression. Finding them walks the whole expression, so
// those of repeated expressions are cached.
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

// final reports whether the value of a name is final.
func (r *Run) final(n *Node) bool { return n.done && !slices.Contains(r.busy, n) }

// enter records that the evaluation of n has started, unless it is already in progress.
func (r *Run) enter(n *Node) hcl.Diagnostics {
	if i := slices.Index(r.busy, n); i >= 0 {
		return cycle(r.busy[i:])
	}
	if len(r.busy) == MaxChain {
		return hcl.Diagnostics{diag.At("Chain of references too long",
			fmt.Sprintf("The chain of references that ends here has more than %d names.", MaxChain), n.Range)}
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
		fmt.Sprintf("None of these values can be computed, because each needs the next: %s.",
			strings.Join(names, " → ")), steps[0].Range)}
}
