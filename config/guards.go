package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/schemas"
)

// Guards are the limits for a change. They are read from the configuration before the change, so a
// change cannot lift its own limits.
type Guards struct {
	Default         bool     `json:",omitempty"` // the directory has no guards block
	AllowEmpty      bool     // whether a change can leave no pool and no node class
	Protected       []string // names of NodePools that must not be deleted
	MaxDeletedPools int
	MaxDeletedNodes Share // the zero Share if not set
	MaxRolledNodes  Share
	// MaxUnschedulablePods is the maximum number of pods that lose their node, if pods are
	// simulated; nil if not set, which allows none.
	MaxUnschedulablePods *int

	// RefuseUnknown is whether guards and policies refuse a change if a number of nodes is not
	// known, because no cluster was read.
	RefuseUnknown bool

	PruneNow bool           // whether removed pools are deleted immediately, together with their nodes
	Freezes  []Period       // periods in which changes replace or delete no nodes; sorted by name
	Windows  []Period       // the only periods in which changes replace or delete nodes; if empty, always; sorted by name
	Origins  decode.Origins `json:"-"` // of the arguments, by name
}

// A Share is a number of nodes, or a percentage of all nodes. The zero Share sets no limit.
type Share struct {
	Text    string // as written: "10%" or "3"
	Percent bool
	Number  int
}

// A Period is a recurring period.
type Period struct {
	Name     string
	Schedule string // cron notation, UTC
	Duration time.Duration
	Reason   string
	Range    hcl.Range
}

// defaultGuards apply if a directory has no guards block.
var defaultGuards = Guards{Default: true, MaxDeletedPools: 1}

// guards reads the guards block.
func (c *compiler) guards() Guards {
	g := defaultGuards
	blocks := c.dir.Blocks.OfType(schemas.Guards.Type)
	if len(blocks) == 0 {
		return g
	}
	g.Default = false
	if len(blocks) > 1 {
		c.report(diag.At("Duplicate guards block",
			fmt.Sprintf("A guards block was already declared at %s. Merge the blocks.",
				diag.Line(blocks[0].DefRange)), blocks[1].DefRange))
	}
	read := decode.Block(schemas.Guards, blocks[0], c.scope)
	c.unknown = append(c.unknown, read.Unknown...)
	c.report(read.Diags...)
	if !read.Whole() {
		return g
	}
	fields := read.Fields
	g.Origins = read.Origins
	g.AllowEmpty, _ = fields["allow_empty"].(bool)
	g.PruneNow = fields["prune"] == schemas.PruneNow
	g.RefuseUnknown = fields["unknown"] == schemas.RefuseUnknown
	protected, _ := fields["protected"].([]any)
	for _, name := range protected {
		g.Protected = append(g.Protected, fmt.Sprint(name))
	}
	if n := c.most(fields, "max_deleted_pools", "pools", read.Origins); n != nil {
		g.MaxDeletedPools = *n
	}
	g.MaxUnschedulablePods = c.most(fields, "max_unschedulable_pods", "pods", read.Origins)
	g.MaxDeletedNodes = c.share(fields, "max_deleted_nodes", read.Origins)
	g.MaxRolledNodes = c.share(fields, "max_rolled_nodes", read.Origins)
	g.Freezes = c.periods("freeze", fields, read.Origins)
	g.Windows = c.periods("window", fields, read.Origins)
	return g
}

// most returns the value of a limit; nil if it is not set.
func (c *compiler) most(fields map[string]any, name, of string, origins decode.Origins) *int {
	n, written := fields[name].(int64)
	if !written {
		return nil
	}
	if n < 0 {
		at := origins.Find(name)
		c.report(at.Error("Negative number", fmt.Sprintf("The argument %s takes a number of %s, and %d is "+
			"negative. To allow none, write 0.", name, of, n)))
	}
	most := int(n)
	return &most
}

var sharePattern = regexp.MustCompile(`^(\d{1,6})(%?)$`)

func (c *compiler) share(fields map[string]any, name string, origins decode.Origins) Share {
	text, written := fields[name].(string)
	if !written {
		return Share{}
	}
	m := sharePattern.FindStringSubmatch(text)
	if m == nil {
		at := origins.Find(name)
		c.report(at.Error("Invalid number of nodes",
			fmt.Sprintf(`The argument %s takes a number of nodes, such as 3, or a percentage of all nodes, such `+
				`as "10%%", not %q.`, name, text)))
		return Share{}
	}
	n, _ := strconv.Atoi(m[1])
	if m[2] != "" && n > 100 {
		at := origins.Find(name)
		c.report(at.Error("Invalid number of nodes",
			fmt.Sprintf(`%s = %q is more than all nodes. For no limit, write "100%%".`, name, text)))
	}
	return Share{Text: text, Percent: m[2] != "", Number: n}
}

// periods reads the blocks of a type: freeze or window.
func (c *compiler) periods(block string, fields map[string]any, origins decode.Origins) (all []Period) {
	named, _ := fields[block].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(named)) {
		all = append(all, c.period(block, name, named[name].(map[string]any), origins))
	}
	return all
}

func (c *compiler) period(block, name string, fields map[string]any, origins decode.Origins) Period {
	at := block + "." + name
	p := Period{Name: name, Range: origins.Find(at).Range}
	p.Schedule, _ = fields["schedule"].(string)
	p.Reason, _ = fields["reason"].(string)
	text, _ := fields["duration"].(string)
	var err error
	if p.Duration, err = time.ParseDuration(text); err != nil || p.Duration <= 0 {
		origin := origins.Find(at + ".duration")
		c.report(origin.Error("Invalid duration",
			fmt.Sprintf(`The duration of a %s is a time such as "64h", not %q.`, block, text)))
	}
	p.Reason = strings.TrimSpace(p.Reason)
	return p
}

// Exceeds reports whether n nodes are more than the share of all nodes.
func (s Share) Exceeds(n, nodes int) bool {
	switch {
	case s.Text == "":
		return false
	case s.Percent:
		return n*100 > s.Number*nodes
	}
	return n > s.Number
}
