package config

import (
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// An objectBlock is a block that compiles to an object in the cluster, or to several with for_each.
type objectBlock struct {
	table     schemas.Block
	block     *hcl.Block
	node      *eval.Node
	instances []instance // once the node has a value
}

// An instance is one compiled object.
type instance struct {
	at     trail
	name   string
	object Object
	value  cty.Value // the value in expressions
	whole  bool      // without errors
}

// declareObjects declares TYPE.NAME for the blocks of one type.
func (c *compiler) declareObjects(table schemas.Block) *eval.Table {
	t := &eval.Table{Noun: table.Type, Nodes: map[string]*eval.Node{}}
	var objects []*objectBlock
	for _, block := range c.dir.Blocks.OfType(table.Type) {
		o := &objectBlock{table: table, block: block, node: &eval.Node{}}
		o.node.Eval = func() (cty.Value, hcl.Diagnostics) { return c.instantiate(o) }
		c.enter(t, declarationOf(table.Type, block), o.node)
		objects = append(objects, o)
	}
	c.objects = append(c.objects, objects...)
	all := cty.DynamicVal
	t.Whole = func() cty.Value {
		if !all.IsKnown() {
			all = c.allOf(objects)
		}
		return all
	}
	return t
}

// allOf returns the value of pool or node_class without a name: all objects by their names in the
// cluster.
func (c *compiler) allOf(objects []*objectBlock) cty.Value {
	all := map[string]cty.Value{}
	for _, o := range objects {
		if !c.run.Value(o.node).IsKnown() {
			return cty.DynamicVal
		}
		for _, i := range o.instances {
			all[i.name] = i.value
		}
	}
	return cty.ObjectVal(all)
}

// instantiate compiles a block: once, or once for each element.
func (c *compiler) instantiate(o *objectBlock) (cty.Value, hcl.Diagnostics) {
	content, _, _ := o.block.Body.PartialContent(decode.Schema(o.table))
	on, diags := c.enabled(content.Attributes["enabled"])
	if diags.HasErrors() || !on {
		return cty.NullVal(cty.DynamicPseudoType), diags
	}
	if c.instances >= MaxObjects {
		return cty.DynamicVal, hcl.Diagnostics{diag.Limit("Too many objects",
			fmt.Sprintf("A directory can compile to at most %d objects.", MaxObjects), o.block.DefRange)}
	}
	value, diags := c.forEach(content.Attributes["for_each"], func(scope *eval.Scope, key string) (cty.Value,
		hcl.Diagnostics) {
		diags := c.compileInstance(o, scope, key)
		return o.instances[len(o.instances)-1].value, diags
	})
	if len(c.path) == 0 { // a module can be called again
		syntax.Forget(o.block.Body)
	}
	return value, diags
}

// forEach compiles a block once, with the key "", or once for each element of its for_each.
func (c *compiler) forEach(attr *hcl.Attribute,
	compile func(*eval.Scope, string) (cty.Value, hcl.Diagnostics)) (cty.Value, hcl.Diagnostics) {
	if attr == nil {
		return compile(c.scope, "")
	}
	elements, diags := c.elements(attr)
	if diags.HasErrors() || elements == nil {
		return cty.DynamicVal, diags
	}
	values := map[string]cty.Value{}
	for _, key := range slices.Sorted(maps.Keys(elements)) {
		each := cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal(key), "value": elements[key]})
		value, elementDiags := compile(c.scope.With("each", eval.Root{Value: each}), key)
		values[key], diags = value, append(diags, elementDiags...)
	}
	return cty.ObjectVal(values), diags
}

// enabled applies to the whole block, before its elements exist.
func (c *compiler) enabled(attr *hcl.Attribute) (bool, hcl.Diagnostics) {
	if attr == nil {
		return true, nil
	}
	for _, reference := range attr.Expr.Variables() {
		if reference.RootName() == "each" {
			return false, hcl.Diagnostics{diag.At("Reference to an element in enabled",
				"The argument enabled applies to the whole block. To omit single elements, filter for_each: { "+
					"for k, v in var.teams : k => v if v.enabled }.", reference.SourceRange())}
		}
	}
	return c.truth(attr)
}

// recordUnknown records an expression that decides something and is unknown. It is an error, unless
// another error is the cause.
func (c *compiler) recordUnknown(v cty.Value, expr hcl.Expression) bool {
	if v.IsWhollyKnown() {
		return false
	}
	c.unknown = append(c.unknown, expr.Range())
	return true
}

// isNull is the message about a null value that is not allowed.
func isNull(v cty.Value) string {
	if !v.IsNull() {
		return ""
	}
	return " It is null. To set a value for null, write coalesce(..., true)."
}

// truth evaluates an argument that is true or false.
func (c *compiler) truth(attr *hcl.Attribute) (bool, hcl.Diagnostics) {
	v, ctx, diags := c.scope.Value(attr.Expr)
	if diags.HasErrors() || c.recordUnknown(v, attr.Expr) {
		return false, diags
	}
	on, err := convert.Convert(v, cty.Bool)
	if err != nil || v.IsNull() {
		d := diag.AtExpression("Wrong type of value", fmt.Sprintf("The argument %s must be true or false.%s", attr.Name,
			isNull(v)), attr.Expr)
		d.EvalContext = ctx
		return false, hcl.Diagnostics{d}
	}
	return on.True(), nil
}

// elements returns the elements of for_each by key; nil if it is unknown.
func (c *compiler) elements(attr *hcl.Attribute) (map[string]cty.Value, hcl.Diagnostics) {
	v, ctx, diags := c.scope.Value(attr.Expr)
	if diags.HasErrors() {
		return nil, diags
	}
	if n, ok := countElements(v); ok && n+c.instances > MaxObjects {
		return nil, hcl.Diagnostics{diag.Limit("Too many objects",
			fmt.Sprintf("A directory can compile to at most %d objects.", MaxObjects), attr.Expr.Range())}
	}
	if !v.IsKnown() || v.Type().IsSetType() && !v.IsWhollyKnown() {
		c.recordUnknown(v, attr.Expr)
		return nil, nil
	}
	elements, wrong := eval.Elements(v)
	if wrong != "" {
		d := diag.AtExpression("Invalid for_each",
			"The argument for_each takes a map, or a set of strings. "+wrong, attr.Expr)
		d.EvalContext = ctx
		return nil, hcl.Diagnostics{d}
	}
	if _, ok := elements[""]; ok {
		return nil, hcl.Diagnostics{diag.AtExpression("Invalid for_each",
			"One of the keys is empty, but the key is part of the object's name.", attr.Expr)}
	}
	return elements, nil
}

// countElements returns the number of elements of a map, object or set. It is checked before reading them,
// because reading a set sorts it.
func countElements(v cty.Value) (n int, ok bool) {
	ty := v.Type()
	v, _ = v.Unmark()
	if !v.IsKnown() || v.IsNull() || !ty.IsMapType() && !ty.IsObjectType() && !ty.IsSetType() {
		return 0, false
	}
	return v.LengthInt(), true
}

// compileInstance compiles one instance and adds it to the block's. It also adds instances with
// errors, to reserve their names.
func (c *compiler) compileInstance(o *objectBlock, scope *eval.Scope, key string) hcl.Diagnostics {
	said := decode.Object(o.table, o.block, scope)
	at := c.path.to(step{o.table.Type, o.block.Labels[0], key})
	before := c.before(at)
	name, nameAt := nameOf(o.block, &said, before)
	fields := said.Value.AsValueMap()
	if fields == nil {
		fields = map[string]cty.Value{}
	}
	fields["kind"], fields["name"] = cty.StringVal(o.table.Object.Kind), cty.StringVal(name)
	diags := append(said.Diags, checkName(name, nameAt)...)
	c.compilation.instances++
	o.instances = append(o.instances, instance{
		at:     at,
		name:   name,
		object: Object{Addr: at.addr(), Before: before.addr(), Manifest: said.Fields, Origins: said.Origins},
		value:  cty.ObjectVal(fields),
		whole:  len(said.Unknown) == 0 && !diags.HasErrors(),
	})
	c.unknown = append(c.unknown, said.Unknown...)
	return diags
}

// nameOf sets the object's name: the argument name, or the name that follows from its address or
// from the address before a move.
func nameOf(block *hcl.Block, said *decode.Result, at trail) (string, hcl.Range) {
	written, _ := manifest.Lookup(said.Fields, "metadata", "name")
	if name, ok := written.(string); ok {
		return name, said.Origins.Find("metadata.name").Range
	}
	name := at.objectName()
	manifest.Ensure(said.Fields, "metadata")["name"] = name
	said.Origins.Set("metadata.name", decode.Origin{Range: block.LabelRanges[0]})
	return name, block.LabelRanges[0]
}

var namePattern = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// checkName checks that a name is valid in Kubernetes and as the value of a label, because it
// becomes a label of each node.
func checkName(name string, at hcl.Range) hcl.Diagnostics {
	if namePattern.MatchString(name) && len(name) <= 63 {
		return nil
	}
	return hcl.Diagnostics{diag.At("Invalid object name",
		fmt.Sprintf("The name of the object would be %q, which Kubernetes does not allow. A name has at most 63 "+
			"characters: lower-case letters, digits, dashes and dots. The name, and each part between dots, starts and "+
			"ends with a letter or digit. Rename the block, or set the argument name, as in name = \"web-pool\".", name), at)}
}

// compiledObjects returns the objects without errors, sorted by address, and reports duplicate
// names.
func (all *compilation) compiledObjects() []Object {
	var objects []Object
	names := map[manifest.Key]Object{}
	for _, c := range all.compilers {
		for i := range c.allInstances() {
			key := i.object.Key()
			if earlier, taken := names[key]; taken {
				if !all.namesInDoubt {
					at, again := earlier.Origins.Find("metadata.name").Range, i.object.Origins.Find("metadata.name").Range
					c.report(diag.At("Duplicate object name",
						fmt.Sprintf("%s and %s (%s) would both be the %s %q. Set another name for one of them.",
							i.object.Addr, earlier.Addr, diag.Line(at), i.object.Kind(), i.name), again))
				}
				continue
			}
			names[key] = i.object
			if i.whole {
				objects = append(objects, i.object)
			}
		}
	}
	slices.SortFunc(objects, func(a, b Object) int { return compareAddr(a.Addr, b.Addr) })
	return objects
}

// allInstances returns the objects of this directory, without those of its modules.
func (c *compiler) allInstances() iter.Seq[instance] {
	return func(yield func(instance) bool) {
		for _, o := range c.objects {
			for _, i := range o.instances {
				if !yield(i) {
					return
				}
			}
		}
	}
}
