// Package replay says what pools would have cost, launched and disrupted over a time whose
// pods are known: Karpenter's scheduler places what comes at each moment, nodes live on in
// between, and hours are billed as Linode does.
//
// It is pure: a timeline comes in, a ledger goes out, the same one each time. It knows neither
// snapshots nor files.
package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// A Timeline is pools, and pods at several moments.
type Timeline struct {
	Pools   simulate.Input // without workloads and DaemonSets, which are those of the moments
	Moments []Moment       // by time; the last one only says when it ends, and which machines there were
}

// A Moment is what a cluster had at a time.
type Moment struct {
	At       time.Time
	Crowd    simulate.Crowd
	Machines []Machine
}

// A Machine is a node that a cluster had.
type Machine struct {
	Name  string // of its NodeClaim
	Pool  string
	Plan  string
	Made  time.Time
	Price *catalog.Price // nil where it is not known
}

// A Ledger is what pools would have come to, beside what was.
type Ledger struct {
	From    time.Time `json:"from"`
	Until   time.Time `json:"until"`
	Would   Account   `json:"would"` // of the pools
	Was     Account   `json:"was"`   // of the cluster
	Reasons []Reason  `json:"disrupted"`
	// PodHours without a node, of all pods that wanted one.
	PodHours float64   `json:"unschedulable_pod_hours"`
	Refused  []Refused `json:"refused"`
	Moments  []Row     `json:"moments"`
	Lives    []Life    `json:"nodes"`
	Notes    []string  `json:"notes"`
}

// Reason is how many nodes Karpenter would have let go for a reason.
type Reason struct {
	Reason string `json:"reason"`
	Nodes  int    `json:"nodes"`
}

// Refused is pods that had no node at a moment, and why.
type Refused struct {
	At time.Time `json:"at"`
	simulate.Refusal
}

// Row is one moment, and what has happened until the next.
type Row struct {
	At       time.Time     `json:"at"`
	Pods     int           `json:"pods"`
	Refused  int           `json:"refused"` // pods without a node
	Nodes    int           `json:"nodes"`
	Hourly   catalog.Money `json:"hourly"` // that they cost
	Launched int           `json:"launched"`
	Gone     int           `json:"gone"`
	Was      WasRow        `json:"was"`
}

// WasRow is what there was at a moment.
type WasRow struct {
	Nodes  int           `json:"nodes"`
	Hourly catalog.Money `json:"hourly"`
}

// mostRefused bounds how many refusals are told.
const mostRefused = 20

// Run replays a timeline. Two moments are needed at least, and no two of the same time.
func Run(ctx context.Context, in Timeline) (Ledger, error) {
	if err := in.check(); err != nil {
		return Ledger{}, err
	}
	last := len(in.Moments) - 1
	r := &run{
		ledger: Ledger{
			From: in.Moments[0].At, Until: in.Moments[last].At, Refused: []Refused{}, Moments: []Row{}, Lives: []Life{},
			Notes: []string{}, Reasons: []Reason{},
		},
		at: map[string]int{},
	}
	var err error
	if r.course, err = simulate.Begin(ctx, in.Pools, r.ledger.From); err != nil {
		return Ledger{}, err
	}
	for i, m := range in.Moments[:last] {
		if err := r.moment(ctx, m, in.Moments[i+1].At); err != nil {
			return Ledger{}, fmt.Errorf("at %s: %w", m.At.UTC().Format(time.RFC3339), err)
		}
	}
	return r.finish(in), nil
}

func (in Timeline) check() error {
	if len(in.Moments) < 2 {
		return errors.New("a timeline needs two moments at least: pods at a time, and when it ends")
	}
	for i, m := range in.Moments[1:] {
		if !m.At.After(in.Moments[i].At) {
			return fmt.Errorf("two moments are at %s, or they are not in order", m.At.UTC().Format(time.RFC3339))
		}
	}
	return nil
}

// run is a replay on its way.
type run struct {
	course  *simulate.Course
	ledger  Ledger
	at      map[string]int // the lives of nodes, by name
	waiting time.Duration  // of all pods together
}

// moment has the pods be those of a moment, and lets time go by until the next.
func (r *run) moment(ctx context.Context, m Moment, next time.Time) error {
	if err := r.course.Have(ctx, m.Crowd); err != nil {
		return err
	}
	row := Row{At: m.At, Hourly: r.course.Cost().Hourly, Was: was(m)}
	row.Pods, row.Refused, row.Nodes = r.course.Counts()
	if row.Refused > 0 && len(r.ledger.Refused) < mostRefused {
		refusals, err := r.course.Refusals(ctx)
		if err != nil {
			return err
		}
		for _, refusal := range refusals {
			r.ledger.Refused = append(r.ledger.Refused, Refused{m.At, refusal})
		}
	}
	for more := true; more; {
		var err error
		_, pending, _ := r.course.Counts()
		before := r.course.Now()
		if more, err = r.course.Pass(ctx, next); err != nil {
			return err
		}
		r.waiting += time.Duration(pending) * r.course.Now().Sub(before)
	}
	for _, e := range r.course.Events() {
		r.note(e, &row)
	}
	r.ledger.Moments = append(r.ledger.Moments, row)
	return nil
}

// note takes down a node that was made or is gone.
func (r *run) note(e simulate.Event, row *Row) {
	if e.Made {
		if e.At.After(r.ledger.From) {
			row.Launched++
		}
		r.at[e.Node.Name] = len(r.ledger.Lives)
		r.ledger.Lives = append(r.ledger.Lives, Life{
			Node: e.Node.Name, Pool: e.Node.Pool, Plan: e.Node.Plan, From: e.At, Until: r.ledger.Until, Price: e.Price,
		})
		return
	}
	row.Gone++
	life := &r.ledger.Lives[r.at[e.Node.Name]]
	life.Reason = e.Reason
	if e.At.Before(life.Until) {
		life.Until = e.At
	}
	i := slices.IndexFunc(r.ledger.Reasons, func(known Reason) bool { return known.Reason == e.Reason })
	if i < 0 {
		i = len(r.ledger.Reasons)
		r.ledger.Reasons = append(r.ledger.Reasons, Reason{Reason: e.Reason})
	}
	r.ledger.Reasons[i].Nodes++
}

// finish adds up.
func (r *run) finish(in Timeline) Ledger {
	l := r.ledger
	l.Would = bill(l.Lives, l.From, l.Until)
	before, notes := lives(in.Moments)
	l.Was = bill(before, l.From, l.Until)
	l.PodHours = r.waiting.Hours()
	slices.SortFunc(l.Reasons, func(a, b Reason) int { return cmp.Compare(a.Reason, b.Reason) })
	if len(l.Refused) > mostRefused {
		l.Refused = l.Refused[:mostRefused]
		notes = append(notes, fmt.Sprintf("Only the first %d reasons are told why pods would have had no node.", mostRefused))
	}
	l.Notes = append(l.Notes, unique(append(r.course.Notes(), notes...))...)
	return l
}

func unique(list []string) (once []string) {
	for _, text := range list {
		if !slices.Contains(once, text) {
			once = append(once, text)
		}
	}
	return once
}
