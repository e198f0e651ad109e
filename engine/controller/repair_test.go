package controller

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/state"

	"github.com/lkeplan/lkeplan/linode/linodetest"
	"github.com/lkeplan/lkeplan/linode/maintenance"
)

// TestNodesAreNotRepairedDuringMaintenance: while maintenance explains that a Node is not ready. After that they are.
func TestNodesAreNotRepairedDuringMaintenance(t *testing.T) {
	const announced = `{"start": "2026-11-02T00:00:00Z", "type": "cold_migration"}`
	for name, tt := range map[string]struct {
		announced string
		now       time.Duration // after the start
		want      bool
	}{
		"no maintenance":        {now: time.Hour, want: true},
		"during maintenance":    {announced: announced, now: time.Hour},
		"a day before":          {announced: announced, now: -24 * time.Hour, want: true},
		"longer than it lasts":  {announced: announced, now: maintenance.Lasts, want: true},
		"an annotation by hand": {announced: "soon", now: time.Hour, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			nc := linodetest.NodeClaim("1")
			if tt.announced != "" {
				metav1.SetMetaDataAnnotation(&nc.ObjectMeta, maintenance.Annotation, tt.announced)
			}
			r := repair{eager{}, clocktesting.NewFakeClock(worldStart.Add(tt.now))}
			got := r.ShouldDisrupt(t.Context(), &disruption.Candidate{StateNode: &state.StateNode{NodeClaim: nc}})
			if got != tt.want {
				t.Errorf("the node is repaired: %v, want %v", got, tt.want)
			}
		})
	}
}

// eager is a method that wants each node.
type eager struct{ disruption.Method }

func (eager) ShouldDisrupt(context.Context, *disruption.Candidate) bool { return true }
