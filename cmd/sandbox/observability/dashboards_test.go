package observability

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// dashboard is what a test reads of a dashboard of Grafana.
type dashboard struct {
	UID    string  `json:"uid"`
	Title  string  `json:"title"`
	Panels []panel `json:"panels"`
}

type panel struct {
	ID         int                            `json:"id"`
	Type       string                         `json:"type"`
	Title      string                         `json:"title"`
	Datasource struct{ UID string }           `json:"datasource"`
	Grid       struct{ X, Y, W, H int }       `json:"gridPos"`
	Targets    []struct{ Expr, RefID string } `json:"targets"`
}

// TestDashboardsShowWhatThereIs: each query is one that Prometheus can read, of metrics
// and labels that the controller has, and no panel covers another.
func TestDashboardsShowWhatThereIs(t *testing.T) {
	known := reference(t)
	paths, err := filepath.Glob(filepath.Join(dir, "dashboards", "*.json"))
	if err != nil || len(paths) != 2 {
		t.Fatalf("%d dashboards, %v", len(paths), err)
	}
	uids := map[string]bool{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if d.UID == "" || uids[d.UID] || d.Title == "" {
			t.Errorf("%s has the uid %q and the title %q", path, d.UID, d.Title)
		}
		uids[d.UID] = true
		ids := map[int]bool{}
		for i, p := range d.Panels {
			if ids[p.ID] || p.Title == "" {
				t.Errorf("%s: panel %d %q", d.Title, p.ID, p.Title)
			}
			ids[p.ID] = true
			for _, other := range d.Panels[:i] {
				if p.covers(other) {
					t.Errorf("%s: %s covers %s", d.Title, p.Title, other.Title)
				}
			}
			p.check(t, d.Title, known)
		}
	}
}

func (p panel) covers(q panel) bool {
	return p.Grid.X < q.Grid.X+q.Grid.W && q.Grid.X < p.Grid.X+p.Grid.W &&
		p.Grid.Y < q.Grid.Y+q.Grid.H && q.Grid.Y < p.Grid.Y+p.Grid.H
}

func (p panel) check(t *testing.T, of string, known map[string][]string) {
	t.Helper()
	if p.Type == "row" {
		return
	}
	if p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 || p.Grid.X+p.Grid.W > 24 {
		t.Errorf("%s: %s has the data source %q and %d queries", of, p.Title, p.Datasource.UID, len(p.Targets))
	}
	for _, target := range p.Targets {
		// Grafana puts a duration there.
		for _, problem := range unknown(t, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"), known) {
			t.Errorf("%s: %s: %s", of, p.Title, problem)
		}
	}
}
