// Package lint finds what an API server takes and that still goes wrong: what
// Karpenter chokes on, what LKE refuses, and what is allowed but hardly meant.
// Each rule has a name, under which it can be explained and, where it is only
// a warning, silenced.
//
// It is pure: compiled objects and a catalogue of plans come in, findings go
// out. It knows no cluster, no clock and no source files; the caller turns the
// path of a finding into a line. Rules that another package owns are asked
// there and not written again: Karpenter's own validation, the provider's
// conditions for a LinodeNodeClass, the catalogue's word on what is sold.
package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// A Severity says whether a finding ends in a refusal.
type Severity int

// The severities.
const (
	Warning Severity = iota
	Error
)

// A Finding is one thing that is wrong with one object, or with the cluster.
type Finding struct {
	Name     string // of the rule
	Severity Severity
	Addr     config.Addr // of the object; zero for the cluster
	Path     string      // of the field: spec.limits.cpu; of an argument for the cluster
	Message  string      // whole sentences
}

// Input is what is checked.
type Input struct {
	Cluster config.Cluster  // a zero one is not checked, and no plans without it
	Objects []config.Object // those that the API server would take, sorted by address
	Catalog *catalog.Catalog

	// Partial says that objects are missing, which are in error. Only errors
	// are looked for then, in each object by itself.
	Partial bool

	// Current says that the catalogue is known to be up to date. What depends
	// on it is then an error. Else it is a warning: the plan that is not in the
	// catalogue may be new.
	Current bool
}

// Check returns what is found, sorted by object and field. Warnings are left
// out where there are errors: the cause comes first. Labels of other clouds are no consequence of an error.
func Check(in Input) []Finding {
	linode.Register()
	c := newChecker(in)
	c.look(refusals())
	if in.Partial || slices.ContainsFunc(c.findings, isError) {
		c.findings = slices.DeleteFunc(c.findings, func(f Finding) bool { return !isError(f) && (in.Partial || f.Name != foreignLabel) })
	} else {
		c.look(lints())
	}
	Sort(c.findings)
	return c.findings
}

// Sort sorts findings by object, field and rule.
func Sort(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Addr.String(), b.Addr.String()),
			strings.Compare(a.Path, b.Path), strings.Compare(a.Name, b.Name))
	})
}

func isError(f Finding) bool { return f.Severity == Error }

func (c *checker) look(rules []Rule) {
	for _, rule := range rules {
		c.rule = rule
		if rule.find != nil {
			rule.find(c)
			continue
		}
		for _, p := range c.pools {
			rule.pool(c, p)
		}
	}
}

// report adds a finding of the present rule; without an address, about an
// argument of the cluster block.
func (c *checker) report(addr config.Addr, path, format string, args ...any) {
	severity := Warning
	if c.rule.Fatal || c.rule.Catalog && c.in.Current {
		severity = Error
	}
	c.findings = append(c.findings, Finding{
		Name: c.rule.Name, Severity: severity, Addr: addr, Path: path, Message: fmt.Sprintf(format, args...),
	})
}
