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
	"github.com/lkeplan/lkeplan/schemas"
)

// An Addr is the address of one compiled object in its directory.
type Addr struct {
	Module string // the module it is in: module.team["ml"], or ""
	Type   string // the block type: "pool"
	Name   string // the block's label
	Key    string // the element of for_each, or ""
}

// String returns the address as an expression refers to the object:
// pool.team["ml"], module.ml.pool.gpu.
func (a Addr) String() string {
	s := step{a.Type, a.Name, a.Key}.String()
	if a.Module != "" {
		return a.Module + "." + s
	}
	return s
}

// ObjectName is the name of the object at an address whose block gives it none.
func (a Addr) ObjectName() string {
	t := trail{{a.Type, a.Name, a.Key}}
	// An address that was compiled has a module that can be parsed.
	modules, _ := hclsyntax.ParseTraversalAbs([]byte(a.Module), "", hcl.InitialPos)
	var path trail
	for len(modules) > 0 {
		s, rest, ok := firstStep(modules)
		if !ok {
			break
		}
		path, modules = path.to(s), rest
	}
	return append(path, t...).objectName()
}

func compareAddr(a, b Addr) int {
	return cmp.Or(strings.Compare(a.Module, b.Module), strings.Compare(a.Type, b.Type),
		strings.Compare(a.Name, b.Name), strings.Compare(a.Key, b.Key))
}

// A trail is an address step by step: the modules on the way, then the object.
// A trail of modules only is the address of a module.
type trail []step

// A step is one block of a trail, and one element of it under for_each.
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

// to returns the trail that is one step longer.
func (t trail) to(s step) trail { return append(slices.Clip(t), s) }

// objectName is the name in the cluster of the object at a trail, where its
// block gives it none: labels and keys joined by dashes, the modules' first.
// Labels are identifiers and names are DNS labels, so underscores become
// dashes.
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

// addr is the address of the object at a trail.
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

// address reads an address that is written out. It is not evaluated: what it
// names may be gone.
func address(attr *hcl.Attribute) (trail, hcl.Diagnostics) {
	traversal, diags := hcl.AbsTraversalForExpr(attr.Expr)
	if text, textDiags := decode.Literal(attr); !textDiags.HasErrors() { // as JSON has it
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
				fmt.Sprintf(" There are no objects named %s.%s.", s.typ, eval.DidYouMean(s.typ, types)))
		} else if object && len(traversal) > 0 {
			return nil, notAnAddress(attr, "")
		}
	}
	return t, nil
}

// firstStep reads TYPE.NAME or TYPE.NAME["KEY"] from the front of a traversal.
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
	detail := fmt.Sprintf("The argument %s takes the address of an object, written out: pool.web, "+
		"pool.team[\"ml\"] or module.ml.pool.gpu.", attr.Name)
	return hcl.Diagnostics{diag.AtExpression("Not an address", detail+hint, attr.Expr)}
}
