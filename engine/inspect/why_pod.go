package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	reqs "sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// pod explains where a pod runs, or why it has no node.
func (w *reader) pod(ctx context.Context, a *Answer) error {
	pods := keep(w.Pods, func(p *corev1.Pod) bool { return p.Namespace == a.Namespace })
	pod := named(pods, a.Name)
	switch {
	case pod == nil:
		return w.absent("Pod", a.Namespace, a.Name, namesOf(pods))
	case pod.Spec.NodeName != "":
		return w.running(a, pod)
	case !PodWaits(pod):
		a.Summary = fmt.Sprintf("Pod %s/%s is being deleted.", pod.Namespace, pod.Name)
		return nil
	}
	a.Summary = fmt.Sprintf("%s has waited for a node for %s.", full(pod), w.age(pod.CreationTimestamp.Time))
	if len(pod.Spec.SchedulingGates) > 0 {
		a.add(AboutWaits, plainly("the scheduling gate "+pod.Spec.SchedulingGates[0].Name+" blocks the pod")...)
		return nil
	}
	if w.knows(a, AboutPlacing, pod) {
		if err := w.wouldGo(ctx, a, pod); err != nil {
			return err
		}
	} else {
		w.knows(a, AboutWaits)
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
		a.add(AboutPlacing, plainly("nothing until the volumes of the pod exist: "+asks.unready)...)
		return nil
	}
	placed, err := w.place(ctx)
	if err != nil {
		return err
	}
	lines := append(w.elsewhere(pod), w.placing(pod, placed[pod.UID])...)
	if where := asks.places.String(); where != "" {
		lines = append(plainly("the volumes of the pod need a node with "+where), lines...)
	}
	a.add(AboutPlacing, lines...)
	if !w.knows(a, AboutWaits) {
		return nil
	}
	for _, load := range w.Status.Waiting {
		if load.Namespace == pod.Namespace && load.Owner == OwnerOf(pod) {
			a.add(AboutWaits, plainly(slices.DeleteFunc(slices.Clone(load.Reasons), func(text string) bool {
				return slices.Contains(sentences(lines), text) // which is already shown
			})...)...)
		}
	}
	return nil
}

// place lets Karpenter's scheduler place the waiting pods, once.
func (w *reader) place(ctx context.Context) (map[types.UID]simulate.Placement, error) {
	if w.placed == nil && w.placeErr == nil {
		w.placed, w.placeErr = simulate.Place(ctx, w.live(ctx, nil))
	}
	return w.placed, w.placeErr
}

// mostPlaced is how many pods are placed to explain why pods are waiting. With more it would take
// longer than reading the cluster.
const mostPlaced = 200

// placeSome is place if few pods are waiting; otherwise it places some pods of each workload, which are equal.
func (w *reader) placeSome(ctx context.Context) (map[types.UID]simulate.Placement, error) {
	waiting, of := 0, map[string]int{}
	for _, pod := range w.Pods {
		if PodWaits(pod) {
			waiting++
			of[simulate.Owner(pod)] = 0
		}
	}
	if waiting <= mostPlaced {
		return w.place(ctx)
	}
	in, placed := w.live(ctx, nil), 0
	in.Pods = slices.DeleteFunc(in.Pods, func(pod *corev1.Pod) bool {
		if !PodWaits(pod) {
			return false
		}
		owner := simulate.Owner(pod)
		of[owner]++
		if placed == mostPlaced || of[owner] > max(1, mostPlaced/len(of)) {
			return true
		}
		placed++
		return false
	})
	return simulate.Place(ctx, in)
}

// refused explains why waiting pods get no node now.
func (w *reader) refused(ctx context.Context) map[types.UID][]Line {
	if w.region == "" || w.Unread(kindsToPlan...) != "" {
		return nil
	}
	placed, err := w.placeSome(ctx)
	if err != nil {
		return nil // the events remain
	}
	refused := map[types.UID][]Line{}
	for _, pod := range w.Pods {
		if p, planned := placed[pod.UID]; planned && p.Plan == "" && p.Node == "" {
			near, far := w.refusing(pod, p)
			if len(near) == 0 {
				near = far
			}
			refused[pod.UID] = append(w.elsewhere(pod), near...)
		}
	}
	return refused
}

// running shows where a pod runs, and why its node has its plan type.
func (w *reader) running(a *Answer, pod *corev1.Pod) error {
	a.Summary = fmt.Sprintf("%s has node %s.", full(pod), pod.Spec.NodeName)
	for _, nc := range w.Claims {
		if nc.Status.NodeName == pod.Spec.NodeName {
			a.Summary = fmt.Sprintf("%s The node is %s.%s", a.Summary, w.describe(nc), w.stage(nc))
			if w.knows(a, AboutPlan) {
				a.add(AboutPlan, w.planOf(nc)...)
			}
		}
	}
	w.addSaid(a, cluster.SubjectOf("Pod", pod))
	return nil
}

// full names a pod and its owner.
func full(pod *corev1.Pod) string {
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
		return plainly(w.room(p.Node))
	}
	near, far := w.refusing(pod, p)
	return append(near, far...)
}

// refusing explains why pools create no node for a pod: those that match it, and others.
func (w *reader) refusing(pod *corev1.Pod, p simulate.Placement) (near, far []Line) {
	for _, r := range p.Reasons {
		line := Line{Text: r.Text}
		if r.Pool == "" {
			near = append(near, line)
			continue
		}
		line.Pools = []string{r.Pool}
		if pool := named(w.Snapshot.Pools, r.Pool); pool != nil {
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
	slices.SortStableFunc(far, func(a, b Line) int { return cmp.Compare(complaints(a), complaints(b)) })
	near, far = together(near), together(far)
	if n := len(far) - mostFar; n > 0 {
		far = append(far[:mostFar:mostFar], Line{Text: fmt.Sprintf("%s do not match the pod either", diag.Counted(n, "other pool"))})
	}
	return near, far
}

// complaints is how many requirements of a pod a pool does not meet: the pool with the fewest is
// probably the intended one.
func complaints(line Line) int { return strings.Count(line.Text, "; the pod ") }

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

// mostFar is how many lines are about pools that do not match a pod.
const mostFar = 8

// room reports that an existing or coming node has capacity for a pod.
func (w *reader) room(name string) string {
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
	pool := named(w.Snapshot.Pools, a.Name)
	if pool == nil {
		return w.absent("NodePool", "", a.Name, namesOf(w.Snapshot.Pools))
	}
	w.explainPool(a, pool)
	return nil
}

func (w *reader) explainPool(a *Answer, pool *karpv1.NodePool) {
	for _, p := range w.Status.Pools {
		if p.Name != pool.Name {
			continue
		}
		a.Summary = w.summary(p)
		var lines []Line
		if len(p.States) > 0 {
			lines = plainly(statesText(p.States))
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
	if w.knows(a, AboutPlans) {
		a.add(AboutPlans, plainly(w.makes(pool)...)...)
	}
	if nodes, _ := w.counted(pool, nil); nodes > 0 { // otherwise no node stays
		a.add(AboutStays, plainly(w.closed(pool, nil, karpv1.DisruptionReasonUnderutilized)...)...)
	}
	if w.knows(a, AboutWaits) {
		a.add(AboutWaits, plainly(w.waitFor(pool.Name)...)...)
	}
	w.addSaid(a, cluster.SubjectOf("NodePool", pool))
}

// waitFor are the pods that wait for a pool, with the reasons.
func (w *reader) waitFor(pool string) (waits []string) {
	for _, load := range fold(keep(w.Status.Waiting, func(load Workload) bool { return slices.Contains(load.Pools, pool) })) {
		reasons := slices.Clone(load.Reasons)
		for i := range reasons {
			reasons[i] = strings.TrimPrefix(reasons[i], "pool "+pool+": ")
		}
		waits = append(waits, fmt.Sprintf("%s in namespace %s (%s): %s", diag.Counted(load.Pods, "pod"), load.Namespace, load.Owner,
			strings.Join(reasons, "; ")))
	}
	return waits
}

// summary is the number of nodes of a pool, and their cost.
func (w *reader) summary(p PoolStatus) string {
	switch {
	case p.Nodes == nil:
		return fmt.Sprintf("The number of nodes of pool %s is unknown.", p.Name)
	case *p.Nodes == 0:
		return fmt.Sprintf("Pool %s has no nodes now.", p.Name)
	}
	most := ""
	if p.Unpriced > 0 {
		most = "at least "
	}
	costs := "cost"
	if *p.Nodes == 1 {
		costs = "costs"
	}
	return fmt.Sprintf("Pool %s has %s, which %s %s$%s an hour.", p.Name, diag.Counted(*p.Nodes, "node"), costs, most,
		p.Cost.Hourly)
}

// makes are the plan types that a pool allows, the cheapest first, and why some of them
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
