package function_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/function"
	"github.com/lkeplan/lkeplan/config/load"
	"github.com/lkeplan/lkeplan/config/syntax"
)

// notTheirs lists the functions that Terraform and OpenTofu do not have.
var notTheirs = []string{"notin", "exists", "absent", "gt", "gte", "lt", "lte", "between", "all", "atleast"}

// TestFacts compares the functions with those of Terraform and OpenTofu: results are the same, or
// the difference has a reason.
func TestFacts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/facts.txt")
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fact, difference, different := strings.Cut(line, " ≠ ")
		expression, want, ok := strings.Cut(fact, " → ")
		if _, reason, _ := strings.Cut(difference, ": "); !ok || different && reason == "" {
			t.Errorf("this is no fact, or a difference without a reason: %s", line)
			continue
		}
		name, _, _ := strings.Cut(expression, "(")
		tried[name] = true
		got := result(expression)
		if want != "error" {
			want = result(want)
		} else if strings.HasPrefix(got, "error") {
			got = "error"
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", expression, got, want)
		}
	}
	for name := range function.Table(nil) {
		if !tried[name] && !contains(notTheirs, name) {
			t.Errorf("there is no fact of %s", name)
		}
	}
}

func contains(names []string, name string) bool {
	return strings.Contains(" "+strings.Join(names, " ")+" ", " "+name+" ")
}

// files are the files that the facts refer to.
var files = fstest.MapFS{
	"here/main.lke.hcl":      {Data: []byte("locals {}\n")},
	"here/hello.txt":         {Data: []byte("hello!")},
	"here/run.sh":            {Data: []byte("exit\n")},
	"here/teams/api.yaml":    {Data: []byte("cpu: 4\n")},
	"here/teams/web.yaml":    {Data: []byte("cpu: 8\n")},
	"here/data/large.csv":    {Data: make([]byte, syntax.MaxFileSize+1)},
	"here/data/link.json":    {Data: []byte("web.yaml"), Mode: fs.ModeSymlink},
	"here/teams/old/db.yaml": {Data: []byte("cpu: 2\n")},
	"here/.git/config.yaml":  {Data: []byte("token: 1\n")},
}

// result returns the value of an expression as HCL.
func result(expression string) string {
	tree, diags := load.Root(files, "here")
	expr, exprDiags := syntax.ParseExpression("fact", expression)
	if diags = append(diags, exprDiags...); diags.HasErrors() {
		return "error: " + diags.Error()
	}
	v, diags := expr.Value(&hcl.EvalContext{Functions: function.Table(tree.In(tree.Root))})
	if err := errors.Join(diags.Errs()...); err != nil {
		return "error: " + err.Error()
	}
	if v.Type() == cty.DynamicPseudoType && !v.IsKnown() {
		return "unknown"
	}
	return syntax.Print(v)
}
