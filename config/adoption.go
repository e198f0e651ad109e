package config

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// An Import permits taking over an existing object. Applying uses it; compiling changes nothing.
type Import struct {
	Addr  Addr
	Kind  string
	Name  string // of the object in the cluster
	Range hcl.Range
}

// A Removal configures what happens to an object that is no longer declared.
type Removal struct {
	Addr Addr
	Kind string
	// Namespace is the namespace of the object; "" for kinds without namespaces.
	Namespace string
	Name      string // of the object in the cluster
	Delete    bool   // otherwise the object stays unchanged and is no longer managed
	Prune     string // how a pool is deleted, graceful or now; "": as guards sets it
	Range     hcl.Range
}

// Key identifies the object in the cluster.
func (r Removal) Key() manifest.Key {
	return manifest.Key{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// imports reads the import blocks. Each is for one object, whose block must set the name of the
// existing object.
func (c *compiler) imports() (imports []Import) {
	at := map[string]hcl.Range{}
	for _, block := range c.limitedBlocks(schemas.Import) {
		content, t, ok := c.addressed(schemas.Import, "to", block, at)
		id, idOK := c.text(content.Attributes["id"])
		if !ok || !idOK {
			continue
		}
		to := content.Attributes["to"].Expr.Range()
		found, diags := c.find(t, to)
		if len(found) > 1 {
			diags = hcl.Diagnostics{diag.At("Address of several objects",
				fmt.Sprintf(`%s has for_each, and an import is for one element. Add its key, as in %s["KEY"].`, t, t), to)}
		}
		c.report(diags...)
		if diags.HasErrors() || len(found) == 0 {
			continue
		}
		if i := found[0]; i.name != id {
			c.report(diag.AtExpression("Name does not match",
				fmt.Sprintf("The name of %s is %q. To take over %q, set its name in the block: name = %q.", t, i.name,
					id, id), content.Attributes["id"].Expr))
			continue
		}
		imports = append(imports, Import{Addr: t.addr(), Kind: found[0].object.Kind(), Name: id, Range: block.DefRange})
	}
	return imports
}

// removals reads the removed blocks.
func (c *compiler) removals() (removals []Removal) {
	at := map[string]hcl.Range{}
	for _, block := range c.limitedBlocks(schemas.Removed) {
		content, t, ok := c.addressed(schemas.Removed, "from", block, at)
		if !ok {
			continue
		}
		from := content.Attributes["from"].Expr.Range()
		if c.checkRemoved(from, func(i instance) bool { return isWithin(t, i.at) }) {
			continue
		}
		r := Removal{Addr: t.addr(), Kind: objectTypes()[t[len(t)-1].typ].Object.Kind, Name: t.objectName(),
			Range: block.DefRange}
		if attr := content.Attributes["id"]; attr != nil {
			r.Name, ok = c.text(attr)
		}
		namespaced := t[len(t)-1].typ == schemas.Buffer.Type
		switch attr := content.Attributes["namespace"]; {
		case namespaced && attr == nil:
			c.report(diag.At("Missing required argument",
				"A buffer has a namespace. Set the argument namespace.", block.DefRange))
			ok = false
		case !namespaced && attr != nil:
			c.report(diag.AtExpression("Argument not allowed here",
				fmt.Sprintf("A %s has no namespace. Delete the argument.", r.Kind), attr.Expr))
			ok = false
		case attr != nil:
			var said bool
			r.Namespace, said = c.text(attr)
			ok = ok && said
		}
		if attr := content.Attributes["delete"]; attr != nil {
			var diags hcl.Diagnostics
			r.Delete, diags = c.truth(attr)
			c.report(diags...)
		}
		if attr := content.Attributes["prune"]; attr != nil {
			var said bool
			r.Prune, said = c.pace(attr, r)
			ok = ok && said
		}
		same := func(i instance) bool { return i.name == r.Name && i.object.Key() == r.Key() }
		if ok && !c.checkRemoved(from, same) {
			removals = append(removals, r)
		}
	}
	return removals
}

// checkRemoved reports an error if an object of a removed block is still declared.
func (c *compiler) checkRemoved(removed hcl.Range, matches func(instance) bool) bool {
	i, ok := c.declared(matches)
	if ok {
		c.report(diag.At("Removed object is still declared",
			fmt.Sprintf("%s is declared at %s. Delete that block or the removed block.", i.at,
				diag.Line(i.object.Origins.Find("").Range)), removed))
	}
	return ok
}

// pace reads how a pool is deleted. The second result is false after an error, which is reported.
func (c *compiler) pace(attr *hcl.Attribute, r Removal) (string, bool) {
	text, ok := c.text(attr)
	if !ok {
		return "", false
	}
	of := schemas.Paces()
	switch {
	case !slices.Contains(of, text):
		c.report(diag.AtExpression("Unknown value",
			fmt.Sprintf("The argument %s is %q. It must be %s.%s", attr.Name, text, diag.AnyOf(of),
				eval.DidYouMean(text, of)), attr.Expr))
		return "", false
	case r.Kind != schemas.Pool.Object.Kind || !r.Delete:
		c.report(diag.AtExpression("Argument not allowed here",
			"The argument applies only to a pool with delete = true.", attr.Expr))
		return "", false
	}
	return text, true
}

// limitedBlocks returns the blocks of a type whose number is limited.
func (c *compiler) limitedBlocks(table schemas.Block) hcl.Blocks {
	blocks := c.dir.Blocks.OfType(table.Type)
	if len(blocks) > MaxMoves {
		c.report(tooMany(blocks[0])...)
		return nil
	}
	return blocks
}

// addressed reads a block about one object. There can be only one such block for each object.
func (c *compiler) addressed(table schemas.Block, argument string, block *hcl.Block,
	seen map[string]hcl.Range) (*hcl.BodyContent, trail, bool) {
	content, diags := block.Body.Content(decode.Schema(table))
	attr := content.Attributes[argument]
	if attr == nil {
		c.report(diags...)
		return content, nil, false
	}
	t, addressDiags := readAddress(attr)
	diags = append(diags, addressDiags...)
	if t != nil && t[len(t)-1].typ == schemas.Module.Type {
		diags = append(diags, diag.AtExpression("Address of a module",
			fmt.Sprintf("The block %s takes the address of one object, such as %s.pool.NAME.", table.Type, t), attr.Expr))
	}
	if earlier, again := seen[t.String()]; again && t != nil {
		diags = append(diags, diag.AtExpression("Duplicate block",
			fmt.Sprintf("The block %s for %s was already declared at %s.", table.Type, t, diag.Line(earlier)), attr.Expr))
	}
	seen[t.String()] = block.DefRange
	c.report(diags...)
	return content, t, !diags.HasErrors()
}

// text evaluates an argument that is the name of an object. The second result is false after an
// error, which is reported.
func (c *compiler) text(attr *hcl.Attribute) (string, bool) {
	if attr == nil {
		return "", false // reported as missing
	}
	v, _, diags := c.scope.Value(attr.Expr)
	c.report(diags...)
	if diags.HasErrors() || c.recordUnknown(v, attr.Expr) {
		return "", false
	}
	v, err := convert.Convert(v, cty.String)
	if err != nil || v.IsNull() || v.AsString() == "" {
		c.report(diag.AtExpression("Wrong type of value",
			fmt.Sprintf("The argument %s takes the name of an object in the cluster, as text.", attr.Name), attr.Expr))
		return "", false
	}
	return v.AsString(), true
}
