package decode

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/meter"
	"github.com/lkeplan/lkeplan/schemas"
)

// A kind is how the values of one schemas.Kind are read and written.
type kind struct {
	ty    cty.Type
	takes string // for messages: "the argument weight takes ..."

	// encode writes a value that is known and not null as JSON has it. It
	// reports what the value's type does not rule out, where its own words
	// are better than those of the CRD. Nil is not written at all.
	encode func(d *decoder, v cty.Value, src source) any
}

func kindOf(k schemas.Kind) kind {
	switch k {
	case schemas.String:
		return kind{cty.String, "text", func(_ *decoder, v cty.Value, _ source) any { return v.AsString() }}
	case schemas.Bool:
		return kind{cty.Bool, "true or false", func(_ *decoder, v cty.Value, _ source) any { return v.True() }}
	case schemas.Number:
		return kind{cty.Number, "a whole number", (*decoder).number}
	case schemas.ID:
		return kind{cty.Number, "the number Linode gave it", (*decoder).id}
	case schemas.Duration:
		return kind{cty.String, `a duration such as "720h"`, (*decoder).duration}
	case schemas.Strings:
		return kind{cty.List(cty.String), "a list of strings", (*decoder).strings}
	case schemas.Tags:
		return kind{cty.Set(cty.String), "a list of strings", (*decoder).strings}
	case schemas.StringMap:
		return kind{cty.Map(cty.String), "a map of strings", (*decoder).stringMap}
	case schemas.Quantities:
		return kind{cty.Map(cty.String), `a map of amounts such as { cpu = 400, memory = "1600Gi" }`, (*decoder).quantities}
	case schemas.Taints:
		return kind{cty.List(cty.String), `a list such as ["team=web:NoSchedule"]`, (*decoder).taints}
	case schemas.Requirements:
		return kind{cty.DynamicPseudoType, "a map of requirements", (*decoder).requirementMap}
	case schemas.Selector:
		return kind{cty.DynamicPseudoType, "a map of requirements", (*decoder).requirementMap}
	case schemas.PoolRefs:
		return kind{cty.DynamicPseudoType, "a list of references such as [pool.general]", (*decoder).poolRefs}
	case schemas.Quantity:
		return kind{cty.String, `an amount such as 400 or "1600Gi"`, (*decoder).quantity}
	case schemas.Money:
		return kind{cty.String, "an amount of US dollars", (*decoder).money}
	case schemas.NodeClassRef:
		return kind{cty.DynamicPseudoType, "a reference such as node_class.default", (*decoder).nodeClassRef}
	}
	return kind{cty.DynamicPseudoType, "any value", (*decoder).json}
}

// A source is where an argument's value comes from.
type source struct {
	arg  schemas.Arg
	expr hcl.Expression
	ctx  *hcl.EvalContext
	path string
}

func (s source) origin() Origin {
	return Origin{Range: s.expr.Range(), Expression: s.expr, Context: s.ctx, Arg: &s.arg}
}

// parts returns the sources of the elements that are written out in the
// expression, by key or index.
func (s source) parts() map[string]source {
	parts := map[string]source{}
	pairs, diags := hcl.ExprMap(s.expr)
	if !diags.HasErrors() {
		for _, pair := range pairs {
			key, diags := pair.Key.Value(s.ctx)
			if diags.HasErrors() || !key.IsKnown() || key.IsNull() {
				continue
			}
			if key, err := meter.Convert(key, cty.String); err == nil {
				parts[key.AsString()] = source{s.arg, pair.Value, s.ctx, s.path}
			}
		}
		return parts
	}
	items, _ := hcl.ExprList(s.expr)
	for i, item := range items {
		parts[strconv.Itoa(i)] = source{s.arg, item, s.ctx, s.path}
	}
	return parts
}

// part returns the source of one element, or of the whole where the element
// cannot be told apart.
func (s source) part(parts map[string]source, key string) source {
	if part, ok := parts[key]; ok {
		return part
	}
	return s
}

func (d *decoder) number(v cty.Value, src source) any {
	n, accuracy := v.AsBigFloat().Int64()
	if accuracy != big.Exact {
		d.problem(src, "Whole number required", fmt.Sprintf("The argument %s takes a whole number, not %s.", src.arg.Name, v.AsBigFloat().Text('g', 10)))
	}
	return n
}

func (d *decoder) id(v cty.Value, src source) any {
	n := d.number(v, src).(int64)
	if n <= 0 {
		d.problem(src, "Invalid id", fmt.Sprintf("Linode numbers its objects from 1, so %d cannot be the value of %s. To have none, leave the argument out.", n, src.arg.Name))
	}
	return n
}

var (
	durationPattern = regexp.MustCompile(`^([0-9]+(s|m|h))+$`)
	numberPattern   = regexp.MustCompile(`^[0-9]+$`)
	daysPattern     = regexp.MustCompile(`^([0-9]{1,6})\s*(d|w|days?|weeks?)$`)
)

// duration explains what people write most often instead of the few units
// that Karpenter knows. What remains is for the CRD to say.
func (d *decoder) duration(v cty.Value, src source) any {
	text := v.AsString()
	detail := fmt.Sprintf(`%q is not a duration. Write hours, minutes and seconds, as in "720h", "1h30m" or "45s".`, text)
	switch {
	case durationPattern.MatchString(text):
		// The definitions let pass what no program can read: one such object, and
		// nobody can list the others of its kind any more.
		if _, err := time.ParseDuration(text); err == nil {
			return text
		}
		detail = text + " is longer than the 292 years that a duration can be."
	case text == "Never":
		return text
	case numberPattern.MatchString(text):
		detail = fmt.Sprintf(`%s has no unit. Write "%sh", "%sm" or "%ss".`, text, text, text, text)
	case strings.EqualFold(text, "never"):
		detail = `It is spelled "Never".`
	case daysPattern.MatchString(text):
		m := daysPattern.FindStringSubmatch(text)
		n, _ := strconv.Atoi(m[1])
		hours, unit := 24*n, "Days"
		if m[2][0] == 'w' {
			hours, unit = 7*hours, "Weeks"
		}
		detail = fmt.Sprintf(`%s are not a unit, as they are not always of the same length. Write "%dh".`, unit, hours)
	}
	d.problem(src, "Invalid duration", detail)
	return text
}

func (d *decoder) strings(v cty.Value, src source) any {
	var list []any
	parts := src.parts()
	for i, element := range v.AsValueSlice() {
		if element.IsNull() {
			d.problem(src.part(parts, strconv.Itoa(i)), "Null in a list", fmt.Sprintf("An element of %s is null. Use compact([...]) to leave such elements out.", src.arg.Name))
			continue
		}
		list = append(list, element.AsString())
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

func (d *decoder) stringMap(v cty.Value, src source) any {
	fields := map[string]any{}
	parts := src.parts()
	for key, value := range v.AsValueMap() {
		if value.IsNull() {
			continue
		}
		fields[key] = value.AsString()
		d.origins[src.path+"."+key] = src.part(parts, key).origin()
	}
	if len(fields) == 0 {
		return nil
	}
	return fields
}
