package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/schemas"
)

// The limits of modules. Ten directories that call each other twice would compile to a thousand
// modules, each with all of its names.
const (
	MaxModules = 1000
	MaxNames   = 30_000
)

// A moduleCall is a module block, with the compiled modules once its node has a value.
type moduleCall struct {
	block   *hcl.Block
	modules map[string]*compiler // by key; "" without for_each
}

// declareModules declares module.NAME for each module block.
func (c *compiler) declareModules() *eval.Table {
	table := &eval.Table{Noun: "module", Nodes: map[string]*eval.Node{}}
	for _, block := range c.dir.Blocks.OfType(schemas.Module.Type) {
		m := &moduleCall{block: block, modules: map[string]*compiler{}}
		node := &eval.Node{Eval: func() (cty.Value, hcl.Diagnostics) { return c.callModule(m) }}
		c.enter(table, declarationOf("module", block), node)
		c.modules = append(c.modules, m)
	}
	return table
}

// callModule compiles a module: once, or once for each element. Its value contains the pools and
// the node classes by their names in the module.
func (c *compiler) callModule(m *moduleCall) (cty.Value, hcl.Diagnostics) {
	if diags := c.roomForModule(m.block.DefRange); diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	content, rest, diags := m.block.Body.PartialContent(decode.Schema(schemas.Module))
	arguments, restDiags := rest.JustAttributes()
	diags = append(append(diags, restDiags...), c.checkArguments(m.block, arguments)...)
	on, enabledDiags := c.enabled(content.Attributes["enabled"])
	diags = append(diags, enabledDiags...)
	if diags.HasErrors() || !on {
		return cty.NullVal(cty.DynamicPseudoType), diags
	}
	return c.forEach(content.Attributes["for_each"], func(scope *eval.Scope, key string) (cty.Value, hcl.Diagnostics) {
		return c.compileModule(m, arguments, scope, key)
	})
}

// compileModule compiles the directory of a module with the arguments of one call. An argument is
// evaluated when its variable is first used.
func (c *compiler) compileModule(m *moduleCall, arguments hcl.Attributes, scope *eval.Scope, key string) (cty.Value,
	hcl.Diagnostics) {
	at := m.block.DefRange
	if diags := c.roomForModule(at); diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	given := inputs{}
	for name, attr := range arguments {
		given[name] = input{source: diag.Line(attr.Range), expr: attr.Expr, scope: scope}
	}
	called := c.compiler(c.dir.Calls[m.block], c.path.to(step{"module", m.block.Labels[0], key}), given)
	called.at = at
	m.modules[key] = called
	called.declare()
	c.compilation.names += len(called.nodes)
	called.evaluate()
	value := map[string]cty.Value{}
	for _, table := range []string{schemas.NodeClass.Type, schemas.Pool.Type} {
		value[table] = called.valueOf(table)
	}
	return cty.ObjectVal(value), nil
}

// roomForModule reports an error if another module would exceed the limits.
func (all *compilation) roomForModule(at hcl.Range) hcl.Diagnostics {
	switch {
	case len(all.compilers) > MaxModules:
		return hcl.Diagnostics{diag.Limit("Too many modules",
			fmt.Sprintf("A configuration can have at most %d module calls.", MaxModules), at)}
	case all.names > MaxNames:
		return hcl.Diagnostics{diag.Limit("Too many modules",
			fmt.Sprintf("The modules of a configuration can have at most %d names in total.", MaxNames), at)}
	}
	return nil
}

// valueOf returns an object of all names below a root. They must already be evaluated.
func (c *compiler) valueOf(typ string) cty.Value {
	values := map[string]cty.Value{}
	for _, o := range c.objects {
		if o.table.Type == typ {
			values[o.block.Labels[0]] = c.run.Value(o.node)
		}
	}
	return cty.ObjectVal(values)
}

// checkArguments compares the arguments of a module block with the variables
// that the module declares.
func (c *compiler) checkArguments(block *hcl.Block, arguments hcl.Attributes) (diags hcl.Diagnostics) {
	called := c.dir.Calls[block]
	declared := map[string]*hcl.Block{}
	for _, variable := range called.Blocks.OfType(schemas.Variable.Type) {
		declared[variable.Labels[0]] = variable
	}
	names := slices.Sorted(maps.Keys(declared))
	for _, attr := range inSourceOrder(arguments) {
		if declared[attr.Name] == nil {
			diags = append(diags, diag.At("Unknown argument",
				fmt.Sprintf("The module in %s has no variable %q.%s", called.Path, attr.Name,
					c.run.DidYouMean(attr.Name, slices.Values(names))), attr.NameRange))
		}
	}
	for _, name := range names {
		at := declared[name].DefRange
		content, _, _ := declared[name].Body.PartialContent(decode.Schema(schemas.Variable))
		switch {
		case slices.ContainsFunc(schemas.Module.Args, func(a schemas.Arg) bool { return a.Name == name }):
			diags = append(diags, diag.At("Variable that cannot be set",
				fmt.Sprintf("Module blocks reserve the argument %s, so a module cannot have a variable with this "+
					"name.", name), at))
		case arguments[name] == nil && content.Attributes["default"] == nil:
			diags = append(diags, diag.At("Missing argument",
				fmt.Sprintf("The module requires a value for %s, a variable without a default: %s.", name,
					diag.Line(at)), block.DefRange))
		}
	}
	return diags
}
