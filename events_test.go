package lkeplan_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// dynamic are expressions by which events get their reasons from elsewhere, and the
// constants that those can be: all whose names match, in the files of a directory.
var dynamic = map[string]struct{ dir, names string }{
	"problem.Reason": {"linode/api", "^Reason(TokenRefused|NoAnswer)$"},
	"d.reason":       {"linode/lke", "^(controlPlane|versionGone|buildNotOffered)"},
	"o.reason":       {"linode", "^[rR]eason(NotReady|Stock|Silence|Full)$"},
	"n.reason":       {"schemas/lkeplan/v1alpha1", "^Reason"},
	"reason":         {}, // of Syncer.warn and the like, and of Claims.Warn and the like, whose callers are read
}

// TestEventsAreDocumented compares the reasons of events in the code with the page about
// them, and with the table of the reasons of NodePlans.
func TestEventsAreDocumented(t *testing.T) {
	scan := events{constants: map[string]string{}, reasons: map[string]bool{}}
	var files []*ast.File
	for _, root := range []string{"engine/controller/karpenter.go", "engine/controller/static.go", "engine/controller/stop.go", "engine/gitops", "linode", "schemas"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				file := parse(t, path)
				scan.know(filepath.Dir(path), file)
				files = append(files, file)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range files {
		ast.Inspect(file, func(node ast.Node) bool {
			if call, ok := node.(*ast.CallExpr); ok {
				scan.read(t, call)
			}
			return true
		})
	}
	karpenters := events{constants: map[string]string{}}
	karpenters.know("", parse(t, filepath.Join(packagesOf(t, ".")["sigs.k8s.io/karpenter/pkg/events"].Dir, "reason.go")))
	for _, reason := range karpenters.constants {
		scan.reasons[reason] = true
	}
	page, err := os.ReadFile("kube/observability/events.md")
	if err != nil {
		t.Fatal(err)
	}
	nodePlans, err := os.ReadFile("schemas/nodeplan.md")
	if err != nil {
		t.Fatal(err)
	}
	_, ofNodePlans, _ := strings.Cut(string(nodePlans), "\n| reason |")
	ofNodePlans, _, _ = strings.Cut(ofNodePlans, "\n\n")
	documented := map[string]bool{}
	for _, match := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(string(page)+ofNodePlans, -1) {
		documented[match[1]] = true
	}
	delete(documented, "Progressing") // it is Flux's own
	for _, reason := range slices.Sorted(maps.Keys(scan.reasons)) {
		if !documented[reason] {
			t.Errorf("neither kube/observability/events.md nor schemas/nodeplan.md has the reason %s", reason)
		}
		delete(documented, reason)
	}
	for reason := range documented {
		t.Errorf("one of these pages has the reason %s, which no event has", reason)
	}
}

// events are the reasons in source files.
type events struct {
	constants map[string]string // their values by directory and name, and by name only
	reasons   map[string]bool
}

func parse(t *testing.T, path string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// know takes note of all constants of a file that are text, or another constant.
func (e events) know(dir string, file *ast.File) {
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != len(spec.Names) {
			return true
		}
		for i, name := range spec.Names {
			value, ok := text(spec.Values[i])
			if !ok {
				value = "=" + lastName(spec.Values[i])
			}
			e.constants[dir+"/"+name.Name] = value
			if old, known := e.constants[name.Name]; !known || strings.HasPrefix(old, "=") {
				e.constants[name.Name] = value
			}
		}
		return true
	})
}

// read takes note of the reason of an event that a call writes.
func (e events) read(t *testing.T, call *ast.CallExpr) {
	t.Helper()
	callee, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	at := -1
	switch args := len(call.Args); callee.Sel.Name {
	case "Eventf":
		if at = 3; args > 1 && strings.HasPrefix(lastName(call.Args[1]), "EventType") { // of client-go's older recorder
			at = 2
		}
	case "AnnotatedEventf":
		at = 3
	case "warn", "Warn", "warnNodePool", "WarnNodePool", "notDeleted", "NotDeleted":
		if args > 0 && lastName(call.Args[0]) == "ctx" { // no log line
			at = 2
		}
	}
	if at < 0 || at >= len(call.Args) {
		return
	}
	reason := call.Args[at]
	if value, ok := text(reason); ok {
		e.reasons[value] = true
		return
	}
	written := expression(reason)
	if from, known := dynamic[written]; known {
		for name, value := range e.constants {
			if dir, short := filepath.Split(name); from.dir != "" && dir == from.dir+"/" &&
				regexp.MustCompile(from.names).MatchString(short) {
				e.reasons[value] = true
			}
		}
		return
	}
	value := "=" + lastName(reason)
	for range 5 {
		if !strings.HasPrefix(value, "=") {
			break
		}
		value = e.constants[value[1:]]
	}
	if value == "" {
		t.Errorf("the reason of an event is %s, which is no constant: say in the table what it can be", written)
		return
	}
	e.reasons[value] = true
}

func text(e ast.Expr) (value string, ok bool) {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(literal.Value)
	return value, err == nil
}

// lastName is the name of an identifier, or what is selected.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

func expression(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		return lastName(s.X) + "." + s.Sel.Name
	}
	return lastName(e)
}
