package config

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
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
	variables := c.declareVariables()
	locals := c.declareLocals()
	pools, nodeClasses := c.declareObjects(schemas.Pool), c.declareObjects(schemas.NodeClass)
	clusterNode := c.declareCluster()
	c.scope = eval.NewScope(c.run, map[string]eval.Root{
		"var":        {Table: variables},
		"local":      {Table: locals},
		"cluster":    {Node: clusterNode},
		"pool":       {Table: pools},
		"node_class": {Table: nodeClasses},
		"each":       {Absent: "The names each.key and each.value exist in blocks with for_each."},
		"count":      {Absent: "There is no count. Repeat a block with for_each, or leave it out with enabled."},
		"data":       {Absent: "Nothing is looked up while compiling. Pass the value in as a variable."},
		"env":        {Absent: "The environment is not read. Pass the value in as a variable."},
		"self":       {Absent: "A block refers to itself by its address, such as pool.web.name, and not from within."},
	}, c.functions)

	for _, node := range c.nodes {
		c.run.Value(node)
	}
	resources := c.resources()
	c.check()
	c.settle()
	return Compiled{Cluster: clusterOf(c.run.Value(clusterNode)), Resources: resources}, SortDiagnostics(c.diags)
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

// declare gives a block's node its name and place and puts it in the table.
func (c *compiler) declare(table *eval.Table, name string, block *hcl.Block, node *eval.Node) {
	label := block.Labels[0]
	node.Name, node.Range = name, block.DefRange
	if earlier := table.Nodes[label]; earlier != nil {
		c.report(hcl.Diagnostics{{
			Severity: hcl.DiagError,
			Summary:  "Name used twice",
			Detail:   fmt.Sprintf("There is a %s named %q already, at %s:%d.", table.Noun, label, earlier.Range.Filename, earlier.Range.Start.Line),
			Subject:  &block.DefRange,
		}})
		return
	}
	table.Nodes[label] = node
	c.nodes = append(c.nodes, node)
	if !hclsyntax.ValidIdentifier(label) {
		c.report(hcl.Diagnostics{{
			Severity: hcl.DiagError,
			Summary:  "Invalid name",
			Detail:   fmt.Sprintf("%q cannot be referred to as %s. A label begins with a letter and has letters, digits, dashes and underscores.", label, name),
			Subject:  &block.LabelRanges[0],
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

// declareLocals makes local.NAME for each argument of the locals blocks.
func (c *compiler) declareLocals() *eval.Table {
	table := &eval.Table{Noun: "local", Nodes: map[string]*eval.Node{}}
	for _, block := range c.module.blocks.OfType(schemas.Locals.Type) {
		attrs, diags := block.Body.JustAttributes()
		c.report(diags)
		for _, attr := range inSourceOrder(attrs) {
			node := &eval.Node{Eval: func() (cty.Value, hcl.Diagnostics) {
				v, _, diags := c.scope.Value(attr.Expr)
				return v, diags
			}}
			named := &hcl.Block{Labels: []string{attr.Name}, DefRange: attr.NameRange, LabelRanges: []hcl.Range{attr.NameRange}}
			c.declare(table, "local."+attr.Name, named, node)
		}
	}
	return table
}

func inSourceOrder(attrs hcl.Attributes) []*hcl.Attribute {
	var list []*hcl.Attribute
	for _, attr := range attrs {
		list = append(list, attr)
	}
	slices.SortFunc(list, func(a, b *hcl.Attribute) int { return compareRange(&a.Range, &b.Range) })
	return list
}

// declareCluster makes the value of the one cluster block.
func (c *compiler) declareCluster() *eval.Node {
	node := &eval.Node{Name: "cluster", Eval: func() (cty.Value, hcl.Diagnostics) { return cty.DynamicVal, nil }}
	for i, block := range c.module.blocks.OfType(schemas.Cluster.Type) {
		if i > 0 {
			c.report(hcl.Diagnostics{{
				Severity: hcl.DiagError,
				Summary:  "More than one cluster",
				Detail:   fmt.Sprintf("A directory is for one cluster, and this one names its cluster at %s:%d already. Give each cluster a directory of its own.", node.Range.Filename, node.Range.Start.Line),
				Subject:  &block.DefRange,
			}})
			break
		}
		node.Range = block.DefRange
		node.Eval = func() (cty.Value, hcl.Diagnostics) { return c.cluster(block) }
	}
	if node.Range == (hcl.Range{}) {
		c.report(failure("No cluster", "The directory does not say which cluster it is for. Add: cluster { name = \"NAME\" region = \"us-ord\" }, each argument on a line of its own."))
	}
	c.nodes = append(c.nodes, node)
	return node
}

func (c *compiler) cluster(block *hcl.Block) (cty.Value, hcl.Diagnostics) {
	d := decoder{compiler: c, scope: c.scope, origins: Origins{}}
	v := d.block(schemas.Cluster, block.Body, place{fields: map[string]any{}})
	fields := v.AsValueMap()
	if _, ok := fields["tier"]; !ok {
		fields["tier"] = cty.StringVal("standard")
	}
	if tier := fields["tier"]; tier.IsKnown() && tier.AsString() != "standard" && tier.AsString() != "enterprise" {
		attrs, _, _ := block.Body.PartialContent(bodySchema(schemas.Cluster))
		d.diags = append(d.diags, problem("Invalid tier", fmt.Sprintf(`LKE has the tiers "standard" and "enterprise", not %q.`, tier.AsString()), attrs.Attributes["tier"].Expr))
	}
	return cty.ObjectVal(fields), d.diags
}

func clusterOf(v cty.Value) Cluster {
	if !v.IsWhollyKnown() {
		return Cluster{}
	}
	field := func(name string) string { return v.GetAttr(name).AsString() }
	return Cluster{Name: field("name"), Region: field("region"), Tier: field("tier")}
}
