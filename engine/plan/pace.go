package plan

import (
	"fmt"
	"slices"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/timing"
)

// Pace is how the budgets of a pool spread a roll over time.
type Pace struct {
	Now     int       // nodes that may go at this moment
	Wave    int       // at a time, when the budgets next let any go; 0 without a cluster
	Waves   int       // turns until all are replaced; 0 where they never are, or are not counted
	Next    time.Time // when they next let any go; zero: at once, or never
	Never   bool      // no node goes within a year
	Closed  []string  // the budgets that let none go at this moment: 0 at "0 9 * * mon-fri" for 8h
	Windows []Window  // of the next week, in order: without gaps, together the whole of it
}

// Window is a span in which the budgets let the same number of nodes go.
type Window struct {
	From, Until time.Time
	Nodes       int
}

const (
	week = 7 * 24 * time.Hour
	year = 366 * 24 * time.Hour
)

// PaceOf asks Karpenter's own reading of the budgets (karpenter v1.14.1,
// GetAllowedDisruptionsByReason) at each moment at which one begins or ends.
// If nodes are not counted, a hundred are assumed: it says when any can go.
func PaceOf(pool *karpv1.NodePool, nodes, leaving, rolled int, now time.Time) (*Pace, error) {
	now = now.UTC().Truncate(time.Second)
	counted := nodes
	if nodes == 0 {
		counted = 100
	}
	schedules, err := schedulesOf(pool)
	if err != nil {
		return nil, err
	}
	allowed := func(at time.Time) (int, error) {
		n, err := pool.GetAllowedDisruptionsByReason(timing.ClockAt(at), counted, karpv1.DisruptionReasonDrifted)
		return min(n, counted), err
	}
	pace := &Pace{Closed: closed(pool, counted, now)}
	first := -1
	for at, turns := now, 0; at.Before(now.Add(year)) && turns < timing.MostTurns; turns++ {
		n, err := allowed(at)
		if err != nil {
			return nil, err
		}
		until := turnAt(schedules, at, now.Add(year))
		if n > 0 && first < 0 {
			first = n
			if at.After(now) {
				pace.Next = at
			}
		}
		pace.extend(at, until, n, now.Add(week))
		if first >= 0 && !until.Before(now.Add(week)) {
			break
		}
		at = until
	}
	pace.Never = first < 0
	if nodes == 0 {
		for i := range pace.Windows {
			pace.Windows[i].Nodes = min(pace.Windows[i].Nodes, 1)
		}
		pace.Now = pace.Windows[0].Nodes
		return pace, nil
	}
	pace.Now = max(0, pace.Windows[0].Nodes-leaving)
	if pace.Wave = max(first, 0); pace.Wave > 0 {
		pace.Waves = (rolled + pace.Wave - 1) / pace.Wave
	}
	return pace, nil
}

// Turn is about what it takes to replace some nodes at a time: machines of LKE are nodes
// after some two minutes, and the pods move then.
const Turn = 3 * time.Minute

// Soonest is when the last of a number of nodes can have gone, if each turn takes as
// long as Turn and nothing but the budgets holds a node. It is the zero time where that
// is not within the windows.
func (p Pace) Soonest(nodes int) time.Time {
	for _, w := range p.Windows {
		if w.Nodes == 0 {
			continue
		}
		room := int((w.Until.Sub(w.From) + Turn - 1) / Turn)
		if turns := (nodes + w.Nodes - 1) / w.Nodes; turns <= room {
			return w.From.Add(time.Duration(turns) * Turn)
		}
		nodes -= room * w.Nodes
	}
	return time.Time{}
}

// closed are the budgets that let none of n nodes go, as they are written.
func closed(pool *karpv1.NodePool, nodes int, at time.Time) (budgets []string) {
	for _, b := range pool.Spec.Disruption.Budgets {
		if !concernsDrift(b) {
			continue
		}
		// One that cannot be read lets none go.
		if n, err := b.GetAllowedDisruptions(timing.ClockAt(at), nodes); err == nil && n > 0 {
			continue
		}
		text := b.Nodes
		if b.Schedule != nil && b.Duration != nil {
			text += fmt.Sprintf(" at %q for %s", *b.Schedule, timing.WriteDuration(b.Duration.Duration))
		}
		budgets = append(budgets, text)
	}
	return budgets
}

// extend adds a span to the windows of the week.
func (p *Pace) extend(from, until time.Time, nodes int, end time.Time) {
	if until.After(end) {
		until = end
	}
	if !from.Before(until) {
		return
	}
	if last := len(p.Windows) - 1; last >= 0 && p.Windows[last].Nodes == nodes {
		p.Windows[last].Until = until
		return
	}
	p.Windows = append(p.Windows, Window{from, until, nodes})
}

// schedulesOf reads the schedules of the budgets that are about drift.
func schedulesOf(pool *karpv1.NodePool) (all []recurrence, err error) {
	for _, b := range pool.Spec.Disruption.Budgets {
		if b.Schedule == nil || b.Duration == nil || !concernsDrift(b) {
			continue
		}
		s, err := timing.ParseSchedule(*b.Schedule)
		if err != nil {
			return nil, fmt.Errorf("read the schedule %q: %w", *b.Schedule, err)
		}
		all = append(all, recurrence{s, b.Duration.Duration})
	}
	return all, nil
}

// turnAt is the next moment at which a budget begins or ends, at most the limit.
func turnAt(schedules []recurrence, at, limit time.Time) time.Time {
	next := limit
	for _, s := range schedules {
		for _, t := range []time.Time{s.Next(at), s.Next(at.Add(-s.lasts)).Add(s.lasts)} {
			if t.After(at) && t.Before(next) {
				next = t
			}
		}
	}
	return next
}

func concernsDrift(b karpv1.Budget) bool {
	return b.Reasons == nil || slices.Contains(b.Reasons, karpv1.DisruptionReasonDrifted)
}
