package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/instancetype"
)

// pool says how a pool is, and what it can make now.
func (w *explainer) pool(a *Answer) error {
	var names []string
	for _, p := range w.Snapshot.Pools {
		if names = append(names, p.Name); p.Name == a.Name {
			w.explainPool(a, p)
			return nil
		}
	}
	return w.absent("pool", "", a.Name, names)
}

func (w *explainer) explainPool(a *Answer, pool *karpv1.NodePool) {
	for _, p := range w.Status.Pools {
		if p.Name != pool.Name {
			continue
		}
		a.Summary = w.summary(p)
		var texts []string
		for _, c := range p.States {
			texts = append(texts, fmt.Sprintf("%d %s", c.Nodes, c.State))
		}
		lines := plainly(texts...)
		if len(texts) > 0 {
			lines = plainly(strings.Join(texts, ", "))
		}
		for _, r := range p.Says {
			lines = append(lines, Line{Text: r.Text})
		}
		for _, c := range w.Status.Classes {
			for _, r := range c.Says {
				if c.Name == p.Class {
					lines = append(lines, Line{Text: fmt.Sprintf("LinodeNodeClass %s: %s", c.Name, r.Text)})
				}
			}
		}
		a.add(AboutState, lines...)
	}
	a.add(AboutPlans, plainly(w.makes(pool)...)...)
	if nodes, _ := w.counted(pool, nil); nodes > 0 { // else there is none that stays
		a.add(AboutStays, plainly(w.closed(pool, nil, karpv1.DisruptionReasonUnderutilized)...)...)
	}
	var waits []string
	for _, load := range w.Status.Waiting {
		if slices.Contains(load.Pools, pool.Name) {
			waits = append(waits, fmt.Sprintf("%s of %s/%s: %s", diag.Counted(load.Pods, "pod"), load.Namespace, load.Owner,
				strings.Join(load.Reasons, "; ")))
		}
	}
	waits = append(waits, w.unknown("whether pods wait for it", "Pods")...)
	a.add(AboutWaits, plainly(waits...)...)
	a.add(AboutSaid, w.said(string(pool.UID))...)
}

// summary says how many nodes a pool has.
func (w *explainer) summary(p PoolStatus) string {
	switch unread := w.Unread("Nodes", "NodeClaims"); {
	case unread != "":
		return fmt.Sprintf("How many nodes pool %s has is not known: %s.", p.Name, unread)
	case *p.Nodes == 0:
		return fmt.Sprintf("Pool %s has no nodes now.", p.Name)
	}
	most := ""
	if p.Unpriced > 0 {
		most = "at least "
	}
	return fmt.Sprintf("Pool %s has %s, which cost %s$%s an hour.", p.Name, diag.Counted(*p.Nodes, "node"), most,
		p.Cost.Hourly)
}

// makes are the plan types that a pool allows, the cheapest first, and why some of them
// cannot be had.
func (w *explainer) makes(pool *karpv1.NodePool) (texts []string) {
	if w.region == "" {
		return w.unknown("it", kindsOfRegion...)
	}
	want := instancetype.RequirementsOf(pool)
	var allowed []*cloudprovider.InstanceType
	for _, it := range w.types().List() {
		if want.Intersects(it.Requirements) == nil {
			allowed = append(allowed, it)
		}
	}
	slices.SortStableFunc(allowed, func(a, b *cloudprovider.InstanceType) int {
		one, other := w.price(a.Name), w.price(b.Name)
		if one.Known() != other.Known() { // what is not known comes last
			return cmp.Compare(other.Hourly, one.Hourly)
		}
		return cmp.Compare(one.Hourly, other.Hourly)
	})
	out := linode.OutOfStock(pool)
	for i, it := range allowed {
		if i == mostListed {
			return append(texts, fmt.Sprintf("and %d that cost more", len(allowed)-i))
		}
		has := w.price(it.Name)
		text := fmt.Sprintf("%s ($%s an hour, $%s a month)", it.Name, has.Hourly, has.PerMonth())
		switch {
		case !has.Known():
			text = it.Name + ": its price is not known, and nothing is made of it"
		case slices.Contains(out, it.Name):
			text += ": Linode has no machines of it"
		case len(it.Offerings.Available()) == 0:
			text += fmt.Sprintf(": it is not sold in %s", w.region)
		}
		texts = append(texts, text)
	}
	if len(allowed) == 0 {
		return []string{"no plan type on Linode's price list is like that"}
	}
	return texts
}

// mostListed are the plan types that are listed.
const mostListed = 12
