package eval

import (
	"maps"
	"slices"
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// Contexts of so many names, and so many of them, are kept by a scope: a directory of
// pools has few different ones, and each field of each pool keeps its own for messages.
const (
	maxUses     = 10
	maxContexts = 1000
)

// context returns the context with the values of what is used: the same for the same
// names, once their values are settled.
func (s *Scope) context(uses map[string]use) *hcl.EvalContext {
	key, lasting := keyOf(uses)
	if ctx := s.contexts[key]; ctx != nil && lasting {
		return ctx
	}
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{}, Functions: s.functions}
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		ctx.Variables[name] = s.value(s.roots[name], uses[name])
	}
	if lasting && s.settled(uses) {
		if s.contexts == nil || len(s.contexts) == maxContexts {
			s.contexts = map[string]*hcl.EvalContext{}
		}
		s.contexts[key] = ctx
	}
	return ctx
}

// keyOf writes what is used so that different uses are different. The second result is
// false for uses whose context is not kept: of many names, or of all below a root.
func keyOf(uses map[string]use) (key string, lasting bool) {
	var text []byte
	n := 0
	for _, root := range slices.Sorted(maps.Keys(uses)) {
		u := uses[root]
		if n += 1 + len(u.names); n > maxUses || u.whole != nil {
			return "", false
		}
		text = strconv.AppendQuote(text, root)
		for _, name := range slices.Sorted(maps.Keys(u.names)) {
			text = strconv.AppendQuote(append(text, '.'), name)
		}
	}
	return string(text), true
}

// settled reports whether the values of what is used stay what they are. While a value is
// checked, the check sees one that those after it may not see.
func (s *Scope) settled(uses map[string]use) bool {
	for name, u := range uses {
		root := s.roots[name]
		if root.Node != nil && !s.run.settled(root.Node) {
			return false
		}
		for name := range u.names {
			if !s.run.settled(root.Table.Nodes[name]) {
				return false
			}
		}
	}
	return true
}
