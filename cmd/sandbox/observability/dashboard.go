// Package observability tries the rules for alerts and the dashboards that are installed with lkeplan: it keeps series
// in memory, evaluates PromQL over them as a Prometheus does that has scraped them, and reads what dashboards ask.
package observability

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Dashboard is a file of Grafana.
type Dashboard struct {
	UID    string  `json:"uid"`
	Title  string  `json:"title"`
	Panels []Panel `json:"panels"`
}

// Panel is one picture of a dashboard, or with the type row a heading.
type Panel struct {
	ID         int                  `json:"id"`
	Type       string               `json:"type"`
	Title      string               `json:"title"`
	Datasource struct{ UID string } `json:"datasource"`
	Grid       Grid                 `json:"gridPos"`
	Targets    []Target             `json:"targets"`
}

// Grid is where a panel is, in columns of 24.
type Grid struct{ X, Y, W, H int }

// Target is a query of a panel.
type Target struct{ Expr, RefID string }

// Covers reports whether two panels have a place in common.
func (g Grid) Covers(other Grid) bool {
	return g.X < other.X+other.W && other.X < g.X+g.W && g.Y < other.Y+other.H && other.Y < g.Y+g.H
}

// Over is the query over a duration where Grafana puts one.
func (t Target) Over(duration string) string {
	return strings.ReplaceAll(t.Expr, "$__rate_interval", duration)
}

// Read reads all dashboards of a directory.
func Read(dir string) (all []Dashboard, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var d Dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, d)
	}
	return all, nil
}
