package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/diff"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/report"
)

// TestSavedPlanSaysWhatBlocksIt: it names the command that applies the plan only if that can work.
func TestSavedPlanSaysWhatBlocksIt(t *testing.T) {
	for name, tt := range map[string]struct {
		plan plan.Plan
		want string
	}{
		"nothing":    {plan.Plan{}, "saved; apply it with: lkeplan apply FILE\n"},
		"a guard":    {plan.Plan{Verdicts: []plan.Verdict{{Status: plan.Blocked}}}, "saved to FILE; a guard refuses the plan, so it cannot be applied\n"},
		"a window":   {plan.Plan{Verdicts: []plan.Verdict{{Status: plan.Waiting}}}, "saved to FILE; it cannot be applied before the time shown above\n"},
		"a conflict": {plan.Plan{Changes: []plan.Change{{Action: plan.Update, Conflicts: []plan.Conflict{{Owner: "kubectl"}}}}}, "saved to FILE; conflicts with other owners, shown above, block its apply\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var said strings.Builder
			file := filepath.Join(t.TempDir(), "prod.plan")
			saved := planFile{name: file}
			found := diff.Compared{Comparison: compare.Comparison{Plan: tt.plan}}
			if err := saved.save(&said, &diff.Comparison{}, found); err != nil {
				t.Fatal(err)
			}
			if got := strings.ReplaceAll(said.String(), file, "FILE"); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestPlanOutFlag: a name alone is the file of the plan, unless it is the name of a format that
// needs no file.
func TestPlanOutFlag(t *testing.T) {
	var reports report.Files
	saved := planFile{reports: &reports}
	for _, text := range []string{"prod.plan", "html=plan.html", "github-output"} {
		if err := saved.Set(text); err != nil {
			t.Errorf("--out %s: %v", text, err)
		}
	}
	if got, want := saved.name+" "+reports.String(), "prod.plan html=plan.html github-output="; got != want {
		t.Errorf("written to %s, want %s", got, want)
	}
	if err := saved.Set("another.plan"); err == nil {
		t.Error("it takes a second file for the plan")
	}
}
