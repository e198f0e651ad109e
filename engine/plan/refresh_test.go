package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/schedule"
	"github.com/lkeplan/lkeplan/linode/age"
	"github.com/lkeplan/lkeplan/schemas"
)

// TestCalendar: which of 20 nodes that were created together go when, on a Friday morning.
func TestCalendar(t *testing.T) {
	type budget = map[string]any
	nights := budget{"nodes": "0", "schedule": "0 4 * * *", "duration": "18h"} // open from 22:00 to 4:00
	const old = 720 * time.Hour
	for _, tt := range []struct {
		name, after string
		budgets     []any
		age         time.Duration
		count       int
		opens       time.Duration // when the change is applied; negative: never
		want        string
	}{
		{"young nodes", "720h", []any{nights}, 24 * time.Hour, 20, 0, "20 later"},
		{"no value", "", []any{nights}, old, 20, 0, ""},
		{"garbage", "soon", []any{nights}, old, 20, 0, ""},
		{"all are due, and may go", "720h", nil, old, 20, 0, "Fri 07:00 20, oldest 30"},
		{"one at a time, in the nights", "720h", []any{budget{"nodes": "1"}, nights}, old, 20, 0, "Fri 22:00 20, oldest 31"},
		{"one at a time, in ten minutes of each night", "720h", []any{budget{"nodes": "1"},
			budget{"nodes": "0", "schedule": "10 22 * * *", "duration": "23h50m"}}, old, 20, 0,
			"Fri 22:00 4, Sat 22:00 4, Sun 22:00 4, Mon 22:00 4, Tue 22:00 4, oldest 35, late"},
		{"the change waits for Sunday", "720h", []any{nights}, old, 20, 48 * time.Hour, "Sun 22:00 20, oldest 33, late"},
		{"the change is never applied", "720h", []any{nights}, old, 20, -1, "20 never"},
		{"no budget", "720h", []any{budget{"nodes": "0"}}, old, 20, 0, "20 never, late"},
		{"40 nodes, about 4 in a night, for four weeks", "720h", []any{budget{"nodes": "1"},
			budget{"nodes": "0", "schedule": "10 22 * * *", "duration": "23h50m"}}, old, 60, 0,
			"Fri 22:00 4, Sat 22:00 4, Sun 22:00 4, Mon 22:00 4, Tue 22:00 4, Wed 22:00 4, Thu 22:00 4, Fri 22:00 4, Sat 22:00 4, Sun 22:00 4, " +
				"Mon 22:00 4, Tue 22:00 4, Wed 22:00 4, Thu 22:00 4, 4 later, oldest 45, late"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pool := poolWith(t, tt.budgets...)
			pool.Annotations = map[string]string{schemas.AnnotationRefreshAfter: tt.after}
			var nodes []Node
			for i := range tt.count {
				nodes = append(nodes, Node{Name: fmt.Sprintf("web-%02d", i), Pool: "web", Created: fridayNoon.Add(-tt.age), Initialized: true})
			}
			c, err := CalendarOf(pool, nodes, func(Node) bool { return false }, fridayNoon)
			if err != nil {
				t.Fatal(err)
			}
			if c == nil {
				if tt.want != "" {
					t.Error("there is no calendar")
				}
				return
			}
			switch {
			case tt.opens < 0:
				c.apply(fridayNoon, time.Time{})
			case tt.opens > 0:
				c.apply(fridayNoon, fridayNoon.Add(tt.opens))
			}
			var got []string
			for _, n := range c.Nights {
				got = append(got, fmt.Sprintf("%s %d", n.From.Format("Mon 15:04"), len(n.Nodes)))
			}
			for _, n := range []struct {
				text string
				show bool
			}{{fmt.Sprintf("%d later", c.Later), c.Later > 0}, {fmt.Sprintf("%d never", c.Never), c.Never > 0},
				{fmt.Sprintf("oldest %d", c.OldestDays), len(c.Nights) > 0}, {"late", c.Late}} {
				if n.show {
					got = append(got, n.text)
				}
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestCalendarFollowsTheOrder: the oldest first of those that are due, and nodes that differ from their pool before all.
func TestCalendarFollowsTheOrder(t *testing.T) {
	pool := poolWith(t, map[string]any{"nodes": "1"}, map[string]any{"nodes": "0", "schedule": "4 22 * * *", "duration": "23h56m"})
	pool.Annotations = map[string]string{schemas.AnnotationRefreshAfter: "720h"} // two nodes in a night
	node := func(name string, days int) Node {
		return Node{Name: name, Created: fridayNoon.AddDate(0, 0, -days), Initialized: true}
	}
	young := node("young", 20)
	nodes := []Node{node("a", 31), node("b", 33), node("c", 32), node("differs", 1), young}
	c, err := CalendarOf(pool, nodes, func(n Node) bool { return n.Name == "differs" }, fridayNoon)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range c.Nights {
		got = append(got, n.From.Format("2 Jan")+": "+strings.Join(n.Nodes, " "))
	}
	due := age.Due(young.Created, young.Name, 720*time.Hour)
	last := due.Truncate(day).Add(22 * time.Hour)
	if due.After(last.Add(4 * time.Minute)) {
		last = last.Add(day)
	}
	if diff := cmp.Diff([]string{"20 Nov: b", "21 Nov: c a", last.Format("2 Jan") + ": young"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCalendarIsWhatHappens draws pools whose nodes were created together, and lets each second pass for a fortnight in which
// summer time ends: Karpenter's own function says how many nodes the budgets allow, and the oldest of the nodes that are due
// go, each for batchTime. The calendar has each of them in its night.
func TestCalendarIsWhatHappens(t *testing.T) {
	gone, nights := 0, 0
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 49))
		now := time.Date(2026, time.October, 18, rng.IntN(24), rng.IntN(60), 0, 0, time.FixedZone("CEST", 7200))
		after := time.Duration(200+rng.IntN(800)) * time.Hour
		open := []time.Duration{10 * time.Minute, 30 * time.Minute, 2 * time.Hour, 9 * time.Hour}[rng.IntN(4)]
		pool := poolWith(t, map[string]any{"nodes": []string{"1", "2", "10%", "25%"}[rng.IntN(4)]}, map[string]any{"nodes": "0",
			"schedule": fmt.Sprintf("%d %d * * %s", rng.IntN(60), rng.IntN(24), []string{"*", "mon-fri"}[rng.IntN(2)]),
			"duration": (24*time.Hour - open).String()}, map[string]any{"nodes": "1", "schedule": "0 */6 * * *", "duration": "45m"})
		pool.Annotations = map[string]string{schemas.AnnotationRefreshAfter: after.String()}
		created, nodes := now.Add(-after).Add(time.Duration(rng.IntN(14*24))*time.Hour), []Node{}
		for i := range 20 {
			nodes = append(nodes, Node{Name: fmt.Sprintf("web-%05x", rng.IntN(1<<20)), Created: created.Add(time.Duration(i/4) * time.Second), Initialized: true})
		}
		c, err := CalendarOf(pool, nodes, func(Node) bool { return false }, now)
		if err != nil {
			t.Fatal(err)
		}
		want, got := happens(t, pool, nodes, after, now), map[string]string{}
		for _, n := range c.Nights {
			nights++
			for _, name := range n.Nodes {
				got[name] = "outside of its night"
				if at := want[name]; !at.Before(n.From) && at.Before(n.Until) {
					got[name] = at.String()
				}
			}
		}
		happened := map[string]string{}
		for name, at := range want {
			happened[name] = at.String()
		}
		if diff := cmp.Diff(happened, got); diff != "" {
			t.Errorf("seed %d (-happened +calendar):\n%s", seed, diff)
		}
		gone += len(want)
	}
	if gone < 200 || nights < 60 {
		t.Errorf("%d nodes in %d nights are too few to tell anything", gone, nights)
	}
}

// happens returns when the replacement of each node starts.
func happens(t *testing.T, pool *karpv1.NodePool, nodes []Node, after time.Duration, now time.Time) map[string]time.Time {
	t.Helper()
	started, running := map[string]time.Time{}, []time.Time(nil)
	left := slices.SortedFunc(slices.Values(nodes), func(a, b Node) int { return age.Compare(a.Created, a.Name, b.Created, b.Name) })
	for minute := now; minute.Before(now.Add(fortnight)); minute = minute.Add(time.Minute) {
		allowed, err := pool.GetAllowedDisruptionsByReason(schedule.ClockAt(minute), len(nodes), karpv1.DisruptionReasonDrifted)
		if err != nil {
			t.Fatal(err)
		}
		for at := minute; allowed > 0 && at.Before(minute.Add(time.Minute)); at = at.Add(time.Second) {
			running = slices.DeleteFunc(running, func(end time.Time) bool { return !end.After(at) })
			for len(running) < allowed {
				i := slices.IndexFunc(left, func(n Node) bool { return !at.Before(age.Due(n.Created, n.Name, after)) })
				if i < 0 {
					break
				}
				started[left[i].Name], running = at, append(running, at.Add(batchTime))
				left = slices.Delete(left, i, i+1)
			}
		}
	}
	return started
}
