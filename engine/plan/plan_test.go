package plan_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/lkeplan/lkeplan/engine"
	"github.com/lkeplan/lkeplan/engine/report"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/testdata/golden"
)

// compile compiles one directory of an archive; one that is not there is empty.
func compile(t *testing.T, files fstest.MapFS, dir string) engine.Compiled {
	t.Helper()
	sub, err := fs.Sub(files, dir)
	if err != nil {
		t.Fatal(err)
	}
	if entries, _ := fs.ReadDir(sub, "."); len(entries) == 0 {
		return engine.Compiled{}
	}
	compiled, diags := engine.Compile(t.Context(), sub, engine.CompileOptions{})
	if diags.HasErrors() {
		t.Fatalf("%s: %v", dir, diags)
	}
	return compiled
}

// friday is when budgets are looked at: a Friday morning.
var friday = time.Date(2026, time.November, 20, 7, 0, 0, 0, time.UTC)

// TestDiff compares the directories base and head of each archive, and each
// head with itself.
func TestDiff(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	golden.Archives(t, "testdata", func(files fstest.MapFS) map[string]string {
		head := compile(t, files, "head")
		p, err := engine.Diff(compile(t, files, "base"), head, prices, friday)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := engine.Diff(head, head, prices, friday); err != nil || !same.Empty() {
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
