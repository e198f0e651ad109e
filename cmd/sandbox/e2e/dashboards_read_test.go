package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// dashboard is a file of Grafana.
type dashboard struct {
	UID    string  `json:"uid"`
	Title  string  `json:"title"`
	Panels []panel `json:"panels"`
}

// panel is one picture of a dashboard, or with the type row a heading.
type panel struct {
	ID         int                  `json:"id"`
	Type       string               `json:"type"`
	Title      string               `json:"title"`
	Datasource struct{ UID string } `json:"datasource"`
	Grid       grid                 `json:"gridPos"`
	Targets    []target             `json:"targets"`
}

// grid is where a panel is, in columns of 24.
type grid struct{ X, Y, W, H int }

// target is a query of a panel.
type target struct{ Expr, RefID string }

// covers reports whether two panels have a place in common.
func (g grid) covers(other grid) bool {
	return g.X < other.X+other.W && other.X < g.X+g.W && g.Y < other.Y+other.H && other.Y < g.Y+g.H
}

// over is the query over a duration where Grafana puts one.
func (t target) over(duration string) string {
	return strings.ReplaceAll(t.Expr, "$__rate_interval", duration)
}

// readDashboards reads all dashboards of a directory.
func readDashboards(dir string) (all []dashboard, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, d)
	}
	return all, nil
}
