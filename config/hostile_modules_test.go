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

// TestHostileModules compiles directories that multiply: little text, read
// often. Each must end with an error, and soon.
func TestHostileModules(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"each calls the next twice", tower(40, "module %q {\n  source = %q\n}\n"), "Too many modules"},
		{"each repeats the next", tower(40, "module %q {\n  for_each = toset([\"a\", \"b\"])\n  source = %q\n}\n"),
			"Too many modules"},
		{"a long tower", tower(200, "module %q {\n  source = %q\n}\n"), "Too many modules"},
		{"many elements", map[string]string{
			"main.lke.hcl": "module \"a\" {\n  for_each = toset([for n in range(1024): \"a${n}-${n}\"])\n  " +
				"source = \"./a\"\n}\n",
			"a/main.lke.hcl": "node_class \"a\" {}\n",
		}, "Too many modules"},
		{"many names, often", map[string]string{
			"main.lke.hcl": "module \"a\" {\n  for_each = toset([for n in range(900): \"a${n}\"])\n  source = " +
				"\"./a\"\n}\n",
			"a/main.lke.hcl": "locals {\n" + numbered(20_000, "  a%d = 1\n") + "}\n",
		}, "Too many modules"},
		{"a chain of values", tower(90, "module %q {\n  source = %q\n  a = var.a\n}\nvariable \"a\" {}\n"),
			"Too many modules"},
		{"many moves", map[string]string{
			"main.lke.hcl": numbered(4000, "moved {\n  from = pool.a%d\n  to = pool.b\n}\n"),
		}, "Too many blocks"},
		{"a chain of moves", map[string]string{
			"main.lke.hcl": "node_class \"a\" {\n  for_each = toset([for n in range(1024): \"a${n}\"])\n}\n" +
				"moved {\n  from = node_class.a0\n  to = node_class.a\n}\nlocals {\n  a = local.b\n}\n" +
				chainOfMoves(498),
		}, "Unknown reference"},
		{"many imports", map[string]string{"main.lke.hcl": numbered(4000,
			"import {\n  to = pool.a%d\n  id = \"a\"\n}\n")}, "Too many blocks"},
		{"many policies", map[string]string{"main.lke.hcl": numbered(2000,
			"policy \"p%d\" {\n  condition = [for a in range(1024): [for b in range(1024): plan.nodes.total]]\n  "+
				"error_message = \"a\"\n}\n")}, "Too much work"},
		{"large files, often", map[string]string{
			"main.lke.hcl": "locals {\n  a = [for n in range(1024): file(\"a.txt\")]\n}\n",
			"a.txt":        strings.Repeat("a", 200<<10),
		}, "Too much work"},
		{"many large files", manyFiles(60), "are read in sum"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := fstest.MapFS{"cluster.lke.hcl": {Data: []byte(cluster)}}
			for name, text := range tt.files {
				files[name] = &fstest.MapFile{Data: []byte(text)}
			}
			var diags hcl.Diagnostics
			elapsed := configtest.CPU(func() { _, diags, _ = compile(files, config.Options{}) })
			t.Logf("%v: %s", elapsed.Round(time.Millisecond), first(diags.Error()))
			found := false
			for _, d := range diags {
				found = found || strings.Contains(d.Summary+": "+d.Detail, tt.want)
			}
			if !found {
				t.Errorf("no error %q", tt.want)
			}
			if elapsed > 3*time.Second {
				t.Errorf("took %v", elapsed)
			}
		})
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

func numbered(n int, text string) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, text, i)
	}
	return all.String()
}

func chainOfMoves(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "moved {\n  from = node_class.a%d\n  to = node_class.a%d\n}\n", i+1, i)
	}
	return all.String()
}

func manyFiles(n int) map[string]string {
	files := map[string]string{}
	var reads strings.Builder
	for i := range n {
		files[fmt.Sprintf("a%d.txt", i)] = strings.Repeat("a", 200<<10)
		fmt.Fprintf(&reads, "  a%d = file(\"a%d.txt\")\n", i, i)
	}
	files["main.lke.hcl"] = "locals {\n" + reads.String() + "}\n"
	return files
}
