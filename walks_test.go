package lkeplan_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestWalksNameExistingCode: who follows a walk in CONTRIBUTING.md finds each file, and in a
// Go file each function.
func TestWalksNameExistingCode(t *testing.T) {
	text, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, walks, _ := strings.Cut(string(text), "## Four walks\n")
	walks, _, _ = strings.Cut(walks, "\n## ")
	hops := regexp.MustCompile("`([\\w./-]+/[\\w.-]+\\.\\w+)`(?::((?:\\s+`[\\w.]+`,?)+))?").FindAllStringSubmatch(walks, -1)
	if len(hops) < 66 {
		t.Fatalf("%d files in four walks", len(hops))
	}
	for _, hop := range hops {
		if _, err := os.Stat(hop[1]); err != nil {
			t.Errorf("a walk names %s, which is not there", hop[1])
			continue
		}
		if filepath.Ext(hop[1]) != ".go" {
			continue
		}
		there := functions(t, hop[1])
		for _, name := range regexp.MustCompile(`[\w.]+`).FindAllString(hop[2], -1) {
			if !there[name] {
				t.Errorf("a walk names %s in %s, which is not there", name, hop[1])
			}
		}
	}
}

// functions are the functions of a Go file, and its methods as Type.Method.
func functions(t *testing.T, path string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, decl := range parse(t, path).Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := f.Name.Name
		if f.Recv != nil {
			of := f.Recv.List[0].Type
			if star, pointer := of.(*ast.StarExpr); pointer {
				of = star.X
			}
			if ident, ok := of.(*ast.Ident); ok {
				name = ident.Name + "." + name
			}
		}
		names[name] = true
	}
	return names
}
