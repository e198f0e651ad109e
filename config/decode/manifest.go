package decode

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// manifest merges the argument manifest over the compiled object: maps are merged, other values are
// replaced, and null deletes a value.
func (d *decoder) manifest(table schemas.Block, attr *hcl.Attribute, at place) {
	v, ctx, diags := d.scope.Value(attr.Expr)
	d.fail(diags...)
	src := d.source(&schemas.Arg{Name: "manifest"}, attr.Expr, ctx, "")
	if !v.IsWhollyKnown() {
		d.unknown = append(d.unknown, attr.Expr.Range())
		return
	}
	fields, ok := d.json(v, src).(map[string]any)
	if !ok {
		if !v.IsNull() {
			d.problem(src, "Wrong type of value",
				"The argument manifest takes a map of fields, such as { spec = { weight = 10 } }.")
		}
		return
	}
	d.merge(table, at, fields, src)
}

func (d *decoder) merge(table schemas.Block, at place, fields map[string]any, src source) {
	parts := d.parts(src)
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		part, path := src.part(parts, key), at.join(key)
		nested, ok := fields[key].(map[string]any)
		switch {
		case path == "apiVersion" || path == "kind" || path == "metadata.name":
			d.problem(part, "Field cannot be set",
				fmt.Sprintf("%s identifies the object. It is set by the block type and the argument name.", path))
		case !isWritable(path):
			d.problem(part, "Field cannot be set", fmt.Sprintf("A configuration cannot set %s: the argument "+
				"manifest takes fields of spec, metadata.labels and metadata.annotations. Delete the field.", path))
		case ok:
			d.merge(table, at.sub(key), nested, part)
		case path == "spec" || path == "metadata" || slices.Contains(annotated, path) && fields[key] != nil:
			d.problem(part, "Wrong type of value", fmt.Sprintf("%s must be a map of fields. Set fields in it, or "+
				"delete it.", path))
		case fields[key] == nil:
			delete(at.fields, key)
		default:
			if list, ok := fields[key].([]any); !plainLabels(fields[key]) && (!ok || len(list) > 0) {
				d.warnCovered(table, path, part)
			}
			at.fields[key] = fields[key]
			d.origins = slices.DeleteFunc(d.origins, func(p placed) bool { return strings.HasPrefix(p.path, path+".") })
			d.locate(path, part.origin())
		}
	}
}

// isWritable reports whether manifest can set a field, or fields below it. Other fields control who
// deletes an object, and when: owners, finalizers, status.
func isWritable(path string) bool {
	if path == "metadata" || path == "spec" || strings.HasPrefix(path, "spec.") {
		return true
	}
	for _, part := range annotated {
		if path == part || strings.HasPrefix(path, part+".") {
			return true
		}
	}
	return false
}

// annotated lists the maps of an object whose keys can belong to programs.
var annotated = []string{"metadata.labels", "metadata.annotations"}

// onNodes lists the maps of a NodePool whose keys are copied to its NodeClaims and Nodes, where only
// lkeplan acts on its keys. Karpenter's CRD checks keys of Karpenter and Kubernetes there.
var onNodes = []string{"spec.template.metadata.labels", "spec.template.metadata.annotations"}

// checkReserved reports labels and annotations that record or trigger actions of lkeplan, Karpenter or
// the programs that apply its objects.
func (d *decoder) checkReserved(object map[string]any) {
	at := originsOf(slices.Clone(d.origins))
	for _, part := range slices.Concat(annotated, onNodes) {
		keys := manifest.Map(object, strings.Split(part, ".")...)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			value, _ := keys[key].(string)
			owner := schemas.ReservedFor(key, value)
			if arg := at.Find(part + "." + key).Arg; arg != nil && arg.Path == part+"["+key+"]" {
				continue // its argument has set it
			}
			if owner == "" || slices.Contains(onNodes, part) && owner != schemas.Ours {
				continue
			}
			set := key
			if key == schemas.ArgoOptions || key == schemas.FluxPrune { // other values are allowed
				set = fmt.Sprintf("%s = %q", key, value)
			}
			d.fail(diag.At("Reserved key", fmt.Sprintf("%s sets %s, which belongs to %s. Delete it.", part, set, owner),
				at.Find(part+"."+key).Range))
		}
	}
}

// checkInPlace reports keys of in_place that no label or annotation of the nodes has, so that a typing error does not
// replace nodes later, and keys of requirements, by which Karpenter compares nodes with their pool.
func (d *decoder) checkInPlace(object map[string]any) {
	text, ok := manifest.Map(object, "metadata", "annotations")[schemas.AnnotationInPlace].(string)
	if !ok {
		return
	}
	from := originsOf(slices.Clone(d.origins)).Find("metadata.annotations." + schemas.AnnotationInPlace)
	required, _ := manifest.Lookup(object, "spec", "template", "spec", "requirements")
	requirements, _ := required.([]any)
	for key := range strings.SplitSeq(text, ",") {
		_, label := manifest.Map(object, "spec", "template", "metadata", "labels")[key]
		_, annotation := manifest.Map(object, "spec", "template", "metadata", "annotations")[key]
		if !label && !annotation {
			d.fail(from.Error("Unknown key", fmt.Sprintf("The pool sets no label or annotation %s. Add it to labels or "+
				"annotations, or delete it from in_place.", key)))
		}
		if slices.ContainsFunc(requirements, func(r any) bool {
			fields, _ := r.(map[string]any)
			return fields["key"] == key
		}) {
			d.fail(from.Error("Key of a requirement", fmt.Sprintf("The pool requires the label %s, so a change of it replaces "+
				"nodes. Delete it from in_place or from requirements.", key)))
		}
	}
}

// checkRefresh reports an age at which nodes cannot be replaced.
func (d *decoder) checkRefresh(object map[string]any) {
	text, _ := manifest.Map(object, "metadata", "annotations")[schemas.AnnotationRefreshAfter].(string)
	if after, err := time.ParseDuration(text); text == "" || err == nil && after >= schemas.ShortestRefresh {
		return
	}
	from := originsOf(slices.Clone(d.origins)).Find("metadata.annotations." + schemas.AnnotationRefreshAfter)
	d.fail(from.Error("Invalid age", fmt.Sprintf("The nodes of a pool cannot be replaced at the age %s. Write 10m or more, such as "+
		"\"720h\", or delete refresh_after.", text)))
}

// warnCovered warns of fields that an argument can set, because arguments are checked better and
// easier to read.
func (d *decoder) warnCovered(table schemas.Block, path string, src source) {
	for _, arg := range table.Args {
		if arg.Path != "" && (path == plainPath.Replace(arg.Path) || strings.HasPrefix(path, arg.Path+".")) {
			d.report(hcl.DiagWarning, src, "Field has an argument",
				fmt.Sprintf("The argument %[2]s sets %[1]s. Use it instead of manifest.", path, arg.Name))
		}
	}
}

// plainLabels reports whether a value is requirements that include a label without a prefix, which
// the argument would treat as a short name.
func plainLabels(value any) bool {
	list, _ := value.([]any)
	return slices.ContainsFunc(list, func(element any) bool {
		entry, _ := element.(map[string]any)
		key := manifest.Text(entry, "key")
		return key != "" && entry["operator"] != nil && !strings.Contains(key, "/")
	})
}

// json converts any value to JSON form, with whole numbers as int64, so rules about integers can be
// checked.
func (d *decoder) json(v cty.Value, src source) any {
	ty := v.Type()
	switch {
	case v.IsNull():
		return nil
	case ty == cty.String:
		return v.AsString()
	case ty == cty.Bool:
		return v.True()
	case ty == cty.Number:
		return jsonNumber(v)
	case ty.IsObjectType(), ty.IsMapType():
		fields := map[string]any{}
		for key, value := range v.AsValueMap() {
			fields[key] = d.json(value, src)
		}
		return fields
	case ty.IsCapsuleType():
		d.problem(src, "Requirement in manifest",
			"Requirement functions can be used only in the argument requirements. In manifest, write the fields "+
				"of Kubernetes.")
		return nil
	}
	list := []any{}
	for _, element := range v.AsValueSlice() {
		list = append(list, d.json(element, src))
	}
	return list
}

func jsonNumber(v cty.Value) any {
	f := v.AsBigFloat()
	if n, accuracy := f.Int64(); accuracy == 0 {
		return n
	}
	n, _ := f.Float64()
	return n
}
