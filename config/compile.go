package config

import (
	"fmt"
	"path"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyfunction "github.com/zclconf/go-cty/cty/function"

	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/config/function"
	"github.com/lkeplan/lkeplan/config/load"
	"github.com/lkeplan/lkeplan/schemas"
)

// MaxObjects bounds what one directory may compile to.
const MaxObjects = 10_000

// Compile evaluates the module. Diagnostics are sorted by place; objects that
// are in error are left out, so what is returned along with errors is not the
// whole configuration.
func (m *Module) Compile() (Compiled, hcl.Diagnostics) {
	return m.compiler().compile()
}

func (c *compiler) compile() (Compiled, hcl.Diagnostics) {
	all := c.compilation
	c.checkSettings()
	c.evaluate()
	all.checkMoves()
	cluster := clusterOf(all.run.Value(all.clusterNode))
	all.inherit(cluster)
	result := Compiled{Cluster: cluster, Directory: c.directory(), Objects: all.compiledObjects()}
	result.Imports, result.Removed, result.Policies = c.imports(), c.removals(), c.policies()
	result.Guards = c.guards()
	if len(c.module.asserts) > 0 {
		result.Trial = &Trial{asserts: c.module.asserts, in: c}
	}
	for _, c := range all.compilers {
		c.check()
	}
	return result, all.settle()
}

// compiler begins a compilation: all names of the root are declared, and none
// is worked out.
func (m *Module) compiler() *compiler {
	all := &compilation{
		module:    m,
		run:       &eval.Run{Meter: m.meter, Advice: function.Absent()},
		movesTo:   map[string]int{},
		functions: map[*load.Directory]map[string]ctyfunction.Function{},
		places:    map[*hcl.Diagnostic]*compiler{},
	}
	c := all.compiler(m.tree.Root, nil, m.inputs)
	all.clusterNode = c.declareCluster()
	c.declare()
	return c
}

// A compilation is one compilation of a root directory with its modules.
type compilation struct {
	module      *Module
	run         *eval.Run
	clusterNode *eval.Node
	versionFrom decode.Origin // of the cluster's kubernetes_version
	modeFrom    decode.Origin // of its mode
	gpusFrom    decode.Origin // of its gpu_plans

	compilers []*compiler // of the root, then of the modules as they are called
	moves     []move
	movesTo   map[string]int // the first of the moves to each address
	functions map[*load.Directory]map[string]ctyfunction.Function
	instances int         // objects so far
	names     int         // declared in modules so far
	unknown   []hcl.Range // of values that could not be worked out

	diags        hcl.Diagnostics
	places       map[*hcl.Diagnostic]*compiler // of what is reported in modules
	namesInDoubt bool                          // as a move is in error
}

// A compiler is one compilation of one directory: the root, or a module as it
// is called once.
type compiler struct {
	*compilation
	dir    *load.Directory
	path   trail     // the modules on the way; empty for the root
	at     hcl.Range // of the block that calls the module
	inputs inputs
	scope  *eval.Scope

	functions map[string]ctyfunction.Function
	nodes     []*eval.Node // all names, in the order in which they were declared
	objects   []*objectBlock
	modules   []*moduleCall
}

func (all *compilation) compiler(dir *load.Directory, path trail, in inputs) *compiler {
	c := &compiler{compilation: all, dir: dir, path: path, inputs: in}
	if all.functions[dir] == nil { // a module may be called often
		all.functions[dir] = function.Table(all.module.meter, all.module.tree.In(dir))
	}
	c.functions = all.functions[dir]
	all.compilers = append(all.compilers, c)
	return c
}

// declare makes everything that expressions in the directory can refer to.
func (c *compiler) declare() {
	c.report(load.CheckTerraform(c.dir.Blocks)...)
	c.declareMoves()
	c.scope = eval.NewScope(c.run, c.roots(), c.functions)
	for _, table := range []schemas.Block{schemas.Limits, schemas.Overlay, schemas.Buffer} {
		c.declareObjects(table) // nothing refers to these
	}
}

// evaluate works out all names, whether something refers to them or not.
func (c *compiler) evaluate() {
	for _, node := range c.nodes {
		c.run.Value(node)
	}
}

// roots declares everything that expressions can refer to.
func (c *compiler) roots() map[string]eval.Root {
	return map[string]eval.Root{
		"var":        {Table: c.declareVariables()},
		"local":      {Table: c.declareLocals()},
		"cluster":    {Node: c.clusterNode},
		"node_class": {Table: c.declareObjects(schemas.NodeClass)},
		"pool":       {Table: c.declareObjects(schemas.Pool)},
		"module":     {Table: c.declareModules()},

		"limits":  {Absent: "Nothing refers to limits blocks. To use an amount in several places, make it a local."},
		"overlay": {Absent: "Nothing refers to overlay blocks."},
		"buffer":  {Absent: "Nothing refers to buffer blocks."},
		"plan":    {Absent: "What a change would do is known in policy blocks, once there is a change."},
		"each":    {Absent: "The names each.key and each.value exist in blocks with for_each."},
		"count":   {Absent: "There is no count. Repeat a block with for_each, or leave it out with enabled."},
		"data":    {Absent: "Nothing is looked up while compiling. Pass the value in as a variable."},
		"env":     {Absent: "The environment is not read. Pass the value in as a variable."},
		"output": {Absent: "There are no outputs. What a module has is module.NAME.pool.NAME and " +
			"module.NAME.node_class.NAME."},
		"path": {Absent: "Paths are from the directory of the file they are in, as in file(\"teams.yaml\")."},
		"self": {Absent: "A block refers to others by their addresses, and cannot refer to itself."},
	}
}

// report notes what is wrong, and in which module.
func (c *compiler) report(diags ...*hcl.Diagnostic) {
	c.diags = diag.Append(c.diags, c.located(diags)...)
}

// located notes that diagnostics are from this module. The same mistake in a
// module that is called more than once is one mistake; what remains of it says
// in which of the calls it was seen first.
func (c *compiler) located(diags hcl.Diagnostics) hcl.Diagnostics {
	for _, d := range diags {
		inside := d.Subject != nil && path.Dir(d.Subject.Filename) == c.dir.Path
		if c.places[d] == nil && len(c.path) > 0 && inside {
			c.places[d] = c
		}
	}
	return diags
}

// settle collects what was reported elsewhere and sorts it. A value that
// stayed unknown although nothing was wrong must not be dropped in silence.
func (all *compilation) settle() hcl.Diagnostics {
	diags := append(append(all.diags, all.run.Diags...), all.run.Meter.Overrun()...)
	if !diags.HasErrors() {
		if len(all.unknown) == 0 && len(all.run.Unknown) > 0 {
			all.unknown = append(all.unknown, all.run.Unknown[0].Range)
		}
		for _, at := range all.unknown {
			diags = diags.Append(diag.At("Value cannot be worked out",
				"This expression has no definite value. Check that it does not call a function with null.", at))
		}
	}
	diags = diag.Sort(load.Advise(diags))
	for _, d := range diags {
		if c := all.places[d]; c != nil {
			d.Detail += fmt.Sprintf(" This is in %s, which is called at %s.", c.path, diag.Line(c.at))
		}
	}
	return diags
}

// A declaration is a name and where it is given.
type declaration struct {
	root, label string
	at          hcl.Range // of the whole declaration
	labelAt     hcl.Range
}

func declarationOf(root string, block *hcl.Block) declaration {
	return declaration{root, block.Labels[0], block.DefRange, block.LabelRanges[0]}
}

// enter puts a node into the table, under the name that is declared.
func (c *compiler) enter(table *eval.Table, d declaration, node *eval.Node) {
	node.Name, node.Range = c.path.to(step{d.root, d.label, ""}).String(), d.at
	c.locate(node)
	if earlier := table.Nodes[d.label]; earlier != nil {
		c.report(diag.At("Name used twice",
			fmt.Sprintf("There is a %s named %q already, at %s.", table.Noun, d.label, diag.Line(earlier.Range)), d.at))
		return
	}
	table.Nodes[d.label] = node
	c.nodes = append(c.nodes, node)
	if !hclsyntax.ValidIdentifier(d.label) {
		c.report(diag.At("Invalid name",
			fmt.Sprintf("%q cannot be referred to as %s. A label begins with a letter and has letters, digits, "+
				"dashes and underscores.", d.label, node.Name), d.labelAt))
	}
}

// locate makes what is wrong with a node known as being from this module.
func (c *compiler) locate(node *eval.Node) {
	if len(c.path) == 0 {
		return
	}
	evaluate, check := node.Eval, node.Check
	node.Eval = func() (cty.Value, hcl.Diagnostics) {
		v, diags := evaluate()
		return v, c.located(diags)
	}
	if check != nil {
		node.Check = func(v cty.Value) hcl.Diagnostics { return c.located(check(v)) }
	}
}

// checkSettings reads the lkeplan blocks. Loading has checked their version.
func (c *compiler) checkSettings() {
	for _, block := range c.dir.Blocks.OfType(schemas.Lkeplan.Type) {
		_, diags := block.Body.Content(decode.Schema(schemas.Lkeplan))
		c.report(diags...)
	}
}
