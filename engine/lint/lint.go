// Package lint finds problems in objects that an API server accepts: what Karpenter or LKE refuses, and what is allowed but
// probably not intended. Each rule has a name, by which it can be explained and, if it is only a warning, silenced.
//
// It is pure: it turns compiled objects and a price catalogue into findings. It knows no cluster, no clock and no source
// files; the caller turns the path of a finding into a line. It calls the rules of other packages instead of repeating them:
// Karpenter's own validation, the provider's conditions for a LinodeNodeClass, the catalogue's offers.
package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
)

// A Severity is whether a finding refuses the configuration.
type Severity int

// The severities.
const (
	Warning Severity = iota
	Error
)

// A Finding is one problem of one object, or of the cluster.
type Finding struct {
	Name     string // of the rule
	Severity Severity
	Addr     config.Addr // of the object; zero for the cluster
	Path     string      // of a field: spec.limits.cpu; of an argument for the cluster
	Message  string      // whole sentences
}

// Input is the input of the rules.
type Input struct {
	Cluster config.Cluster  // the zero value is not checked, and neither are plans then
	Objects []config.Object // that the API server would accept, sorted by address
	Catalog *catalog.Catalog

	// Partial reports that objects with errors are missing. Then only errors are reported, in each object separately.
	Partial bool

	// Current reports that the catalogue is known to be up to date. Then findings that depend on it are errors. Otherwise
	// they are warnings, because a plan that is not in the catalogue may be new.
	Current bool
}

// Check returns the findings, sorted by object and field. If there are errors, it leaves out warnings, which may be
// consequences, except labels of other clouds.
func Check(in Input) []Finding {
	instancetype.Register()
	c := newChecker(in)
	c.check(refusals())
	if in.Partial || slices.ContainsFunc(c.findings, isError) {
		c.findings = slices.DeleteFunc(c.findings, func(f Finding) bool { return !isError(f) && (in.Partial || f.Name != foreignLabel) })
	} else {
		c.check(lints())
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

func (c *checker) check(rules []Rule) {
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

// report adds a finding of the current rule; without an address, about an argument of the cluster block.
func (c *checker) report(addr config.Addr, path, format string, args ...any) {
	severity := Warning
	if c.rule.Fatal || c.rule.Catalog && c.in.Current {
		severity = Error
	}
	c.findings = append(c.findings, Finding{
		Name: c.rule.Name, Severity: severity, Addr: addr, Path: path, Message: fmt.Sprintf(format, args...),
	})
}
