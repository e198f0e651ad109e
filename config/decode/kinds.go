package decode

import (
	"fmt"
	"iter"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/lkeplan/lkeplan/schemas"
)

// A kind defines how values of one schemas.Kind are read and written.
type kind struct {
	ty    cty.Type
	takes string // for messages: "the argument weight takes ..."

	// encode converts a known value that is not null to JSON form. It reports errors that the type
	// of the value allows, if its message is better than that of the CRD. A nil result is not
	// written.
	encode func(d *decoder, v cty.Value, src source) any
}

func kindOf(k schemas.Kind) kind {
	if known, ok := kinds[k]; ok {
		return known
	}
	return kind{cty.DynamicPseudoType, "any value", (*decoder).json}
}

// kinds has a row for each kind of value that is converted.
var kinds = map[schemas.Kind]kind{
	schemas.String:    {cty.String, "text", (*decoder).text},
	schemas.Bool:      {cty.Bool, "true or false", (*decoder).truth},
	schemas.Number:    {cty.Number, "a whole number", (*decoder).number},
	schemas.ID:        {cty.Number, "a Linode id, which is a whole number", (*decoder).id},
	schemas.Duration:  {cty.String, `a duration such as "720h"`, (*decoder).duration},
	schemas.Strings:   {cty.List(cty.String), "a list of strings", (*decoder).strings},
	schemas.Tags:      {cty.List(cty.String), "a list of strings", (*decoder).set},
	schemas.LabelKeys: {cty.List(cty.String), "a list of keys of labels and annotations", (*decoder).keys},
	schemas.StringMap: {cty.Map(cty.String), "a map of strings", (*decoder).stringMap},
	schemas.Quantities: {cty.Map(cty.String), `a map of amounts such as { cpu = 400, memory = "1600Gi" }`,
		(*decoder).quantities},
	schemas.Taints:       {cty.List(cty.String), `a list such as ["team=web:NoSchedule"]`, (*decoder).taints},
	schemas.Requirements: {cty.DynamicPseudoType, "a map of requirements", (*decoder).requirementMap},
	schemas.Selector:     {cty.DynamicPseudoType, "a map of requirements", (*decoder).requirementMap},
	schemas.PoolRefs:     {cty.DynamicPseudoType, "a list of references such as [pool.general]", (*decoder).poolRefs},
	schemas.Quantity:     {cty.String, `an amount such as 400 or "1600Gi"`, (*decoder).quantity},
	schemas.Money:        {cty.String, "an amount of US dollars", (*decoder).money},
	schemas.NodeClassRef: {cty.DynamicPseudoType, "a reference such as node_class.default", (*decoder).nodeClassRef},
}

// A source is the source of an argument's value.
type source struct {
	arg  *schemas.Arg
	expr hcl.Expression
	ctx  *hcl.EvalContext
	path string

	mention hcl.Expression // the part of expr that is kept
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

// parts returns the sources of the literal elements in the expression of a source, by key or index.
func (d *decoder) parts(s source) map[string]source {
	parts := map[string]source{}
	pairs, diags := hcl.ExprMap(s.expr)
	if !diags.HasErrors() {
		for _, pair := range pairs {
			key, diags := pair.Key.Value(s.ctx)
			if diags.HasErrors() || !key.IsKnown() || key.IsNull() {
				continue
			}
			if key, err := convert.Convert(key, cty.String); err == nil {
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

// part returns the source of one element, or that of the whole value if the element is not literal.
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
			fmt.Sprintf("Linode ids start at 1, so %d is not valid for %s. For no id, delete the argument.", n, src.arg.Name))
	}
	return n
}

var (
	durationPattern = regexp.MustCompile(schemas.DurationPattern)
	numberPattern   = regexp.MustCompile(`^[0-9]+$`)
	keyPattern      = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	daysPattern     = regexp.MustCompile(`^([0-9]{1,6})\s*(d|w|days?|weeks?)$`)
)

// duration checks that programs can parse a duration. The CRDs accept more: a single object with
// such a duration would break listing all objects of its kind.
func (d *decoder) duration(v cty.Value, src source) any {
	text := v.AsString()
	_, err := time.ParseDuration(text)
	switch {
	case !durationPattern.MatchString(text):
		d.problem(src, "Invalid duration", notDuration(text))
	case err != nil && text != "Never":
		d.problem(src, "Invalid duration", text+" is longer than 292 years, the longest possible duration.")
	}
	return text
}

// notDuration explains frequent mistakes in durations.
func notDuration(text string) string {
	switch {
	case numberPattern.MatchString(text):
		return fmt.Sprintf(`%s has no unit. Write "%sh", "%sm" or "%ss".`, text, text, text, text)
	case strings.HasPrefix(text, "-"):
		return fmt.Sprintf("%s is negative. A duration is 0 or more, such as %q.", text, "5m")
	case strings.EqualFold(text, "never"):
		return `Write "Never".`
	case daysPattern.MatchString(text):
		m := daysPattern.FindStringSubmatch(text)
		n, _ := strconv.Atoi(m[1])
		hours, unit := 24*n, "Days"
		if m[2][0] == 'w' {
			hours, unit = 7*hours, "Weeks"
		}
		return fmt.Sprintf(`%s are not a unit, because their length varies. Write "%dh".`, unit, hours)
	}
	return fmt.Sprintf(`%q is not a duration. Write hours, minutes and seconds, as in "720h", "1h30m" or "45s".`, text)
}

// elements returns the elements of a list of text, each with its source. It reports null elements
// and omits them.
func (d *decoder) elements(v cty.Value, src source) iter.Seq2[string, source] {
	return func(yield func(string, source) bool) {
		parts := d.parts(src)
		for i, element := range v.AsValueSlice() {
			part := src.part(parts, strconv.Itoa(i))
			if element.IsNull() {
				d.problem(part, "Null in a list",
					fmt.Sprintf("An element of %s is null. To omit null elements, write compact([...]).",
						src.arg.Name))
			} else if !yield(element.AsString(), part) {
				return
			}
		}
	}
}

func (d *decoder) strings(v cty.Value, src source) any {
	var texts []string
	for text := range d.elements(v, src) {
		texts = append(texts, text)
	}
	return listOf(texts)
}

// set is a list of text whose order does not matter. A set of cty has no element's place in the source.
func (d *decoder) set(v cty.Value, src source) any {
	var texts []string
	for text := range d.elements(v, src) {
		texts = append(texts, text)
	}
	slices.Sort(texts)
	return listOf(slices.Compact(texts))
}

// listOf returns a list in JSON form; nil if it is empty.
func listOf(texts []string) any {
	if len(texts) == 0 {
		return nil
	}
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

func (d *decoder) keys(v cty.Value, src source) any {
	var keys []string
	for key, part := range d.elements(v, src) {
		if !keyPattern.MatchString(key) {
			d.problem(part, "Invalid key", fmt.Sprintf("%q is not the key of a label or an annotation. Write a key such as "+
				"\"example.com/team\": letters, digits, dashes, dots and underscores, at most 63 of them after an optional "+
				"domain and a slash.", key))
			continue
		}
		if owner := schemas.ReservedOnNodes(key); owner != "" {
			d.problem(part, "Reserved key", fmt.Sprintf("The key %s belongs to %s and cannot change in place. Delete it from %s.",
				key, owner, src.arg.Name))
			continue
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil
	}
	slices.Sort(keys)
	return strings.Join(slices.Compact(keys), ",")
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
