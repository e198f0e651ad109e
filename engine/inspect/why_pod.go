package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	reqs "sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// pod explains where a pod runs, or why it has no node.
func (w *reader) pod(ctx context.Context, a *Answer) error {
	pods := filterList(w.Pods, func(p *corev1.Pod) bool { return p.Namespace == a.Namespace })
	pod := findNamed(pods, a.Name)
	switch {
	case pod == nil:
		return w.absent("Pod", a.Namespace, a.Name, namesOf(pods))
	case pod.Spec.NodeName != "":
		return w.running(a, pod)
	case !PodWaits(pod):
		a.Summary = fmt.Sprintf("Pod %s/%s is being deleted.", pod.Namespace, pod.Name)
		return nil
	}
	a.Summary = fmt.Sprintf("%s has waited for a node for %s.", podWithOwner(pod), w.age(pod.CreationTimestamp.Time))
	if len(pod.Spec.SchedulingGates) > 0 {
		a.add(AboutWaits, plainLines("the scheduling gate "+pod.Spec.SchedulingGates[0].Name+" blocks the pod")...)
		return nil
	}
	if err := w.wouldGo(ctx, a, pod); err != nil {
		return err
	}
	w.addSaid(a, cluster.SubjectOf("Pod", pod))
	return nil
}

// wouldGo shows where Karpenter would place a waiting pod, and why it is waiting.
func (w *reader) wouldGo(ctx context.Context, a *Answer, pod *corev1.Pod) error {
	if w.region == "" {
		return fmt.Errorf("the region of the cluster is unknown: no node has the label %s, and no LinodeNodeClass has the "+
			"annotation %s; name the region with --region", corev1.LabelTopologyRegion, linodev1alpha1.AnnotationRegion)
	}
	asks := w.storageOf(ctx, pod)
	if asks.unready != "" {
		a.add(AboutPlacing, plainLines("nothing until the volumes of the pod exist: "+asks.unready)...)
		return nil
	}
	placed, err := simulate.Place(ctx, w.live(ctx, nil))
	if err != nil {
		return err
	}
	lines := append(w.elsewhere(pod), w.placing(pod, placed[pod.UID])...)
	if where := asks.places.String(); where != "" {
		lines = append(plainLines("the volumes of the pod need a node with "+where), lines...)
	}
	a.add(AboutPlacing, lines...)
	waits := w.waits(pod)
	if placed[pod.UID].Plan != "" && len(waits) == 0 && w.Now.Sub(pod.CreationTimestamp.Time) > time.Minute {
		waits = plainLines("nothing tells why the node is not created yet; run lkeplan doctor to check that the controller runs")
	}
	a.add(AboutWaits, waits...)
	return nil
}

// waits returns what a pod waits for: the machine that was requested for it, or what Linode says about its pools.
func (w *reader) waits(pod *corev1.Pod) (lines []Line) {
	if nc := w.nominated(pod); nc != nil {
		lines = plainLines(fmt.Sprintf("NodeClaim %s was created for the pod %s ago.%s", nc.Name,
			w.age(nc.CreationTimestamp.Time), w.stage(nc)))
		if e := w.warning(nc); e != nil {
			lines = append(lines, Line{Text: fmt.Sprintf("%s ago: %s", w.ageOf(e), messageOf(w.events, e))})
		}
		return lines
	}
	for _, p := range w.Status.Pools {
		pool := findNamed(w.Snapshot.Pools, p.Name)
		if pool == nil {
			continue
		}
		if _, ok := instancetype.ForPod(pool, pod); !ok || p.Class == "" {
			continue
		}
		says := slices.Clone(p.Says)
		for _, c := range w.Status.Classes {
			if c.Name == p.Class {
				says = append(says, c.Says...)
			}
		}
		for _, r := range says {
			if r.What == RemarkStock || r.What == RemarkLinode || r.What == RemarkReplicas {
				lines = append(lines, Line{Pools: []string{p.Name}, Text: r.Text})
			}
		}
	}
	return mergeLines(lines)
}

// nominated returns the NodeClaim that will run a pod according to its events; nil if there is none.
func (w *reader) nominated(pod *corev1.Pod) *karpv1.NodeClaim {
	for _, e := range w.events.About(cluster.SubjectOf("Pod", pod)) {
		_, rest, found := strings.Cut(e.Message, "nodeclaim/")
		if e.Reason != "Nominated" || !found || w.Now.Sub(w.events.LastSeen(e)) > lately {
			continue
		}
		name, _, _ := strings.Cut(rest, ",")
		if nc := findNamed(w.Claims, strings.TrimSpace(name)); nc != nil && nc.DeletionTimestamp.IsZero() {
			return nc
		}
	}
	return nil
}

// running shows where a pod runs, and why its node has its plan type.
func (w *reader) running(a *Answer, pod *corev1.Pod) error {
	a.Summary = fmt.Sprintf("%s has node %s.", podWithOwner(pod), pod.Spec.NodeName)
	for _, nc := range w.Claims {
		if nc.Status.NodeName == pod.Spec.NodeName {
			a.Summary = fmt.Sprintf("%s The node is %s.%s", a.Summary, w.describe(nc), w.stage(nc))
			a.add(AboutPlan, w.explainPlan(nc)...)
		}
	}
	w.addSaid(a, cluster.SubjectOf("Pod", pod))
	return nil
}

// podWithOwner names a pod and its owner.
func podWithOwner(pod *corev1.Pod) string {
	text, owner := "Pod "+pod.Namespace+"/"+pod.Name, OwnerOf(pod)
	if owner == "Pod "+pod.Name {
		return text
	}
	return text + " of " + owner
}

// placing shows where a pod would run, or why each pool creates no node for it. Pools that
// match it come first.
func (w *reader) placing(pod *corev1.Pod, p simulate.Placement) []Line {
	switch {
	case p.Plan != "":
		return []Line{{Pools: []string{p.Pool}, Text: fmt.Sprintf("create a %s (%s) for the pod", p.Plan,
			w.price(p.Plan).AnHour())}}
	case p.Node != "":
		return plainLines(w.fitsOn(p.Node))
	}
	var near, far []Line
	for _, r := range p.Reasons {
		line := Line{Text: r.Text}
		if r.Pool == "" {
			near = append(near, line)
			continue
		}
		line.Pools = []string{r.Pool}
		if pool := findNamed(w.Snapshot.Pools, r.Pool); pool != nil {
			if _, condemned := pool.Annotations[schemas.AnnotationRemoval]; condemned {
				line.Text = "it is draining, and creates no nodes unless it is declared again."
			}
			if _, ok := instancetype.ForPod(pool, pod); ok {
				near = append(near, line)
				continue
			}
		}
		far = append(far, line)
	}
	slices.SortStableFunc(far, func(a, b Line) int { return cmp.Compare(countUnmet(a), countUnmet(b)) })
	near, far = mergeLines(near), mergeLines(far)
	if n := len(far) - mostFar; n > 0 {
		far = append(far[:mostFar:mostFar], Line{Text: fmt.Sprintf("%s do not match the pod either", text.Count(n, "other pool"))})
	}
	return append(near, far...)
}

// countUnmet returns how many requirements of a pod a pool does not meet: the pool with the fewest is probably the
// intended one.
func countUnmet(line Line) int { return strings.Count(line.Text, "; the pod ") }

// elsewhere reports that a pod requires a region or zone that the cluster is not in.
func (w *reader) elsewhere(pod *corev1.Pod) (lines []Line) {
	wants := reqs.NewPodRequirements(pod)
	for _, key := range []string{corev1.LabelTopologyRegion, corev1.LabelTopologyZone} {
		if wants.Has(key) && !wants.Get(key).Has(w.region) {
			lines = append(lines, Line{Text: fmt.Sprintf("the pod requires %s, and all nodes of the cluster are in %s",
				wants.Get(key), w.region)})
		}
	}
	return lines
}

// mostFar is the largest number of lines about pools that do not match a pod.
const mostFar = 8

// fitsOn returns the answer for a pending pod that fits on a node, which exists or has not joined yet.
func (w *reader) fitsOn(name string) string {
	for _, nc := range w.Claims {
		if nc.Name == name && nc.Status.NodeName == "" {
			return fmt.Sprintf("nothing: the pod fits on the node of NodeClaim %s, which has not joined yet: %s.%s", name,
				w.describe(nc), w.stage(nc))
		}
		if nc.Name == name || nc.Status.NodeName == name {
			return fmt.Sprintf("nothing: kube-scheduler can place the pod on node %s, %s.%s", nc.Status.NodeName,
				w.describe(nc), w.stage(nc))
		}
	}
	return fmt.Sprintf("nothing: kube-scheduler can place the pod on node %s, which belongs to no pool", name)
}

// pool explains the state of a pool, and what it can create now.
func (w *reader) pool(a *Answer) error {
	pool := findNamed(w.Snapshot.Pools, a.Name)
	if pool == nil {
		return w.absent("NodePool", "", a.Name, namesOf(w.Snapshot.Pools))
	}
	w.explainPool(a, pool)
	return nil
}

func (w *reader) explainPool(a *Answer, pool *karpv1.NodePool) {
	var waits []Line
	for _, p := range w.Status.Pools {
		if p.Name != pool.Name {
			continue
		}
		a.Summary = w.summary(p)
		var lines []Line
		if len(p.States) > 0 {
			lines = plainLines(statesText(p.States))
		}
		for _, r := range p.Says {
			lines = append(lines, Line{Text: r.Text, quoted: r.quoted})
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
	a.add(AboutPlans, plainLines(w.makes(pool)...)...)
	if nodes, _ := w.countNodes(pool, nil); nodes > 0 { // otherwise no node stays
		a.add(AboutStays, plainLines(w.closedBudgets(pool, nil, karpv1.DisruptionReasonUnderutilized)...)...)
	}
	for _, load := range foldWorkloads(filterList(w.Status.Waiting, func(load Workload) bool { return slices.Contains(load.Pools, pool.Name) })) {
		waits = append(waits, Line{Text: fmt.Sprintf("%s in namespace %s (%s)", text.Count(load.Pods, "pod"), load.Namespace, load.Owner)})
	}
	a.add(AboutWaits, waits...)
	w.addSaid(a, cluster.SubjectOf("NodePool", pool))
}

// summary returns the number of nodes of a pool, and their cost.
func (w *reader) summary(p PoolStatus) string {
	if p.Nodes == 0 {
		return fmt.Sprintf("Pool %s has no nodes now.", p.Name)
	}
	most := ""
	if p.Unpriced > 0 {
		most = "at least "
	}
	costs := "cost"
	if p.Nodes == 1 {
		costs = "costs"
	}
	return fmt.Sprintf("Pool %s has %s, which %s %s$%s an hour.", p.Name, text.Count(p.Nodes, "node"), costs, most,
		p.Cost.Hourly)
}

// makes returns the plan types that a pool allows, the cheapest first, and why some of them
// are unavailable.
func (w *reader) makes(pool *karpv1.NodePool) (texts []string) {
	if w.region == "" {
		return []string{regionless}
	}
	allowed := w.allowed(pool)
	slices.SortStableFunc(allowed, func(a, b *cloudprovider.InstanceType) int {
		one, other := w.price(a.Name), w.price(b.Name)
		if one.Known() != other.Known() { // unknown prices come last
			return cmp.Compare(other.Hourly, one.Hourly)
		}
		return cmp.Compare(one.Hourly, other.Hourly)
	})
	out := linode.OutOfStock(pool)
	for i, it := range allowed {
		if i == mostListed {
			return append(texts, fmt.Sprintf("and %d more expensive ones", len(allowed)-i))
		}
		has := w.price(it.Name)
		text := fmt.Sprintf("%s ($%s an hour, %s a month)", it.Name, has.Hourly, has.PerMonth().Text())
		switch {
		case !has.Known():
			text = it.Name + ": not used, because its price is unknown"
		case slices.Contains(out, it.Name):
			text += ": Linode is out of stock"
		case len(it.Offerings.Available()) == 0:
			text += ": not sold in " + w.region
		}
		texts = append(texts, text)
	}
	if len(allowed) == 0 {
		return []string{"no plan type on Linode's price list matches"}
	}
	return texts
}

const mostListed = 12
