package doctor

import (
	"context"
	"strings"
	"testing"
)

// shelves is a cluster with some node classes.
type shelves struct {
	Cluster
	classes []map[string]any
}

func (s shelves) List(context.Context, string, string) ([]map[string]any, error) {
	return s.classes, nil
}

// TestPlansThatAreClosedToTheAccount are one warning, with the plan and what to do.
func TestPlansThatAreClosedToTheAccount(t *testing.T) {
	class := func(status string) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": "default"}, "status": map[string]any{
			"conditions": []any{map[string]any{"type": "PlanClosed", "status": status, "message": "g7-highmem-8"}},
		}}
	}
	for _, tt := range []struct {
		classes []map[string]any
		want    int
	}{
		{nil, 0}, {[]map[string]any{{}}, 0}, {[]map[string]any{class("False")}, 0},
		{[]map[string]any{class("True"), class("True")}, 1},
	} {
		found := Patient{Cluster: shelves{classes: tt.classes}}.closed(t.Context())
		if len(found) != tt.want || tt.want == 1 && (found[0].Level != Warn || !strings.Contains(found[0].Text, "g7-highmem-8") ||
			!strings.Contains(found[0].Do, "Support")) {
			t.Errorf("%v: %+v", tt.classes, found)
		}
	}
}

// TestNodePoolsThatGetNoNode are a warning each, with what the controller says of them.
func TestNodePoolsThatGetNoNode(t *testing.T) {
	pool := func(status string) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": "video"}, "status": map[string]any{
			"conditions": []any{map[string]any{"type": "LKEAccepted", "status": status, "message": "the account:read_only"}},
		}}
	}
	for _, tt := range []struct {
		pools []map[string]any
		want  int
	}{{nil, 0}, {[]map[string]any{{}, pool("True")}, 0}, {[]map[string]any{pool("False"), pool("True")}, 1}} {
		found := Patient{Cluster: shelves{classes: tt.pools}}.unaccepted(t.Context())
		if len(found) != tt.want || tt.want == 1 && (found[0].Level != Warn ||
			!strings.Contains(found[0].Text, "video gets no node: the account:read_only")) {
			t.Errorf("%v: %+v", tt.pools, found)
		}
	}
}
