package decode

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/schemas"
)

var (
	quantityPattern = regexp.MustCompile(schemas.QuantityPattern)
	moneyPattern    = regexp.MustCompile(schemas.MoneyPattern)
	wholePattern    = regexp.MustCompile(`^[0-9]+([kMGTPE]i?)?$`)
)

// endless is an amount that Kubernetes would take hours to compare, because it compares amounts
// digit by digit.
var endless = regexp.MustCompile(`^[-+]?[0-9.]+[eE][-+]?[0-9]{3,}$|[0-9.]{200,}`)

// hasEndless reports whether a value contains such an amount.
func hasEndless(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			if hasEndless(inner) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasEndless)
	case string:
		begins := v != "" && strings.IndexByte("+-.0123456789", v[0]) >= 0
		return (begins || len(v) >= 200) && endless.MatchString(v)
	}
	return false
}

// checkEndless reports such amounts in all values, because no other check reads those of the
// argument manifest.
func (d *decoder) checkEndless(at Origins, path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			d.checkEndless(at, strings.TrimPrefix(path+"."+key, "."), v[key])
		}
	case []any:
		for i, element := range v {
			d.checkEndless(at, fmt.Sprintf("%s.%d", path, i), element)
		}
	case string:
		if !endless.MatchString(v) {
			return
		}
		d.fail(diag.At("Amount out of range",
			fmt.Sprintf(`%s has too many digits. Write the amount with a unit, as in "1600Gi".`, path), at.Find(path).Range))
	}
}

func (d *decoder) quantities(v cty.Value, src source) any {
	fields, _ := d.stringMap(v, src).(map[string]any)
	parts := d.parts(src)
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		d.checkResource(key, src.part(parts, key))
		d.checkQuantity(key, fields[key].(string), src.part(parts, key))
	}
	if fields == nil {
		return nil
	}
	return fields
}

// checkResource reports the name of a resource that does not exist, because its limit would have no
// effect. Other programs define the names of device resources, which contain a slash. The API
// server does not allow names of kubernetes.io for them.
func (d *decoder) checkResource(name string, src source) {
	known := src.arg.Keys
	meant := eval.DidYouMean(name, known)
	device := strings.Contains(name, "/") && !strings.Contains(name, "kubernetes.io/") && meant == ""
	if len(known) == 0 || slices.Contains(known, name) || device {
		return
	}
	d.problem(src, "Unknown resource",
		fmt.Sprintf(`No node has a resource %q, so the limit would have no effect.%s Possible names are %s, and `+
			`device resources such as "example.com/card".`, name, meant, strings.Join(known, ", ")))
}

func (d *decoder) quantity(v cty.Value, src source) any {
	d.checkQuantity(src.arg.Name, v.AsString(), src)
	return v.AsString()
}

func (d *decoder) checkQuantity(name, text string, src source) {
	switch {
	case quantityPattern.MatchString(text):
		counted := name == schemas.Nodes || name == schemas.Pods || strings.Contains(name, "/")
		if counted && !wholePattern.MatchString(text) {
			d.problem(src, "Whole number required", fmt.Sprintf("%s = %s is not a whole number. Write a number such as 10.", name, text))
		}
	case strings.HasPrefix(text, "-"):
		d.problem(src, "Negative amount",
			fmt.Sprintf("%s = %s is negative. An amount must be 0 or more.", name, text))
	default:
		d.problem(src, "Invalid amount", fmt.Sprintf("%q is not an amount of %s. Write %s.", text, name, amountOf(name)))
	}
}

// amountOf describes an amount of a resource, with an example.
func amountOf(name string) string {
	switch name {
	case "cpu":
		return `a number of CPUs, such as 100 or "500m"`
	case "memory", "ephemeral-storage":
		return `bytes with a unit, such as "1600Gi"`
	case "nodes":
		return "a number of nodes, such as 10"
	}
	return `a number, optionally with a unit, such as 10 or "1600Gi"`
}

// money reads an amount of dollars, with or without cents.
func (d *decoder) money(v cty.Value, src source) any {
	switch text := v.AsString(); {
	case moneyPattern.MatchString(text):
	case strings.HasPrefix(text, "-") && moneyPattern.MatchString(text[1:]):
		d.problem(src, "Negative amount", fmt.Sprintf("%s = %s is negative. An amount must be 0 or more.", src.arg.Name, text))
	default:
		d.problem(src, "Invalid amount of money",
			fmt.Sprintf(`%q is not an amount of US dollars. Write a number below a trillion, such as 5000, or `+
				`"99.50" with cents, without a currency sign.`, text))
	}
	return v.AsString()
}
