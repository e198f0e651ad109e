package syntax

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/rogpeppe/go-internal/txtar"
)

// FuzzParts: a file that is parsed in parts has no errors, and is the same tree as the whole file.
func FuzzParts(f *testing.F) {
	for _, src := range seeds(f) {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		file, ok := parseParts("f", src, 1)
		if !ok {
			return
		}
		if _, diags := scanFile("f", src); diags.HasErrors() {
			t.Fatalf("it must not be parsed: %v", diags)
		}
		whole, diags := hclsyntax.ParseConfig(src, "f", hcl.InitialPos)
		if len(diags) > 0 {
			t.Fatalf("the whole file has errors: %v", diags)
		}
		if !reflect.DeepEqual(file.Body, whole.Body) {
			t.Fatal("the tree of the whole file differs")
		}
	})
}

// TestFilesOfManyBlocksAreParsedInParts: it takes less memory.
func TestFilesOfManyBlocksAreParsedInParts(t *testing.T) {
	src := []byte(strings.Repeat("pool \"a\" {\n  labels = { a = \"b\" }\n}\n\n", 200))
	file, ok := parseParts("f", src, minPart)
	if !ok || len(file.Body.(*hclsyntax.Body).Blocks) != 200 {
		t.Errorf("%v, parsed: %v", file, ok)
	}
}

// seeds are the documents of the tests of package config, and short texts of which parts are read in another way than the
// whole.
func seeds(f *testing.F) (seeds [][]byte) {
	archives, _ := filepath.Glob("../testdata/*.txtar")
	for _, path := range archives {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			seeds = append(seeds, file.Data)
		}
	}
	documents, _ := filepath.Glob("../testdata/bad/*.hcl")
	for _, path := range documents {
		src, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		seeds = append(seeds, src)
	}
	for _, text := range []string{
		"a = \"10%\"\nb = \"$5\"\nc = \"100%%\"\n", "a = \"%\\\"\"\n", "a = \"\\${b}\"\n", "a = \"$${b}\"\n", "a = \"\\\\\"\nb = 1\n",
		"a = 1e-5----3\n", "a = 1.e5----3\n", "a = b.0.1\n", "a = 1..2\n", "a = b-----c\n", "a = 5-----3\n",
		"a = [b...]\n", "a = b::c()\n", "a = b ? c : d\n", "a = b ?\nc : d\n", "a = b ===c\n", "a = b =>= c\n", "a = !!!!b\n",
		"a = <<E\nx\nE\nb = 1\n", "a = b</*\n*/c\n", "a = \"/*\"\nb = \"*/5\"\n", "# /*\na = 1\n", "// x\r\na = 1\r\n", "# x\ry\na = 1\n",
		"a {\n  b = 1\n}\na = 1\na = 2\n", "a {}\n}\nb {}\n", "a = (\n1\n)\nb = ]\n", "é = 1\n", "a = \"é\" # é\n", "\ufeffa = 1\n",
		"a = 1\n# end", "a = 1 # x\n\n\n", "a {\n}", "", "\n", "a = \"x\ny\"\n", "a = 1é\n", "a = bé-----c\n",
		"a = " + strings.Repeat("-", 99) + "1\n", "a = <<E\nx\n}\nE\nb = 1\n", "a {\n}\n\ufeffb {\n}\n",
		"a = \"${ ) ) \n}\n\"\nb = 1\n", "a {\n}\n/*\n}\n*/b {\n}\n", "a {\n}\nb = 1\nc {\n}\nb = 2\n", "a {\n}\n}\n",
		"a {\n}\n# b\nc = 1\nd {\n  e = \"é\"\n}\n\n\n",
	} {
		seeds = append(seeds, []byte(text))
	}
	return seeds
}
