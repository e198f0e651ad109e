package config_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/configtest"
)

// hostile are texts that kill or stall HCL itself: they overflow its stack,
// fill the memory, or run for hours. %s stands for one small part repeated as
// often as a file may be long.
var hostile = []struct {
	name string
	text string
	file string // "main.lke.hcl" where empty
}{
	{name: "brackets", text: "locals {\n  a = " + fill("[")},
	{name: "closed brackets", text: "locals {\n  a = " + fillPair("[", "]") + "\n}"},
	{name: "parentheses", text: "locals {\n  a = " + fill("(")},
	{name: "braces", text: "locals {\n  a = " + fill("{a=")},
	{name: "blocks", text: fill("b{")},
	{name: "blocks on lines", text: fill("b {\n")},
	{name: "interpolations", text: "locals {\n  a = " + fill(`"${`)},
	{name: "directives", text: "locals {\n  a = \"" + fill("%{if true}")},
	{name: "directives in a heredoc", text: "locals {\n  a = <<E\n" + fill("%{if true}\n") + "E\n}"},
	{name: "loops in a template", text: "locals {\n  a = \"" + fill("%{for a in b}")},
	{name: "not", text: "locals {\n  a = " + fill("!")},
	{name: "not on lines", text: "locals {\n  a = (" + fill("!\n")},
	{name: "not with comments", text: "locals {\n  a = " + fill("!/**/")},
	{name: "minus", text: "locals {\n  a = " + fill("-")},
	{name: "conditionals", text: "locals {\n  a = " + fill("true?1:")},
	{name: "conditionals on lines", text: "locals {\n  a = (" + fill("true?\n1:")},
	{name: "conditionals in an object", text: "locals {\n  a = {a: " + fill("true?1:")},
	{name: "calls", text: "locals {\n  a = " + fill("upper(")},
	{name: "sums", text: "locals {\n  a = 1" + fill("+1") + "\n}"},
	{name: "mixed operators", text: "locals {\n  a = 1" + fill("+1*1==1&&1||1") + "\n}"},
	{name: "indexes", text: "locals {\n  a = []" + fill("[0]") + "\n}"},
	{name: "attributes", text: "locals {\n  a = var" + fill(".a") + "\n}"},
	{name: "splats", text: "locals {\n  a = []" + fill(".*") + "\n}"},
	{name: "full splats", text: "locals {\n  a = []" + fill("[*]") + "\n}"},
	{name: "list", text: "locals {\n  a = tolist([" + fill("1,") + "])\n}"},
	{name: "object", text: "locals {\n  a = {" + fill("a=1,") + "}\n}"},
	{name: "arguments", text: "locals {\n  a = max(" + fill("1,") + "1)\n}"},
	{name: "labels", text: "pool " + fill(`"a" `) + "{}"},
	{name: "digits", text: "locals {\n  a = \"x${" + fill("9") + "}\"\n}"},
	{name: "exponent", text: `locals { a = "x${1e10000000}" }`},
	{name: "negative exponent", text: `locals { a = "x${1e-10000000}" }`},
	{name: "exponent in text", text: `locals { a = "x${"1e10000000" + 0}" }`},
	{name: "exponent negated", text: `locals { a = "x${-"1e10000000"}" }`},
	{name: "exponent converted", text: `locals { a = "x${tonumber("1e10000000")}" }`},
	{name: "exponent formatted", text: `locals { a = format("%d", "1e10000000") }`},
	{name: "exponent as an argument", text: "pool \"a\" {\n  weight = \"1e10000000\"\n}"},
	{name: "exponent as a limit", text: "pool \"a\" {\n  limits = { cpu = \"1e10000000\" + 1 }\n}"},
	{name: "exponent decoded", text: `locals { a = jsondecode("1e10000000") }`},
	{name: "exponent decoded from YAML", text: `locals { a = yamldecode("a: 1e10000000") }`},
	{name: "squares", text: squares()},
	{name: "doubled text", text: doubled(`"${local.a%d}${local.a%d}"`)},
	{name: "doubled lists", text: doubled(`concat(local.a%d, local.a%d)`)},
	{name: "doubled tuples", text: doubled(`[local.a%d, local.a%d]`)},
	{name: "doubled tuples flattened", text: doubled(`flatten([local.a%d, local.a%d])`)},
	{name: "doubled objects", text: doubled(`{ a = local.a%d, b = local.a%d }`)},
	{name: "YAML aliases", text: "locals {\n  a = yamldecode(<<E\n" + aliases() + "E\n)\n}"},
	{name: "deep JSON", text: "locals {\n  a = jsondecode(\"" + fillPair("[", "]") + "\")\n}"},
	{name: "deep JSON objects", text: "locals {\n  a = jsondecode(<<E\n" + fillPair(`{"a":`, "}") + "\nE\n)\n}"},
	{name: "deep YAML", text: "locals {\n  a = yamldecode(\"" + fillPair("[", "]") + "\")\n}"},
	{name: "deep YAML lines", text: "locals {\n  a = yamldecode(\"" + fill("- ") + "\")\n}"},
	{name: "deep value", text: "locals {\n  a = jsondecode(\"" + strings.Repeat("[", 9000) +
		strings.Repeat("]", 9000) + "\")\n  b = [for x in range(1000) : local.a == local.a]\n}"},
	{name: "loops",
		text: `locals { a = join("", [for a in range(1024) : join("", [for b in range(1024) : "xxxxxxxxxx"])]) }`},
	{name: "loops in a template's loops",
		text: `locals { a = "%{for a in range(1024)}%{for b in range(1024)}x%{endfor}%{endfor}" }`},
	{name: "loops over a local",
		text: "locals {\n  r = range(1024)\n  a = [for a in local.r : [for b in local.r : [for c in local.r : a]]]\n}"},
	{name: "splats over a local", text: "locals {\n  r = range(1024)\n  a = [for a in local.r : local.r[*]]\n}"},
	{name: "comparisons in a loop",
		text: "locals {\n  r = [for i in range(1000) : \"x\"]\n  a = [for a in range(1000) : local.r == local.r]\n}"},
	{name: "conversions",
		text: "locals {\n  a = tolist([for i in concat(range(1024), range(1024), range(1024)) : [1, \"x\"][i % " +
			"2]])\n}"},
	{name: "conditional of long tuples",
		text: "locals {\n  r = [for i in concat(range(1024), range(1024), range(1024)) : i]\n  a = true ? local.r " +
			": []\n}"},
	{name: "products", text: `locals { a = setproduct(range(200), range(200), range(20)) }`},
	{name: "width", text: `locals { a = format("%999999999s", "x") }`},
	{name: "repeated arguments of format",
		text: `locals { a = format("` + strings.Repeat("%[1]s", 10_000) + `", join("", range(1024))) }`},
	{name: "replacement", text: "locals {\n  a = join(\"\", range(1024))\n  b = replace(local.a, \"\", local.a)\n}"},
	{name: "chain", text: chain()},
	{name: "objects",
		text: "pool \"a\" {\n  for_each = toset([for p in setproduct(range(200), range(100)) : " +
			"\"${p[0]}-${p[1]}\"])\n}"},

	{name: "JSON brackets", file: "main.lke.json", text: `{"locals": {"a": ` + fill("[")},
	{name: "JSON closed brackets", file: "main.lke.json", text: `{"locals": {"a": ` + fillPair("[", "]") + "}}"},
	{name: "JSON objects", file: "main.lke.json", text: fill(`{"a":`)},
	{name: "JSON number", file: "main.lke.json", text: `{"locals": {"a": 1e10000000}}`},
	{name: "JSON interpolations", file: "main.lke.json", text: `{"locals": {"a": "` + fill("${[") + `"}}`},
	{name: "JSON directives", file: "main.lke.json", text: `{"locals": {"a": "` + fill("%{if true}") + `"}}`},
	{name: "JSON not", file: "main.lke.json", text: `{"locals": {"a": "${` + fill("!") + `"}}`},
	{name: "JSON exponent", file: "main.lke.json", text: `{"locals": {"a": "x${1e10000000}"}}`},
	{name: "JSON loops", file: "main.lke.json",
		text: `{"locals": {"a": "${[for a in range(1024) : [for b in range(1024) : \"x\"]]}"}}`},
	{name: "JSON loops over strings", file: "main.lke.json",
		text: `{"locals": {"r": "${range(1024)}", "a": [` + strings.Repeat(`"${[for a in local.r : a]}",`, 5000) +
			`1]}}`},

	{name: "NUL", text: "locals { a = \"\x00\" + 1 }"},
	{name: "bad UTF-8", text: "locals { a = \"\xff\xfe\" }"},
	{name: "byte order mark", text: "\xef\xbb\xbflocals { a = b }"},
	{name: "too large", text: strings.Repeat("# comment\n", 30_000)},
}

const cluster = `cluster {
  name   = "test"
  region = "us-ord"
}
`

const room = 250 << 10 // below the limit of a file

func fill(part string) string { return strings.Repeat(part, room/len(part)) }

func fillPair(open, shut string) string {
	n := room / (len(open) + len(shut))
	return strings.Repeat(open, n) + strings.Repeat(shut, n)
}

func squares() string {
	text := "locals {\n  a0 = 1e20\n"
	for i := range 30 {
		text += fmt.Sprintf("  a%d = local.a%d * local.a%d\n", i+1, i, i)
	}
	return text + "  a = \"x${local.a30}\"\n}\n"
}

func doubled(expression string) string {
	text := "locals {\n  a0 = [\"x\"]\n"
	if strings.HasPrefix(expression, `"`) {
		text = "locals {\n  a0 = \"x\"\n"
	}
	for i := range 40 {
		text += fmt.Sprintf("  a%d = "+expression+"\n", i+1, i, i)
	}
	return text + "}\n"
}

func aliases() string {
	text := "a0: &a0 [x, x]\n"
	for i := range 40 {
		text += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	return text
}

func chain() string {
	text := "locals {\n"
	for i := range 5000 {
		text += fmt.Sprintf("  a%d = local.a%d\n", i, i+1)
	}
	return text + "  a5000 = 1\n}\n"
}

// TestHostile compiles each text. It must end with an error, and soon.
func TestHostile(t *testing.T) {
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			name := "main.lke.hcl"
			if h.file != "" {
				name = h.file
			}
			files := fstest.MapFS{name: {Data: []byte(h.text)}, "cluster.lke.hcl": {Data: []byte(cluster)}}
			var diags hcl.Diagnostics
			took := configtest.CPU(func() { _, diags, _ = compile(files, config.Options{}) })
			if !diags.HasErrors() {
				t.Error("it compiles")
			}
			t.Logf("%v, %d bytes: %s", took.Round(time.Millisecond), len(h.text), first(diags.Error()))
			if took > 2*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func first(text string) string {
	if len(text) > 200 {
		return text[:200]
	}
	return text
}
