package decode

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/schemas"
)

// readReference reads a reference to an object: a value with a kind and a name, such as node_class.NAME. It
// ignores other attributes.
func readReference(v cty.Value) (kind, name string, ok bool) {
	if v.IsNull() || !v.IsKnown() {
		return "", "", false
	}
	kind, hasKind := textOf(v, "kind")
	name, hasName := textOf(v, "name")
	return kind, name, hasKind && hasName
}

// textOf reads an attribute, or an element of a map.
func textOf(v cty.Value, key string) (text string, ok bool) {
	switch ty := v.Type(); {
	case ty.IsObjectType() && ty.HasAttribute(key):
		v = v.GetAttr(key)
	case ty.IsMapType() && v.HasIndex(cty.StringVal(key)).True():
		v = v.Index(cty.StringVal(key))
	default:
		return "", false
	}
	v, err := convert.Convert(v, cty.String)
	if err != nil || v.IsNull() {
		return "", false
	}
	return v.AsString(), true
}

// nodeClassRef reads a value with a kind and a name: node_class.NAME, or an object for a class that
// is managed elsewhere.
func (d *decoder) nodeClassRef(v cty.Value, src source) any {
	kind, name, ok := readReference(v)
	if !ok {
		detail := "The argument node_class takes a reference to a node_class block, such as node_class.default."
		if v.Type() == cty.String {
			name := schemas.NodeClass.Type + "." + strings.TrimPrefix(v.AsString(), schemas.NodeClass.Type+".")
			switch {
			case !hclsyntax.ValidIdentifier(strings.TrimPrefix(name, schemas.NodeClass.Type+".")):
			case strings.HasSuffix(src.expr.Range().Filename, ".json"):
				detail += fmt.Sprintf(" In JSON, write it as an expression: \"${%s}\".", name)
			default:
				detail += fmt.Sprintf(" Write it without quotes: %s.", name)
			}
		}
		d.problem(src, "Invalid node class",
			detail+` For a class that is not declared here, write { kind = "LinodeNodeClass", name = "NAME" }.`)
		return nil
	}
	if kind != schemas.NodeClass.Object.Kind {
		d.problem(src, "Invalid node class",
			fmt.Sprintf("The value is a %s, but a pool needs a %s.%s", kind, schemas.NodeClass.Object.Kind,
				eval.DidYouMean(kind, []string{schemas.NodeClass.Object.Kind})))
	}
	return map[string]any{"group": schemas.NodeClassGroup, "kind": kind, "name": name}
}

// poolRefs reads a list of pools, and writes their names sorted.
func (d *decoder) poolRefs(v cty.Value, src source) any {
	if ty := v.Type(); !ty.IsTupleType() && !ty.IsListType() && !ty.IsSetType() {
		d.problem(src, "Invalid list of pools",
			fmt.Sprintf("The argument %s takes a list of references, such as [pool.general]. For all elements of a "+
				"pool with for_each, write values(pool.team).", src.arg.Name))
		return nil
	}
	var names []string
	wrong := false
	parts := d.parts(src)
	for i, element := range v.AsValueSlice() {
		if element.IsNull() {
			continue // a pool with enabled = false
		}
		kind, name, ok := readReference(element)
		if ok && kind == schemas.Pool.Object.Kind {
			names = append(names, name)
			continue
		}
		wrong = true
		d.problem(src.part(parts, strconv.Itoa(i)), "Invalid pool", notPool(kind, ok, element))
	}
	if len(names) == 0 && !wrong && src.arg.Default != "none" {
		d.problem(src, "Empty list of pools",
			fmt.Sprintf("The list contains no pools. Without the argument %s, all pools are selected; to select "+
				"none, omit the block with enabled = false.", src.arg.Name))
	}
	slices.Sort(names)
	return listOf(slices.Compact(names))
}

// notPool explains why a value is not a reference to a pool.
func notPool(kind string, isReference bool, v cty.Value) string {
	switch {
	case isReference:
		return fmt.Sprintf("The value is a %s, but only pools are allowed here.", kind)
	case v.CanIterateElements():
		return "A reference to one pool is required, such as pool.general. " +
			"For all elements of a pool with for_each, write values(pool.team)."
	}
	return `A reference to a pool is required, such as pool.general. For a pool that is not declared here, write ` +
		`{ kind = "NodePool", name = "NAME" }.`
}
