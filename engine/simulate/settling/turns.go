package settling

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/engine/timing"

	"github.com/robfig/cron/v3"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// year is how far ahead schedules are followed.
const year = 366 * 24 * time.Hour

// turns are moments from now on at which the budgets of pools allow what they have not
// allowed at one before. Without schedules there is only now.
func turns(pools []karpv1.NodePool, now time.Time) iter.Seq[time.Time] {
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
			next := now.Add(year)
			for _, t := range times {
				next = t.turn(at, next)
			}
			if at = next; !at.Before(now.Add(year)) {
				return
			}
		}
	}
}

// Turn is when a budget of a pool next begins or ends after a time, at most the limit.
func Turn(pools []*karpv1.NodePool, after, limit time.Time) time.Time {
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

// allowances tells moments apart by how many nodes may go.
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
