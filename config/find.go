package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/schemas"
)

// find returns the objects at an address. There can be none: a block can be disabled or have no
// elements.
func (c *compiler) find(t trail, at hcl.Range) ([]instance, hcl.Diagnostics) {
	s := t[0]
	if s.typ != schemas.Module.Type {
		return c.findObjects(s, at)
	}
	i := slices.IndexFunc(c.modules, func(m *moduleCall) bool { return m.block.Labels[0] == s.name })
	if i < 0 {
		return nil, c.noObject(s, at)
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
	return nil, c.noObject(s, at)
}

func (c *compiler) noObject(s step, at hcl.Range) hcl.Diagnostics {
	var names []string
	for _, block := range c.dir.Blocks.OfType(s.typ) {
		names = append(names, block.Labels[0])
	}
	in := "this directory"
	if len(c.path) > 0 {
		in = c.path.String()
	}
	return hcl.Diagnostics{diag.At("No object at this address",
		fmt.Sprintf("No %s is named %q in %s.%s", s.typ, s.name, in, eval.DidYouMean(s.name, names)), at)}
}

func noElement(s step, keys []string, at hcl.Range) hcl.Diagnostics {
	block := s.typ + "." + s.name
	detail := fmt.Sprintf("%s has no for_each, so the element %q does not exist.", block, s.key)
	slices.Sort(keys)
	switch {
	case len(keys) > 0 && s.key == "":
		detail = fmt.Sprintf("%s has for_each, so its address needs a key, such as %q.", block, keys)
	case len(keys) > 0 && keys[0] != "":
		detail = fmt.Sprintf("%s has no element %q.%s The keys are %s.", block, s.key, eval.DidYouMean(s.key, keys),
			strings.Join(keys, ", "))
	}
	return hcl.Diagnostics{diag.At("No object at this address", detail, at)}
}
