package inspect

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
		found := Installation{Cluster: shelves{classes: tt.classes}}.closed(t.Context())
		if len(found) != tt.want || tt.want == 1 && (found[0].Level != LevelWarn || !strings.Contains(found[0].Text, "g7-highmem-8") ||
			!strings.Contains(found[0].Do, "Support")) {
			t.Errorf("%v: %+v", tt.classes, found)
		}
	}
}

// TestNodePoolsThatGetNoNode are a warning each, with the message of the controller.
func TestNodePoolsThatGetNoNode(t *testing.T) {
	pool := func(status string) map[string]any {
		return map[string]any{"kind": "NodePool", "metadata": map[string]any{"name": "video"}, "status": map[string]any{
			"conditions": []any{map[string]any{"type": "LKEAccepted", "status": status, "message": "the account:read_only"}},
		}}
	}
	for _, tt := range []struct {
		pools []map[string]any
		want  int
	}{{nil, 0}, {[]map[string]any{{}, pool("True")}, 0}, {[]map[string]any{pool("False"), pool("True")}, 1}} {
		var found []Finding
		for _, pool := range tt.pools {
			found = append(found, machines(pool)...)
		}
		if len(found) != tt.want || tt.want == 1 && (found[0].Level != LevelWarn || found[0].Of != "NodePool video" ||
			!strings.Contains(found[0].Text, "it gets no node: the account:read_only")) {
			t.Errorf("%v: %+v", tt.pools, found)
		}
	}
}

// TestLinodeRefusals: there is a warning for each kind, with its last event: limits of the account and locks. Old events,
// and those that a tenant wrote, do not count.
func TestLinodeRefusals(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	event := func(reason, kind, namespace, message string, ago time.Duration) map[string]any {
		return map[string]any{
			"metadata": map[string]any{"name": "e", "namespace": namespace}, "reason": reason, "message": message,
			"lastTimestamp":  now.Add(-ago).Format(time.RFC3339),
			"involvedObject": map[string]any{"kind": kind, "name": "web-1"},
		}
	}
	events := []map[string]any{
		event("LinodeAccountLimit", "NodeClaim", "default", "earlier", time.Hour),
		event("LinodeAccountLimit", "NodeClaim", "default", "the account may not have more", time.Minute),
		event("LinodeAccountLimit", "NodeClaim", "tenant", "forged", time.Second),
		event("LinodeAccountLimit", "Pod", "default", "forged", time.Second),
		event("LKELocked", "NodeClaim", "default", "old", 3*time.Hour),
	}
	p := Installation{Cluster: shelves{classes: events}, Now: func() time.Time { return now }}
	want := []Finding{{LevelWarn, "account limits", "NodeClaim web-1, at 11:59 UTC: the account may not have more", refusals[0].do}}
	if d := cmp.Diff(want, p.limited(t.Context())); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	p.Cluster = shelves{classes: append(events, event("LKELocked", "NodeClaim", "default", "it is locked", time.Minute))}
	if got := p.limited(t.Context()); len(got) != 2 || got[1].Of != "locks" || !strings.Contains(got[1].Text, "it is locked") {
		t.Errorf("%+v", got)
	}
}

// TestMachinesThatAreNotDeleted are a warning for each reason, of NodeClaims that are being deleted.
func TestMachinesThatAreNotDeleted(t *testing.T) {
	claim := func(name, state, reason string, goes bool) map[string]any {
		metadata := map[string]any{"name": name}
		if goes {
			metadata["deletionTimestamp"] = "2026-11-26T11:00:00Z"
		}
		return map[string]any{"metadata": metadata, "status": map[string]any{"conditions": []any{map[string]any{
			"type": "MachineDeleted", "status": state, "reason": reason, "message": "it is " + reason,
		}}}}
	}
	claims := []map[string]any{
		{"metadata": map[string]any{"name": "fine"}}, claim("stays", "False", "LKELocked", false), claim("goes", "True", "Gone", true),
		claim("a", "False", "LKELocked", true), claim("b", "False", "MachineNotDeleted", true), claim("c", "False", "LKELocked", true),
	}
	const do = "do what the message asks: machines that are not deleted are billed"
	want := []Finding{
		{LevelWarn, "machines being deleted", "2 machines are not deleted, such as the one of NodeClaim a: it is LKELocked", do},
		{LevelWarn, "machines being deleted", "NodeClaim b: it is MachineNotDeleted", do},
	}
	if d := cmp.Diff(want, Installation{Cluster: shelves{classes: claims}}.undeleted(t.Context())); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}
