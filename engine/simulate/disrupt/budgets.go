package disrupt

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/timing"
)

// horizon is how far ahead schedules are followed.
const horizon = 366 * 24 * time.Hour

// budgetChanges are moments from now on at which the budgets of pools allow what they have not
// allowed at one before. Without schedules there is only now.
func budgetChanges(pools []karpv1.NodePool, now time.Time) iter.Seq[time.Time] {
	times := timetables(pools)
	return func(yield func(time.Time) bool) {
		seen := map[string]bool{}
		at := now
		for range timing.MostTurns {
			if allowed := allowances(pools, at); !seen[allowed] {
				seen[allowed] = true
				if !yield(at) {
					return
				}
			}
			next := now.Add(horizon)
			for _, t := range times {
				next = t.turn(at, next)
			}
			if at = next; !at.Before(now.Add(horizon)) {
				return
			}
		}
	}
}

// NextBudgetChange is when a budget of a pool next begins or ends after a time, at most the limit.
func NextBudgetChange(pools []*karpv1.NodePool, after, limit time.Time) time.Time {
	for _, pool := range pools {
		for _, t := range timetables([]karpv1.NodePool{*pool}) {
			limit = t.turn(after, limit)
		}
	}
	return limit
}

// timetable is when a budget applies.
type timetable struct {
	schedule cron.Schedule
	lasts    time.Duration
}

// timetables are those of all budgets that have one. What cannot be read lets no node go.
func timetables(pools []karpv1.NodePool) (all []timetable) {
	for _, pool := range pools {
		for _, b := range pool.Spec.Disruption.Budgets {
			if b.Schedule == nil || b.Duration == nil {
				continue
			}
			if s, err := timing.ParseSchedule(*b.Schedule); err == nil {
				all = append(all, timetable{s, b.Duration.Duration})
			}
		}
	}
	return all
}

// turn is when a budget next begins or ends, at most the limit.
func (t timetable) turn(at, limit time.Time) time.Time {
	for _, next := range []time.Time{t.schedule.Next(at), t.schedule.Next(at.Add(-t.lasts)).Add(t.lasts)} {
		if next.After(at) && next.Before(limit) {
			limit = next
		}
	}
	return limit
}

// allowances is equal for moments at which as many nodes may go.
func allowances(pools []karpv1.NodePool, at time.Time) string {
	const nodes = 1000 // so that shares of them differ, too
	var b strings.Builder
	for _, pool := range pools {
		for _, reason := range []karpv1.DisruptionReason{
			karpv1.DisruptionReasonEmpty, karpv1.DisruptionReasonDrifted, karpv1.DisruptionReasonUnderutilized,
		} {
			fmt.Fprint(&b, pool.MustGetAllowedDisruptions(timing.ClockAt(at), nodes, reason), " ")
		}
	}
	return b.String()
}

// CountAllowed says of PodDisruptionBudgets how many evictions they allow, as Kubernetes does
// where each pod that has a node is ready. One that cannot be read allows none.
func CountAllowed(budgets []*policyv1.PodDisruptionBudget, pods []*corev1.Pod) {
	for _, b := range budgets {
		b.Status = policyv1.PodDisruptionBudgetStatus{}
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			continue
		}
		all, healthy := 0, 0
		for _, pod := range pods {
			if pod.Namespace != b.Namespace || !selector.Matches(labels.Set(pod.Labels)) {
				continue
			}
			all++
			if pod.Spec.NodeName != "" {
				healthy++
			}
		}
		least := all
		if most := b.Spec.MaxUnavailable; most != nil {
			if n, err := intstr.GetScaledValueFromIntOrPercent(most, all, true); err == nil {
				least = max(0, all-n)
			}
		} else if b.Spec.MinAvailable != nil {
			if n, err := intstr.GetScaledValueFromIntOrPercent(b.Spec.MinAvailable, all, true); err == nil {
				least = n
			}
		}
		b.Status.ExpectedPods, b.Status.CurrentHealthy, b.Status.DesiredHealthy = int32(all), int32(healthy), int32(least)
		b.Status.DisruptionsAllowed = int32(max(0, healthy-least))
	}
}
