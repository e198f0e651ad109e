package function

import (
	"strings"

	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	ctyyaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/lkeplan/lkeplan/config/requirement"
)

// A row describes one function, for the reference and the evaluation. The library
// documents the types of its functions; doc documents their use.
type row struct {
	signature string
	impl      function.Function
	example   string
	doc       string
}

func (r row) name() string {
	name, _, _ := strings.Cut(r.signature, "(")
	return name
}

// A group is a heading of the reference with its functions.
type group struct {
	title     string
	terraform bool // whether Terraform has the same functions: see testdata/facts.txt
	rows      []row
}

// groups returns all functions in the order of the reference.
func groups(files Files) []group {
	return []group{
		{"Requirements", false, requirementFunctions()},
		{"Numbers", true, numberFunctions()},
		{"Text", true, textFunctions()},
		{"Lists, sets and maps", true, collectionFunctions()},
		{"Files", false, fileFunctions(files)},
		{"Conversion", true, conversionFunctions()},
		{"Errors", true, errorFunctions()},
	}
}

func requirementFunctions() []row {
	made := requirement.Functions()
	return []row{
		{"notin(value, ...)", made["notin"], `notin("g6-standard-20", "g6-standard-24")`,
			"Allows any value except those given, or those in a list."},
		{"exists()", made["exists"], `exists()`, "Requires the label, with any value."},
		{"absent()", made["absent"], `absent()`, "Requires that the label is absent."},
		{"gt(n)", made["gt"], `gt(4)`, "Requires more than an amount."},
		{"gte(n)", made["gte"], `gte("8Gi")`, "Requires at least an amount."},
		{"lt(n)", made["lt"], `lt(4)`, "Requires less than an amount."},
		{"lte(n)", made["lte"], `lte(32)`, "Allows at most an amount."},
		{"between(from, to)", made["between"], `between(4, 32)`, "Requires an amount in a range, including " +
			"both ends."},
		{"all(requirement, ...)", made["all"], `all(gte(4), notin(6))`,
			"Combines several requirements on one key: all must be satisfied."},
		{"atleast(n, requirement)", made["atleast"], `atleast(3, exists())`,
			"Adds to a requirement that at least n different values must stay possible."},
	}
}

func numberFunctions() []row {
	return []row{
		{"abs(n)", stdlib.AbsoluteFunc, `abs(-4)`, "Returns the absolute value of a number."},
		{"ceil(n)", stdlib.CeilFunc, `ceil(1.2)`, "Rounds a number up to a whole number."},
		{"floor(n)", stdlib.FloorFunc, `floor(1.8)`, "Rounds a number down to a whole number."},
		{"max(n, ...)", stdlib.MaxFunc, `max(1, 3, 2)`, "Returns the greatest of its arguments. For a list, " +
			"write max(list...)."},
		{"min(n, ...)", stdlib.MinFunc, `min(3, 1, 2)`, "Returns the smallest of its arguments. For a list, " +
			"write min(list...)."},
		{"parseint(text, base)", stdlib.ParseIntFunc, `parseint("ff", 16)`,
			"Converts text to a whole number, in a base from 2 to 62."},
		{"pow(base, exponent)", powFunc, `pow(2, 10)`, "Returns a number raised to a power."},
		{"sum(list)", sumFunc, `sum([1, 2, 3])`, "Returns the sum of a list of numbers."},
	}
}

func textFunctions() []row {
	return []row{
		{"endswith(text, suffix)", affixFunc(strings.HasSuffix), `endswith("pool-a", "-a")`,
			"Returns whether text ends with a suffix."},
		{"format(form, value, ...)", stdlib.FormatFunc, `format("%s-%02d", "web", 7)`,
			"Formats values as text, as printf does."},
		{"formatlist(form, list, ...)", stdlib.FormatListFunc, `formatlist("%s-%d", ["a", "b"], 1)`,
			"Returns a list of texts, each formatted with one element of each list."},
		{"join(separator, list)", stdlib.JoinFunc, `join("-", ["a", "b"])`,
			"Joins the elements of a list with a separator."},
		{"lower(text)", stdlib.LowerFunc, `lower("Web")`, "Converts text to lower case."},
		{"regex(pattern, text)", stdlib.RegexFunc, `regex("[0-9]+", "g6-standard-8")`,
			"Returns the first match of a regular expression, or its groups if it has any. If there is no match, " +
				"the call is an error; see can and try."},
		{"regexall(pattern, text)", stdlib.RegexAllFunc, `regexall("[a-z]+", "a-1-b")`,
			"Returns a list of all matches of a regular expression. The list is empty if there are none."},
		{"replace(text, old, new)", replaceFunc, `replace("a_b", "_", "-")`,
			`Replaces all occurrences of a substring. Between slashes, as in "/[0-9]+/", the substring is a ` +
				`regular expression, and $1 in the new text stands for its first group.`},
		{"sha256(text)", sha256Func, `substr(sha256("a"), 0, 8)`, "Returns the SHA-256 hash of text in " +
			"hexadecimal."},
		{"split(separator, text)", stdlib.SplitFunc, `split(",", "a,b")`,
			"Splits text at a separator."},
		{"startswith(text, prefix)", affixFunc(strings.HasPrefix), `startswith("pool-a", "pool")`,
			"Returns whether text starts with a prefix."},
		{"strcontains(text, part)", affixFunc(strings.Contains), `strcontains("pool-a", "ol")`,
			"Returns whether text contains a substring."},
		{"substr(text, offset, length)", stdlib.SubstrFunc, `substr("abcdef", 1, 3)`,
			"Returns a substring. With length -1, it extends to the end."},
		{"templatestring(template, values)", templateFunc(nil),
			`templatestring("$${name}-pool", { name = "web" })`,
			"Renders a template with the values of a map. Use it for templates that are not literal, such as the " +
				"content of a file. The template can call all functions except this one."},
		{"title(text)", stdlib.TitleFunc, `title("web pool")`, "Capitalizes the first letter of each word."},
		{"trim(text, characters)", stdlib.TrimFunc, `trim("--a--", "-")`,
			"Removes the given characters from both ends of text."},
		{"trimprefix(text, prefix)", stdlib.TrimPrefixFunc, `trimprefix("pool-a", "pool-")`,
			"Removes a prefix, if text has it."},
		{"trimspace(text)", stdlib.TrimSpaceFunc, `trimspace("  a ")`, "Removes white space from both ends " +
			"of text."},
		{"trimsuffix(text, suffix)", stdlib.TrimSuffixFunc, `trimsuffix("pool-a", "-a")`,
			"Removes a suffix, if text has it."},
		{"upper(text)", stdlib.UpperFunc, `upper("web")`, "Converts text to upper case."},
	}
}

func collectionFunctions() []row {
	return []row{
		{"alltrue(list)", allTrueFunc, `alltrue([true, false])`,
			"Returns whether all elements are true; true for an empty list."},
		{"anytrue(list)", anyTrueFunc, `anytrue([true, false])`, "Returns whether at least one element is true."},
		{"chunklist(list, size)", stdlib.ChunklistFunc, `chunklist(["a", "b", "c"], 2)`,
			"Splits a list into lists with the given number of elements."},
		{"coalesce(value, ...)", coalesceFunc, `coalesce(null, "", "a")`,
			"Returns the first argument that is neither null nor empty text. If there is none, the call is an error."},
		{"coalescelist(list, ...)", stdlib.CoalesceListFunc, `coalescelist([], ["a"])`,
			"Returns the first list that is not empty. If there is none, the call is an error."},
		{"compact(list)", stdlib.CompactFunc, `compact(["a", "", null])`,
			"Removes empty and null elements from a list of strings."},
		{"concat(list, ...)", stdlib.ConcatFunc, `concat(["a"], ["b"])`, "Concatenates lists."},
		{"contains(list, value)", containsFunc, `contains(["a", "b"], "b")`,
			"Returns whether a list contains a value. Null is contained if an element is null."},
		{"distinct(list)", stdlib.DistinctFunc, `distinct(["a", "b", "a"])`,
			"Removes duplicates from a list."},
		{"element(list, index)", stdlib.ElementFunc, `element(["a", "b", "c"], 4)`,
			"Returns an element by its index, starting at 0. After the last element, the index wraps around."},
		{"flatten(list)", stdlib.FlattenFunc, `flatten([["a"], ["b", ["c"]]])`,
			"Replaces nested lists by their elements."},
		{"index(list, value)", indexFunc, `index(["a", "b"], "b")`,
			"Returns the index of an element, starting at 0. If the list does not contain it, the call is an error."},
		{"keys(map)", stdlib.KeysFunc, `keys({ b = 1, a = 2 })`, "Returns the sorted keys of a map."},
		{"length(list)", lengthFunc, `length(["a", "b"])`, "Returns the number of elements."},
		{"lookup(map, key, default)", lookupFunc, `lookup({ a = 1 }, "b", 0)`,
			"Returns the value of a key, or a default if the key is missing. Without a default, a missing key is " +
				"an error."},
		{"merge(map, ...)", mergeFunc, `merge({ a = 1, b = 1 }, { b = 2 })`,
			"Merges maps; later ones take precedence. Null arguments are skipped; if all are null, so is the result."},
		{"one(list)", oneFunc, `one(["a"])`, "Returns the element of a list or set with one element, and " +
			"null for an empty one."},
		{"range(n)", stdlib.RangeFunc, `range(3)`,
			"Returns the numbers from 0 to n, excluding n. Also: range(from, to) and range(from, to, step)."},
		{"reverse(list)", stdlib.ReverseListFunc, `reverse(["a", "b"])`, "Reverses a list."},
		{"setintersection(set, ...)", stdlib.SetIntersectionFunc, `setintersection(["a", "b"], ["b", "c"])`,
			"Returns the elements that all sets contain."},
		{"setproduct(set, ...)", stdlib.SetProductFunc, `setproduct(["a"], ["b", "c"])`,
			"Returns all combinations of one element of each list or set."},
		{"setsubtract(set, set)", stdlib.SetSubtractFunc, `setsubtract(["a", "b"], ["b"])`,
			"Returns the elements of the first set that are not in the second."},
		{"setunion(set, ...)", stdlib.SetUnionFunc, `setunion(["a"], ["b"])`,
			"Returns the elements that at least one of the sets contains."},
		{"slice(list, from, to)", stdlib.SliceFunc, `slice(["a", "b", "c"], 1, 2)`,
			"Returns the elements from one index to another, starting at 0 and excluding the last index."},
		{"sort(list)", stdlib.SortFunc, `sort(["b", "a"])`, "Sorts a list of strings."},
		{"transpose(map)", transposeFunc, `transpose({ a = ["x"], b = ["x", "y"] })`,
			"Swaps keys and elements of a map of lists: each element becomes a key, with the keys of the lists " +
				"that contain it."},
		{"values(map)", stdlib.ValuesFunc, `values({ b = 1, a = 2 })`,
			"Returns the values of a map, in the order of their keys."},
		{"zipmap(keys, values)", stdlib.ZipmapFunc, `zipmap(["a", "b"], [1, 2])`,
			"Returns a map with keys from one list and values from another."},
	}
}

func conversionFunctions() []row {
	return []row{
		{"csvdecode(text)", stdlib.CSVDecodeFunc, `csvdecode("name,cpu\na,4")`,
			"Decodes CSV to a list of objects, one for each line. The first line contains the names."},
		{"jsondecode(text)", decoding(stdlib.JSONDecodeFunc, checkJSON), `jsondecode("{\"a\": [1, null]}")`,
			"Decodes JSON. A duplicate key in an object is an error."},
		{"jsonencode(value)", stdlib.JSONEncodeFunc, `jsonencode({ a = 1 })`, "Encodes a value as JSON."},
		{"tobool(value)", toFunc(cty.Bool), `tobool("true")`, "Converts a value to a bool. Null stays null."},
		{"tolist(value)", toFunc(cty.List(cty.DynamicPseudoType)), `tolist(toset(["b", "a"]))`,
			"Converts a value to a list whose elements have the same type."},
		{"tomap(value)", toFunc(cty.Map(cty.DynamicPseudoType)), `tomap({ a = 1, b = "c" })`,
			"Converts a value to a map whose values have the same type."},
		{"tonumber(value)", toFunc(cty.Number), `tonumber("4")`, "Converts a value to a number. Null stays " +
			"null."},
		{"toset(list)", toFunc(cty.Set(cty.DynamicPseudoType)), `toset(["b", "a", "b"])`,
			"Converts a list to a set, sorted and without duplicates, as for for_each."},
		{"tostring(value)", toFunc(cty.String), `tostring(4)`, "Converts a number or bool to text. Null " +
			"stays null."},
		{"yamldecode(text)", decoding(ctyyaml.YAMLDecodeFunc, checkYAML), `yamldecode("a: [1, b]")`,
			"Decodes YAML. Anchors and aliases are not supported; a duplicate key is an error."},
	}
}

func errorFunctions() []row {
	return []row{
		{"can(expression)", tryfunc.CanFunc, `can(local.nothing)`, "Returns whether an expression evaluates " +
			"without error."},
		{"try(expression, ...)", tryfunc.TryFunc, `try(local.nothing, "a")`,
			"Returns the first of its arguments that evaluates without error."},
	}
}
