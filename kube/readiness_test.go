package kube

import (
	"testing"
)

func TestReadinessHasReason(t *testing.T) {
	condition := func(kind, status, message string, generation int64) any {
		return map[string]any{"type": kind, "status": status, "reason": "R", "message": message,
			"observedGeneration": generation, "lastTransitionTime": "2026-01-01T00:00:00Z"}
	}
	tests := []struct {
		name       string
		conditions []any
		ready      bool
		state      string
	}{
		{"nothing reported", nil, false, "no controller has reported on it; is the lkeplan controller running?"},
		{"ready", []any{condition("Ready", "True", "", 2)}, true, ""},
		{"ready of an older generation", []any{condition("Ready", "True", "", 1)}, false,
			"the controller has not seen the change yet"},
		{"not ready, with the cause elsewhere", []any{condition("Ready", "False", "ValidationSucceeded=False", 2),
			condition("ValidationSucceeded", "False", "spec.tags: too long", 2)}, false, "spec.tags: too long"},
		{"not ready, with its own message", []any{condition("Ready", "False", "waiting", 2)}, false, "waiting"},
		{"ready, and no node registers", []any{condition("Ready", "True", "", 2),
			condition("NodeRegistrationHealthy", "False", "machines join no cluster", 2)}, false,
			"its nodes do not register: machines join no cluster"},
		{"ready, and no node was made yet", []any{condition("Ready", "True", "", 2),
			condition("NodeRegistrationHealthy", "Unknown", "", 2)}, true, ""},
		{"not ready, with only a reason", []any{condition("Ready", "Unknown", "", 2)}, false, "R"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			live := map[string]any{
				"metadata": map[string]any{"generation": int64(2)},
				"status":   map[string]any{"conditions": tt.conditions},
			}
			if ready, state := Readiness(live); ready != tt.ready || state != tt.state {
				t.Errorf("Readiness = %v, %q; want %v, %q", ready, state, tt.ready, tt.state)
			}
		})
	}
}
