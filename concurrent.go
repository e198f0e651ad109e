//go:build ignore

// Command concurrent lists the packages of this module that have something to find for the
// race detector: a goroutine, a channel, a lock or an atomic value, in code or in tests. It
// reads syntax, of all files regardless of build constraints. With -others it lists the
// other packages.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func main() {
	log.SetFlags(0)
	others := flag.Bool("others", false, "list the packages without concurrency instead")
	flag.Parse()
	packages, err := concurrent(".")
	if err != nil {
		log.Fatal(err)
	}
	listed := slices.Sorted(maps.Keys(packages))
	listed = slices.DeleteFunc(listed, func(dir string) bool { return packages[dir] == *others })
	if len(listed) == 0 {
		log.Fatal("no such package is found: run this in the root of the module")
	}
	for _, dir := range listed {
		fmt.Println("./" + dir)
	}
}

// concurrent has each directory with Go files, and whether there is concurrency in them.
func concurrent(root string) (map[string]bool, error) {
	packages := map[string]bool{}
	return packages, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch name := entry.Name(); {
		case entry.IsDir() && path != root:
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			if err == nil || name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
				return filepath.SkipDir
			}
		case strings.HasSuffix(name, ".go"):
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			dir, _ := filepath.Rel(root, filepath.Dir(path))
			packages[dir] = packages[dir] || isConcurrent(file)
		}
		return nil
	})
}

// imports are packages with atomic values, and with functions that run others concurrently.
var imports = []string{"sync/atomic", "golang.org/x/sync"}

// calls begin goroutines without a go statement.
var calls = []string{"Go", "AfterFunc", "NewServer", "NewTLSServer", "NewUnstartedServer"}

func isConcurrent(file *ast.File) (found bool) {
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		renamed := path == "sync" && spec.Name != nil
		found = found || renamed || slices.ContainsFunc(imports, func(p string) bool {
			return path == p || strings.HasPrefix(path, p+"/")
		})
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.GoStmt, *ast.ChanType, *ast.SelectStmt, *ast.SendStmt:
			found = true
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		case *ast.SelectorExpr: // what is done once is so in a package without goroutines, too
			of, ok := n.X.(*ast.Ident)
			found = found || ok && of.Name == "sync" && !strings.HasPrefix(n.Sel.Name, "Once")
		case *ast.CallExpr:
			called, ok := n.Fun.(*ast.SelectorExpr)
			found = found || ok && slices.Contains(calls, called.Sel.Name)
		}
		return !found
	})
	return found
}
