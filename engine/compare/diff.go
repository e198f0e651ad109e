package compare

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Revisions says what going from base to head does, at the prices of a catalogue, and
// when the budgets let it happen from a moment on. Both must have compiled
// without errors; one that is empty is a directory that is not there.
func Revisions(base, head compile.Result, prices *catalog.Catalog, now time.Time) (plan.Plan, error) {
	return RevisionsAmong(base, head, nil, prices, now)
}

// RevisionsAmong is Revisions on nodes that no cluster has: simulated ones.
func RevisionsAmong(base, head compile.Result, nodes []plan.Node, prices *catalog.Catalog, now time.Time) (plan.Plan,
	error) {
	linode.Register()
	before, after, err := statesOf(base, head, prices, now)
	if err != nil {
		return plan.Plan{}, err
	}
	before.Nodes, after.Nodes = nodes, nodes
	return plan.Diff(before, after)
}

// statesOf are the states before and after a change of a configuration.
func statesOf(base, head compile.Result, prices *catalog.Catalog, now time.Time) (before, after plan.State, err error) {
	head.Objects, err = Applied(base.Objects, head.Objects)
	return stateOf(base, prices, now), stateOf(head, prices, now), err
}

// Applied returns the objects of head with what applying them makes of those of base. A field
// that says the same in other words stays as it is, and so does an empty list that is no
// longer written: package plan compares values to the letter.
func Applied(base, head []config.Object) ([]config.Object, error) {
	validator, err := kube.BuiltinValidator()
	if err != nil {
		return nil, err
	}
	before := plan.ByKey(base)
	head = slices.Clone(head)
	failures := make([]error, len(head))
	workqueue.ParallelizeUntil(context.Background(), runtime.GOMAXPROCS(0), len(head), func(i int) {
		o := head[i]
		was, existed := before[o.Key()]
		if !existed || reflect.DeepEqual(was.Manifest, o.Manifest) {
			return
		}
		if loses(was.Manifest, o.Manifest) {
			head[i].Defaulted, failures[i] = predicted(validator, was.Manifest, o.Manifest)
		} else { // what is written is what is there then, and to predict it takes a millisecond
			head[i].Defaulted = kube.Spelled(o.Defaulted, was.Defaulted)
		}
	})
	if err := cmp.Or(failures...); err != nil {
		return nil, err
	}
	return head, nil
}

// predicted is what applying a manifest makes of an object that another one has made.
func predicted(validator *kube.Validator, was, now map[string]any) (map[string]any, error) {
	live, _, err := validator.Predict(nil, was)
	if err != nil {
		return nil, err
	}
	after, _, err := validator.Predict(live, kube.Spelled(now, live))
	return after, err
}

// loses reports whether a value no longer has a field or an element that it had. A null, which removes a field, is a loss, and
// an empty map may be one.
func loses(was, now any) bool {
	fields, isMap := now.(map[string]any)
	if now == nil || isMap && len(fields) == 0 {
		return true
	}
	for _, value := range fields {
		if loses(nil, value) {
			return true
		}
	}
	switch old := was.(type) {
	case map[string]any:
		for key, value := range old {
			if kept, has := fields[key]; !has || loses(value, kept) {
				return true
			}
		}
		return !isMap
	case []any:
		return !reflect.DeepEqual(was, now)
	}
	return false
}

// spelledAs are objects in the spelling of the live ones.
func spelledAs(objects []config.Object, live map[manifest.Key]map[string]any) []config.Object {
	objects = slices.Clone(objects)
	for i, o := range objects {
		if there := live[o.Key()]; there != nil {
			objects[i].Defaulted = kube.Spelled(o.Defaulted, there)
		}
	}
	return objects
}

func stateOf(c compile.Result, prices *catalog.Catalog, now time.Time) plan.State {
	return plan.State{
		Objects: c.Objects, PruneNow: c.Guards.PruneNow, Removed: c.Removed, Imports: c.Imports,
		Offers: offersFor(c, prices), Now: now,
		Price: pricing(c.Cluster, prices),
	}
}

// pricing is what nodes of plan types cost in the cluster's region, sold out ones as well.
func pricing(cluster config.Cluster, prices *catalog.Catalog) func(string) (catalog.Money, bool) {
	return func(planType string) (catalog.Money, bool) {
		sold, known := prices.Price(planType, cluster.Region)
		return sold.PerMonth(), known
	}
}

// offersFor are the plans that the cluster's region sells, and those that pools ask for by name and that are on no price
// list: what they cost is not known.
func offersFor(c compile.Result, prices *catalog.Catalog) []plan.Offer {
	all := offers(c.Cluster, prices)
	for _, id := range plan.NamedTypes(c.Objects) {
		if _, known := prices.Plan(id); !known {
			all = append(all, plan.Offer{Name: id, Unknown: true, Requirements: scheduling.NewRequirements(
				scheduling.NewRequirement(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, id))})
		}
	}
	return all
}

// offers are the plans that the cluster's region sells.
func offers(cluster config.Cluster, prices *catalog.Catalog) []plan.Offer {
	tier := catalog.Tier(cmp.Or(cluster.Tier, string(catalog.Standard))).WithGPUs(cluster.GPUPlans)
	types := instancetype.New(prices, cluster.Region, tier)
	var offers []plan.Offer
	unknown := maps.Collect(types.Unknown())
	for id, requirements := range unknown {
		if sold, _ := prices.Plan(id); !sold.Sized() { // it is no type
			offers = append(offers, plan.Offer{Name: id, Requirements: requirements, Unknown: true})
		}
	}
	for _, it := range types.List() {
		_, lacks := unknown[it.Name]
		if len(it.Offerings.Available()) == 0 && !lacks {
			continue
		}
		sold, _ := prices.Price(it.Name, cluster.Region)
		offers = append(offers, plan.Offer{
			Name:         it.Name,
			Requirements: it.Requirements,
			MilliCPU:     it.Capacity.Cpu().MilliValue(),
			MemoryBytes:  it.Capacity.Memory().Value(),
			Monthly:      sold.PerMonth(),
			Unknown:      lacks,
		})
	}
	return offers
}
