package eval

import (
	"maps"
	"slices"
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// A scope caches up to this number of contexts, each with up to this number of names. A directory
// of pools has few different contexts, and each field of each pool keeps its context for messages.
const (
	maxUses     = 10
	maxContexts = 1000
)

// context returns the context with the values of used names. It returns the same context for the
// same names once their values are final.
func (s *Scope) context(uses map[string]use) *hcl.EvalContext {
	key, lasting := keyOf(uses)
	if ctx := s.contexts[key]; ctx != nil && lasting {
		return ctx
	}
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{}, Functions: s.functions}
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		ctx.Variables[name] = s.value(s.roots[name], uses[name])
	}
	if lasting && s.final(uses) {
		if s.contexts == nil || len(s.contexts) == maxContexts {
			s.contexts = map[string]*hcl.EvalContext{}
		}
		s.contexts[key] = ctx
	}
	return ctx
}

// keyOf returns a key for used names, distinct for distinct uses. The second result is false if the
// context is not cached, because it has many names or all names below a root.
func keyOf(uses map[string]use) (key string, lasting bool) {
	var text []byte
	n := 0
	for _, root := range slices.Sorted(maps.Keys(uses)) {
		u := uses[root]
		n += 1 + len(u.names)
		if n > maxUses || u.whole != nil {
			return "", false
		}
		text = strconv.AppendQuote(text, root)
		for _, name := range slices.Sorted(maps.Keys(u.names)) {
			text = strconv.AppendQuote(append(text, '.'), name)
		}
	}
	return string(text), true
}

// final reports whether the values of used names are final. During a check of a value, the check
// sees a value that others may not see.
func (s *Scope) final(uses map[string]use) bool {
	for name, u := range uses {
		root := s.roots[name]
		if root.Node != nil && !s.run.final(root.Node) {
			return false
		}
		for name := range u.names {
			if !s.run.final(root.Table.Nodes[name]) {
				return false
			}
		}
	}
	return true
}
