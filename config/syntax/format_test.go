package syntax_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/lkeplan/lkeplan/config/syntax"
)

func TestFormat(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"columns", "a=1\nlonger  = 2\n", "a      = 1\nlonger = 2\n"},
		{"indentation", "pool \"web\" {\nweight=1\n}\n", "pool \"web\" {\n  weight = 1\n}\n"},
		{"formatted already", "a = 1\n", "a = 1\n"},
		{"empty", "", ""},
		{"comments", "a=1# why\n  // and\n/* so\non */\n", "a = 1 # why\n// and\n/* so\non */\n"},
		{"text is not touched", "a = \"x  =  y\"\nb = <<-END\n\t  as  it is\n  END\n",
			"a = \"x  =  y\"\nb = <<-END\n\t  as  it is\n  END\n"},
		{"line ends are kept", "a=1\r\nbc=2\r\n", "a  = 1\r\nbc = 2\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, _, diags := syntax.Format("a.lke.hcl", []byte(tt.src))
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestFormatBroken(t *testing.T) {
	for _, src := range []string{"a =", "pool {", "a = \"", "a = 1 b = 2\n", "\xef\xbb\xbfa = 1\n\x00"} {
		got, file, diags := syntax.Format("a.lke.hcl", []byte(src))
		if !diags.HasErrors() || got != nil || file == nil {
			t.Errorf("%q: got %q and %v", src, got, diags)
		}
	}
}

// FuzzFormat checks that formatting changes only white space, and that formatting again changes
// nothing.
func FuzzFormat(f *testing.F) {
	documents, _ := filepath.Glob("../testdata/bad/*.hcl")
	examples, _ := filepath.Glob("../../examples/*/*.hcl")
	for _, path := range append(documents, examples...) {
		src, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Add([]byte("a = b ? c : :d\n"))
	f.Add([]byte("a = [for k,v in x:k=>v...]\nb=<<E\n${ x }\nE\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		once, _, diags := syntax.Format("a.lke.hcl", src)
		if diags.HasErrors() {
			return
		}
		twice, _, diags := syntax.Format("a.lke.hcl", once)
		if diags.HasErrors() {
			t.Fatalf("what was formatted cannot be parsed: %v\n%q", diags, once)
		}
		if !bytes.Equal(once, twice) {
			t.Errorf("formatting again changes %q to %q", once, twice)
		}
		if diff := cmp.Diff(words(src), words(once)); diff != "" {
			t.Errorf("(-before +after)\n%s", diff)
		}
	})
}

// words returns the source without the space between tokens.
func words(src []byte) (list []string) {
	tokens, _ := hclsyntax.LexConfig(src, "", hcl.InitialPos)
	for _, token := range tokens {
		list = append(list, token.Type.String()+" "+string(token.Bytes))
	}
	return list
}
