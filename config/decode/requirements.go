package decode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/config/requirement"
	"github.com/lkeplan/lkeplan/schemas"
)

// A requirementEntry is one entry of a NodePool's requirements.
type requirementEntry struct {
	label  string
	entry  any
	origin Origin
}

// requirementMap reads the map of requirements. They are written after the rest of the block.
func (d *decoder) requirementMap(v cty.Value, src source) any {
	if !v.Type().IsObjectType() && !v.Type().IsMapType() {
		d.problem(src, "Wrong type of value",
			fmt.Sprintf(`The argument %s takes a map such as { arch = "amd64", cpu = between(4, 32) }.`, src.arg.Name))
		return nil
	}
	parts := d.parts(src)
	names := map[string]string{} // by label
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		name := key.AsString()
		part := src.part(parts, name)
		label, ok := requirementKey(name)
		if value.IsNull() { // removes a key of a merged map
			d.anyCapacity = d.anyCapacity || label.Label == schemas.CapacityTypeLabel
			continue
		}
		switch {
		case !ok:
			d.problem(part, "Unknown requirement", unknownKey(name))
		case names[label.Label] != "":
			d.problem(part, "Duplicate requirement",
				fmt.Sprintf("%s and %s are the same label. Delete one of them, or combine the requirements with "+
					"all(...).", names[label.Label], name))
		default:
			names[label.Label] = name
			d.require(name, label, value, part)
		}
	}
	return nil
}

func (d *decoder) require(name string, key schemas.Key, v cty.Value, src source) {
	if ty := v.Type(); ty.IsObjectType() || ty.IsMapType() {
		d.problem(src, "Invalid requirement", fmt.Sprintf("The requirement %s is a map. Write a value, a list of values, "+
			"or a function such as lte(16) or not(\"a\").", name))
		return
	}
	r, err := requirement.FromValue(v)
	if err != nil {
		d.problem(src, "Invalid requirement", fmt.Sprintf("%s: %s.", name, err))
		return
	}
	entries, err := r.Encode(key)
	if err != nil {
		d.problem(src, "Invalid requirement", fmt.Sprintf("%s: %s.", name, err))
		return
	}
	for _, entry := range entries {
		if fields, _ := entry.(map[string]any); src.arg.Kind == schemas.Selector && fields["minValues"] != nil {
			d.problem(src, "Invalid requirement",
				fmt.Sprintf("%s: atleast(...) is allowed only in the requirements of pools.", name))
		}
		d.requirements = append(d.requirements, requirementEntry{key.Label, entry, src.origin()})
	}
}

var knownKeys = schemas.Keys()

// requirementKey returns the label of a short name. A key with a slash is already a label.
func requirementKey(name string) (schemas.Key, bool) {
	for _, key := range knownKeys {
		if key.Name == name || key.Label == name {
			return key, true
		}
	}
	return schemas.Key{Name: name, Label: name}, strings.Contains(name, "/")
}

func unknownKey(name string) string {
	var names []string
	for _, key := range schemas.Keys() {
		names = append(names, key.Name)
	}
	return fmt.Sprintf(`There is no short name %q.%s The short names are %s; for other labels, write the full `+
		`key, such as "example.com/tier".`,
		name, eval.DidYouMean(name, names), strings.Join(names, ", "))
}

// writeRequirements writes the requirements sorted by label. It excludes spot capacity from each
// pool: Karpenter would prefer it in consolidation, and Linode does not have it. A pool that was
// created without this requirement can omit it with capacity_type = null.
func (d *decoder) writeRequirements(at place, arg schemas.Arg) {
	path, all := arg.Path, d.requirements
	onDemand := schemas.Key{Label: schemas.CapacityTypeLabel}
	if arg.Kind == schemas.Requirements && !d.anyCapacity &&
		!slices.ContainsFunc(all, func(e requirementEntry) bool { return e.label == onDemand.Label }) {
		entry := map[string]any{"key": onDemand.Label, "operator": string(requirement.In), "values": []any{"on-demand"}}
		all = append(all, requirementEntry{onDemand.Label, entry, d.located("")})
	}
	slices.SortStableFunc(all, func(a, b requirementEntry) int { return strings.Compare(a.label, b.label) })
	list := make([]any, len(all))
	for i, e := range all {
		list[i] = e.entry
		d.locate(fmt.Sprintf("%s.%d", path, i), e.origin)
	}
	at.set(path, list)
}
