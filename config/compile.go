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

// MaxObjects is the maximum number of objects of a directory.
const MaxObjects = 10_000

// Compile evaluates the module. Diagnostics are sorted by place. Objects with errors are omitted,
// so the result is incomplete if there are errors.
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
	return result, all.collect()
}

// compiler starts a compilation: it declares all names of the root and evaluates none.
func (m *Module) compiler() *compiler {
	all := &compilation{
		module:    m,
		run:       &eval.Run{Advice: function.Absent()},
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

	compilers []*compiler // of the root, then of the module calls in order
	moves     []move
	movesTo   map[string]int // the first move to each address
	functions map[*load.Directory]map[string]ctyfunction.Function
	instances int         // objects so far
	names     int         // declared in modules so far
	unknown   []hcl.Range // of values that could not be computed

	diags        hcl.Diagnostics
	places       map[*hcl.Diagnostic]*compiler // of diagnostics in modules
	namesInDoubt bool                          // because a move has an error
}

// A compiler is one compilation of one directory: the root, or one call of a module.
type compiler struct {
	*compilation
	dir    *load.Directory
	path   trail     // the modules on the way; empty for the root
	at     hcl.Range // of the block that calls the module
	inputs inputs
	scope  *eval.Scope

	functions map[string]ctyfunction.Function
	nodes     []*eval.Node // all names, in order of declaration
	objects   []*objectBlock
	modules   []*moduleCall
}

func (all *compilation) compiler(dir *load.Directory, path trail, in inputs) *compiler {
	c := &compiler{compilation: all, dir: dir, path: path, inputs: in}
	if all.functions[dir] == nil { // a module can be called many times
		all.functions[dir] = function.Table(all.module.tree.In(dir))
	}
	c.functions = all.functions[dir]
	all.compilers = append(all.compilers, c)
	return c
}

// declare declares everything that expressions in the directory can refer to.
func (c *compiler) declare() {
	c.report(load.CheckTerraform(c.dir.Blocks)...)
	c.compareTypes()
	c.declareMoves()
	c.scope = eval.NewScope(c.run, c.roots(), c.functions)
	for _, table := range []schemas.Block{schemas.Limits, schemas.Overlay, schemas.Buffer} {
		c.declareObjects(table) // nothing refers to these
	}
}

// evaluate evaluates all names, including those without references.
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

		"limits": {Absent: "References to limits blocks are not possible. To use an amount in several places, " +
			"declare a local."},
		"overlay": {Absent: "References to overlay blocks are not possible."},
		"buffer":  {Absent: "References to buffer blocks are not possible."},
		"plan":    {Absent: "The effects of a change are known only in policy blocks."},
		"each":    {Absent: "The names each.key and each.value exist only in blocks with for_each."},
		"count": {Absent: "The argument count does not exist. Repeat a block with for_each, or omit it with " +
			"enabled."},
		"data": {Absent: "Data sources do not exist: nothing is read while compiling. Declare a variable for the " +
			"value."},
		"env": {Absent: "Environment variables cannot be read. Declare a variable for the value."},
		"output": {Absent: "Outputs do not exist. The pools and node classes of a module are available as " +
			"module.NAME.pool.NAME and module.NAME.node_class.NAME."},
		"path": {Absent: `Paths are relative to the directory of the file, as in file("teams.yaml").`},
		"self": {Absent: "A block cannot refer to itself. Refer to other blocks by their addresses."},
	}
}

// report records diagnostics and their module.
func (c *compiler) report(diags ...*hcl.Diagnostic) {
	c.diags = diag.Append(c.diags, c.located(diags)...)
}

// located records that diagnostics are from this module. The same error in several calls of a
// module is reported once, with the call in which it first occurred.
func (c *compiler) located(diags hcl.Diagnostics) hcl.Diagnostics {
	for _, d := range diags {
		inside := d.Subject != nil && path.Dir(d.Subject.Filename) == c.dir.Path
		if c.places[d] == nil && len(c.path) > 0 && inside {
			c.places[d] = c
		}
	}
	return diags
}

// collect collects and sorts all diagnostics. A value that is unknown without an error must not be
// dropped silently.
func (all *compilation) collect() hcl.Diagnostics {
	diags := append(all.diags, all.run.Diags...)
	if !diags.HasErrors() {
		if len(all.unknown) == 0 && len(all.run.Unknown) > 0 {
			all.unknown = append(all.unknown, all.run.Unknown[0].Range)
		}
		for _, at := range all.unknown {
			diags = diags.Append(diag.At("Value cannot be computed",
				"The value of this expression is unknown. Check that it does not pass null to a function.", at))
		}
	}
	diags = diag.Sort(load.Advise(diags))
	for _, d := range diags {
		if c := all.places[d]; c != nil {
			d.Detail += fmt.Sprintf(" It occurs in %s, called at %s.", c.path, diag.Line(c.at))
		}
	}
	return diags
}

// A declaration is a name and its place.
type declaration struct {
	root, label string
	at          hcl.Range // of the whole declaration
	labelAt     hcl.Range
}

func declarationOf(root string, block *hcl.Block) declaration {
	return declaration{root, block.Labels[0], block.DefRange, block.LabelRanges[0]}
}

// enter adds a node to the table under the declared name.
func (c *compiler) enter(table *eval.Table, d declaration, node *eval.Node) {
	node.Name, node.Range = c.path.to(step{d.root, d.label, ""}).String(), d.at
	c.locate(node)
	if earlier := table.Nodes[d.label]; earlier != nil {
		c.report(diag.At("Duplicate name",
			fmt.Sprintf("A %s named %q was already declared at %s.", table.Noun, d.label, diag.Line(earlier.Range)), d.at))
		return
	}
	table.Nodes[d.label] = node
	c.nodes = append(c.nodes, node)
	if !hclsyntax.ValidIdentifier(d.label) {
		c.report(diag.At("Invalid name",
			fmt.Sprintf("References such as %[2]s are not possible with the label %[1]q. A label starts with a "+
				"letter and contains letters, digits, dashes and underscores.", d.label, node.Name), d.labelAt))
	}
}

// locate records the module of diagnostics about a node.
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

// checkSettings checks the lkeplan blocks. Loading has already checked required_version.
func (c *compiler) checkSettings() {
	for _, block := range c.dir.Blocks.OfType(schemas.Lkeplan.Type) {
		_, diags := block.Body.Content(decode.Schema(schemas.Lkeplan))
		c.report(diags...)
	}
}
