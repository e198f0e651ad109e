// Package step says what one step of Karpenter does to nodes, and what nodes cost, for
// people.
//
// It simulates nothing.
package step

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/engine/simulate/settling"
)

// Move is one step: nodes go, and others take their place.
type Move struct {
	Kind   settling.Kind `json:"kind"`
	Reason string        `json:"reason"` // as budgets name it
	Gone   []Ref         `json:"gone"`
	Made   []Ref         `json:"made"`
	Pods   int           `json:"pods"`  // that move
	Saved  Cost          `json:"saved"` // less than nothing where it costs more
}

// Ref names a node.
type Ref struct {
	Name string `json:"name"`
	Pool string `json:"pool"`
	Plan string `json:"plan"`
}

// Stayed is nodes that stay for the same reason.
type Stayed struct {
	Pool  string   `json:"pool"`
	Text  string   `json:"text"`
	Nodes []string `json:"nodes"`
}

// reasons say why a step is taken.
var reasons = map[settling.Kind]string{
	settling.Empty:       "empty",
	settling.StaticDrift: "drifted",
	settling.Drift:       "drifted",
	settling.Multi:       "underutilized together",
	settling.Single:      "underutilized",
	settling.Replicas:    "no longer wanted",
}

// String tells a step for people.
func (m Move) String() string {
	text := fmt.Sprintf("%s, %s: %s", refsText(m.Gone), reasons[m.Kind], goes(len(m.Gone)))
	switch {
	case len(m.Gone) == 0:
		text = refsText(m.Made) + ", wanted: new"
	case len(m.Made) > 0:
		text = fmt.Sprintf("%s, %s -> %s", refsText(m.Gone), reasons[m.Kind], refsText(m.Made))
	}
	if m.Pods > 0 {
		text += fmt.Sprintf("; %s", moves(m.Pods))
	}
	return text + "; " + Saving(m.Saved)
}

func goes(n int) string {
	if n == 1 {
		return "goes"
	}
	return "go"
}

func moves(n int) string {
	if n == 1 {
		return "1 pod moves"
	}
	return fmt.Sprintf("%d pods move", n)
}

// Have writes how many things have something.
func Have(n int, what string) string {
	if n == 1 {
		return "1 " + what + " has"
	}
	return fmt.Sprintf("%d %ss have", n, what)
}

// Saving says what is saved; less than nothing is what it costs.
func Saving(c Cost) string {
	switch {
	case c.Monthly == 0 && c.Hourly == 0:
		return "costs the same"
	case c.Monthly < 0:
		return fmt.Sprintf("costs $%s a month more", Dollars(-c.Monthly, 2))
	}
	return fmt.Sprintf("saves $%s a month", Dollars(c.Monthly, 2))
}

// refsText counts nodes by pool and plan type: general 2 g6-standard-4, 1 g6-standard-8.
func refsText(nodes []Ref) string {
	var pools []string
	plans, counts := map[string][]string{}, map[Ref]int{}
	for _, n := range nodes {
		if !slices.Contains(pools, n.Pool) {
			pools = append(pools, n.Pool)
		}
		if n.Name = ""; counts[n] == 0 {
			plans[n.Pool] = append(plans[n.Pool], n.Plan)
		}
		counts[n]++
	}
	slices.Sort(pools)
	for i, pool := range pools {
		slices.Sort(plans[pool])
		var texts []string
		for _, plan := range plans[pool] {
			texts = append(texts, fmt.Sprintf("%d %s", counts[Ref{Pool: pool, Plan: plan}], plan))
		}
		pools[i] = pool + " " + strings.Join(texts, ", ")
	}
	return strings.Join(pools, ", ")
}
