package config

import (
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
		traversal, diags = hclsyntax.ParseTraversalAbs([]byte(text), attr.Expr.Range().Filename, attr.Expr.Range().Start)
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
			return nil, notAnAddress(attr, fmt.Sprintf(" There are no objects named %s.%s.", s.typ, eval.DidYouMean(s.typ, types)))
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
	detail := fmt.Sprintf("The argument %s takes the address of an object, written out: pool.web, pool.team[\"ml\"] or module.ml.pool.gpu.", attr.Name)
	return hcl.Diagnostics{diag.AtExpression("Not an address", detail+hint, attr.Expr)}
}

// find returns the objects at an address. There may be none: a block on the
// way may be left out, or be repeated for no elements.
func (c *compiler) find(t trail, at hcl.Range) ([]instance, hcl.Diagnostics) {
	s := t[0]
	if s.typ != schemas.Module.Type {
		return c.findObjects(s, at)
	}
	i := slices.IndexFunc(c.modules, func(m *moduleCall) bool { return m.block.Labels[0] == s.name })
	if i < 0 {
		return nil, c.nothingThere(s, at)
	}
	called := c.modules[i].modules
	module, ok := called[s.key]
	switch {
	case len(called) == 0:
		return nil, nil
	case ok && len(t) == 1:
		return slices.Collect(module.allInstances()), nil
	case ok:
		return module.find(t[1:], at)
	case s.key != "" || len(t) > 1:
		return nil, noElement(s, slices.Collect(maps.Keys(called)), at)
	}
	var all []instance
	for _, key := range slices.Sorted(maps.Keys(called)) {
		all = slices.AppendSeq(all, called[key].allInstances())
	}
	return all, nil
}

func (c *compiler) findObjects(s step, at hcl.Range) ([]instance, hcl.Diagnostics) {
	for _, o := range c.objects {
		if o.table.Type != s.typ || o.block.Labels[0] != s.name {
			continue
		}
		if s.key == "" || len(o.instances) == 0 {
			return o.instances, nil
		}
		var keys []string
		for _, i := range o.instances {
			if key := i.object.Addr.Key; key == s.key {
				return []instance{i}, nil
			} else if key != "" {
				keys = append(keys, key)
			}
		}
		return nil, noElement(s, keys, at)
	}
	return nil, c.nothingThere(s, at)
}

func (c *compiler) nothingThere(s step, at hcl.Range) hcl.Diagnostics {
	var names []string
	for _, block := range c.dir.Blocks.OfType(s.typ) {
		names = append(names, block.Labels[0])
	}
	in := "this directory"
	if len(c.path) > 0 {
		in = c.path.String()
	}
	return hcl.Diagnostics{diag.At("Nothing at this address", fmt.Sprintf("There is no %s named %q in %s.%s", s.typ, s.name, in, eval.DidYouMean(s.name, names)), at)}
}

func noElement(s step, keys []string, at hcl.Range) hcl.Diagnostics {
	block := s.typ + "." + s.name
	detail := fmt.Sprintf("%s has no for_each, so it has no element %q.", block, s.key)
	slices.Sort(keys)
	switch {
	case len(keys) > 0 && s.key == "":
		detail = fmt.Sprintf("%s has for_each, so the address needs one of its keys: %q.", block, keys)
	case len(keys) > 0 && keys[0] != "":
		detail = fmt.Sprintf("%s has no element %q.%s The keys are %s.", block, s.key, eval.DidYouMean(s.key, keys), strings.Join(keys, ", "))
	}
	return hcl.Diagnostics{diag.At("Nothing at this address", detail, at)}
}
