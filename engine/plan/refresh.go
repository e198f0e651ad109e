package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/schedule"
	"github.com/lkeplan/lkeplan/linode/age"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// refreshesSooner reports whether the nodes of a pool are replaced because of their age, or at a lower age than before.
func refreshesSooner(before, after *karpv1.NodePool) bool {
	was, _ := age.After(before) // an invalid value is no value
	is, _ := age.After(after)
	return is > 0 && (was == 0 || is < was)
}

// Calendar is when the present nodes of a pool are replaced because of their age, if nothing else removes them before.
type Calendar struct {
	After  string      `json:"refresh_after" doc:"The age by which nodes are replaced."`
	Nights List[Night] `json:"nights" doc:"The next two weeks, without the times in which no node goes."`
	Later  int         `json:"later" doc:"Nodes that go after these two weeks."`
	Never  int         `json:"never" doc:"Nodes that the budgets do not let go within a year."`
	// OldestDays is rounded up.
	OldestDays int  `json:"oldest_days" doc:"The age of the oldest node when it goes, in days, rounded up."`
	Late       bool `json:"late" doc:"Whether a node goes more than a day after it has the age refresh_after: the budgets allow too little."`

	after time.Duration
	nodes []Node // that are due by age, the oldest first
	first int    // nodes that differ from their pool, and go before them
	pace  *Pace
}

// Night is a time in which budgets let nodes go, of at most a day.
type Night struct {
	From  time.Time    `json:"from"`
	Until time.Time    `json:"until"`
	First time.Time    `json:"first" doc:"When the first of these nodes goes."`
	Nodes List[string] `json:"nodes" doc:"The NodeClaims of the nodes that go, in this order."`
}

const (
	day       = 24 * time.Hour
	fortnight = 14 * day
)

// CalendarOf forecasts when nodes of a pool are replaced because of their age; nil if they are not. A replacement is
// assumed to take batchTime.
func CalendarOf(pool *karpv1.NodePool, nodes []Node, differs func(Node) bool, now time.Time) (*Calendar, error) {
	after, err := age.After(pool)
	if err != nil || after == 0 {
		return nil, nil //nolint:nilerr // the controller reports an invalid value
	}
	c := &Calendar{After: text.Duration(after), after: after}
	leaving, ready := 0, 0
	for _, n := range nodes {
		if n.Initialized {
			ready++
		}
		switch {
		case n.Deleting:
			leaving++
		case differs(n):
			c.first++
		default:
			c.nodes = append(c.nodes, n)
		}
	}
	slices.SortFunc(c.nodes, func(a, b Node) int { return age.Compare(a.Created, a.Name, b.Created, b.Name) })
	if c.pace, err = PaceOf(pool, max(ready, 1), leaving, 0, now); err != nil {
		return nil, err
	}
	c.apply(now, now)
	return c, nil
}

// apply computes when the nodes go if the change is applied at a time; the zero time is never.
func (c *Calendar) apply(now, at time.Time) {
	if c.pace == nil { // of a saved plan
		return
	}
	c.Nights, c.Later, c.OldestDays, c.Late = nil, 0, 0, false
	if at.IsZero() {
		c.Never = len(c.nodes)
		return
	}
	free := make([]time.Time, c.pace.leaving) // when each running replacement ends
	for i := range free {
		free[i] = now.Add(batchTime)
	}
	first, left, oldest := c.first, slices.Clone(c.nodes), time.Duration(0)
	goes := func(from, until time.Time, most int) {
		for most > 0 && first+len(left) > 0 {
			slices.SortFunc(free, time.Time.Compare)
			start := from
			if excess := len(free) - most; excess >= 0 { // all that may go at a time are on their way
				start = latest(from, free[excess])
			}
			i := 0
			if first == 0 {
				i, start = c.next(left, start)
			}
			if !start.Before(until) {
				return
			}
			free = append(slices.DeleteFunc(free, func(t time.Time) bool { return !t.After(start) }), start.Add(batchTime))
			if first > 0 {
				first--
				continue
			}
			oldest = max(oldest, start.Sub(left[i].Created))
			if start.Before(now.Add(fortnight)) {
				c.add(from, until, start, left[i].Name)
			} else {
				c.Later++
			}
			left = slices.Delete(left, i, i+1)
		}
	}
	from, n := at, 0
	for next, allowed := range c.pace.allowed(at, at.Add(schedule.Year)) {
		for ; from.Before(next); from = from.Add(day) {
			goes(from, earliest(next, from.Add(day)), n)
		}
		if from, n = next, allowed; first+len(left) == 0 {
			break
		}
	}
	for ; from.Before(at.Add(schedule.Year)) && first+len(left) > 0; from = from.Add(day) {
		goes(from, from.Add(day), n)
	}
	c.Never = len(left)
	c.OldestDays = int((oldest + day - 1) / day)
	c.Late = len(left) > 0 || oldest > c.after+day
}

// next returns which node goes next from a time on, and when: the oldest that is due, or the first that becomes due.
func (c *Calendar) next(left []Node, from time.Time) (i int, at time.Time) {
	for j, n := range left {
		due := latest(from, age.Due(n.Created, n.Name, c.after))
		if j == 0 || due.Before(at) {
			i, at = j, due
		}
	}
	return i, at
}

func (c *Calendar) add(from, until, start time.Time, claim string) {
	if last := len(c.Nights) - 1; last < 0 || !c.Nights[last].From.Equal(from) {
		c.Nights = append(c.Nights, Night{From: from.UTC(), Until: until.UTC(), First: start.UTC()})
	}
	last := &c.Nights[len(c.Nights)-1]
	last.Nodes = append(last.Nodes, claim)
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Night returns in which night a node goes; false if not within two weeks.
func (c *Calendar) Night(claim string) (Night, bool) {
	if c == nil {
		return Night{}, false
	}
	i := slices.IndexFunc(c.Nights, func(n Night) bool { return slices.Contains(n.Nodes, claim) })
	if i < 0 {
		return Night{}, false
	}
	return c.Nights[i], true
}

// mostNamed is how many nodes of a night are named.
const mostNamed = 5

// Lines describe which nodes go when; none if nodes do not go because of their age within two weeks, and in time.
func (c *Calendar) Lines(quote Quote) (lines []string) {
	if c == nil {
		return nil
	}
	for _, n := range c.Nights {
		names := n.Nodes[:min(len(n.Nodes), mostNamed)]
		line := fmt.Sprintf("%s: %s replaced by age: %s", text.SoonTime(n.First), text.Count(len(n.Nodes), "node"), text.Quoted(names, quote))
		if more := len(n.Nodes) - len(names); more > 0 {
			line += fmt.Sprintf(" and %d more", more)
		}
		lines = append(lines, line)
	}
	return append(lines, c.tooSlow()...)
}

// Short describes which nodes go when in one sentence; "" if there is nothing to say.
func (c *Calendar) Short() string {
	if c == nil {
		return ""
	}
	var parts []string
	for _, n := range c.Nights {
		parts = append(parts, fmt.Sprintf("%d from %s", len(n.Nodes), text.SoonTime(n.First)))
	}
	sentence := ""
	if len(parts) > 0 {
		sentence = "nodes replaced by age: " + strings.Join(parts, ", ")
	}
	return strings.Join(append(slices.DeleteFunc([]string{sentence}, func(s string) bool { return s == "" }), c.tooSlow()...), "; ")
}

// tooSlow reports that the budgets allow too few replacements.
func (c *Calendar) tooSlow() []string {
	switch {
	case c.Never > 0:
		return []string{fmt.Sprintf("the budgets do not let %s go within a year, although refresh_after is %s", text.Count(c.Never, "node"), c.After)}
	case c.Late:
		return []string{fmt.Sprintf("the budgets allow too few replacements: the oldest node goes at the age of %s, and refresh_after is %s",
			text.Count(c.OldestDays, "day"), c.After)}
	}
	return nil
}
