package report

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/engine/plan"
)

// TestAnnotationsAreThoseThatAreShown: GitHub shows ten of each severity, so
// that what deletes nodes comes before what replaces them.
func TestAnnotationsAreThoseThatAreShown(t *testing.T) {
	text := written(t, "github", fleet(200, "x"), Options{})
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) != 11 || !strings.HasPrefix(lines[10], "::notice title=lkeplan::63 findings more") {
		t.Errorf("%d lines, the last of which is %s", len(lines), lines[len(lines)-1])
	}
	for _, line := range lines[:10] {
		if !strings.Contains(line, "title=Nodes are deleted::") {
			t.Errorf("shown before a deletion: %s", line)
		}
	}
}

// TestEachLineIsOneCommand: no text ends a command to the runner, or an output,
// and begins another.
func TestEachLineIsOneCommand(t *testing.T) {
	for _, text := range hostileTexts {
		for line := range strings.Lines(written(t, "github", hostile(text), Options{})) {
			if !strings.HasPrefix(line, "::error ") && !strings.HasPrefix(line, "::warning ") || strings.Contains(line, "\r") {
				t.Errorf("%q: %q", text, line)
			}
		}
		var names []string
		for line := range strings.Lines(written(t, "github-output", hostile(text), Options{})) {
			name, value, _ := strings.Cut(line, "=")
			names = append(names, name)
			if name == "changes" && value != "3\n" {
				t.Errorf("%q: changes is %q", text, value)
			}
		}
		want := strings.Fields("changes adds updates destroys moves nodes_rolled nodes_deleted nodes_drained nodes_removable pools_rolled pools_deleted pools_condemned pools_removable guards_unknown cost_delta simulated_cost_delta pods_unschedulable conflicts refused plan_digest exit_code")
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("%q: outputs (-want +got)\n%s", text, diff)
		}
	}
}

// TestCodeQualityIsJSON with any text in it.
func TestCodeQualityIsJSON(t *testing.T) {
	for _, r := range variety() {
		if text := written(t, "gitlab-codequality", r, Options{}); !json.Valid([]byte(text)) {
			t.Error(text)
		}
	}
}

// TestFingerprintsStay where a finding is the same and its numbers are not, or
// where it stands.
func TestFingerprintsStay(t *testing.T) {
	prints := func(r Report) (list []string) {
		var issues []struct {
			Fingerprint string `json:"fingerprint"`
		}
		if err := json.Unmarshal([]byte(written(t, "gitlab-codequality", r, Options{})), &issues); err != nil {
			t.Fatal(err)
		}
		for _, is := range issues {
			list = append(list, is.Fingerprint)
		}
		return list
	}
	before, moved := rich(), rich()
	general := &moved.Changes[3]
	general.Impact = &plan.Impact{Known: true, Of: 15, Rolled: 15}
	general.Source.Start.Line += 10
	first := prints(before)
	if diff := cmp.Diff(first, prints(moved)); diff != "" {
		t.Errorf("(-before +after)\n%s", diff)
	}
	slices.Sort(first)
	if len(slices.Compact(first)) != 15 {
		t.Errorf("two findings have the same fingerprint, of %d", len(first))
	}
}
