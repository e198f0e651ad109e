package e2e

import (
	"path/filepath"
	"testing"
)

// TestDashboardsShowWhatThereIs: each query is one that Prometheus can read, of metrics
// and labels that the controller has, and no panel covers another.
func TestDashboardsShowWhatThereIs(t *testing.T) {
	known := reference(t)
	all, err := readDashboards(filepath.Join(observability, "dashboards"))
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
				if p.Grid.covers(other.Grid) {
					t.Errorf("%s: %s covers %s", d.Title, p.Title, other.Title)
				}
			}
			checkPanel(t, d.Title, p, known)
		}
	}
}

func checkPanel(t *testing.T, of string, p panel, known map[string][]string) {
	t.Helper()
	if p.Type == "row" {
		return
	}
	if p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 || p.Grid.X+p.Grid.W > 24 {
		t.Errorf("%s: %s has the data source %q and %d queries", of, p.Title, p.Datasource.UID, len(p.Targets))
	}
	for _, target := range p.Targets {
		for _, problem := range unknown(t, target.over("5m"), known) {
			t.Errorf("%s: %s: %s", of, p.Title, problem)
		}
	}
}
