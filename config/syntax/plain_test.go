package syntax

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/rogpeppe/go-internal/txtar"
)

// FuzzPlain compares files read in pieces with HCL's reading of the whole: the same nesting at each
// place, no tokens that the parser must not see, and the same tree.
func FuzzPlain(f *testing.F) {
	for _, src := range plainSeeds(f) {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		all, ok := pieces(src, 1)
		if !ok {
			return
		}
		tokens, _ := hclsyntax.LexConfig(src, "f", hcl.InitialPos)
		if diags := checkTokens(tokens); diags.HasErrors() {
			t.Fatalf("it is not to be parsed: %v", diags)
		}
		sameNesting(t, src, tokens)
		whole, diags := hclsyntax.ParseConfig(src, "f", hcl.InitialPos)
		file, ok := parsePieces("f", src, all)
		switch {
		case ok != (len(diags) == 0):
			t.Fatalf("in pieces it is fine: %v; the whole: %v", ok, diags)
		case ok && !reflect.DeepEqual(file.Body, whole.Body):
			t.Fatal("in pieces it is another tree")
		}
	})
}

// sameNesting compares the nesting of both readings at each place between tokens.
func sameNesting(t *testing.T, src []byte, tokens hclsyntax.Tokens) {
	t.Helper()
	want := map[int]string{}
	n := nesting{levels: []level{{}}}
	for _, token := range tokens[:len(tokens)-1] { // the last token is the end
		n.step(token.Type)
		want[token.Range.End.Byte] = fmt.Sprint(n)
	}
	p := plain{src: src, nesting: nesting{levels: []level{{}}}}
	for p.at < len(src) {
		blank := src[p.at] == ' ' || src[p.at] == '\t'
		p.token()
		if got := fmt.Sprint(p.nesting); !blank && got != want[p.at] {
			t.Fatalf("at byte %d: got %s, want %s", p.at, got, want[p.at])
		}
	}
}

// plainSeeds returns the documents of the language's tests, and short texts that HCL's scanner
// reads in surprising ways.
func plainSeeds(f *testing.F) (seeds [][]byte) {
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
		"a = " + strings.Repeat("-", 99) + "1\n",
	} {
		seeds = append(seeds, []byte(text))
	}
	return seeds
}
