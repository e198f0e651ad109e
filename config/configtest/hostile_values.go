package configtest

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
)

// numbers are short to write and long to print.
func numbers() []Hostile {
	return []Hostile{
		locals("digits", `a = "x${`+fill("9")+`}"`),
		locals("exponent", `a = "x${1e10000000}"`),
		locals("negative exponent", `a = "x${1e-10000000}"`),
		locals("exponent in text", `a = "x${"1e10000000" + 0}"`),
		locals("exponent negated", `a = "x${-"1e10000000"}"`),
		locals("exponent converted", `a = "x${tonumber("1e10000000")}"`),
		locals("exponent formatted", `a = format("%d", "1e10000000")`),
		native("exponent as an argument", "pool \"a\" {\n  weight = \"1e10000000\"\n}"),
		native("exponent as a limit", "pool \"a\" {\n  limits = { cpu = \"1e10000000\" + 1 }\n}"),
		locals("exponent decoded", `a = jsondecode("1e10000000")`),
		locals("exponent decoded from YAML", `a = yamldecode("a: 1e10000000")`),
		locals("fractions", numbered(8000, `a# = tostring(1/3)`+"\n")),
		locals("squares", "a0 = 1e20", chained(30, "local.a# * local.a#"), `a = "x${local.a30}"`),
		locals("width", `a = format("%999999999s", "x")`),
		locals("widths", numbered(5000, `a# = format("%999s", "x")`+"\n")).valid(),
	}
}

// multiplied are values that grow with each line.
func multiplied() []Hostile {
	big := `big = [for i in range(100) : range(1000)]`
	return []Hostile{
		locals("doubled text", `a0 = "x"`, chained(40, `"${local.a#}${local.a#}"`)),
		locals("doubled lists", `a0 = ["x"]`, chained(40, `concat(local.a#, local.a#)`)),
		locals("doubled tuples", `a0 = ["x"]`, chained(40, `[local.a#, local.a#]`)),
		locals("doubled tuples flattened", `a0 = ["x"]`, chained(40, `flatten([local.a#, local.a#])`)),
		locals("doubled objects", `a0 = ["x"]`, chained(40, `{ a = local.a#, b = local.a# }`)),
		locals("doubled text in one expression", `a0 = "`+strings.Repeat("x", 1000)+`"`,
			"a1 = "+templates(13, "${local.a0}")),
		locals("large text, often", `a = join("", [for i in range(1000) : "`+strings.Repeat("x", 1000)+`"])`,
			numbered(4000, `a# = "${local.a}${local.a}"`+"\n")),
		locals("a large value, often", big, numbered(9000, "a# = local.big\n")),
		locals("a large value in templates", big, numbered(4000, `a# = "${jsonencode(local.big)}"`+"\n")),
		locals("parts of a large value", big, numbered(9000, "a# = local.big[0][0]\n")).valid(),
		native("a large value as a manifest", repeatedPool("manifest = local.big")+
			"locals {\n  big = { spec = { for i in range(1000) : \"a${i}\" => range(300) } }\n}\n"),
		native("large labels", repeatedPool("labels = local.big")+
			"locals {\n  big = { for i in range(1000) : \"a${i}\" => \"b\" }\n}\n"),
		native("large requirements", repeatedPool("requirements = { \"a/b\" = local.big }")+
			"locals {\n  big = [for i in range(1000) : \"a${i}\"]\n}\n"),
		native("a large argument", repeatedPool("taints = ["+strings.Repeat(`"a:NoSchedule",`, 9000)+"]")),
		native("labels written out", pool("labels = {"+numbered(9000, "a# = 1,")+"}")),
		native("taints written out", pool("taints = ["+numbered(9000, `"a#:NoSchedule",`)+"]")),
		native("budgets written out", pool("disruption {\n"+strings.Repeat("budget { nodes = 1 }\n", 10_000)+"}")),
		native("requirements written out", pool("requirements = {"+numbered(9000, `"a/b#" = exists(),`)+"}")),
		native("values of a requirement", pool("requirements = { \"a/b\" = ["+numbered(9000, `"a#",`)+"] }")),
		native("requirements in each other",
			pool("requirements = { \"a/b\" = "+strings.Repeat("all(", 90)+"exists()"+strings.Repeat(")", 90)+" }")).valid(),
		locals("products", "a = setproduct(range(200), range(200), range(20))"),
		locals("repeated arguments of format",
			`a = format("`+strings.Repeat("%[1]s", 10_000)+`", join("", range(1024)))`),
		locals("replacement", `a = join("", range(1024))`, `b = replace(local.a, "", local.a)`),
		locals("YAML aliases", "a = yamldecode(<<E\na0: &a0 [x, x]\n"+
			strings.TrimPrefix(chainedText(40, "a%[2]d: &a%[2]d [*a%[1]d, *a%[1]d]\n"), "\n")+"E\n)"),
		locals("deep JSON", `a = jsondecode("`+fillPair("[", "]")+`")`),
		locals("deep JSON objects", "a = jsondecode(<<E\n"+fillPair(`{"a":`, "}")+"\nE\n)"),
		locals("deep YAML", `a = yamldecode("`+fillPair("[", "]")+`")`),
		locals("deep YAML lines", `a = yamldecode("`+fill("- ")+`")`),
		locals("deep value", `a = jsondecode("`+strings.Repeat("[", 9000)+strings.Repeat("]", 9000)+`")`,
			"b = [for x in range(1000) : local.a == local.a]"),
		decoded("long JSON", "jsondecode", "["+strings.Repeat("1,", 120_000)+"1]", ""),
		decoded("long YAML", "yamldecode", strings.Repeat("- a\n", 60_000), ""),
		decoded("long YAML keys", "yamldecode", numbered(25_000, "a#: 1\n"), ""),
		decoded("long JSON, often", "jsondecode", "["+strings.Repeat("1,", 100_000)+"1]", "[for i in range(1000) : %s]"),
		decoded("long YAML, often", "yamldecode", strings.Repeat("- a\n", 30_000), "[for i in range(1000) : %s]"),
		locals("a set of one hash", "a = toset(["+colliding(9000)+"])"),
		locals("sets of one hash", "a = setunion(["+colliding(4000)+"], [\"b\"])",
			numbered(100, "a# = setunion(local.a, [\"a#\"])\n")),
		native("a set of one hash as a type",
			"variable \"a\" {\n  type = set(string)\n  default = ["+colliding(9000)+"]\n}\n"),
		native("optional attributes", "variable \"a\" {\n  type = list(object({"+numbered(200, "a# = optional(string, \"b\"),")+
			"}))\n  default = ["+strings.Repeat("{},", 9000)+"]\n}\n"),
		native("optional attributes of different types",
			"variable \"a\" {\n  type = list(object({"+numbered(30, "a# = optional(any, \"b\"),")+
				"}))\n  default = ["+numbered(1000, "{a1=#},{a2=[#]},{a3={b=#}},")+"]\n}\n"),
		native("a deep type", "variable \"a\" {\n  type = "+strings.Repeat("list(", 90)+"any"+strings.Repeat(")", 90)+
			"\n  default = "+strings.Repeat("[", 90)+strings.Repeat("]", 90)+"\n}\n").valid(),
	}
}

// decoded has text in a file of its own decoded, in an expression where one is
// given.
func decoded(name, function, text, expression string) Hostile {
	call := function + `(file("a.txt"))`
	if expression != "" {
		call = fmt.Sprintf(expression, call)
	}
	h := locals(name, "a = "+call)
	h.Files["a.txt"] = text
	h.Valid = expression == ""
	return h
}

// chained is the names a1, a2 and so on, each made of the one before.
func chained(n int, expression string) string {
	return chainedText(n, "a%[2]d = "+strings.ReplaceAll(expression, "#", "%[1]d")+"\n")
}

func chainedText(n int, line string) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, line, i, i+1)
	}
	return all.String()
}

// templates are nested, and each has the one within twice.
func templates(depth int, inner string) string {
	text := `"` + inner + `"`
	for range depth {
		text = `"${` + text + `}${` + text + `}"`
	}
	return text
}

// A change is letters of a text that are exchanged, and what that does to the CRC
// of the text.
type change struct {
	sum  uint32
	bits [16]byte
}

func (c change) plus(other change) change {
	c.sum ^= other.sum
	for i, b := range other.bits {
		c.bits[i] ^= b
	}
	return c
}

// colliding writes strings, as a list without brackets, that all have one CRC:
// it is linear, so that some changes of a text do not change its sum.
func colliding(n int) string {
	var reduced, kernel []change
	for _, c := range changes() {
		for _, r := range reduced {
			if other := c.plus(r); other.sum < c.sum {
				c = other
			}
		}
		if c.sum == 0 {
			kernel = append(kernel, c)
			continue
		}
		reduced = append(reduced, c)
		slices.SortFunc(reduced, func(a, b change) int { return cmp.Compare(b.sum, a.sum) })
	}
	var all strings.Builder
	for i := range n {
		var sum change
		for k, c := range kernel {
			if i>>k&1 == 1 {
				sum = sum.plus(c)
			}
		}
		fmt.Fprintf(&all, "%q,", sum.text())
	}
	return all.String()
}

// changes are those of one bit, of which each makes another letter of an "a".
func changes() (all []change) {
	base := crc32.ChecksumIEEE(change{}.text())
	for i := range len(change{}.bits) {
		for _, bit := range []byte{2, 4, 8} {
			var c change
			c.bits[i] = bit
			c.sum = crc32.ChecksumIEEE(c.text()) ^ base
			all = append(all, c)
		}
	}
	return all
}

func (c change) text() []byte {
	for i := range c.bits {
		c.bits[i] ^= 'a'
	}
	return c.bits[:]
}
