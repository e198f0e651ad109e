// Package stop decides whether voluntary disruption is stopped, from the DisruptionStops of a cluster and the time.
//
// It changes nothing. Package controller keeps Karpenter from starting a disruption, and package gitops delays
// revisions.
package stop

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/config/diag"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// State is whether disruption is stopped at a time. The zero value means that it is not.
type State struct {
	Active []*lkeplanv1alpha1.DisruptionStop // the one that ends last is the first
	Err    error                             // the DisruptionStops could not be listed
}

// At returns the state at a time. A DisruptionStop that is being deleted is not active.
func At(all []*lkeplanv1alpha1.DisruptionStop, now time.Time) State {
	active := slices.DeleteFunc(slices.Clone(all), func(s *lkeplanv1alpha1.DisruptionStop) bool {
		return !s.DeletionTimestamp.IsZero() || !now.Before(s.Until())
	})
	slices.SortFunc(active, func(a, b *lkeplanv1alpha1.DisruptionStop) int {
		return cmp.Or(b.Until().Compare(a.Until()), cmp.Compare(a.Name, b.Name))
	})
	return State{Active: active}
}

// Read lists the DisruptionStops, and returns the state at a time.
func Read(ctx context.Context, from client.Reader, now time.Time) State {
	var list lkeplanv1alpha1.DisruptionStopList
	if err := from.List(ctx, &list); err != nil {
		return State{Err: fmt.Errorf("list DisruptionStops: %w", err)}
	}
	all := make([]*lkeplanv1alpha1.DisruptionStop, len(list.Items))
	for i := range list.Items {
		all[i] = &list.Items[i]
	}
	return At(all, now)
}

// Stopped reports whether no disruption may start. It may not either while that is unknown.
func (s State) Stopped() bool { return s.Err != nil || len(s.Active) > 0 }

// Holds reports whether the pods of draining nodes may not be evicted.
func (s State) Holds() bool {
	return slices.ContainsFunc(s.Active, func(s *lkeplanv1alpha1.DisruptionStop) bool {
		return s.Spec.Drains == lkeplanv1alpha1.DrainsHold
	})
}

// Until is when the last active stop ends; the zero time if there is none.
func (s State) Until() time.Time {
	if len(s.Active) == 0 {
		return time.Time{}
	}
	return s.Active[0].Until()
}

// String describes the state, such as: stopped until Mon 2026-11-30 14:00 UTC by ann: API errors in web. It is "" if
// disruption is not stopped.
func (s State) String() string {
	if s.Err != nil {
		return fmt.Sprintf("stopped, because it is unknown whether it may start: %v", s.Err)
	}
	if len(s.Active) == 0 {
		return ""
	}
	sentence := Describe(s.Active[0])
	if more := len(s.Active) - 1; more > 0 {
		sentence += fmt.Sprintf(" (and %s)", text.Count(more, "other stop"))
	}
	return sentence
}

// Describe describes one active stop.
func Describe(s *lkeplanv1alpha1.DisruptionStop) string {
	by := ""
	if s.Spec.By != "" {
		by = " by " + diag.OneLine(s.Spec.By)
	}
	return fmt.Sprintf("stopped until %s%s: %s", text.DayTime(s.Until()), by, diag.OneLine(s.Spec.Reason))
}
