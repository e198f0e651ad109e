package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// An Import is permission to take over an object that exists already. Applying
// uses it; compiling changes nothing.
type Import struct {
	Addr  Addr
	Kind  string
	Name  string // of the object in the cluster
	Range hcl.Range
}

// A Removal says what becomes of an object that is no longer declared.
type Removal struct {
	Addr Addr
	Kind string
	// Namespace is that of the object; "" for kinds that have none.
	Namespace string
	Name      string // of the object in the cluster
	Delete    bool   // otherwise it stays as it is, and is no longer managed
	Prune     string // graceful or now: how a pool is deleted; "": as the guards say
	Range     hcl.Range
}

// Key says which object of a cluster it is about.
func (r Removal) Key() manifest.Key {
	return manifest.Key{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// imports reads the import blocks. Each is for one object, which is declared
// under the name that the existing one has.
func (c *compiler) imports() (imports []Import) {
	at := map[string]hcl.Range{}
	for _, block := range c.few(schemas.Import) {
		content, t, ok := c.addressed(schemas.Import, "to", block, at)
		id, idOK := c.text(content.Attributes["id"])
		if !ok || !idOK {
			continue
		}
		to := content.Attributes["to"].Expr.Range()
		found, diags := c.find(t, to)
		if len(found) > 1 {
			diags = hcl.Diagnostics{diag.At("Address of several objects",
				fmt.Sprintf("%s has for_each, and an existing object becomes one of its elements. Add the key, as "+
					"in %s[\"KEY\"].", t, t), to)}
		}
		c.report(diags...)
		if diags.HasErrors() || len(found) == 0 {
			continue
		}
		if i := found[0]; i.name != id {
			c.report(diag.AtExpression("Another object",
				fmt.Sprintf("%s is the object %q. To take over %q, give the block its name: name = %q.", t, i.name,
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
	for _, block := range c.few(schemas.Removed) {
		content, t, ok := c.addressed(schemas.Removed, "from", block, at)
		if !ok {
			continue
		}
		from := content.Attributes["from"].Expr.Range()
		if c.stillThere(from, func(i instance) bool { return within(t, i.at) }) {
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
				"A buffer is in a namespace: the argument namespace says in which this one was.", block.DefRange))
			ok = false
		case !namespaced && attr != nil:
			c.report(diag.AtExpression("Argument that means nothing here",
				fmt.Sprintf("A %s is in no namespace.", r.Kind), attr.Expr))
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
		if ok && !c.stillThere(from, same) {
			removals = append(removals, r)
		}
	}
	return removals
}

// stillThere reports an object that is said to be removed, where one is declared that
// matches.
func (c *compiler) stillThere(removed hcl.Range, matches func(instance) bool) bool {
	i, ok := c.declared(matches)
	if ok {
		c.report(diag.At("Removed, but still there",
			fmt.Sprintf("%s is still declared, at %s. Remove its block, or this one.", i.at,
				diag.Line(i.object.Origins.Find("").Range)), removed))
	}
	return ok
}

// pace reads how a pool is deleted. The second result is false where that is in error,
// which is reported.
func (c *compiler) pace(attr *hcl.Attribute, r Removal) (string, bool) {
	text, ok := c.text(attr)
	if !ok {
		return "", false
	}
	of := schemas.Paces()
	switch {
	case !slices.Contains(of, text):
		c.report(diag.AtExpression("Unknown value",
			fmt.Sprintf("%s is one of %s, and not %q.%s", attr.Name, strings.Join(of, ", "), text,
				eval.DidYouMean(text, of)), attr.Expr))
		return "", false
	case r.Kind != schemas.Pool.Object.Kind || !r.Delete:
		c.report(diag.AtExpression("Argument that means nothing here",
			"Only a pool that is deleted goes gracefully or now.", attr.Expr))
		return "", false
	}
	return text, true
}

// few returns the blocks of a type of which there cannot be many.
func (c *compiler) few(table schemas.Block) hcl.Blocks {
	blocks := c.dir.Blocks.OfType(table.Type)
	if len(blocks) > MaxMoves {
		c.report(tooMany(blocks[0])...)
		return nil
	}
	return blocks
}

// addressed reads a block about one object, which is the only one about it.
func (c *compiler) addressed(table schemas.Block, argument string, block *hcl.Block,
	seen map[string]hcl.Range) (*hcl.BodyContent, trail, bool) {
	content, diags := block.Body.Content(decode.Schema(table))
	attr := content.Attributes[argument]
	if attr == nil {
		c.report(diags...)
		return content, nil, false
	}
	t, addressDiags := address(attr)
	diags = append(diags, addressDiags...)
	if t != nil && t[len(t)-1].typ == schemas.Module.Type {
		diags = append(diags, diag.AtExpression("Address of a module",
			fmt.Sprintf("The block %s is about one object, such as %s.pool.NAME.", table.Type, t), attr.Expr))
	}
	if earlier, again := seen[t.String()]; again && t != nil {
		diags = append(diags, diag.AtExpression("Block given twice",
			fmt.Sprintf("The block %s for %s is there already, at %s.", table.Type, t, diag.Line(earlier)), attr.Expr))
	}
	seen[t.String()] = block.DefRange
	c.report(diags...)
	return content, t, !diags.HasErrors()
}

// text evaluates an argument that is the name of an object. The second result
// is false where it is in error, which is reported.
func (c *compiler) text(attr *hcl.Attribute) (string, bool) {
	if attr == nil {
		return "", false // and is reported as missing
	}
	v, _, diags := c.scope.Value(attr.Expr)
	c.report(diags...)
	if diags.HasErrors() || c.undecided(v, attr.Expr) {
		return "", false
	}
	v, err := eval.ConvertMetered(v, cty.String)
	if err != nil || v.IsNull() || v.AsString() == "" {
		c.report(diag.AtExpression("Wrong type of value",
			fmt.Sprintf("The argument %s takes the name of an object in the cluster, as text.", attr.Name), attr.Expr))
		return "", false
	}
	return v.AsString(), true
}
