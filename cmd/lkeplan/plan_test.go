package main

import (
	"testing"

	"github.com/lkeplan/lkeplan/engine/report"
)

// TestPlanOutFlag: a name alone is the file of the plan, unless it is the name of a format that
// needs no file.
func TestPlanOutFlag(t *testing.T) {
	var reports report.Files
	plan := planFile{reports: &reports}
	for _, text := range []string{"prod.plan", "html=plan.html", "github-output"} {
		if err := plan.Set(text); err != nil {
			t.Errorf("--out %s: %v", text, err)
		}
	}
	if got, want := plan.name+" "+reports.String(), "prod.plan html=plan.html github-output="; got != want {
		t.Errorf("written to %s, want %s", got, want)
	}
	if err := plan.Set("another.plan"); err == nil {
		t.Error("it takes a second file for the plan")
	}
}
