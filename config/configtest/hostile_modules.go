package configtest

import (
	"fmt"
	"strings"
)

// modules multiply: little text, read often.
func modules() []Hostile {
	const each = "module \"a\" {\n  for_each = toset([for n in range(900): \"a${n}\"])\n  source = \"./a\"\n}\n"
	const tooMany = "Too many modules"
	return []Hostile{
		{Name: "modules that call the next twice", Files: tower(40, "module %q {\n  source = %q\n}\n"), Want: tooMany},
		{Name: "modules that repeat the next", Want: tooMany,
			Files: tower(40, "module %q {\n  for_each = toset([\"a\", \"b\"])\n  source = %q\n}\n")},
		{Name: "a long tower of modules", Files: tower(200, "module %q {\n  source = %q\n}\n"), Want: tooMany},
		{Name: "a module for many elements", Want: tooMany, Files: map[string]string{
			"main.lke.hcl": "module \"a\" {\n  for_each = toset([for n in range(1024): \"a${n}-${n}\"])\n  " +
				"source = \"./a\"\n}\n",
			"a/main.lke.hcl": "node_class \"a\" {}\n",
		}},
		{Name: "a module with many names, often", Want: tooMany, Files: map[string]string{
			"main.lke.hcl":   each,
			"a/main.lke.hcl": "locals {\n" + numbered(20_000, "  a# = 1\n") + "}\n",
		}},
		{Name: "a module with many mistakes, often", Files: map[string]string{
			"main.lke.hcl":   each,
			"a/main.lke.hcl": "locals {\n" + numbered(100, "  a# = local.b#\n") + "}\n",
		}},
		{Name: "a module with a large type, often", Want: "Too much work", Files: map[string]string{
			"main.lke.hcl": each,
			"a/main.lke.hcl": "variable \"v\" {\n  type = object({\n" + numbered(8000, "a# = optional(string, \"x\")\n") +
				"})\n  default = {}\n}\n",
		}},
		{Name: "a module with many checks, often", Want: "Too much work", Files: map[string]string{
			"main.lke.hcl": each,
			"a/main.lke.hcl": "locals {\n  z = [1]\n}\n" + numbered(2500, "check \"c#\" {\n  assert {\n    condition = "+
				"length(local.z) == 1\n    error_message = \"No.\"\n  }\n}\n"),
		}},
		{Name: "a module with a large argument, often", Files: map[string]string{
			"main.lke.hcl": "locals {\n  big = [for i in range(300) : range(1000)]\n}\n" +
				strings.Replace(each, "source", "big    = local.big\n  source", 1),
			"a/main.lke.hcl": "variable \"big\" {\n  type = list(list(string))\n}\n",
		}},
		{Name: "a chain of values through modules", Want: tooMany,
			Files: tower(90, "module %q {\n  source = %q\n  a = var.a\n}\nvariable \"a\" {}\n")},
		{Name: "large files, often", Want: "Too much work", Files: map[string]string{
			"main.lke.hcl": "locals {\n  a = [for n in range(1024): file(\"a.txt\")]\n}\n",
			"a.txt":        strings.Repeat("a", 200<<10),
		}},
		{Name: "many large files", Files: manyFiles(60), Want: "Too much work"},
	}
}

// tower is directories of which each calls the next, twice.
func tower(height int, call string) map[string]string {
	files := map[string]string{}
	for i := range height {
		dir, next := fmt.Sprintf("d%d/", i), fmt.Sprintf("../d%d", i+1)
		if i == 0 {
			dir, next = "", "./d1"
		}
		files[dir+"main.lke.hcl"] = fmt.Sprintf(call, "a", next) +
			strings.Split(fmt.Sprintf(call, "b", next), "\nvariable")[0] + "\n"
	}
	files[fmt.Sprintf("d%d/main.lke.hcl", height)] = "node_class \"a\" {}\n"
	return files
}

func manyFiles(n int) map[string]string {
	files := map[string]string{"main.lke.hcl": "locals {\n" + numbered(n, "  a# = file(\"a#.txt\")\n") + "}\n"}
	for i := range n {
		files[fmt.Sprintf("a%d.txt", i)] = strings.Repeat("a", 200<<10)
	}
	return files
}
