package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/schemas"
)

// An Addr is the address of one compiled object in its directory.
type Addr struct {
	Module string // the module of the object: module.team["ml"], or ""
	Type   string // the block type: "pool"
	Name   string // the block's label
	Key    string // the element of for_each, or ""
}

// String returns the address in the form of a reference: pool.team["ml"], module.ml.pool.gpu.
func (a Addr) String() string {
	s := step{a.Type, a.Name, a.Key}.String()
	if a.Module != "" {
		return a.Module + "." + s
	}
	return s
}

func compareAddr(a, b Addr) int {
	return cmp.Or(strings.Compare(a.Module, b.Module), strings.Compare(a.Type, b.Type),
		strings.Compare(a.Name, b.Name), strings.Compare(a.Key, b.Key))
}

// A trail is an address as a list of steps: the modules on the way, then the object. A trail
// without an object is the address of a module.
type trail []step

// A step is one block of a trail, or one element of it under for_each.
type step struct {
	typ, name, key string
}

func (s step) String() string {
	if s.key == "" {
		return s.typ + "." + s.name
	}
	return fmt.Sprintf("%s.%s[%q]", s.typ, s.name, s.key)
}

func (t trail) String() string {
	var steps []string
	for _, s := range t {
		steps = append(steps, s.String())
	}
	return strings.Join(steps, ".")
}

// to returns the trail with another step.
func (t trail) to(s step) trail { return append(slices.Clip(t), s) }

// objectName returns the name in the cluster of the object at a trail if its block sets none:
// labels and keys joined by dashes, starting with the outermost module. Labels are identifiers and
// names are DNS labels, so underscores become dashes.
func (t trail) objectName() string {
	var parts []string
	for _, s := range t {
		parts = append(parts, s.name)
		if s.key != "" {
			parts = append(parts, s.key)
		}
	}
	return strings.ReplaceAll(strings.Join(parts, "-"), "_", "-")
}

// addr returns the address of the object at a trail.
func (t trail) addr() Addr {
	last := t[len(t)-1]
	return Addr{Module: t[:len(t)-1].String(), Type: last.typ, Name: last.name, Key: last.key}
}

// objectTypes are the block types that compile to objects.
func objectTypes() map[string]schemas.Block {
	types := map[string]schemas.Block{}
	for _, table := range schemas.Document() {
		if table.Object != nil {
			types[table.Type] = table
		}
	}
	return types
}

// readAddress reads a literal address. It does not evaluate it, because the object may no longer exist.
func readAddress(attr *hcl.Attribute) (trail, hcl.Diagnostics) {
	traversal, diags := hcl.AbsTraversalForExpr(syntax.Wrapped(attr.Expr))
	if text, textDiags := decode.Literal(attr); !textDiags.HasErrors() { // in JSON
		traversal, diags = hclsyntax.ParseTraversalAbs([]byte(text), attr.Expr.Range().Filename,
			attr.Expr.Range().Start)
	}
	if diags.HasErrors() {
		return nil, notAnAddress(attr, "")
	}
	var t trail
	for len(traversal) > 0 {
		s, rest, ok := firstStep(traversal)
		if !ok {
			return nil, notAnAddress(attr, "")
		}
		t, traversal = t.to(s), rest
		if _, object := objectTypes()[s.typ]; !object && s.typ != schemas.Module.Type {
			types := append(slices.Collect(maps.Keys(objectTypes())), schemas.Module.Type)
			return nil, notAnAddress(attr,
				fmt.Sprintf(" Blocks of type %q do not compile to objects.%s", s.typ, eval.DidYouMean(s.typ, types)))
		} else if object && len(traversal) > 0 {
			return nil, notAnAddress(attr, "")
		}
	}
	return t, nil
}

// firstStep reads TYPE.NAME or TYPE.NAME["KEY"] at the beginning of a traversal.
func firstStep(traversal hcl.Traversal) (s step, rest hcl.Traversal, ok bool) {
	switch first := traversal[0].(type) {
	case hcl.TraverseRoot:
		s.typ = first.Name
	case hcl.TraverseAttr:
		s.typ = first.Name
	}
	if len(traversal) < 2 || s.typ == "" {
		return s, nil, false
	}
	name, ok := traversal[1].(hcl.TraverseAttr)
	if !ok {
		return s, nil, false
	}
	s.name, rest = name.Name, traversal[2:]
	if len(rest) == 0 {
		return s, rest, true
	}
	if index, ok := rest[0].(hcl.TraverseIndex); ok {
		if index.Key.Type() != cty.String || index.Key.AsString() == "" {
			return s, nil, false
		}
		s.key, rest = index.Key.AsString(), rest[1:]
	}
	return s, rest, true
}

func notAnAddress(attr *hcl.Attribute, hint string) hcl.Diagnostics {
	detail := fmt.Sprintf(`The argument %s takes the literal address of an object: pool.web, pool.team["ml"] or `+
		`module.ml.pool.gpu.`, attr.Name)
	return hcl.Diagnostics{diag.AtExpression("Invalid address", detail+hint, attr.Expr)}
}
