package config

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/schemas"
)

// maxObjects bounds what one directory may compile to.
const maxObjects = 10_000

// Compile evaluates the module. Diagnostics are sorted by place; objects that
// are in error are left out, so what is returned along with errors is not the
// whole configuration.
func (m *Module) Compile() (Compiled, hcl.Diagnostics) {
	c := &compiler{module: m, run: &eval.Run{Meter: m.meter}, functions: functions(m.meter)}
	c.report(misplaced(m.blocks))
	c.checkSettings()
	roots := c.roots()
	c.scope = eval.NewScope(c.run, roots, c.functions)
	for _, node := range c.nodes {
		c.run.Value(node)
	}
	resources := c.resources()
	c.check()
	c.settle()
	return Compiled{Cluster: clusterOf(c.run.Value(roots["cluster"].Node)), Resources: resources}, SortDiagnostics(c.diags)
}

// roots declares everything that expressions can refer to.
func (c *compiler) roots() map[string]eval.Root {
	return map[string]eval.Root{
		"var":        {Table: c.declareVariables()},
		"local":      {Table: c.declareLocals()},
		"cluster":    {Node: c.declareCluster()},
		"node_class": {Table: c.declareObjects(schemas.NodeClass)},
		"pool":       {Table: c.declareObjects(schemas.Pool)},

		"each":  {Absent: "The names each.key and each.value exist in blocks with for_each."},
		"count": {Absent: "There is no count. Repeat a block with for_each, or leave it out with enabled."},
		"data":  {Absent: "Nothing is looked up while compiling. Pass the value in as a variable."},
		"env":   {Absent: "The environment is not read. Pass the value in as a variable."},
		"self":  {Absent: "A block refers to others by their addresses, and cannot refer to itself."},
	}
}

// A compiler is one compilation of one module.
type compiler struct {
	module    *Module
	run       *eval.Run
	scope     *eval.Scope
	functions map[string]function.Function

	nodes   []*eval.Node // all names, in the order in which they were declared
	objects []*object
	unknown []hcl.Range // of values that could not be worked out
	diags   hcl.Diagnostics
}

func (c *compiler) report(diags hcl.Diagnostics) {
	c.diags = append(c.diags, diags...)
}

// settle collects what was reported elsewhere. A value that stayed unknown
// although nothing was wrong must not be dropped in silence.
func (c *compiler) settle() {
	c.report(c.run.Diags)
	c.report(c.run.Meter.Overrun())
	if c.diags.HasErrors() {
		return
	}
	for _, at := range c.unknown {
		c.diags = c.diags.Append(&hcl.Diagnostic{
			Severity: hcl.DiagError,
			Summary:  "Value cannot be worked out",
			Detail:   "This expression has no definite value. Check that it does not call a function with null.",
			Subject:  &at,
		})
	}
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

// declare puts a node into the table, under the name that is declared.
func (c *compiler) declare(table *eval.Table, d declaration, node *eval.Node) {
	node.Name, node.Range = d.root+"."+d.label, d.at
	if earlier := table.Nodes[d.label]; earlier != nil {
		c.report(hcl.Diagnostics{{
			Severity: hcl.DiagError,
			Summary:  "Name used twice",
			Detail:   fmt.Sprintf("There is a %s named %q already, at %s:%d.", table.Noun, d.label, earlier.Range.Filename, earlier.Range.Start.Line),
			Subject:  &d.at,
		}})
		return
	}
	table.Nodes[d.label] = node
	c.nodes = append(c.nodes, node)
	if !hclsyntax.ValidIdentifier(d.label) {
		c.report(hcl.Diagnostics{{
			Severity: hcl.DiagError,
			Summary:  "Invalid name",
			Detail:   fmt.Sprintf("%q cannot be referred to as %s. A label begins with a letter and has letters, digits, dashes and underscores.", d.label, node.Name),
			Subject:  &d.labelAt,
		}})
	}
}

// checkSettings looks at the lkeplan blocks, of which the version is known by
// now to be right.
func (c *compiler) checkSettings() {
	for _, block := range c.module.blocks.OfType(schemas.Lkeplan.Type) {
		_, diags := block.Body.Content(bodySchema(schemas.Lkeplan))
		c.report(diags)
	}
}
