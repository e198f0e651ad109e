package config_test

import (
	"regexp"
	"testing"
	"testing/fstest"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/function"
	"github.com/lkeplan/lkeplan/config/meter"
)

// TestFunctions has at least one example of each function, with its result in
// JSON.
func TestFunctions(t *testing.T) {
	examples := []struct{ expression, want string }{
		{`abs(-4)`, `4`},
		{`ceil(1.2)`, `2`},
		{`floor(1.8)`, `1`},
		{`max(1, 3, 2)`, `3`},
		{`min(3, 1, 2)`, `1`},
		{`sum([1, 2, 3])`, `6`},
		{`sum([])`, `0`},

		{`endswith("pool-a", "-a")`, `true`},
		{`format("%s-%02d", "web", 7)`, `"web-07"`},
		{`join("-", ["a", "b"])`, `"a-b"`},
		{`join("-", ["a"], ["b", 1])`, `"a-b-1"`},
		{`lower("Web")`, `"web"`},
		{`regex("[0-9]+", "g6-standard-8")`, `"6"`},
		{`replace("a_b", "_", "-")`, `"a-b"`},
		{`split(",", "a,b")`, `["a","b"]`},
		{`startswith("pool-a", "pool")`, `true`},
		{`substr("abcdef", 1, 3)`, `"bcd"`},
		{`trim("--a--", "-")`, `"a"`},
		{`trimprefix("pool-a", "pool-")`, `"a"`},
		{`trimspace("  a ")`, `"a"`},
		{`trimsuffix("pool-a", "-a")`, `"pool"`},
		{`upper("web")`, `"WEB"`},

		{`alltrue([true, true])`, `true`},
		{`alltrue([])`, `true`},
		{`alltrue([true, null])`, `false`},
		{`anytrue([false, true])`, `true`},
		{`anytrue([])`, `false`},
		{`coalesce(null, "a", "b")`, `"a"`},
		{`compact(["a", "", null, "b"])`, `["a","b"]`},
		{`concat(["a"], ["b"])`, `["a","b"]`},
		{`contains(["a", "b"], "b")`, `true`},
		{`distinct(["a", "b", "a"])`, `["a","b"]`},
		{`flatten([["a"], ["b", ["c"]]])`, `["a","b","c"]`},
		{`keys({ b = 1, a = 2 })`, `["a","b"]`},
		{`length(["a", "b"])`, `2`},
		{`length({ a = 1, b = "c" })`, `2`},
		{`length("web")`, `3`},
		{`lookup({ a = 1 }, "b", 0)`, `0`},
		{`merge({ a = 1, b = 1 }, { b = 2 })`, `{"a":1,"b":2}`},
		{`one([])`, `null`},
		{`one(["a"])`, `"a"`},
		{`range(3)`, `[0,1,2]`},
		{`reverse(["a", "b"])`, `["b","a"]`},
		{`setintersection(["a", "b"], ["b", "c"])`, `["b"]`},
		{`setproduct(["a"], ["b", "c"])`, `[["a","b"],["a","c"]]`},
		{`setsubtract(["a", "b"], ["b"])`, `["a"]`},
		{`setunion(["a"], ["b"])`, `["a","b"]`},
		{`slice(["a", "b", "c"], 1, 2)`, `["b"]`},
		{`sort(["b", "a"])`, `["a","b"]`},
		{`values({ b = 1, a = 2 })`, `[2,1]`},
		{`zipmap(["a", "b"], [1, 2])`, `{"a":1,"b":2}`},

		{`file("notes.txt")`, `"Text.\n"`},
		{`yamldecode(file("../shared/teams.yaml")).web`, `320`},

		{`jsondecode("{\"a\": [1, null]}")`, `{"a":[1,null]}`},
		{`jsonencode({ a = 1 })`, `"{\"a\":1}"`},
		{`tobool("true")`, `true`},
		{`tolist(toset(["b", "a"]))`, `["a","b"]`},
		{`tomap({ a = 1, b = "c" })`, `{"a":"1","b":"c"}`},
		{`tonumber("4")`, `4`},
		{`toset(["a", "a"])`, `["a"]`},
		{`tostring(4)`, `"4"`},
		{`yamldecode("a: [1, b]")`, `{"a":[1,"b"]}`},

		{`can(local.nothing.at.all)`, `false`},
		{`try(local.nothing.at.all, "a")`, `"a"`},
		{`["a", "b"][*]`, `["a","b"]`},
		{`true && !false ? -1 + 2 * 3 : 0`, `5`},
	}
	seen := map[string]bool{"atleast": true, "all": true, "between": true, "notin": true, "exists": true,
		"absent": true, "gt": true, "gte": true, "lt": true, "lte": true}
	for _, example := range examples {
		for _, call := range regexp.MustCompile(`([a-z]+)\(`).FindAllStringSubmatch(example.expression, -1) {
			seen[call[1]] = true
		}
		t.Run(example.expression, func(t *testing.T) {
			if got := evaluate(t, example.expression); got != example.want {
				t.Errorf("got %s, want %s", got, example.want)
			}
		})
	}
	for name := range function.Table(meter.New(), nil) {
		if !seen[name] {
			t.Errorf("%s has no example", name)
		}
	}
}

// evaluate returns the value of an expression in JSON.
func evaluate(t *testing.T, expression string) string {
	t.Helper()
	src := cluster +
		"locals {\n  nothing = {}\n}\nnode_class \"a\" {\n  metadata {\n    annotations = { value = jsonencode(" +
		expression + ") }\n  }\n}\n"
	files := fstest.MapFS{
		"main/main.lke.hcl": {Data: []byte(src)},
		"main/notes.txt":    {Data: []byte("Text.\n")},
		"shared/teams.yaml": {Data: []byte("web: 320\n")},
	}
	compiled, diags, _ := compile(files, config.Options{Dir: "main"})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	metadata := compiled.Objects[0].Manifest["metadata"].(map[string]any)
	return metadata["annotations"].(map[string]any)["value"].(string)
}
