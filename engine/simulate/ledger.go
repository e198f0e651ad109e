package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/lkeplan/lkeplan/engine/during"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// A Timeline is pools, and pods at several moments.
type Timeline struct {
	Pools   Input    // without workloads and DaemonSets, which are those of the moments
	Moments []Moment // by time; the last one only says when it ends, and which machines there were
}

// A Moment is what a cluster had at a time.
type Moment struct {
	At       time.Time
	Pods     Pods
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
	From    time.Time        `json:"from"`
	Until   time.Time        `json:"until"`
	Would   Account          `json:"would"` // of the pools
	Was     Account          `json:"was"`   // of the cluster
	Reasons []DisruptedNodes `json:"disrupted"`
	// PodHours without a node, of all pods that wanted one.
	PodHours float64     `json:"unschedulable_pod_hours"`
	Refused  []RefusedAt `json:"refused"`
	Moments  []LedgerRow `json:"moments"`
	Lives    []Life      `json:"nodes"`
	Notes    []string    `json:"notes"`
}

// DisruptedNodes is how many nodes Karpenter would have let go for a reason.
type DisruptedNodes struct {
	Reason string `json:"reason"`
	Nodes  int    `json:"nodes"`
}

// RefusedAt is pods that had no node at a moment, and why.
type RefusedAt struct {
	At time.Time `json:"at"`
	Refusal
}

// LedgerRow is one moment, and what has happened until the next.
type LedgerRow struct {
	At       time.Time     `json:"at"`
	Pods     int           `json:"pods"`
	Refused  int           `json:"refused"` // pods without a node
	Nodes    int           `json:"nodes"`
	Hourly   catalog.Money `json:"hourly"` // that they cost
	Launched int           `json:"launched"`
	Gone     int           `json:"gone"`
	Was      LedgerRowWas  `json:"was"`
}

// LedgerRowWas is what there was at a moment.
type LedgerRowWas struct {
	Nodes  int           `json:"nodes"`
	Hourly catalog.Money `json:"hourly"`
}

const mostRefusedListed = 20

// Replay replays a timeline. Two moments are needed at least, and no two of the same time.
func Replay(ctx context.Context, in Timeline) (Ledger, error) {
	if err := in.check(); err != nil {
		return Ledger{}, err
	}
	last := len(in.Moments) - 1
	c, err := newReplay(ctx, in.Pools, in.Moments[0].At)
	if err != nil {
		return Ledger{}, err
	}
	c.ledger = Ledger{
		From: in.Moments[0].At, Until: in.Moments[last].At, Refused: []RefusedAt{}, Moments: []LedgerRow{}, Lives: []Life{},
		Notes: []string{}, Reasons: []DisruptedNodes{},
	}
	for i, m := range in.Moments[:last] {
		if err := c.moment(ctx, m, in.Moments[i+1].At); err != nil {
			return Ledger{}, fmt.Errorf("at %s: %w", m.At.UTC().Format(time.RFC3339), err)
		}
	}
	return c.finishLedger(in), nil
}

func (in Timeline) check() error {
	if len(in.Moments) < 2 {
		return errors.New("a timeline needs at least two times: pods at a time, and the end")
	}
	for i, m := range in.Moments[1:] {
		if !m.At.After(in.Moments[i].At) {
			return fmt.Errorf("times must be in order and different: %s", m.At.UTC().Format(time.RFC3339))
		}
	}
	return nil
}

// moment makes the pods those of a moment, and lets time go by until the next.
func (c *replay) moment(ctx context.Context, m Moment, next time.Time) error {
	if err := c.changePods(ctx, m.Pods); err != nil {
		return err
	}
	row := LedgerRow{
		At: m.At, Pods: len(c.pods), Refused: len(c.pending), Nodes: len(c.made), Hourly: c.cost(c.made).Hourly, Was: wasAt(m),
	}
	if row.Refused > 0 && len(c.ledger.Refused) < mostRefusedListed {
		refusals, err := c.refusals(ctx, c.pending)
		if err != nil {
			return err
		}
		for _, refusal := range refusals {
			c.ledger.Refused = append(c.ledger.Refused, RefusedAt{m.At, refusal})
		}
	}
	for more := true; more; {
		var err error
		pending, before := len(c.pending), c.now.Now()
		if more, err = c.advance(ctx, next); err != nil {
			return err
		}
		c.waited += time.Duration(pending) * c.now.Now().Sub(before)
	}
	for _, e := range c.newEvents() {
		c.enter(e, &row)
	}
	c.ledger.Moments = append(c.ledger.Moments, row)
	return nil
}

// enter enters a node that was made or is gone into the ledger.
func (c *replay) enter(e event, row *LedgerRow) {
	l := &c.ledger
	if e.made {
		if e.at.After(l.From) {
			row.Launched++
		}
		c.lives[e.node.Name] = len(l.Lives)
		l.Lives = append(l.Lives, Life{
			Node: e.node.Name, Pool: e.node.Pool, Plan: e.node.Plan, From: e.at, Until: l.Until, Price: e.price,
		})
		return
	}
	row.Gone++
	life := &l.Lives[c.lives[e.node.Name]]
	life.Reason = e.reason
	if e.at.Before(life.Until) {
		life.Until = e.at
	}
	i := slices.IndexFunc(l.Reasons, func(known DisruptedNodes) bool { return known.Reason == e.reason })
	if i < 0 {
		i = len(l.Reasons)
		l.Reasons = append(l.Reasons, DisruptedNodes{Reason: e.reason})
	}
	l.Reasons[i].Nodes++
}

// finishLedger adds up.
func (c *replay) finishLedger(in Timeline) Ledger {
	l := c.ledger
	l.Would = billOf(l.Lives, l.From, l.Until)
	before, notes := livesOf(in.Moments)
	l.Was = billOf(before, l.From, l.Until)
	l.PodHours = c.waited.Hours()
	slices.SortFunc(l.Reasons, func(a, b DisruptedNodes) int { return cmp.Compare(a.Reason, b.Reason) })
	if len(l.Refused) > mostRefusedListed {
		l.Refused = l.Refused[:mostRefusedListed]
		notes = append(notes, fmt.Sprintf("Only the first %d reasons why pods would have been unschedulable are shown.",
			mostRefusedListed))
	}
	l.Notes = append(l.Notes, unique(append(c.allNotes(), notes...))...)
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

// A Life is a machine from when it was made until it was gone.
type Life struct {
	Node   string        `json:"node"`
	Pool   string        `json:"pool"`
	Plan   string        `json:"plan"`
	From   time.Time     `json:"from"`
	Until  time.Time     `json:"until"`
	Reason string        `json:"reason,omitempty"` // why it went; "" if it is there at the end, or that is not known
	Price  catalog.Price `json:"-"`
}

// An Account is what machines have come to.
type Account struct {
	Began    int           `json:"began"`    // that are there at the beginning
	Launched int           `json:"launched"` // after it
	Gone     int           `json:"gone"`     // before the end
	Hours    int           `json:"hours"`    // that are billed
	Cost     catalog.Money `json:"cost"`
	Plans    []PlanAccount `json:"plans"` // by pool and plan type
}

// PlanAccount is the share of the machines of a pool that have one plan type.
type PlanAccount struct {
	Pool     string        `json:"pool"`
	Plan     string        `json:"plan"`
	Machines int           `json:"machines"`
	Hours    int           `json:"hours"`
	Cost     catalog.Money `json:"cost"`
}

// billOf adds up lives between two times. What was before the first is not billed, and what is
// there at the second is billed until then.
func billOf(lives []Life, from, until time.Time) Account {
	a := Account{Plans: []PlanAccount{}}
	at := map[[2]string]int{}
	for _, l := range lives {
		hours, cost := l.bill(from, until)
		if hours == 0 {
			continue
		}
		if l.From.After(from) {
			a.Launched++
		} else {
			a.Began++
		}
		if l.Until.Before(until) {
			a.Gone++
		}
		a.Hours, a.Cost = a.Hours+hours, a.Cost+cost
		key := [2]string{l.Pool, l.Plan}
		if _, known := at[key]; !known {
			at[key] = len(a.Plans)
			a.Plans = append(a.Plans, PlanAccount{Pool: l.Pool, Plan: l.Plan})
		}
		p := &a.Plans[at[key]]
		p.Machines, p.Hours, p.Cost = p.Machines+1, p.Hours+hours, p.Cost+cost
	}
	slices.SortFunc(a.Plans, func(a, b PlanAccount) int {
		return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Plan, b.Plan))
	})
	return a
}

// bill is what one machine costs between two times. An hour that has begun is billed, in the
// calendar month in which it began, and no month costs more than the monthly price.
func (l Life) bill(from, until time.Time) (hours int, cost catalog.Money) {
	if l.From.After(from) {
		from = l.From
	}
	if l.Until.Before(until) {
		until = l.Until
	}
	for from.Before(until) {
		y, m, _ := from.UTC().Date()
		end := time.Date(y, m+1, 1, 0, 0, 0, 0, time.UTC)
		if until.Before(end) {
			end = until
		}
		begun := int((end.Sub(from) + time.Hour - 1) / time.Hour)
		hours, cost = hours+begun, cost+l.Price.For(begun)
		from = from.Add(time.Duration(begun) * time.Hour)
	}
	return hours, cost
}

func wasAt(m Moment) (row LedgerRowWas) {
	for _, machine := range m.Machines {
		row.Nodes++
		if machine.Price != nil {
			row.Hourly += machine.Price.Hourly
		}
	}
	return row
}

// livesOf are the actual machines. One that a moment does not have any more was there
// until that moment, as far as is known, and one that was made and was gone between two
// is not known at all.
func livesOf(moments []Moment) (all []Life, notes []string) {
	type key struct {
		name string
		made time.Time
	}
	at, unpriced := map[key]int{}, map[string]bool{}
	for i, m := range moments {
		there := map[key]bool{}
		for _, machine := range m.Machines {
			id := key{machine.Name, machine.Made}
			there[id] = true
			if _, known := at[id]; known {
				continue
			}
			at[id] = len(all)
			life := Life{Node: machine.Name, Pool: machine.Pool, Plan: machine.Plan, From: machine.Made}
			if machine.Price != nil {
				life.Price = *machine.Price
			} else {
				unpriced[machine.Plan] = true
			}
			all = append(all, life)
		}
		for id, j := range at {
			if all[j].Until.IsZero() && (!there[id] || i == len(moments)-1) {
				all[j].Until = m.At
			}
		}
	}
	notes = append(notes, fmt.Sprintf("Actual machines count from their creation to the first snapshot "+
		"without them. Machines that existed only between two snapshots, which are at most %s apart, are unknown.",
		longestGap(moments)))
	if len(unpriced) > 0 {
		plans := slices.Sorted(maps.Keys(unpriced))
		for i, plan := range plans {
			if plan == "" {
				plans[i] = "an unknown plan type"
			}
		}
		notes = append(notes, fmt.Sprintf("The actual cost was higher than shown: the snapshots have no price for %s.",
			strings.Join(plans, ", ")))
	}
	return all, notes
}

func longestGap(moments []Moment) string {
	longest := time.Duration(0)
	for i, m := range moments[1:] {
		longest = max(longest, m.At.Sub(moments[i].At))
	}
	return during.WriteDuration(longest.Round(time.Second))
}

// thousandths is an amount with as many decimals as are read: $0.036.
func thousandths(m catalog.Money) string { return fmt.Sprintf("$%.3f", m.Float64()) }

const mostLedgerRows = 60

// Text is a ledger for people. From says what was replayed: a directory, and whose pods.
func (l Ledger) Text(from string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, from %s to %s (%s)\n\n", from, stamp(l.From), stamp(l.Until), during.WriteDuration(l.Until.Sub(l.From).Round(time.Second)))
	l.rows(&b)
	b.WriteString("\n")
	l.totals(&b)
	for i, r := range l.Refused {
		if i == 0 {
			b.WriteString("\nPods that would have been unschedulable:\n")
		}
		if i == mostLedgerRows {
			fmt.Fprintf(&b, "  and %d more; -o json has all\n", len(l.Refused)-i)
			break
		}
		fmt.Fprintf(&b, "  %s: %d of %s\n", stamp(r.At), r.Pods, r.Workload)
		for _, why := range r.Reasons {
			pool := ""
			if why.Pool != "" {
				pool = "pool " + why.Pool + ": "
			}
			fmt.Fprintf(&b, "    %s%s\n", pool, why.Text)
		}
	}
	if len(l.Notes) > 0 {
		b.WriteString("\n")
	}
	for _, note := range l.Notes {
		b.WriteString("Note: " + note + "\n")
	}
	return b.String()
}

// rows writes the moments, but for those that are as the one before.
func (l Ledger) rows(b *strings.Builder) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "time\tpods\tunschedulable\tnodes\thourly\tlaunched\tremoved\tactual nodes\thourly\t")
	var before LedgerRow
	shown, left := 0, 0
	for i, row := range l.Moments {
		same := row
		if same.At = before.At; i > 0 && same == before && row.Launched+row.Gone == 0 {
			left++
			continue
		}
		if before = row; shown == mostLedgerRows {
			left++
			continue
		}
		shown++
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t%d\t%d\t%d\t%s\t\n", stamp(row.At), row.Pods, row.Refused, row.Nodes,
			thousandths(row.Hourly), row.Launched, row.Gone, row.Was.Nodes, thousandths(row.Was.Hourly))
	}
	w.Flush()
	switch {
	case shown == mostLedgerRows && left > 0:
		fmt.Fprintf(b, "Left out %s of %d that are the same as before, or come after %d rows; -o json has all.\n",
			Count(left, "time"), len(l.Moments), mostLedgerRows)
	case left > 0:
		fmt.Fprintf(b, "Left out %s of %d without changes.\n", Count(left, "time"), len(l.Moments))
	}
}

func (l Ledger) totals(b *strings.Builder) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tsimulated\tactual\t")
	line := func(what string, would, was any) { fmt.Fprintf(w, "%s\t%v\t%v\t\n", what, would, was) }
	line("nodes at the start", l.Would.Began, l.Was.Began)
	line("launched", l.Would.Launched, l.Was.Launched)
	line("removed", l.Would.Gone, l.Was.Gone)
	line("hours billed", l.Would.Hours, l.Was.Hours)
	line("cost", thousandths(l.Would.Cost), thousandths(l.Was.Cost))
	line("unschedulable pod hours", fmt.Sprintf("%.1f", l.PodHours), "unknown")
	w.Flush()
	var why []string
	for _, r := range l.Reasons {
		why = append(why, fmt.Sprintf("%d %s", r.Nodes, strings.ToLower(r.Reason)))
	}
	if len(why) > 0 {
		fmt.Fprintf(b, "Disrupted: %s.\n", strings.Join(why, ", "))
	}
	for _, p := range l.Would.Plans {
		fmt.Fprintf(b, "pool %s, %s: %s, %s, %s\n", p.Pool, p.Plan, Count(p.Machines, "machine"),
			Count(p.Hours, "hour"), thousandths(p.Cost))
	}
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
