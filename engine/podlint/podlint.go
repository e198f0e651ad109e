// Package podlint finds what goes wrong between pods and the pools of a configuration: what
// keeps pods from nodes, nodes from being replaced, and money from being saved.
//
// It is pure: objects, prices and pods come in, findings go out. Where pods go, it asks the
// simulation. The rules are explained in package lint, which the compiler and the controller
// link: they know no pods, and do not link the simulation. So the rules that need pods are here.
package podlint

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/lint"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Skipped is a rule that was not looked at although pods are given.
type Skipped struct {
	Rule string
	Why  string // as it follows the name: no DaemonSets are given
}

// Report is what was found.
type Report struct {
	Findings []lint.Finding // sorted by object, field and rule
	Skipped  []Skipped      // sorted by rule
}

// A checker is one run of the rules.
type checker struct {
	in     simulate.Input
	pools  []pool
	types  []*cloudprovider.InstanceType
	placed simulate.Result
	report Report
}

// A pool is a NodePool with the workloads that have a node of it.
type pool struct {
	*karpv1.NodePool
	addr      config.Addr
	workloads []simulate.Workload
}

// Check looks at objects and at the pods of an input, which has the same objects. Without
// pods each rule is Skipped.
func Check(ctx context.Context, objects []config.Object, in simulate.Input) (Report, error) {
	c := &checker{in: in}
	if len(in.Workloads) == 0 {
		for _, rule := range lint.Rules() {
			if rule.Pods {
				c.skip(rule.Name, "no pods are given")
			}
		}
		return c.report, nil
	}
	c.types = instancetype.New(in.Catalog, in.Region, cmp.Or(in.Tier, catalog.Standard)).List()
	var err error
	if c.placed, err = simulate.Run(ctx, in); err != nil {
		return c.report, err
	}
	if err := c.read(objects); err != nil {
		return c.report, err
	}
	c.taints()
	c.tolerations()
	c.startupTaints()
	c.blocks()
	c.cutsShort()
	c.labels()
	c.spreads()
	c.zones()
	c.gpus()
	if err := c.caps(ctx); err != nil {
		return c.report, err
	}
	lint.Sort(c.report.Findings)
	slices.SortFunc(c.report.Skipped, func(a, b Skipped) int { return strings.Compare(a.Rule, b.Rule) })
	return c.report, nil
}

// read reads the pools, and which workloads have nodes of them.
func (c *checker) read(objects []config.Object) error {
	named := map[string]simulate.Workload{}
	for _, w := range c.in.Workloads {
		named[w.Name] = w
	}
	of := map[string]map[string]bool{}
	for _, n := range c.placed.Nodes {
		if of[n.Pool] == nil {
			of[n.Pool] = map[string]bool{}
		}
		for _, share := range n.Pods {
			of[n.Pool][share.Workload] = true
		}
	}
	for _, o := range objects {
		if o.Kind() != schemas.Pool.Object.Kind {
			continue
		}
		typed, err := manifest.As[karpv1.NodePool](o.Defaulted)
		if err != nil {
			return err
		}
		p := pool{NodePool: typed, addr: o.Addr}
		for _, w := range c.in.Workloads {
			if of[p.Name][w.Name] {
				p.workloads = append(p.workloads, w)
			}
		}
		c.pools = append(c.pools, p)
	}
	return nil
}

func (c *checker) find(rule string, addr config.Addr, path, format string, args ...any) {
	c.report.Findings = append(c.report.Findings, lint.Finding{
		Name: rule, Severity: lint.Warning, Addr: addr, Path: path,
		Message: diag.OneLine(fmt.Sprintf(format, args...)), // affinities have any text
	})
}

func (c *checker) skip(rule, why string) {
	c.report.Skipped = append(c.report.Skipped, Skipped{rule, why})
}

// say joins names, and leaves out those that are too many.
func say(names []string) string { return lint.Join(names, 3) }
