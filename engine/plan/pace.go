package plan

import (
	"fmt"
	"slices"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/schedule"
)

// Pace is when the budgets of a pool allow a roll.
type Pace struct {
	Now     int       // nodes that may be disrupted now
	Wave    int       // nodes at a time when the budgets next allow a disruption; 0 without a cluster
	Waves   int       // batches until all nodes are replaced; 0 if never, or if they are not counted
	Next    time.Time // when the budgets next allow a disruption; zero: now, or never
	Never   bool      // no disruption within a year
	Closed  []string  // the budgets that allow none now: 0 at "0 9 * * mon-fri" for 8h
	Windows []Window  // of the next week, in order and without gaps
}

// Window is a span in which the budgets allow the same number of disruptions.
type Window struct {
	From, Until time.Time
	Nodes       int
}

const (
	week = 7 * 24 * time.Hour
	year = 366 * 24 * time.Hour
)

// PaceOf evaluates the budgets with Karpenter's own code (karpenter v1.14.1, GetAllowedDisruptionsByReason) whenever a
// budget of the pool starts or ends. If nodes are not counted, it assumes a hundred, to find out when
// any can be disrupted.
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
	pace := &Pace{}
	first := -1
	for at, turns := now, 0; at.Before(now.Add(year)) && turns < schedule.MostTurns; turns++ {
		n, err := pool.GetAllowedDisruptionsByReason(schedule.ClockAt(at), counted, karpv1.DisruptionReasonDrifted)
		if err != nil {
			return nil, err
		}
		n = min(n, counted)
		until := now.Add(year)
		for _, s := range schedules {
			until = s.Turn(at, until)
		}
		if turns == 0 {
			pace.Closed = closed(pool, counted, now)
		}
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

// batchTime is roughly how long a batch of replacements takes: LKE machines become nodes after about two minutes, then
// the pods move.
const batchTime = 3 * time.Minute

// Soonest is when the last of a number of nodes can have drained if each batch takes batchTime and only the budgets
// delay nodes. It is the zero time if that is not within the windows.
func (p Pace) Soonest(nodes int) time.Time {
	for _, w := range p.Windows {
		if w.Nodes == 0 {
			continue
		}
		room := int((w.Until.Sub(w.From) + batchTime - 1) / batchTime)
		if batches := (nodes + w.Nodes - 1) / w.Nodes; batches <= room {
			return w.From.Add(time.Duration(batches) * batchTime)
		}
		nodes -= room * w.Nodes
	}
	return time.Time{}
}

// closed are the budgets that allow no disruption of n nodes, as written.
func closed(pool *karpv1.NodePool, nodes int, at time.Time) (budgets []string) {
	for _, b := range pool.Spec.Disruption.Budgets {
		if !concernsDrift(b) {
			continue
		}
		// A budget that cannot be read allows none.
		if n, err := b.GetAllowedDisruptions(schedule.ClockAt(at), nodes); err == nil && n > 0 {
			continue
		}
		text := b.Nodes
		if b.Schedule != nil && b.Duration != nil {
			text += fmt.Sprintf(" at %q for %s", *b.Schedule, schedule.WriteDuration(b.Duration.Duration))
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

// schedulesOf reads the schedules of the budgets that apply to drift.
func schedulesOf(pool *karpv1.NodePool) (all []schedule.Recurrence, err error) {
	for _, b := range pool.Spec.Disruption.Budgets {
		if b.Schedule == nil || b.Duration == nil || !concernsDrift(b) {
			continue
		}
		s, err := schedule.Recur(*b.Schedule, b.Duration.Duration)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func concernsDrift(b karpv1.Budget) bool {
	return b.Reasons == nil || slices.Contains(b.Reasons, karpv1.DisruptionReasonDrifted)
}
