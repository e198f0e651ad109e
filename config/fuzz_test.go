package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lkeplan/lkeplan/config"
)

const cluster = `cluster {
  name   = "test"
  region = "us-ord"
}
`

// FuzzLoad compiles any text, with modules and files that it can call, and as a module. It must not
// crash, and must be deterministic.
func FuzzLoad(f *testing.F) {
	archives, _ := filepath.Glob("testdata/*.txtar")
	for _, path := range archives {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			f.Add(file.Data, filepath.Ext(file.Name) == ".json")
		}
	}
	documents, _ := filepath.Glob("testdata/bad/*.hcl")
	for _, path := range documents {
		src, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src, false)
	}
	for _, text := range []string{
		"module \"a\" {\n  source = \"./modules/team\"\n  team = \"a\"\n}\n",
		"module \"a\" {\n  for_each = { a = 1, b = 2 }\n  source = \"./modules/team\"\n  team = each.key\n  " +
			"max_cpu = each.value\n}\npool \"b\" {\n  node_class = module.a[\"a\"].node_class.own\n}\n",
		"module \"a\" {\n  source = \"./modules/two\"\n}\nlocals {\n  a = yamldecode(file(\"team.yaml\"))\n}\n",
		"moved {\n  from = module.b\n  to = module.a\n}\nmodule \"a\" {\n  source = \"./modules/team\"\n  team = " +
			"module.a.pool.main.name\n}\n",
	} {
		f.Add([]byte(text), false)
	}
	f.Fuzz(func(t *testing.T, src []byte, json bool) {
		name := "main.lke.hcl"
		if json {
			name = "main.lke.json"
		}
		files := fstest.MapFS{
			name:                        {Data: src},
			"cluster.lke.hcl":           {Data: []byte(cluster)},
			"modules/team/main.lke.hcl": {Data: []byte(team)},
			"modules/two/" + name:       {Data: src},
			"team.yaml":                 {Data: src},
		}
		first := outcome(files)
		if diff := cmp.Diff(first, outcome(files)); diff != "" {
			t.Errorf("not the same each time:\n%s", diff)
		}
	})
}

const team = `variable "team" {}

variable "max_cpu" {
  default = 100
}

module "two" {
  source = "../two"
}

node_class "own" {}

pool "main" {
  node_class = node_class.own
  labels     = { team = var.team }
  limits     = { cpu = var.max_cpu }
}
`

// outcome is the complete result of a compilation.
func outcome(files fstest.MapFS) (lines []string) {
	compiled, diags, _ := compile(files, config.Options{})
	for _, d := range diags {
		lines = append(lines, fmt.Sprintf("%v %s: %s", d.Subject, d.Summary, d.Detail))
	}
	for _, r := range compiled.Objects {
		lines = append(lines, fmt.Sprint(r.Addr, r.Manifest))
	}
	return lines
}
