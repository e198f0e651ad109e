package plan_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/report"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/testdata/golden"
)

// compiledDir compiles one directory of an archive; one that is missing is empty.
func compiledDir(t *testing.T, files fstest.MapFS, dir string) compile.Result {
	t.Helper()
	sub, err := fs.Sub(files, dir)
	if err != nil {
		t.Fatal(err)
	}
	if entries, _ := fs.ReadDir(sub, "."); len(entries) == 0 {
		return compile.Result{}
	}
	compiled, diags := compile.Dir(t.Context(), sub, compile.Options{})
	if diags.HasErrors() {
		t.Fatalf("%s: %v", dir, diags)
	}
	return compiled
}

// friday is when budgets are judged: a Friday morning.
var friday = time.Date(2026, time.November, 20, 7, 0, 0, 0, time.UTC)

// TestDiff compares the directories base and head of each archive, and each
// head with itself.
func TestDiff(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	golden.Archives(t, "testdata", func(files fstest.MapFS) map[string]string {
		head := compiledDir(t, files, "head")
		p, err := compare.Revisions(t.Context(), compiledDir(t, files, "base"), head, prices, friday)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := compare.Revisions(t.Context(), head, head, prices, friday); err != nil || !same.Empty() {
			t.Errorf("a directory differs from itself: %+v, %v", same.Changes, err)
		}
		want := map[string]string{}
		for name, format := range map[string]string{"want.txt": "text", "want.md": "markdown", "want.json": "json"} {
			if _, ok := files["with-json"]; format == "json" && !ok {
				continue
			}
			var b strings.Builder
			if err := report.Write(&b, format, report.Report{Plan: p}, report.Options{Target: "dev"}); err != nil {
				t.Fatal(err)
			}
			want[name] = b.String()
		}
		return want
	})
}
