// Package podlint finds problems between pods and the pools of a configuration: pods that get no nodes, and nodes
// that cannot be replaced.
//
// It is pure: it turns objects, prices and pods into findings, and places pods with the simulation. The rules are
// explained in package lint. The compiler and the controller link package lint, but not the simulation, so the rules
// that need pods are here.
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
	"github.com/lkeplan/lkeplan/schemas/text"
)

// Skipped is a rule that was not checked.
type Skipped struct {
	Rule string
	Why  string // to follow the name: there are no DaemonSets
}

// Report is the result of the rules.
type Report struct {
	Findings []lint.Finding // sorted by object, field and rule
	Skipped  []Skipped      // sorted by rule
}

// A podChecker is one run of the rules.
type podChecker struct {
	in     simulate.Input
	pools  []pool
	types  []*cloudprovider.InstanceType
	placed simulate.Result
	report Report
}

// A pool is a NodePool with the workloads that are placed on its nodes.
type pool struct {
	*karpv1.NodePool
	addr      config.Addr
	workloads []simulate.Workload
}

// Check checks objects with the pods of an input, which has the same objects. Without pods, each rule is Skipped.
func Check(ctx context.Context, objects []config.Object, in simulate.Input) (Report, error) {
	c := &podChecker{in: in}
	if len(in.Workloads) == 0 {
		for _, rule := range lint.Rules() {
			if rule.Pods {
				c.skip(rule.Name, "there are no pods")
			}
		}
		return c.report, nil
	}
	c.types = instancetype.New(in.Catalog, in.Region, cmp.Or(in.Tier, catalog.Standard)).List()
	var err error
	if c.placed, err = simulate.Run(ctx, in); err != nil {
		return c.report, err
	}
	c.read(objects)
	c.taints()
	c.tolerations()
	c.startupTaints()
	c.blocks()
	c.cutsShort()
	c.labels()
	c.spreads()
	c.inPlace()
	c.zones()
	c.gpus()
	lint.Sort(c.report.Findings)
	slices.SortFunc(c.report.Skipped, func(a, b Skipped) int { return strings.Compare(a.Rule, b.Rule) })
	return c.report, nil
}

// read reads the pools and the workloads on their nodes.
func (c *podChecker) read(objects []config.Object) {
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
	addrs := map[manifest.Key]config.Addr{}
	for _, o := range objects {
		addrs[o.Key()] = o.Addr
	}
	for _, o := range c.in.Objects {
		typed, ok := o.(*karpv1.NodePool)
		if !ok {
			continue
		}
		p := pool{NodePool: typed, addr: addrs[manifest.Key{Kind: schemas.Pool.Object.Kind, Name: typed.Name}]}
		for _, w := range c.in.Workloads {
			if of[p.Name][w.Name] {
				p.workloads = append(p.workloads, w)
			}
		}
		c.pools = append(c.pools, p)
	}
}

func (c *podChecker) find(rule string, addr config.Addr, path, format string, args ...any) {
	c.report.Findings = append(c.report.Findings, lint.Finding{
		Name: rule, Severity: lint.Warning, Addr: addr, Path: path,
		Message: diag.OneLine(fmt.Sprintf(format, args...)), // affinities may contain any text
	})
}

func (c *podChecker) skip(rule, why string) {
	c.report.Skipped = append(c.report.Skipped, Skipped{rule, why})
}

// joinFew lists at most three names.
func joinFew(names []string) string { return text.List(names, 3) }
