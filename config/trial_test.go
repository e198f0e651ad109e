package config_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/eval"
)

const tested = `
variable "region" {
  default = "us-ord"
}
locals {
  nothing = null
}
cluster {
  name   = "dev"
  region = var.region
}
node_class "default" {}
`

// TestAssertionsFailClosed: any result other than true is an error.
func TestAssertionsFailClosed(t *testing.T) {
	tests := []struct{ name, condition, want string }{
		{"true", `known.nodes == 2 && cluster.name == "dev"`, ""},
		{"false", `known.nodes == 3`, "The message."},
		{"null", `local.nothing`, "A condition must be true or false. It is null. To set a value for null, write coalesce(..., true)."},
		{"compared with null", `local.nothing < 3`, "local.nothing is null, and no operation is possible with null."},
		{"null with a reason", `2 > (known.cost.most)`,
			"known.cost.most is null, and no operation is possible with null. No pool has limits."},
		{"null of a function", `known.nodes + jsondecode("null") > 2`, "A value in the operation is null, and no operation is possible with null."},
		{"null behind not", `!known.cost.most`, "known.cost.most is null"},
		{"no result", `known.nodes / 0 > 2`, "The operation has no result: division by zero"},
		{"no bool", `known.nodes`, "A condition must be true or false."},
		{"unknown", `known.rolled == 0`, "depends on a value that is not known"},
		{"unknown behind try", `try(known.rolled == 0, true)`, "depends on a value that is not known"},
		{"unknown behind can", `can(known.rolled == 0)`, "depends on a value that is not known"},
		{"unknown on one side", `known.nodes == 2 || known.rolled == 0`, ""},
		{"unknown and true", `known.nodes == 2 && known.rolled == 0`, "depends on a value that is not known"},
		{"unknown name", `pool.web.name == "web"`, `No pool is named "web" in this directory.`},
		{"unknown attribute", `known.node == 2`, `does not have an attribute named "node". Did you mean "nodes"?`},
		{"nothing", `true`, "The condition contains no references, so it checks nothing. Refer to the value that it must check, such as var.NAME."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			diags := judged(t, `run "a" {
  assert {
    condition     = `+tt.condition+`
    error_message = "The message."
  }
}`)
			switch {
			case tt.want == "" && diags.HasErrors():
				t.Error(diags)
			case tt.want != "" && !strings.Contains(details(diags), tt.want):
				t.Errorf("%q is not in %q", tt.want, details(diags))
			}
		})
	}
}

func details(diags hcl.Diagnostics) string {
	var all []string
	for _, d := range diags {
		all = append(all, d.Detail)
	}
	return strings.Join(all, "\n")
}

// judged evaluates the assertions of the only run.
func judged(t *testing.T, src string) hcl.Diagnostics {
	t.Helper()
	files := fstest.MapFS{"main.lke.hcl": {Data: []byte(tested)}, "a.lketest.hcl": {Data: []byte(src)}}
	runs, _, diags := config.Read(files, "")
	if diags.HasErrors() || len(runs) != 1 {
		t.Fatal(runs, diags)
	}
	module, diags := config.Load(files, config.Options{Run: &runs[0]})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	compiled, diags := module.Compile()
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return compiled.Trial.Judge(map[string]eval.Root{"known": {Value: cty.ObjectVal(map[string]cty.Value{
		"nodes": cty.NumberIntVal(2), "rolled": cty.UnknownVal(cty.Number),
		"cost": cty.ObjectVal(map[string]cty.Value{"most": cty.NullVal(cty.DynamicPseudoType)}),
	}), Nulls: map[string]string{"cost.most": "No pool has limits."}}})
}

// TestVariablesOfRunTakePrecedence, but only for that run.
func TestVariablesOfRunTakePrecedence(t *testing.T) {
	files := fstest.MapFS{
		"main.lke.hcl":         {Data: []byte(tested)},
		"a.auto.lkevars.hcl":   {Data: []byte(`region = "us-east"`)},
		"runs.lketest.hcl":     {Data: []byte("run \"a\" {\n variables {\n region = \"nl-ams\"\n}\n expect_error = \"x\"\n}\n")},
		"notes.lketest.hcl.md": {Data: []byte("{")},
		".b.lketest.hcl":       {Data: []byte("{")},
	}
	runs, _, diags := config.Read(files, "")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	regions := []string{}
	for _, r := range []*config.Run{&runs[0], nil} {
		module, diags := config.Load(files, config.Options{Run: r, Vars: []config.Var{{Name: "region", Value: "us-sea"}}})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		compiled, diags := module.Compile()
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		regions = append(regions, compiled.Cluster.Region)
	}
	if diff := cmp.Diff([]string{"nl-ams", "us-sea"}, regions); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestHostileTestFilesAreErrors: a test file that is too large, too deep or not text is an error.
func TestHostileTestFilesAreErrors(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"large", "# " + strings.Repeat("x", 300<<10), "the limit is 262144"},
		{"deep", "run \"a\" { pods = " + strings.Repeat("[", 100_000), "Nested too deeply"},
		{"no text", "run \"\xff\" {}", "UTF-8"},
		{"many runs", strings.Repeat("run \"a\" {\n expect_error = \"x\"\n}\n", 501), "at most 500 runs"},
		{"blocks of others", "cluster {}\n", "cluster"},
		{"name of several lines", "run \"a\\nb\" {\n expect_error = \"x\"\n}", "one line"},
		{"null", "run \"a\" {\n pods = null\n base = null\n}", "A run needs an assert block or the argument expect_error."},
		{"null in a list", "run \"a\" {\n pods = [null]\n expect_error = \"x\"\n}", "pods"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, diags := config.Read(fstest.MapFS{"a.lketest.hcl": {Data: []byte(tt.src)}}, "")
			text := ""
			for _, d := range diags {
				text += d.Summary + ": " + d.Detail + "\n"
			}
			if !strings.Contains(text, tt.want) {
				t.Errorf("%q is not in %q", tt.want, text)
			}
		})
	}
}
