package observability

import (
	"path/filepath"
	"testing"
)

// TestDashboardsShowWhatThereIs: each query is one that Prometheus can read, of metrics
// and labels that the controller has, and no panel covers another.
func TestDashboardsShowWhatThereIs(t *testing.T) {
	known := reference(t)
	all, err := Read(filepath.Join(dir, "dashboards"))
	if err != nil || len(all) != 2 {
		t.Fatalf("%d dashboards, %v", len(all), err)
	}
	uids := map[string]bool{}
	for _, d := range all {
		if d.UID == "" || uids[d.UID] || d.Title == "" {
			t.Errorf("a dashboard has the uid %q and the title %q", d.UID, d.Title)
		}
		uids[d.UID] = true
		ids := map[int]bool{}
		for i, p := range d.Panels {
			if ids[p.ID] || p.Title == "" {
				t.Errorf("%s: panel %d %q", d.Title, p.ID, p.Title)
			}
			ids[p.ID] = true
			for _, other := range d.Panels[:i] {
				if p.Grid.Covers(other.Grid) {
					t.Errorf("%s: %s covers %s", d.Title, p.Title, other.Title)
				}
			}
			check(t, d.Title, p, known)
		}
	}
}

func check(t *testing.T, of string, p Panel, known map[string][]string) {
	t.Helper()
	if p.Type == "row" {
		return
	}
	if p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 || p.Grid.X+p.Grid.W > 24 {
		t.Errorf("%s: %s has the data source %q and %d queries", of, p.Title, p.Datasource.UID, len(p.Targets))
	}
	for _, target := range p.Targets {
		for _, problem := range unknown(t, target.Over("5m"), known) {
			t.Errorf("%s: %s: %s", of, p.Title, problem)
		}
	}
}
