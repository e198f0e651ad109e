package function

import (
	"strings"

	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	ctyyaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/config/requirement"
)

// A row is all that there is to say of one function: in the reference, to the
// evaluation and to the meter. What a library says of its functions is about
// types; the doc is about use.
type row struct {
	signature string
	impl      function.Function
	cost      eval.CallCost // nil for those that read their arguments once
	example   string
	doc       string
}

func (r row) name() string {
	name, _, _ := strings.Cut(r.signature, "(")
	return name
}

// A group is a heading of the reference with its functions.
type group struct {
	title string
	rows  []row
}

// groups are all functions in the order of the reference.
func groups(files Files) []group {
	return []group{
		{"Requirements", requirementFunctions()},
		{"Numbers", numberFunctions()},
		{"Text", textFunctions()},
		{"Lists, sets and maps", collectionFunctions()},
		{"Files", fileFunctions(files)},
		{"Conversion", conversionFunctions()},
		{"Errors", errorFunctions()},
	}
}

func requirementFunctions() []row {
	made := requirement.Functions()
	return []row{
		{"notin(value, ...)", made["notin"], nil, `notin("g6-standard-20", "g6-standard-24")`,
			"Any value but those given, or but those of a list."},
		{"exists()", made["exists"], nil, `exists()`, "Any value, as long as there is one."},
		{"absent()", made["absent"], nil, `absent()`, "No value: the label must not be there."},
		{"gt(n)", made["gt"], nil, `gt(4)`, "More than an amount."},
		{"gte(n)", made["gte"], nil, `gte("8Gi")`, "At least an amount."},
		{"lt(n)", made["lt"], nil, `lt(4)`, "Less than an amount."},
		{"lte(n)", made["lte"], nil, `lte(32)`, "At most an amount."},
		{"between(from, to)", made["between"], nil, `between(4, 32)`, "From one amount to another, both included."},
		{"all(requirement, ...)", made["all"], nil, `all(gte(4), notin(6))`,
			"All of several requirements on one key."},
		{"atleast(n, requirement)", made["atleast"], nil, `atleast(3, exists())`,
			"A requirement of which at least n different values must stay possible."},
	}
}

func numberFunctions() []row {
	return []row{
		{"abs(n)", stdlib.AbsoluteFunc, nil, `abs(-4)`, "The number without its sign."},
		{"ceil(n)", stdlib.CeilFunc, nil, `ceil(1.2)`, "The next whole number above."},
		{"floor(n)", stdlib.FloorFunc, nil, `floor(1.8)`, "The next whole number below."},
		{"max(n, ...)", stdlib.MaxFunc, nil, `max(1, 3, 2)`, "The greatest. For a list, write max(list...)."},
		{"min(n, ...)", stdlib.MinFunc, nil, `min(3, 1, 2)`, "The smallest. For a list, write min(list...)."},
		{"parseint(text, base)", stdlib.ParseIntFunc, nil, `parseint("ff", 16)`,
			"The whole number that text stands for, in a base from 2 to 62."},
		{"pow(base, exponent)", powFunc, nil, `pow(2, 10)`, "A number multiplied by itself."},
		{"sum(list)", sumFunc, nil, `sum([1, 2, 3])`, "The sum of a list."},
	}
}

func textFunctions() []row {
	return []row{
		{"endswith(text, suffix)", affixFunc(strings.HasSuffix), nil, `endswith("pool-a", "-a")`,
			"Whether text ends so."},
		{"format(form, value, ...)", stdlib.FormatFunc, formatCost, `format("%s-%02d", "web", 7)`,
			"Text with values in it, as printf makes it."},
		{"formatlist(form, list, ...)", stdlib.FormatListFunc, formatListCost, `formatlist("%s-%d", ["a", "b"], 1)`,
			"A list of texts, each as format makes it with an element of each list."},
		{"join(separator, list)", stdlib.JoinFunc, joinCost, `join("-", ["a", "b"])`,
			"The elements of a list, with something between them."},
		{"lower(text)", stdlib.LowerFunc, nil, `lower("Web")`, "Small letters."},
		{"regex(pattern, text)", matching(stdlib.RegexFunc), regexCost, `regex("[0-9]+", "g6-standard-8")`,
			"The first match of a regular expression, its groups where it has some. No match is an error: see can " +
				"and try."},
		{"regexall(pattern, text)", matching(stdlib.RegexAllFunc), regexAllCost, `regexall("[a-z]+", "a-1-b")`,
			"All matches of a regular expression, as a list; an empty one where there is none."},
		{"replace(text, old, new)", replaceFunc, replaceCost, `replace("a_b", "_", "-")`,
			"Text with each occurrence of a part replaced. Between slashes, as in \"/[0-9]+/\", the part is a regular " +
				"expression, and $1 in the new text stands for its first group."},
		{"sha256(text)", sha256Func, nil, `substr(sha256("a"), 0, 8)`, "The SHA-256 sum of text, in hexadecimal digits."},
		{"split(separator, text)", stdlib.SplitFunc, nil, `split(",", "a,b")`,
			"The parts of text between separators."},
		{"startswith(text, prefix)", affixFunc(strings.HasPrefix), nil, `startswith("pool-a", "pool")`,
			"Whether text begins so."},
		{"strcontains(text, part)", affixFunc(strings.Contains), nil, `strcontains("pool-a", "ol")`,
			"Whether a part occurs in text."},
		{"substr(text, offset, length)", stdlib.SubstrFunc, nil, `substr("abcdef", 1, 3)`,
			"A part of text. A length of -1 goes to the end."},
		{"templatestring(template, values)", templateFunc(nil, nil), nil,
			`templatestring("$${name}-pool", { name = "web" })`,
			"Text with the values of a map put into it, where the text is not known beforehand: one from a file, for " +
				"example. It can call all functions but this one."},
		{"title(text)", stdlib.TitleFunc, nil, `title("web pool")`, "The first letter of each word as a capital."},
		{"trim(text, characters)", stdlib.TrimFunc, nil, `trim("--a--", "-")`,
			"Text without these characters at its ends."},
		{"trimprefix(text, prefix)", stdlib.TrimPrefixFunc, nil, `trimprefix("pool-a", "pool-")`,
			"Text without a prefix it may have."},
		{"trimspace(text)", stdlib.TrimSpaceFunc, nil, `trimspace("  a ")`, "Text without white space at its ends."},
		{"trimsuffix(text, suffix)", stdlib.TrimSuffixFunc, nil, `trimsuffix("pool-a", "-a")`,
			"Text without a suffix it may have."},
		{"upper(text)", stdlib.UpperFunc, nil, `upper("web")`, "Capital letters."},
	}
}

func collectionFunctions() []row {
	return []row{
		{"alltrue(list)", allTrueFunc, nil, `alltrue([true, false])`,
			"Whether all elements are true. An empty list is."},
		{"anytrue(list)", anyTrueFunc, nil, `anytrue([true, false])`, "Whether an element is true."},
		{"chunklist(list, size)", stdlib.ChunklistFunc, nil, `chunklist(["a", "b", "c"], 2)`,
			"A list cut into lists of a size."},
		{"coalesce(value, ...)", coalesceFunc, nil, `coalesce(null, "", "a")`,
			"The first value that is neither null nor empty text. Where there is none, it is an error."},
		{"coalescelist(list, ...)", stdlib.CoalesceListFunc, nil, `coalescelist([], ["a"])`,
			"The first list that is not empty. Where there is none, it is an error."},
		{"compact(list)", stdlib.CompactFunc, nil, `compact(["a", "", null])`,
			"A list of strings without those that are empty or null."},
		{"concat(list, ...)", stdlib.ConcatFunc, nil, `concat(["a"], ["b"])`, "Lists one after the other."},
		{"contains(list, value)", stdlib.ContainsFunc, nil, `contains(["a", "b"], "b")`,
			"Whether a value is an element. Null is one where the list has a null."},
		{"distinct(list)", stdlib.DistinctFunc, distinctCost, `distinct(["a", "b", "a"])`,
			"A list without repetitions."},
		{"element(list, index)", stdlib.ElementFunc, nil, `element(["a", "b", "c"], 4)`,
			"An element by its place, counted from 0. Behind the last element the list begins again."},
		{"flatten(list)", stdlib.FlattenFunc, flattenCost, `flatten([["a"], ["b", ["c"]]])`,
			"A list with the elements of the lists in it."},
		{"index(list, value)", indexFunc, nil, `index(["a", "b"], "b")`,
			"The place of an element, counted from 0. Where the list does not have it, it is an error."},
		{"keys(map)", stdlib.KeysFunc, nil, `keys({ b = 1, a = 2 })`, "The keys, sorted."},
		{"length(list)", lengthFunc, nil, `length(["a", "b"])`, "The number of elements."},
		{"lookup(map, key, default)", lookupFunc, nil, `lookup({ a = 1 }, "b", 0)`,
			"The value of a key, or a default where it is missing. Without a default, a missing key is an error."},
		{"merge(map, ...)", mergeFunc, nil, `merge({ a = 1, b = 1 }, { b = 2 })`,
			"Maps in one; later ones win. Null is passed over; where all are null, so is the result."},
		{"one(list)", oneFunc, nil, `one(["a"])`, "The element of a list or set that has one, null for an empty one."},
		{"range(n)", stdlib.RangeFunc, fixed(15_000), `range(3)`, // 1024 elements at most
			"Numbers from 0 up to n, without n; also range(from, to) and range(from, to, step)."},
		{"reverse(list)", stdlib.ReverseListFunc, nil, `reverse(["a", "b"])`, "A list backwards."},
		{"setintersection(set, ...)", stdlib.SetIntersectionFunc, unionCost, `setintersection(["a", "b"], ["b", "c"])`,
			"The elements that are in all sets."},
		{"setproduct(set, ...)", stdlib.SetProductFunc, productCost, `setproduct(["a"], ["b", "c"])`,
			"All combinations of an element of each."},
		{"setsubtract(set, set)", stdlib.SetSubtractFunc, unionCost, `setsubtract(["a", "b"], ["b"])`,
			"The elements of the first set that are not in the second."},
		{"setunion(set, ...)", stdlib.SetUnionFunc, unionCost, `setunion(["a"], ["b"])`,
			"The elements that are in any of the sets."},
		{"slice(list, from, to)", stdlib.SliceFunc, nil, `slice(["a", "b", "c"], 1, 2)`,
			"A part of a list, counted from 0, without the last index."},
		{"sort(list)", stdlib.SortFunc, nil, `sort(["b", "a"])`, "A list of strings in order."},
		{"transpose(map)", transposeFunc, nil, `transpose({ a = ["x"], b = ["x", "y"] })`,
			"A map of lists turned around: the elements become keys, of the keys that they were under."},
		{"values(map)", stdlib.ValuesFunc, nil, `values({ b = 1, a = 2 })`,
			"The values, in the order of their keys."},
		{"zipmap(keys, values)", stdlib.ZipmapFunc, nil, `zipmap(["a", "b"], [1, 2])`,
			"A map from a list of keys and a list of values."},
	}
}

func conversionFunctions() []row {
	return []row{
		{"csvdecode(text)", stdlib.CSVDecodeFunc, csvCost, `csvdecode("name,cpu\na,4")`,
			"A list of objects, one for each line of CSV. The first line has the names."},
		{"jsondecode(text)", decoding(stdlib.JSONDecodeFunc, checkJSON), textCost(12), `jsondecode("{\"a\": [1, null]}")`,
			"The value that JSON stands for. A key that is given twice in an object is an error."},
		{"jsonencode(value)", stdlib.JSONEncodeFunc, textCost(5), `jsonencode({ a = 1 })`, "A value as JSON."},
		{"tobool(value)", toFunc(cty.Bool), nil, `tobool("true")`, "A bool from text. Null stays null."},
		{"tolist(value)", toFunc(cty.List(cty.DynamicPseudoType)), nil, `tolist(toset(["b", "a"]))`,
			"A list whose elements have one type."},
		{"tomap(value)", toFunc(cty.Map(cty.DynamicPseudoType)), nil, `tomap({ a = 1, b = "c" })`,
			"A map whose values have one type."},
		{"tonumber(value)", toFunc(cty.Number), nil, `tonumber("4")`, "A number from text. Null stays null."},
		{"toset(list)", toFunc(cty.Set(cty.DynamicPseudoType)), nil, `toset(["b", "a", "b"])`,
			"A set, as for_each takes it: sorted and without repetitions."},
		{"tostring(value)", toFunc(cty.String), nil, `tostring(4)`, "Text from a number or a bool. Null stays null."},
		{"yamldecode(text)", decoding(ctyyaml.YAMLDecodeFunc, checkYAML), textCost(15), `yamldecode("a: [1, b]")`,
			"The value that YAML stands for. Anchors and aliases are not read; a key that is given twice is an error."},
	}
}

func errorFunctions() []row {
	return []row{
		{"can(expression)", tryfunc.CanFunc, nil, `can(local.nothing)`, "Whether an expression has a value."},
		{"try(expression, ...)", tryFunc, nil, `try(local.nothing, "a")`,
			"The first expression that has a value."},
	}
}
