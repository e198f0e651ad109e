package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	conditions "github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// node says why a node is what it is, stays or goes.
func (w *explainer) node(ctx context.Context, a *Answer) error {
	var names []string
	for _, n := range w.Snapshot.Nodes {
		names = append(names, n.Name)
		if n.Name != a.Name {
			continue
		}
		for _, nc := range w.Claims {
			if nc.Status.NodeName == n.Name {
				a.Summary = fmt.Sprintf("Node %s is %s.", n.Name, w.describe(nc))
				return w.explain(ctx, a, nc, string(n.UID))
			}
		}
		a.Summary = fmt.Sprintf("Node %s was made by no pool: it has no NodeClaim.", n.Name)
		if unread := w.Unread("NodeClaims"); unread != "" {
			a.Summary = fmt.Sprintf("Node %s is there. Why, is not known: %s.", n.Name, unread)
		}
		a.add(AboutSaid, w.said(string(n.UID))...)
		return nil
	}
	if w.gone(a, func(g linodev1alpha1.GoneNode) bool { return g.Node == a.Name }) {
		return nil
	}
	return w.absent("node", "", a.Name, names)
}

// claim says the same of a NodeClaim, whether it has a node or not.
func (w *explainer) claim(ctx context.Context, a *Answer) error {
	var names []string
	for _, nc := range w.Claims {
		names = append(names, nc.Name)
		if nc.Name == a.Name {
			a.Summary = fmt.Sprintf("NodeClaim %s is %s.", nc.Name, w.describe(nc))
			return w.explain(ctx, a, nc)
		}
	}
	if w.gone(a, func(g linodev1alpha1.GoneNode) bool { return g.NodeClaim == a.Name }) {
		return nil
	}
	return w.absent("NodeClaim", "", a.Name, names)
}

// explain says all there is to say of a claim and its node.
func (w *explainer) explain(ctx context.Context, a *Answer, nc *karpv1.NodeClaim, uids ...string) error {
	var smaller []string
	if w.Unread("Pods", "DaemonSets") == "" { // what is not listed needs room, too
		var err error
		if smaller, err = w.smaller(ctx, nc); err != nil {
			return err
		}
	}
	a.add(AboutPlan, append(w.planOf(nc), plainly(smaller...)...)...)
	lines, err := w.replaced(nc)
	if err != nil {
		return err
	}
	a.add(AboutReplaced, lines...)
	if nc.Status.NodeName != "" && nc.DeletionTimestamp.IsZero() {
		if lines, err = w.stays(ctx, nc); err != nil {
			return err
		}
		a.add(AboutStays, lines...)
	}
	a.add(AboutSaid, w.said(append(uids, string(nc.UID))...)...)
	return nil
}

// describe says what a claim is, for the end of a sentence.
func (w *explainer) describe(nc *karpv1.NodeClaim) string {
	plan, pool := nodeclaim.PlanOf(nc), nc.Labels[karpv1.NodePoolLabelKey]
	text := "a node"
	if plan != "" {
		text = fmt.Sprintf("a %s (%s)", plan, w.price(plan).AnHour())
	}
	if pool != "" {
		text += " of pool " + pool
	}
	switch {
	case !nc.DeletionTimestamp.IsZero():
		text += ", which goes"
	case nc.Status.NodeName != "":
	case strings.HasPrefix(nc.Status.ProviderID, "linode://"):
		text += ", which starts"
	case plan == "":
		text += ", whose plan type is not chosen yet"
	default:
		text += ", which Linode is asked for"
	}
	return text + fmt.Sprintf(", %s old", w.age(nc.CreationTimestamp.Time))
}

func (w *explainer) price(plan string) catalog.Price {
	price, _ := w.Catalog.Price(plan, w.region)
	return price
}

func (w *explainer) poolOf(nc *karpv1.NodeClaim) *karpv1.NodePool {
	for _, p := range w.Snapshot.Pools {
		if p.Name == nc.Labels[karpv1.NodePoolLabelKey] {
			return p
		}
	}
	return nil
}

// planOf says why a claim has its plan type, and not one that is cheaper.
func (w *explainer) planOf(nc *karpv1.NodeClaim) (lines []Line) {
	plan, pool := nodeclaim.PlanOf(nc), w.poolOf(nc)
	if w.region == "" {
		return plainly(w.unknown("it", kindsOfRegion...)...)
	}
	if plan == "" || pool == nil {
		return nil
	}
	if wants := instancetype.RequirementsOf(pool); !slices.ContainsFunc(w.types().List(),
		func(it *cloudprovider.InstanceType) bool {
			return it.Name == plan && wants.Intersects(it.Requirements) == nil
		}) {
		return plainly(fmt.Sprintf("pool %s does not allow %s any more", pool.Name, plan))
	}
	allowed, cheaper := instancetype.RequirementsOf(pool), 0
	wants := scheduling.NewNodeSelectorRequirementsWithMinValues(nc.Spec.Requirements...)
	types := slices.Clone(w.types().List())
	own := w.price(plan).Hourly
	if !w.price(plan).Known() {
		return plainly(fmt.Sprintf("what %s costs is not known, nor which plan types are cheaper", plan))
	}
	slices.SortStableFunc(types, func(a, b *cloudprovider.InstanceType) int {
		return cmp.Compare(w.price(b.Name).Hourly, w.price(a.Name).Hourly)
	})
	for _, it := range types {
		has := w.price(it.Name)
		if allowed.Intersects(it.Requirements) != nil || !has.Known() || has.Hourly >= own || it.Name == plan {
			continue
		}
		if cheaper++; cheaper <= mostPlans {
			lines = append(lines, Line{Text: fmt.Sprintf("not %s ($%s): %s", it.Name, w.price(it.Name).Hourly,
				w.not(it, nc, pool, wants))})
		}
	}
	switch {
	case cheaper == 0:
		return plainly(fmt.Sprintf("%s is the cheapest plan type that pool %s allows", plan, pool.Name))
	case cheaper > mostPlans:
		lines = append(lines, Line{Text: fmt.Sprintf("nor %d that are cheaper still", cheaper-mostPlans)})
	}
	return lines
}

// mostPlans are shown of those that are cheaper.
const mostPlans = 4

// not says why a claim has not a plan type that its pool allows.
func (w *explainer) not(it *cloudprovider.InstanceType, nc *karpv1.NodeClaim, pool *karpv1.NodePool,
	wants scheduling.Requirements) string {
	switch asked := nc.Spec.Resources.Requests; {
	case !resources.Fits(asked, it.Allocatable()):
		return lacks(asked, it)
	case slices.Contains(linode.OutOfStock(pool), it.Name):
		return "Linode has no machines of it"
	case len(it.Offerings.Available()) == 0:
		return fmt.Sprintf("it is not sold in %s", w.region)
	case wants.Intersects(it.Requirements) != nil:
		return "Karpenter did not ask for it: some of the pods do not allow it, or it had no room for them with those of " +
			"DaemonSets"
	}
	return "it would do now: it was not to be had, a limit had no room for it, or the pods were others, when this " +
		"one was chosen"
}

// lacks says what of the pods that a node was made for a plan type has no room for.
func lacks(asked corev1.ResourceList, it *cloudprovider.InstanceType) string {
	var texts []string
	for _, name := range sortedNames(asked) {
		wanted, has := asked[name], it.Allocatable()[name]
		if wanted.Cmp(has) > 0 {
			texts = append(texts, fmt.Sprintf("%s of %s, and it has %s", simulate.Amount(name, wanted), name,
				simulate.Amount(name, has)))
		}
	}
	return "the pods that the node was made for ask with those of DaemonSets for " + strings.Join(texts, "; ")
}

func sortedNames(list corev1.ResourceList) (names []corev1.ResourceName) {
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func isTrue(nc *karpv1.NodeClaim, kind string) (c *conditions.Condition, ok bool) {
	c = nc.StatusConditions(conditions.WithObservedOnly()).Get(kind)
	return c, c.IsTrue()
}
