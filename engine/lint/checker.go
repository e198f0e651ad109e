package lint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/robfig/cron/v3"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/schedule"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// A checker is one run of the rules over one input. It caches results, because pools often have the same requirements.
type checker struct {
	in       Input
	rule     Rule
	findings []Finding

	pools     []*pool
	set       *instancetype.Set                  // nil as types
	types     []*cloudprovider.InstanceType      // sold in the region, by price
	asked     map[string]scheduling.Requirements // of templates without their labels
	matches   map[string]cloudprovider.InstanceTypes
	schedules map[string]cronSchedule
}

// A pool is a typed NodePool with the plans that it allows.
type pool struct {
	*karpv1.NodePool
	object config.Object
	// requirements are those of the template and its labels, joined as in Karpenter.
	requirements scheduling.Requirements
	// plans are the sold and allowed plans, the cheapest first; nil if the region is unknown.
	plans cloudprovider.InstanceTypes
}

func newChecker(in Input) *checker {
	c := &checker{
		in: in, asked: map[string]scheduling.Requirements{}, matches: map[string]cloudprovider.InstanceTypes{},
		schedules: map[string]cronSchedule{},
	}
	if in.Catalog != nil && in.Cluster.Region != "" {
		c.set = instancetype.New(in.Catalog, in.Cluster.Region, c.tier())
		c.types = sold(c.set)
	}
	for object, pool := range typed[karpv1.NodePool](c, schemas.Pool.Object.Kind) {
		c.pools = append(c.pools, c.pool(object, pool))
	}
	return c
}

// tier is the kind of the cluster, which determines the plans that are sold to it.
func (c *checker) tier() catalog.Tier {
	return catalog.Tier(c.in.Cluster.Tier).WithGPUs(c.in.Cluster.GPUPlans)
}

// sells reports whether nodes of a plan can be created in the cluster.
func (c *checker) sells(plan string) bool {
	return c.in.Catalog.Sold(plan, c.in.Cluster.Region, c.tier())
}

// typed are the objects of a kind with their Go type, without objects that the CRD refused.
func typed[T any](c *checker, kind string) iter.Seq2[config.Object, *T] {
	return func(yield func(config.Object, *T) bool) {
		for _, declared := range c.in.Objects {
			if declared.Kind() != kind {
				continue
			}
			if typed, err := manifest.As[T](declared.Defaulted); err == nil && !yield(declared, typed) {
				return
			}
		}
	}
}

// sold are the plans for nodes, the cheapest first.
func sold(set *instancetype.Set) []*cloudprovider.InstanceType {
	types := slices.DeleteFunc(slices.Clone(set.List()), func(it *cloudprovider.InstanceType) bool {
		return len(it.Offerings.Available()) == 0
	})
	slices.SortStableFunc(types, func(a, b *cloudprovider.InstanceType) int {
		return cmp.Compare(a.Offerings[0].Price, b.Offerings[0].Price)
	})
	return types
}

func (c *checker) pool(object config.Object, typed *karpv1.NodePool) *pool {
	p := &pool{NodePool: typed, object: object}
	template := typed.Spec.Template
	p.requirements = maps.Clone(c.requirements(template.Spec.Requirements))
	p.requirements.Add(scheduling.NewLabelRequirements(template.Labels).Values()...)
	if len(c.types) == 0 {
		return p
	}
	// Labels that Karpenter does not know select no plan.
	selects := slices.Clone(template.Spec.Requirements)
	selects = slices.DeleteFunc(selects, func(r karpv1.NodeSelectorRequirementWithMinValues) bool {
		return !karpv1.WellKnownLabels.Has(r.Key)
	})
	key, err := json.Marshal(selects)
	if err != nil {
		return p
	}
	for label, value := range template.Labels {
		if karpv1.WellKnownLabels.Has(label) {
			key = fmt.Appendf(key, "%q=%q", label, value) // rare; a different order only costs time
		}
	}
	plans, ok := c.matches[string(key)]
	if !ok {
		plans = allowed(c.types, p.requirements)
		c.matches[string(key)] = plans
	}
	p.plans = plans
	return p
}

// requirements are those of a template as Karpenter reads them. Equal lists share the result.
func (c *checker) requirements(written []karpv1.NodeSelectorRequirementWithMinValues) scheduling.Requirements {
	key, err := json.Marshal(written)
	all, ok := c.asked[string(key)]
	if err != nil || !ok {
		all = scheduling.NewNodeSelectorRequirementsWithMinValues(written...)
		c.asked[string(key)] = all
	}
	return all
}

// allowed are the plans that requirements allow, by the code of Karpenter's scheduler.
func allowed(types []*cloudprovider.InstanceType, requirements scheduling.Requirements) cloudprovider.InstanceTypes {
	plans := cloudprovider.InstanceTypes{}
	for _, it := range types {
		if it.Requirements.Intersects(requirements) == nil && it.Offerings.Available().HasCompatible(requirements) {
			plans = append(plans, it)
		}
	}
	return plans
}

// static reports whether a pool has replicas.
func (p *pool) static() bool { return p.Spec.Replicas != nil }

// requirementPath is the path of the first requirement on a label.
func (p *pool) requirementPath(key string) string {
	for i, r := range p.Spec.Template.Spec.Requirements {
		if r.Key == key {
			return fmt.Sprintf("spec.template.spec.requirements.%d", i)
		}
	}
	if _, ok := p.Spec.Template.Labels[key]; ok {
		return "spec.template.metadata.labels." + key
	}
	return "spec.template.spec.requirements"
}

// short is the short name of a label in a configuration.
func short(label string) string {
	for _, key := range schemas.Keys() {
		if key.Label == label {
			return key.Name
		}
	}
	return label
}

// joined lists at most four names.
func joined(names []string) string { return text.List(names, 4) }

// A cronSchedule is the parsed schedule of a budget, or its error.
type cronSchedule struct {
	cron  cron.Schedule
	err   error
	fires bool // it has a date in the next years
}

// schedule reads a cron expression as Karpenter does.
func (c *checker) schedule(text string) cronSchedule {
	s, ok := c.schedules[text]
	if !ok {
		if s.cron, s.err = schedule.Parse(text); s.err == nil {
			s.fires = !s.cron.Next(aYear).IsZero()
		}
		c.schedules[text] = s
	}
	return s
}

// aYear is the year in which schedules are tried: a leap year.
var aYear = time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)

// smallest is the plan with the least of a resource.
func smallest(plans cloudprovider.InstanceTypes, resource corev1.ResourceName) (*cloudprovider.InstanceType, bool) {
	if len(plans) == 0 {
		return nil, false
	}
	return slices.MinFunc(plans, func(a, b *cloudprovider.InstanceType) int {
		has := a.Capacity[resource]
		return has.Cmp(b.Capacity[resource])
	}), true
}
