package config

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/meter"
	"github.com/lkeplan/lkeplan/config/requirement"
	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/schemas"
)

// Functions describes the functions of the language, in the order of the
// reference, with an example each. The results of the examples are worked out
// here and now, so they are right.
func Functions() ([]schemas.Function, error) {
	var list []schemas.Function
	for _, group := range described {
		for _, row := range group.rows {
			result, err := exampleResult(row.example)
			if err != nil {
				return nil, fmt.Errorf("the example %s: %w", row.example, err)
			}
			name, _, _ := strings.Cut(row.signature, "(")
			list = append(list, schemas.Function{
				Group: group.title, Name: name, Signature: row.signature, Doc: row.doc, Example: row.example, Result: result,
			})
		}
	}
	return list, nil
}

// exampleResult evaluates an example. Requirements are shown as Kubernetes has
// them, everything else as HCL.
func exampleResult(example string) (string, error) {
	m := meter.New()
	expr, diags := syntax.ParseExpression("example", example, m)
	if diags.HasErrors() {
		return "", diags
	}
	m.Begin(expr.Range())
	v, diags := expr.Value(&hcl.EvalContext{Functions: functions(m), Variables: map[string]cty.Value{"local": cty.EmptyObjectVal}})
	if diags.HasErrors() {
		return "", diags
	}
	if !v.Type().Equals(requirement.Type) {
		return Print(v), nil
	}
	r, err := requirement.FromValue(v)
	if err != nil {
		return "", err
	}
	var terms []string
	for _, term := range r.Terms {
		text := strings.TrimSpace(string(term.Operator) + " " + strings.Join(term.Values, ", "))
		if term.MinValues > 0 {
			text += fmt.Sprintf(" with minValues %d", term.MinValues)
		}
		terms = append(terms, text)
	}
	return strings.Join(terms, "; "), nil
}

type functionRow struct{ signature, example, doc string }

// described is what the reference says of each function. What a library says
// of its functions is about types; this is about use.
var described = []struct {
	title string
	rows  []functionRow
}{
	{"Requirements", []functionRow{
		{"notin(value, ...)", `notin("g6-standard-20", "g6-standard-24")`, "Any value but those given, or but those of a list."},
		{"exists()", `exists()`, "Any value, as long as there is one."},
		{"absent()", `absent()`, "No value: the label must not be there."},
		{"gt(n)", `gt(4)`, "More than an amount."},
		{"gte(n)", `gte("8Gi")`, "At least an amount."},
		{"lt(n)", `lt(4)`, "Less than an amount."},
		{"lte(n)", `lte(32)`, "At most an amount."},
		{"between(from, to)", `between(4, 32)`, "From one amount to another, both included."},
		{"all(requirement, ...)", `all(gte(4), notin(6))`, "All of several requirements on one key."},
		{"atleast(n, requirement)", `atleast(3, exists())`, "A requirement of which at least n different values must stay possible."},
	}},
	{"Numbers", []functionRow{
		{"abs(n)", `abs(-4)`, "The number without its sign."},
		{"ceil(n)", `ceil(1.2)`, "The next whole number above."},
		{"floor(n)", `floor(1.8)`, "The next whole number below."},
		{"max(n, ...)", `max(1, 3, 2)`, "The greatest. For a list, write max(list...)."},
		{"min(n, ...)", `min(3, 1, 2)`, "The smallest. For a list, write min(list...)."},
		{"sum(list)", `sum([1, 2, 3])`, "The sum of a list."},
	}},
	{"Text", []functionRow{
		{"endswith(text, suffix)", `endswith("pool-a", "-a")`, "Whether text ends so."},
		{"format(form, value, ...)", `format("%s-%02d", "web", 7)`, "Text with values in it, as printf makes it."},
		{"join(separator, list)", `join("-", ["a", "b"])`, "The elements of a list, with something between them."},
		{"lower(text)", `lower("Web")`, "Small letters."},
		{"regex(pattern, text)", `regex("[0-9]+", "g6-standard-8")`, "The first match of a regular expression, its groups where it has some. No match is an error: see can and try."},
		{"replace(text, old, new)", `replace("a_b", "_", "-")`, "Text with each occurrence of a part replaced."},
		{"split(separator, text)", `split(",", "a,b")`, "The parts of text between separators."},
		{"startswith(text, prefix)", `startswith("pool-a", "pool")`, "Whether text begins so."},
		{"substr(text, offset, length)", `substr("abcdef", 1, 3)`, "A part of text. A length of -1 goes to the end."},
		{"trim(text, characters)", `trim("--a--", "-")`, "Text without these characters at its ends."},
		{"trimprefix(text, prefix)", `trimprefix("pool-a", "pool-")`, "Text without a prefix it may have."},
		{"trimspace(text)", `trimspace("  a ")`, "Text without white space at its ends."},
		{"trimsuffix(text, suffix)", `trimsuffix("pool-a", "-a")`, "Text without a suffix it may have."},
		{"upper(text)", `upper("web")`, "Capital letters."},
	}},
	{"Lists, sets and maps", []functionRow{
		{"alltrue(list)", `alltrue([true, false])`, "Whether all elements are true. An empty list is."},
		{"anytrue(list)", `anytrue([true, false])`, "Whether an element is true."},
		{"coalesce(value, ...)", `coalesce(null, "a", "b")`, "The first value that is not null."},
		{"compact(list)", `compact(["a", "", null])`, "A list of strings without those that are empty or null."},
		{"concat(list, ...)", `concat(["a"], ["b"])`, "Lists one after the other."},
		{"contains(list, value)", `contains(["a", "b"], "b")`, "Whether a value is an element."},
		{"distinct(list)", `distinct(["a", "b", "a"])`, "A list without repetitions."},
		{"flatten(list)", `flatten([["a"], ["b", ["c"]]])`, "A list with the elements of the lists in it."},
		{"keys(map)", `keys({ b = 1, a = 2 })`, "The keys, sorted."},
		{"length(list)", `length(["a", "b"])`, "The number of elements."},
		{"lookup(map, key, default)", `lookup({ a = 1 }, "b", 0)`, "The value of a key, or a default where it is missing."},
		{"merge(map, ...)", `merge({ a = 1, b = 1 }, { b = 2 })`, "Maps in one; later ones win."},
		{"one(list)", `one(["a"])`, "The element of a list that has one, null for an empty one."},
		{"range(n)", `range(3)`, "Numbers from 0 up to n, without n; also range(from, to) and range(from, to, step)."},
		{"reverse(list)", `reverse(["a", "b"])`, "A list backwards."},
		{"setintersection(set, ...)", `setintersection(["a", "b"], ["b", "c"])`, "The elements that are in all sets."},
		{"setproduct(set, ...)", `setproduct(["a"], ["b", "c"])`, "All combinations of an element of each."},
		{"setsubtract(set, set)", `setsubtract(["a", "b"], ["b"])`, "The elements of the first set that are not in the second."},
		{"setunion(set, ...)", `setunion(["a"], ["b"])`, "The elements that are in any of the sets."},
		{"slice(list, from, to)", `slice(["a", "b", "c"], 1, 2)`, "A part of a list, counted from 0, without the last index."},
		{"sort(list)", `sort(["b", "a"])`, "A list of strings in order."},
		{"values(map)", `values({ b = 1, a = 2 })`, "The values, in the order of their keys."},
		{"zipmap(keys, values)", `zipmap(["a", "b"], [1, 2])`, "A map from a list of keys and a list of values."},
	}},
	{"Files", []functionRow{
		{"file(path)", `try(file("notes.txt"), "no notes")`, "The text of a file in the repository, by its path from this directory. Nothing outside of the repository is read."},
	}},
	{"Conversion", []functionRow{
		{"jsondecode(text)", `jsondecode("{\"a\": [1, null]}")`, "The value that JSON stands for."},
		{"jsonencode(value)", `jsonencode({ a = 1 })`, "A value as JSON."},
		{"tobool(value)", `tobool("true")`, "A bool from text."},
		{"tolist(value)", `tolist(toset(["b", "a"]))`, "A list whose elements have one type."},
		{"tomap(value)", `tomap({ a = 1, b = "c" })`, "A map whose values have one type."},
		{"tonumber(value)", `tonumber("4")`, "A number from text."},
		{"toset(list)", `toset(["b", "a", "b"])`, "A set, as for_each takes it: sorted and without repetitions."},
		{"tostring(value)", `tostring(4)`, "Text from a number or a bool."},
		{"yamldecode(text)", `yamldecode("a: [1, b]")`, "The value that YAML stands for. Anchors and aliases are not read."},
	}},
	{"Errors", []functionRow{
		{"can(expression)", `can(local.nothing)`, "Whether an expression has a value."},
		{"try(expression, ...)", `try(local.nothing, "a")`, "The first expression that has a value."},
	}},
}
