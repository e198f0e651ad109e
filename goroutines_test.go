package lkeplan_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unrecovered are goroutines in the code of linode and engine in which a panic ends the process, by their files, and why
// that is fine.
var unrecovered = map[string]string{
	"engine/compare/view.go":       "the commands list ahead, and no controller does",
	"engine/compile/compile.go":    "the controller compiles in a child process",
	"engine/source/program.go":     "it waits for a process to end, and reads nothing of others",
	"linode/instance/instances.go": "what it runs for ever recovers for each round: loop.Every",
	"linode/instance/cluster.go":   "syncTags recovers for each NodeClaim",
}

// recovering are functions that recover what they run: those of packages task and loop, and methods that call them.
var recovering = []string{"Try", "Each", "Every", "Catch"}

// TestPanicInWorkDoesNotEndProcess: work for one NodeClaim, machine, pool or NodePlan that runs in a goroutine of its caller
// goes through a function that recovers. controller-runtime recovers reconcilers.
func TestPanicInWorkDoesNotEndProcess(t *testing.T) {
	excused := map[string]bool{}
	for name := range ours(t) {
		if !under(name, "linode") && !under(name, "engine") || under(name, "linode/sim") || under(name, "linode/linodetest") {
			continue
		}
		files, err := filepath.Glob(filepath.Join(name, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, line := range bareGoroutines(t, file) {
				if _, excused[file] = unrecovered[file]; !excused[file] {
					t.Errorf("%s:%d: a panic in this goroutine ends the process: run it by task.Try, or say in the table why not", file, line)
				}
			}
		}
	}
	for _, file := range slices.Sorted(maps.Keys(unrecovered)) {
		if !excused[file] {
			t.Errorf("%s has no such goroutine: take it out of the table", file)
		}
	}
}

// bareGoroutines are the lines of a file where a goroutine begins that calls nothing that recovers.
func bareGoroutines(t *testing.T, file string) (lines []int) {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(node ast.Node) bool {
		var run ast.Node
		switch n := node.(type) {
		case *ast.GoStmt:
			run = n.Call
		case *ast.CallExpr:
			called, ok := n.Fun.(*ast.SelectorExpr)
			parallel := ok && slices.Contains([]string{"Go", "AfterFunc", "ParallelizeUntil"}, called.Sel.Name)
			if !parallel || len(n.Args) == 0 || lastName(called.X) == "loop" {
				return true // Loop.Go recovers
			}
			run = n.Args[len(n.Args)-1]
		default:
			return true
		}
		recovers := false
		ast.Inspect(run, func(node ast.Node) bool {
			if call, ok := node.(*ast.CallExpr); ok {
				recovers = recovers || slices.Contains(recovering, lastName(call.Fun))
			}
			return !recovers
		})
		if !recovers {
			lines = append(lines, set.Position(node.Pos()).Line)
		}
		return true
	})
	return lines
}
