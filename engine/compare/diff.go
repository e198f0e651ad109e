package compare

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/schemas/manifest"
	"github.com/lkeplan/lkeplan/schemas/task"
)

// Revisions plans the change from base to head with the prices of a catalogue, and the budgets from a given time on.
// Both must have compiled without errors. An empty Result is a directory that does not exist.
func Revisions(ctx context.Context, base, head compile.Result, prices *catalog.Catalog, now time.Time) (plan.Plan, error) {
	return RevisionsAmong(ctx, base, head, nil, prices, now)
}

// RevisionsAmong is Revisions with simulated nodes.
func RevisionsAmong(ctx context.Context, base, head compile.Result, nodes []plan.Node, prices *catalog.Catalog,
	now time.Time) (plan.Plan, error) {
	instancetype.Register()
	before, after, err := statesOf(base, head, prices, now)
	if err != nil {
		return plan.Plan{}, err
	}
	before.Nodes, after.Nodes = nodes, nodes
	return plan.Diff(ctx, before, after)
}

// statesOf returns the states before and after a change of a configuration.
func statesOf(base, head compile.Result, prices *catalog.Catalog, now time.Time) (before, after plan.State, err error) {
	head.Objects, err = Applied(base.Objects, head.Objects)
	sold := regionOffers(head.Cluster, prices)
	after = stateOf(head, sold, prices, now)
	if base.Cluster != head.Cluster {
		sold = regionOffers(base.Cluster, prices)
	}
	return stateOf(base, sold, prices, now), after, err
}

// Applied returns the objects of head as they are after an apply to those of base. A field with an equal value in
// another spelling keeps its spelling, and an empty list that is no longer written stays: package plan compares
// values literally.
func Applied(base, head []config.Object) ([]config.Object, error) {
	validator := kube.BuiltinValidator()
	before := plan.ByKey(base)
	head = slices.Clone(head)
	failures := task.Each(slog.Default(), runtime.GOMAXPROCS(0), head, func(i int, o config.Object) (err error) {
		was, existed := before[o.Key()]
		switch {
		case !existed || reflect.DeepEqual(was.Manifest, o.Manifest):
		case losesValue(was.Manifest, o.Manifest):
			head[i].Defaulted, err = predictApply(validator, was.Manifest, o.Manifest)
		default: // the result is the manifest, and predicting it takes a millisecond
			head[i].Defaulted = kube.Spelled(o.Defaulted, was.Defaulted)
		}
		return err
	})
	if err := cmp.Or(failures...); err != nil {
		return nil, err
	}
	return head, nil
}

// predictApply returns the result of applying a manifest to an object that another manifest created.
func predictApply(validator *kube.Validator, was, now map[string]any) (map[string]any, error) {
	live, _, err := validator.Predict(nil, was)
	if err != nil {
		return nil, err
	}
	after, _, err := validator.Predict(live, kube.Spelled(now, live))
	return after, err
}

// losesValue reports whether a value has lost a field or an element. A null, which removes a field, is a loss, and an
// empty map may be one.
func losesValue(was, now any) bool {
	fields, isMap := now.(map[string]any)
	if now == nil || isMap && len(fields) == 0 {
		return true
	}
	for _, value := range fields {
		if losesValue(nil, value) {
			return true
		}
	}
	switch old := was.(type) {
	case map[string]any:
		for key, value := range old {
			if kept, has := fields[key]; !has || losesValue(value, kept) {
				return true
			}
		}
		return !isMap
	case []any:
		return !reflect.DeepEqual(was, now)
	}
	return false
}

// spelledAs returns objects in the spelling of the live ones.
func spelledAs(objects []config.Object, live map[manifest.Key]map[string]any) []config.Object {
	objects = slices.Clone(objects)
	for i, o := range objects {
		if there := live[o.Key()]; there != nil {
			objects[i].Defaulted = kube.Spelled(o.Defaulted, there)
		}
	}
	return objects
}

func stateOf(c compile.Result, sold []plan.Offer, prices *catalog.Catalog, now time.Time) plan.State {
	return plan.State{
		Objects: c.Objects, PruneNow: c.Guards.PruneNow, Removed: c.Removed, Imports: c.Imports,
		Offers: withNamed(sold, c, prices), Now: now,
		Price: Prices(c.Cluster, prices),
	}
}

// Prices returns the monthly prices of plan types in the region of a cluster, even of sold out ones. Its result is
// false for a plan type whose price is unknown.
func Prices(cluster config.Cluster, prices *catalog.Catalog) func(string) (catalog.Money, bool) {
	return func(planType string) (catalog.Money, bool) {
		sold, known := prices.Price(planType, cluster.Region)
		return sold.PerMonth(), known
	}
}

// offersFor returns the plan types that the cluster's region sells, and those that pools require by name and that
// are on no price list, with an unknown price.
func offersFor(c compile.Result, prices *catalog.Catalog) []plan.Offer {
	return withNamed(regionOffers(c.Cluster, prices), c, prices)
}

func withNamed(sold []plan.Offer, c compile.Result, prices *catalog.Catalog) []plan.Offer {
	all := slices.Clone(sold)
	for _, id := range plan.NamedTypes(c.Objects) {
		if _, known := prices.Plan(id); !known {
			all = append(all, plan.Offer{Name: id, Unknown: true, Requirements: scheduling.NewRequirements(
				scheduling.NewRequirement(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, id))})
		}
	}
	return all
}

// regionOffers returns the plan types that the cluster's region sells.
func regionOffers(cluster config.Cluster, prices *catalog.Catalog) []plan.Offer {
	tier := catalog.Tier(cmp.Or(cluster.Tier, string(catalog.Standard))).WithGPUs(cluster.GPUPlans)
	types := instancetype.New(prices, cluster.Region, tier)
	var offers []plan.Offer
	unknown := maps.Collect(types.Unknown())
	for id, requirements := range unknown {
		if sold, _ := prices.Plan(id); !sold.Sized() { // not a type
			offers = append(offers, plan.Offer{Name: id, Requirements: requirements, Unknown: true})
		}
	}
	for _, it := range types.List() {
		_, lacks := unknown[it.Name]
		if len(it.Offerings.Available()) == 0 && !lacks {
			continue
		}
		sold, _ := prices.Price(it.Name, cluster.Region)
		capacity := map[string]int64{}
		for name, amount := range it.Capacity {
			capacity[string(name)] = amount.Value()
		}
		offers = append(offers, plan.Offer{
			Name:         it.Name,
			Requirements: it.Requirements,
			MilliCPU:     it.Capacity.Cpu().MilliValue(),
			MemoryBytes:  it.Capacity.Memory().Value(),
			Capacity:     capacity,
			Monthly:      sold.PerMonth(),
			Unknown:      lacks,
		})
	}
	return offers
}

// NameCatalog sets the price catalogue of a plan, and whether the change alters it.
func NameCatalog(p *plan.Plan, base, head compile.Result) {
	if head.Catalog != nil {
		p.Catalog = nameOf(head)
	}
	p.Repriced = changesCatalog(base, head)
}

// JudgedBy returns the catalogue for the costs of a change: that of the head, or catalog.Stricter if the change
// alters the catalogue. So a change cannot alter the prices and sizes with which guards and policies evaluate it.
func JudgedBy(base, head compile.Result, after *catalog.Catalog) (*catalog.Catalog, error) {
	if !changesCatalog(base, head) {
		return after, nil
	}
	before, err := base.Prices()
	if err != nil {
		return nil, err
	}
	return catalog.Stricter(before, after)
}

// changesCatalog reports whether a change alters the catalogue. A directory that does not exist has none.
func changesCatalog(base, head compile.Result) bool {
	return base.Cluster != (config.Cluster{}) && head.Cluster != (config.Cluster{}) &&
		(nameOf(base) != nameOf(head) || !reflect.DeepEqual(base.Catalog, head.Catalog))
}

// nameOf names the catalogue of a directory, for use in a sentence.
func nameOf(c compile.Result) string {
	if c.Catalog == nil {
		return "the built-in catalogue"
	}
	return c.CatalogFile + c.Catalog.Age()
}
