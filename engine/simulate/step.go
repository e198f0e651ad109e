package simulate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lkeplan/lkeplan/engine/simulate/disrupt"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Move is one step: nodes go, and others take their place.
type Move struct {
	Kind   disrupt.Kind `json:"kind"`
	Reason string       `json:"reason"` // as budgets name it
	Gone   []NodeRef    `json:"gone"`
	Made   []NodeRef    `json:"made"`
	Pods   int          `json:"pods"`  // that move
	Saved  Cost         `json:"saved"` // less than nothing where it costs more
}

// NodeRef names a node.
type NodeRef struct {
	Name string `json:"name"`
	Pool string `json:"pool"`
	Plan string `json:"plan"`
}

// Kept is nodes that stay for the same reason.
type Kept struct {
	Pool  string   `json:"pool"`
	Text  string   `json:"text"`
	Nodes []string `json:"nodes"`
}

// stepReasons say why a step is taken.
var stepReasons = map[disrupt.Kind]string{
	disrupt.Empty:       "empty",
	disrupt.StaticDrift: "drifted",
	disrupt.Drift:       "drifted",
	disrupt.Multi:       "underutilized together",
	disrupt.Single:      "underutilized",
	disrupt.Replicas:    "no longer wanted",
}

// String is a step in words.
func (m Move) String() string {
	text := fmt.Sprintf("%s, %s: %s", refsText(m.Gone), stepReasons[m.Kind], goes(len(m.Gone)))
	switch {
	case len(m.Gone) == 0:
		text = refsText(m.Made) + ", wanted: new"
	case len(m.Made) > 0:
		text = fmt.Sprintf("%s, %s -> %s", refsText(m.Gone), stepReasons[m.Kind], refsText(m.Made))
	}
	if m.Pods > 0 {
		text += fmt.Sprintf("; %s", moves(m.Pods))
	}
	return text + "; " + saving(m.Saved)
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

// have writes how many things have something.
func have(n int, what string) string {
	if n == 1 {
		return "1 " + what + " has"
	}
	return fmt.Sprintf("%d %ss have", n, what)
}

// saving says what is saved; less than nothing is what it costs.
func saving(c Cost) string {
	switch {
	case c.Monthly == 0 && c.Hourly == 0:
		return "costs the same"
	case c.Monthly < 0:
		return fmt.Sprintf("costs $%s a month more", Dollars(-c.Monthly, 2))
	}
	return fmt.Sprintf("saves $%s a month", Dollars(c.Monthly, 2))
}

// refsText counts nodes by pool and plan type: general 2 g6-standard-4, 1 g6-standard-8.
func refsText(nodes []NodeRef) string {
	var pools []string
	plans, counts := map[string][]string{}, map[NodeRef]int{}
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
			texts = append(texts, fmt.Sprintf("%d %s", counts[NodeRef{Pool: pool, Plan: plan}], plan))
		}
		pools[i] = pool + " " + strings.Join(texts, ", ")
	}
	return strings.Join(pools, ", ")
}

// Cost is what nodes cost. In a month a node costs no more than its monthly price.
type Cost struct {
	Hourly  catalog.Money `json:"hourly"`
	Monthly catalog.Money `json:"monthly"`
}

// Add adds another cost.
func (c *Cost) Add(other Cost) {
	c.Hourly += other.Hourly
	c.Monthly += other.Monthly
}

// Less is the cost without another.
func (c Cost) Less(other Cost) Cost {
	return Cost{Hourly: c.Hourly - other.Hourly, Monthly: c.Monthly - other.Monthly}
}

// Dollars writes money with so many decimals.
func Dollars(m catalog.Money, decimals int) string {
	unit := math.Pow10(decimals)
	return strconv.FormatFloat(math.Round(m.Float64()*unit)/unit, 'f', decimals, 64)
}

// Count writes a number of things: 1 pod, 2 pods; as diag.Counted does, which is not for
// those who know no configuration.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// aligned writes rows with aligned columns: the first two are names, the others figures.
func aligned(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if cells[i] = space + cell; i < 2 {
				cells[i] = cell + space
			}
		}
		b.WriteString(strings.TrimRight(strings.Join(cells, "  "), " ") + "\n")
	}
	return b.String()
}

// breaks are what ends a line, and what a runner of GitHub obeys anywhere in one.
var breaks = strings.NewReplacer("\n", `\u000a`, "\r", `\u000d`, "\u2028", `\u2028`, "##[", `\u0023#[`)

// plain is a text of others that stays on its line, and that a runner takes for no command:
// not even where it is all that there is on the line.
func plain(text string) string {
	text = breaks.Replace(text)
	if rest := strings.TrimLeft(text, " \t"); strings.HasPrefix(rest, "::") {
		return `\u003a` + rest[1:]
	}
	return text
}
