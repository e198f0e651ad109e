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

// Guards are the bounds that a change keeps to. They are read from the state of
// the directory before the change, so that no change lifts them for itself.
type Guards struct {
	AllowEmpty      bool     // whether a change may leave no pool and no node class
	Protected       []string // names of NodePools that are not deleted
	MaxDeletedPools int
	MaxDeletedNodes Share // the zero Share where it is not written
	MaxRolledNodes  Share
	// MaxUnschedulablePods bounds the pods that get no node any more, where they are
	// simulated; nil where it is not written, and none may.
	MaxUnschedulablePods *int

	// RefuseUnknown tells that a guard or a policy refuses a change if what it is about is not
	// known, as numbers of nodes are without a cluster.
	RefuseUnknown bool

	PruneNow bool           // whether pools that are no longer declared go at once, with their nodes
	Freezes  []Period       // in which no node is replaced or deleted for a change; sorted by name
	Windows  []Period       // in which nodes are, and at no other time; none: always; sorted by name
	Origins  decode.Origins `json:"-"` // of the arguments, by name
}

// A Share is a number of nodes, or a part of all nodes. The zero Share bounds
// nothing.
type Share struct {
	Text    string // as written: "10%" or "3"
	Percent bool
	Number  int
}

// A Period is a recurring time.
type Period struct {
	Name     string
	Schedule string // cron notation, UTC
	Duration time.Duration
	Reason   string
	Range    hcl.Range
}

// defaultGuards hold where a directory has no guards block.
var defaultGuards = Guards{MaxDeletedPools: 1}

// guards reads the guards block.
func (c *compiler) guards() Guards {
	g := defaultGuards
	blocks := c.dir.Blocks.OfType(schemas.Guards.Type)
	if len(blocks) == 0 {
		return g
	}
	if len(blocks) > 1 {
		c.report(diag.At("Guards given twice",
			fmt.Sprintf("There is a guards block already, at %s. Put all of them into one.",
				diag.Line(blocks[0].DefRange)), blocks[1].DefRange))
	}
	said := decode.Block(schemas.Guards, blocks[0], c.scope)
	c.unknown = append(c.unknown, said.Unknown...)
	c.report(said.Diags...)
	if !said.Whole() {
		return g
	}
	fields := said.Fields
	g.Origins = said.Origins
	g.AllowEmpty, _ = fields["allow_empty"].(bool)
	g.PruneNow = fields["prune"] == schemas.PruneNow
	g.RefuseUnknown = fields["unknown"] == schemas.RefuseUnknown
	protected, _ := fields["protected"].([]any)
	for _, name := range protected {
		g.Protected = append(g.Protected, fmt.Sprint(name))
	}
	if n := c.most(fields, "max_deleted_pools", "pools", said.Origins); n != nil {
		g.MaxDeletedPools = *n
	}
	g.MaxUnschedulablePods = c.most(fields, "max_unschedulable_pods", "pods", said.Origins)
	g.MaxDeletedNodes = c.share(fields, "max_deleted_nodes", said.Origins)
	g.MaxRolledNodes = c.share(fields, "max_rolled_nodes", said.Origins)
	g.Freezes = c.periods("freeze", fields, said.Origins)
	g.Windows = c.periods("window", fields, said.Origins)
	return g
}

// most is a bound; nil where it is not written.
func (c *compiler) most(fields map[string]any, name, of string, origins decode.Origins) *int {
	n, written := fields[name].(int64)
	if !written {
		return nil
	}
	if n < 0 {
		at := origins.Find(name)
		c.report(at.Error("Negative number", fmt.Sprintf("The argument %s takes a number of %s, and %d is less than none. "+
			"0 allows none.", name, of, n)))
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
			fmt.Sprintf("The argument %s takes a number of nodes, such as 3, or a share of all of them, such as "+
				"\"10%%\". It is %q.", name, text)))
		return Share{}
	}
	n, _ := strconv.Atoi(m[1])
	if m[2] != "" && n > 100 {
		at := origins.Find(name)
		c.report(at.Error("Invalid number of nodes",
			fmt.Sprintf("%s = %q is more than all nodes. 100%% bounds nothing.", name, text)))
	}
	return Share{Text: text, Percent: m[2] != "", Number: n}
}

// periods reads the blocks of a type, freeze or window.
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
			fmt.Sprintf("A %s lasts for a time such as \"64h\", and not %q.", block, text)))
	}
	p.Reason = strings.TrimSpace(p.Reason)
	return p
}

// Exceeds reports whether n of the nodes are more than the share.
func (s Share) Exceeds(n, nodes int) bool {
	switch {
	case s.Text == "":
		return false
	case s.Percent:
		return n*100 > s.Number*nodes
	}
	return n > s.Number
}
