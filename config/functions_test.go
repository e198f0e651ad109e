package config_test

import (
	"testing"
	"testing/fstest"

	"github.com/lkeplan/lkeplan/config"
)

// TestFiles reads files by their paths relative to the directory of the expression.
func TestFiles(t *testing.T) {
	t.Parallel()
	examples := []struct{ expression, want string }{
		{`file("notes.txt")`, `"Text.\n"`},
		{`fileexists("../shared/teams.yaml")`, `true`},
		{`fileset("../shared", "*.yaml")`, `["teams.yaml"]`},
		{`{ for f in fileset("..", "*/*.yaml") : f => yamldecode(file("../${f}")) }`, `{"shared/teams.yaml":{"web":320}}`},
		{`can(fileset("../..", "*"))`, `false`},
		{`can(fileexists("../../notes.txt"))`, `false`},
		{`can(fileexists("../.git/config.txt"))`, `false`},
		{`templatestring(file("../shared/hello.tpl"), { name = "web" })`, `"Hello, web.\n"`},
	}
	for _, example := range examples {
		t.Run(example.expression, func(t *testing.T) {
			if got := evaluate(t, example.expression); got != example.want {
				t.Errorf("got %s, want %s", got, example.want)
			}
		})
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
		"shared/hello.tpl":  {Data: []byte("Hello, ${name}.\n")},
		".git/config.txt":   {Data: []byte("secret\n")},
	}
	compiled, diags, _ := compile(files, config.Options{Dir: "main"})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	metadata := compiled.Objects[0].Manifest["metadata"].(map[string]any)
	return metadata["annotations"].(map[string]any)["value"].(string)
}
