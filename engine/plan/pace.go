package plan

import (
	"fmt"
	"iter"
	"slices"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/schedule"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// Pace is when nodes of a pool can be replaced: when the change is applied, and the budgets allow it.
type Pace struct {
	Now     int          `json:"allowed_now" doc:"Nodes that may be disrupted now. Without a cluster, 1 means at least one."`
	Wave    int          `json:"per_wave" doc:"Nodes at a time when the budgets next allow disruptions; 0 without a cluster."`
	Waves   int          `json:"waves" doc:"Batches until all nodes are replaced; 0 if they never are, or were not counted."`
	Next    time.Time    `json:"next_window,omitzero" doc:"When the budgets next allow a disruption, if they allow none now."`
	Never   bool         `json:"never" doc:"The budgets allow no disruption within a year."`
	Closed  List[string] `json:"closed_by" doc:"The budgets that allow no disruption now."` // 0 at "0 9 * * mon-fri" for 8h
	Windows List[Window] `json:"windows" doc:"The next week, without gaps."`
	Waits   bool         `json:"waits,omitempty" doc:"-"` // the change is not applied now, because of a freeze or a window

	nodes, leaving, rolled int // as given
	always                 int // nodes that budgets without a schedule allow
	limits                 []limit
}

// Window is a span in which the budgets allow the same number of disruptions.
type Window struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
	Nodes int       `json:"nodes" doc:"Nodes that may be disrupted at a time. Without a cluster, 1 means at least one."`
}

const week = 7 * 24 * time.Hour

// A limit is how many nodes some budgets allow during their periods.
type limit struct {
	nodes   int
	periods []schedule.Recurrence
}

// PaceOf evaluates the budgets as Karpenter does (karpenter v1.15.0, GetAllowedDisruptionsByReason), for a change
// that is applied now. If nodes are not counted, it assumes a hundred, to find out when any can be disrupted.
func PaceOf(pool *karpv1.NodePool, nodes, leaving, rolled int, now time.Time) (*Pace, error) {
	now = now.UTC().Truncate(time.Second)
	p := &Pace{nodes: nodes, leaving: leaving, rolled: rolled}
	p.always = nodes
	if nodes == 0 {
		p.always = 100
	}
	p.Closed = closedBudgets(pool, p.always, now)
	counted := p.always
	for _, b := range pool.Spec.Disruption.Budgets {
		if !concernsDrift(b) {
			continue
		}
		text, lasts := b.Schedule, b.Duration
		b.Schedule, b.Duration = nil, nil
		n, err := b.GetAllowedDisruptions(schedule.ClockAt(now), counted)
		if err != nil {
			return nil, err
		}
		if text == nil || lasts == nil {
			p.always = min(p.always, n)
			continue
		}
		period, err := schedule.Recur(*text, lasts.Duration)
		if err != nil {
			return nil, fmt.Errorf("read the schedule %q: %w", *text, err)
		}
		i := slices.IndexFunc(p.limits, func(l limit) bool { return l.nodes == n })
		if i < 0 {
			i, p.limits = len(p.limits), append(p.limits, limit{nodes: n})
		}
		p.limits[i].periods = append(p.limits[i].periods, period)
	}
	p.apply(now, now)
	return p, nil
}

// apply computes when the budgets allow disruptions for a change that is applied at a time; the zero time is never.
func (p *Pace) apply(now, at time.Time) {
	now, at = now.UTC().Truncate(time.Second), at.UTC().Truncate(time.Second)
	p.Now, p.Wave, p.Waves, p.Next, p.Windows, p.Waits = 0, 0, 0, time.Time{}, nil, !at.Equal(now)
	end, found := now.Add(week), false
	if at.IsZero() || at.After(end) {
		p.extend(now, end, 0, end)
	} else {
		p.extend(now, at, 0, end)
		from, n := at, -1
		for next, allowed := range p.allowed(at, end) {
			if n >= 0 {
				p.extend(from, next, n, end)
			}
			from, n = next, allowed
			if n > 0 && !found {
				found, p.Next, p.Wave = true, from, n
			}
		}
		p.extend(from, end, max(n, 0), end)
	}
	p.Never = !found && (at.IsZero() || !p.later(at))
	if p.Next.Equal(now) {
		p.Next = time.Time{}
	}
	if p.nodes == 0 {
		for i := range p.Windows {
			p.Windows[i].Nodes = min(p.Windows[i].Nodes, 1)
		}
		p.Now, p.Wave = p.Windows[0].Nodes, 0
		return
	}
	p.Now = max(0, p.Windows[0].Nodes-p.leaving)
	if p.Wave > 0 {
		p.Waves = (p.rolled + p.Wave - 1) / p.Wave
	}
}

// allowed returns how many nodes the budgets allow from a time on, whenever that may change before another time.
func (p *Pace) allowed(from, until time.Time) iter.Seq2[time.Time, int] {
	sets := make([][]schedule.Recurrence, len(p.limits))
	for i, l := range p.limits {
		sets[i] = l.periods
	}
	return func(yield func(time.Time, int) bool) {
		for at, active := range schedule.Changes(sets, from, until) {
			n := p.always
			for i, on := range active {
				if on {
					n = min(n, p.limits[i].nodes)
				}
			}
			if !yield(at, n) {
				return
			}
		}
	}
}

// later finds the next disruption that the budgets allow within a year. Only budgets of no nodes matter for that.
func (p *Pace) later(from time.Time) bool {
	var none []schedule.Recurrence
	for _, l := range p.limits {
		if l.nodes == 0 {
			none = l.periods
		}
	}
	if p.always == 0 {
		return false
	}
	for at, active := range schedule.Changes([][]schedule.Recurrence{none}, from, from.Add(schedule.Year)) {
		if active[0] {
			continue
		}
		for _, n := range p.allowed(at, at.Add(time.Minute)) {
			p.Next, p.Wave = at, n
			return true
		}
	}
	return false
}

// batchTime is roughly how long a batch of replacements takes: LKE machines become nodes after about two minutes, then
// the pods move.
const batchTime = 3 * time.Minute

// Soonest returns when the last of a number of nodes can have drained if each batch takes batchTime and only the
// budgets delay nodes. It is the zero time if that is not within the windows.
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

// closedBudgets returns the budgets that allow no disruption of n nodes, as written.
func closedBudgets(pool *karpv1.NodePool, nodes int, at time.Time) (budgets []string) {
	for _, b := range pool.Spec.Disruption.Budgets {
		if !concernsDrift(b) {
			continue
		}
		// A budget that cannot be read allows none.
		if n, err := b.GetAllowedDisruptions(schedule.ClockAt(at), nodes); err == nil && n > 0 {
			continue
		}
		sentence := b.Nodes
		if b.Schedule != nil && b.Duration != nil {
			sentence += fmt.Sprintf(" at %q for %s", *b.Schedule, text.Duration(b.Duration.Duration))
		}
		budgets = append(budgets, sentence)
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

func concernsDrift(b karpv1.Budget) bool {
	return b.Reasons == nil || slices.Contains(b.Reasons, karpv1.DisruptionReasonDrifted)
}
