package decode

import (
	"fmt"
	"iter"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/eval"
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

	refers bool // it takes references to objects
}

// field is what an element costs that becomes a field with an origin, as the meter
// counts.
const field = 60

// work is what it costs to write a value. References have large values, and
// little is written of them.
func (k kind) work(v cty.Value) int {
	if k.refers {
		return eval.LengthOf(v) * field
	}
	return eval.SizeOf(v) * field
}

func kindOf(k schemas.Kind) kind {
	if known, ok := kinds[k]; ok {
		return known
	}
	return kind{cty.DynamicPseudoType, "any value", (*decoder).json, false}
}

// kinds has a row for each kind of value that is not passed on as it is.
var kinds = map[schemas.Kind]kind{
	schemas.String:    {cty.String, "text", (*decoder).text, false},
	schemas.Bool:      {cty.Bool, "true or false", (*decoder).truth, false},
	schemas.Number:    {cty.Number, "a whole number", (*decoder).number, false},
	schemas.ID:        {cty.Number, "the number Linode gave it", (*decoder).id, false},
	schemas.Duration:  {cty.String, `a duration such as "720h"`, (*decoder).duration, false},
	schemas.Strings:   {cty.List(cty.String), "a list of strings", (*decoder).strings, false},
	schemas.Tags:      {cty.Set(cty.String), "a list of strings", (*decoder).strings, false},
	schemas.StringMap: {cty.Map(cty.String), "a map of strings", (*decoder).stringMap, false},
	schemas.Quantities: {cty.Map(cty.String), `a map of amounts such as { cpu = 400, memory = "1600Gi" }`,
		(*decoder).quantities, false},
	schemas.Taints:       {cty.List(cty.String), `a list such as ["team=web:NoSchedule"]`, (*decoder).taints, false},
	schemas.Requirements: {cty.DynamicPseudoType, "a map of requirements", (*decoder).requirementMap, false},
	schemas.Selector:     {cty.DynamicPseudoType, "a map of requirements", (*decoder).requirementMap, false},
	schemas.PoolRefs: {cty.DynamicPseudoType, "a list of references such as [pool.general]", (*decoder).poolRefs,
		true},
	schemas.Quantity:     {cty.String, `an amount such as 400 or "1600Gi"`, (*decoder).quantity, false},
	schemas.Money:        {cty.String, "an amount of US dollars", (*decoder).money, false},
	schemas.NodeClassRef: {cty.DynamicPseudoType, "a reference such as node_class.default", (*decoder).nodeClassRef, true},
}

// A source is where an argument's value comes from.
type source struct {
	arg  *schemas.Arg
	expr hcl.Expression
	ctx  *hcl.EvalContext
	path string

	mention hcl.Expression // what is kept of expr
}

func (d *decoder) source(arg *schemas.Arg, expr hcl.Expression, ctx *hcl.EvalContext, path string) source {
	s := source{arg: arg, expr: expr, ctx: ctx, path: path}
	if ctx != nil && len(ctx.Variables) > 0 {
		s.mention = d.scope.Mention(expr)
	}
	return s
}

func (s source) origin() Origin {
	o := Origin{Range: s.expr.Range(), Expression: s.mention, Arg: s.arg}
	if s.mention != nil {
		o.Context = s.ctx
	}
	return o
}

// parts returns the sources of the elements that are written out in the
// expression of a source, by key or index.
func (d *decoder) parts(s source) map[string]source {
	parts := map[string]source{}
	pairs, diags := hcl.ExprMap(s.expr)
	if !diags.HasErrors() {
		for _, pair := range pairs {
			key, diags := pair.Key.Value(s.ctx)
			if diags.HasErrors() || !key.IsKnown() || key.IsNull() {
				continue
			}
			if key, err := eval.ConvertMetered(key, cty.String); err == nil {
				parts[key.AsString()] = d.source(s.arg, pair.Value, s.ctx, s.path)
			}
		}
		return parts
	}
	items, _ := hcl.ExprList(s.expr)
	for i, item := range items {
		parts[strconv.Itoa(i)] = d.source(s.arg, item, s.ctx, s.path)
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

func (d *decoder) text(v cty.Value, _ source) any { return v.AsString() }

func (d *decoder) truth(v cty.Value, _ source) any { return v.True() }

func (d *decoder) number(v cty.Value, src source) any {
	n, accuracy := v.AsBigFloat().Int64()
	if accuracy != big.Exact {
		d.problem(src, "Whole number required",
			fmt.Sprintf("The argument %s takes a whole number, not %s.", src.arg.Name, v.AsBigFloat().Text('g', 10)))
	}
	return n
}

func (d *decoder) id(v cty.Value, src source) any {
	n := d.number(v, src).(int64)
	if n <= 0 {
		d.problem(src, "Invalid id",
			fmt.Sprintf("Linode numbers its objects from 1, so %d cannot be the value of %s. To have none, leave "+
				"the argument out.", n, src.arg.Name))
	}
	return n
}

var (
	durationPattern = regexp.MustCompile(schemas.DurationPattern)
	numberPattern   = regexp.MustCompile(`^[0-9]+$`)
	daysPattern     = regexp.MustCompile(`^([0-9]{1,6})\s*(d|w|days?|weeks?)$`)
)

// duration takes what programs can read. The CRDs let pass what they cannot: one
// such object, and nobody can list the others of its kind any more.
func (d *decoder) duration(v cty.Value, src source) any {
	text := v.AsString()
	_, err := time.ParseDuration(text)
	switch {
	case !durationPattern.MatchString(text):
		d.problem(src, "Invalid duration", notDuration(text))
	case err != nil && text != "Never":
		d.problem(src, "Invalid duration", text+" is longer than the 292 years that a duration can be.")
	}
	return text
}

// notDuration explains what people write most often instead of the few units
// that Karpenter knows.
func notDuration(text string) string {
	switch {
	case numberPattern.MatchString(text):
		return fmt.Sprintf(`%s has no unit. Write "%sh", "%sm" or "%ss".`, text, text, text, text)
	case strings.EqualFold(text, "never"):
		return `It is spelled "Never".`
	case daysPattern.MatchString(text):
		m := daysPattern.FindStringSubmatch(text)
		n, _ := strconv.Atoi(m[1])
		hours, unit := 24*n, "Days"
		if m[2][0] == 'w' {
			hours, unit = 7*hours, "Weeks"
		}
		return fmt.Sprintf(`%s are not a unit, as they are not always of the same length. Write "%dh".`, unit, hours)
	}
	return fmt.Sprintf(`%q is not a duration. Write hours, minutes and seconds, as in "720h", "1h30m" or "45s".`, text)
}

// elements are those of a list of text, each with its source; one that is null is
// reported and left out.
func (d *decoder) elements(v cty.Value, src source) iter.Seq2[string, source] {
	return func(yield func(string, source) bool) {
		parts := d.parts(src)
		for i, element := range v.AsValueSlice() {
			part := src.part(parts, strconv.Itoa(i))
			if element.IsNull() {
				d.problem(part, "Null in a list",
					fmt.Sprintf("An element of %s is null. Use compact([...]) to leave such elements out.",
						src.arg.Name))
			} else if !yield(element.AsString(), part) {
				return
			}
		}
	}
}

func (d *decoder) strings(v cty.Value, src source) any {
	var list []any
	for text := range d.elements(v, src) {
		list = append(list, text)
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

func (d *decoder) stringMap(v cty.Value, src source) any {
	fields := map[string]any{}
	parts := d.parts(src)
	for key, value := range v.AsValueMap() {
		if value.IsNull() {
			continue
		}
		fields[key] = value.AsString()
		d.locate(src.path+"."+key, src.part(parts, key).origin())
	}
	if len(fields) == 0 {
		return nil
	}
	return fields
}
