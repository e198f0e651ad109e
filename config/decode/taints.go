package decode

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/eval"
)

// A taint has the form that kubectl uses: key=value:Effect, or key:Effect.
type taint struct {
	key, value, effect string
	src                source
}

var effects = []string{"NoSchedule", "PreferNoSchedule", "NoExecute"}

// taints writes a list of taints, sorted, so a change of their order is no change.
func (d *decoder) taints(v cty.Value, src source) any {
	var taints []taint
	for text, part := range d.elements(v, src) {
		if t, ok := d.taint(text, part); ok {
			taints = append(taints, t)
		}
	}
	slices.SortFunc(taints, compareTaints)
	var list []any
	for i, t := range taints {
		if i > 0 && t.key == taints[i-1].key && t.effect == taints[i-1].effect {
			d.problem(t.src, "Duplicate taint",
				fmt.Sprintf("A node can have only one taint %s with the effect %s.", t.key, t.effect))
		}
		field := map[string]any{"key": t.key, "effect": t.effect}
		if t.value != "" {
			field["value"] = t.value
		}
		list = append(list, field)
		d.locate(fmt.Sprintf("%s.%d", src.path, i), t.src.origin())
	}
	if list == nil {
		return nil
	}
	return list
}

func compareTaints(a, b taint) int {
	return cmp.Or(strings.Compare(a.key, b.key), strings.Compare(a.effect, b.effect), strings.Compare(a.value, b.value))
}

func (d *decoder) taint(text string, src source) (taint, bool) {
	keyValue, effect, ok := strings.Cut(text, ":")
	key, value, _ := strings.Cut(keyValue, "=")
	switch {
	case !ok:
		d.problem(src, "Taint without an effect",
			fmt.Sprintf("The taint %q does not name an effect. Write %q, or another of the effects %s.", text, text+":NoSchedule",
				strings.Join(effects, ", ")))
	case key == "":
		d.problem(src, "Taint without a key",
			fmt.Sprintf(`%q has no key. Write a taint as "key=value:Effect".`, text))
	case !slices.Contains(effects, effect):
		d.problem(src, "Unknown taint effect",
			fmt.Sprintf("%q is not an effect. Possible effects are %s.%s", effect, strings.Join(effects, ", "),
				eval.DidYouMean(effect, effects)))
	default:
		return taint{key, value, effect, src}, true
	}
	return taint{}, false
}
