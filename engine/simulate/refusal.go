package simulate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.uber.org/multierr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	reqs "sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/limits"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// Reason is why pods cannot have a node of a pool.
type Reason struct {
	Pool string `json:"pool"` // "" means all pools
	Text string `json:"text"`
	// Other means that the pool's labels or taints exclude the pod.
	Other bool `json:"-"`
}

// mostOthers is the number of pools that exclude a pod up to which each is named with its reason.
const mostOthers = 3

// Shown returns the reasons for users. If many pools exclude the pod, it only counts them.
func (r Refusal) Shown() (reasons []Reason) {
	var others []Reason
	for _, reason := range r.Reasons {
		if reason.Other {
			others = append(others, reason)
		}
	}
	if len(others) <= mostOthers {
		return r.Reasons
	}
	for _, reason := range r.Reasons {
		if !reason.Other {
			reasons = append(reasons, reason)
		}
	}
	if len(reasons) == 0 {
		reasons, others = others[:mostOthers], others[mostOthers:]
	}
	if len(others) == 0 {
		return reasons
	}
	return append(slices.Clip(reasons), Reason{
		Text: text.Count(len(others), "other pool") + " that the pod cannot use because of labels or taints.",
	})
}

// explainer describes why pods are unschedulable. Karpenter decides; details that its errors leave out, or write in a
// random order, are computed again from pools, plan types and limits.
//
// Karpenter v1.15.0 has no types for most of these errors (its topologyError is not exported, and limits, taints and
// labels are plain texts): they are distinguished by the start of their texts.
type explainer struct {
	*cluster
	tally limits.Tally
	prefs scheduling.Preferences
	// planned is the part of the limits that is reserved for other pods.
	planned limits.Planned
}

func (w *cluster) explainer(ctx context.Context) (*explainer, error) {
	tally, err := w.chooser.Limits.Show(ctx)
	return &explainer{cluster: w, tally: tally, prefs: preferencesFor(w.dynamic)}, err
}

// reasons describes why a pod is unschedulable, from the last result of Karpenter and of the choice of plan types.
func (e *explainer) reasons(ctx context.Context, pod *corev1.Pod) []Reason {
	var reasons []Reason
	if reason, refused := e.last.refused[pod.UID]; refused {
		reasons = []Reason{e.choice(pod, reason)}
	} else {
		reasons = e.byPool(withSettings(ctx), pod, e.last.errors[pod.UID])
	}
	for i := range reasons {
		reasons[i].Text = escapeLine(reasons[i].Text)
	}
	return reasons
}

// byPool describes why Karpenter has no node for a pod, for each pool in the order in which Karpenter tries them. The
// error is Karpenter's, and the context has its settings.
func (e *explainer) byPool(ctx context.Context, pod *corev1.Pod, err error) []Reason {
	if scheduling.IsDRAError(err) {
		return []Reason{{Text: "the pod requests devices with ResourceClaims, for which the controller creates no nodes: no Linode offers devices by DRA."}}
	}
	if len(e.dynamic) == 0 {
		return []Reason{{Text: "no pool creates nodes for pods, and existing nodes have no free capacity."}}
	}
	pod = pod.DeepCopy() // without preferences, which are never the reason
	for e.prefs.Relax(ctx, pod) {
	}
	var reasons []Reason
	left := multierr.Errors(err)
	for _, pool := range e.dynamic {
		if e.last.without[pool.Name] {
			reasons = append(reasons, Reason{Pool: pool.Name, Text: e.without(pool, pod)})
			continue
		}
		if len(left) == 0 {
			return errorWithoutPool(err)
		}
		n := 1
		taints := reqs.Taints(pool.Spec.Template.Spec.Taints).ToleratesPod(pod)
		if taints != nil && !aboutLimits(left[0]) { // each is a separate error
			n = min(len(multierr.Errors(taints)), len(left))
		}
		text := left[0].Error()
		reasons = append(reasons, Reason{Pool: pool.Name, Text: e.reason(pool, pod, left[0]),
			Other: strings.HasPrefix(text, "did not tolerate taint") || strings.HasPrefix(text, "incompatible requirements")})
		left = left[n:]
	}
	if len(left) > 0 && len(reasons) > len(e.last.without) {
		return errorWithoutPool(err)
	}
	return reasons
}

// errorWithoutPool is Karpenter's error if its pool is unknown.
func errorWithoutPool(err error) []Reason { return []Reason{{Text: errorText(err)}} }

func aboutLimits(err error) bool {
	text := err.Error()
	return strings.HasPrefix(text, "all available instance types exceed limits") ||
		strings.HasPrefix(text, "node limits have been exhausted")
}

// reason describes why a pool creates no node for a pod.
func (e *explainer) reason(pool *karpv1.NodePool, pod *corev1.Pod, err error) string {
	text := err.Error()
	switch {
	case aboutLimits(err):
		return e.limit(pool, pod, err)
	case strings.HasPrefix(text, "did not tolerate taint"):
		return cmp.Or(untoleratedTaints(pool, pod), errorText(err))
	case strings.HasPrefix(text, "incompatible requirements"):
		return cmp.Or(missingLabels(pool, pod), errorText(err))
	case strings.HasPrefix(text, "unsatisfiable topology constraint"):
		return spreadConstraints(pod)
	case strings.HasPrefix(text, "no instance type"):
		return e.size(pool, pod, err)
	}
	return errorText(err)
}

// errorText returns the text of an error without Karpenter's internal details.
func errorText(err error) string {
	text, _, _ := strings.Cut(err.Error(), ", requirements=")
	text = strings.TrimPrefix(text, "insufficient capacity, ")
	return strings.TrimSuffix(text, ".") + "."
}

// choice describes why the provider's choice has no plan type for a node that Karpenter has planned. If a limit is
// not the reason, it keeps the provider's text.
func (e *explainer) choice(pod *corev1.Pod, chosen Reason) Reason {
	if !strings.Contains(chosen.Text, " has no capacity for a node of ") {
		return chosen
	}
	for _, pool := range e.dynamic {
		if want, ok := instancetype.ForPod(pool, pod); ok && pool.Name == chosen.Pool {
			fit := instancetype.Candidates(e.types.List(), want, resources.RequestsForPods(pod))
			if why, refused := e.chooser.Limits.RefusedBeside(e.tally, e.planned, pool.Name, fit); refused {
				chosen.Text = why + "."
			}
		}
	}
	return chosen
}

// limit describes which limit refuses a node for a pod, or why the pod would get no node even without the limit:
// Karpenter checks limits first.
func (e *explainer) limit(pool *karpv1.NodePool, pod *corev1.Pod, err error) string {
	return cmp.Or(untoleratedTaints(pool, pod), missingLabels(pool, pod), e.size(pool, pod, err))
}

// without describes why a pool without available plan types creates no node for a pod. The pod may not match the pool
// anyway.
func (e *explainer) without(pool *karpv1.NodePool, pod *corev1.Pod) string {
	return cmp.Or(untoleratedTaints(pool, pod), missingLabels(pool, pod), e.unavailable(pool))
}

// unavailable describes why a pool has no available plan types.
func (e *explainer) unavailable(pool *karpv1.NodePool) string {
	fit := instancetype.Candidates(e.types.List(), instancetype.RequirementsOf(pool), nil)
	if why, refused := e.chooser.Limits.RefusedBeside(e.tally, e.planned, pool.Name, fit); refused {
		return why + "."
	}
	if len(fit) > 0 {
		return "the plan types of the pool do not meet minValues of the requirements."
	}
	return e.noneOf("none of the plan types that the pool allows is available in %s", instancetype.RequirementsOf(pool))
}

// noneOf reports that requirements match no plan type that is available in a region, and whether a newer catalogue
// may help.
func (e *explainer) noneOf(format string, want reqs.Requirements) string {
	text := fmt.Sprintf(format, e.types.Region())
	if why := e.types.WhyNothing(want); why != "" {
		text += ": " + why
	}
	return text + "."
}

// untoleratedTaints names the taints of a pool that a pod does not tolerate; "" if it tolerates all.
func untoleratedTaints(pool *karpv1.NodePool, pod *corev1.Pod) string {
	var taints []string
	for _, t := range pool.Spec.Template.Spec.Taints {
		if (reqs.Taints{t}).ToleratesPod(pod) != nil {
			taints = append(taints, t.ToString())
		}
	}
	if len(taints) == 0 {
		return ""
	}
	return "the pod does not tolerate " + strings.Join(taints, " and ") + "."
}

// missingLabels names the labels that the pod selects and no node of the pool has; "" if there are none.
func missingLabels(pool *karpv1.NodePool, pod *corev1.Pod) string {
	has, wants := scheduling.NewNodeClaimTemplate(pool).Requirements, reqs.NewPodRequirements(pod)
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(wants)) {
		one := reqs.NewRequirements(wants.Get(key))
		if has.Compatible(one, reqs.AllowUndefinedWellKnownLabels) == nil {
			continue
		}
		if !has.Has(key) {
			texts = append(texts, fmt.Sprintf("the pod selects nodes by the label %s, which the nodes of the pool do not have", key))
			continue
		}
		texts = append(texts, fmt.Sprintf("the pod requires %s, and the nodes of the pool have %s", wants.Get(key), has.Get(key)))
	}
	if len(texts) == 0 {
		return ""
	}
	return strings.Join(texts, "; ") + "."
}

// spreadConstraints names the constraints of a pod relative to other pods.
func spreadConstraints(pod *corev1.Pod) string {
	var texts []string
	for _, c := range pod.Spec.TopologySpreadConstraints {
		texts = append(texts, "be spread over "+c.TopologyKey)
	}
	a := ptr.Deref(pod.Spec.Affinity, corev1.Affinity{})
	for _, t := range ptr.Deref(a.PodAffinity, corev1.PodAffinity{}).RequiredDuringSchedulingIgnoredDuringExecution {
		texts = append(texts, "be placed near pods that it has an affinity to, by "+t.TopologyKey)
	}
	for _, t := range ptr.Deref(a.PodAntiAffinity, corev1.PodAntiAffinity{}).RequiredDuringSchedulingIgnoredDuringExecution {
		texts = append(texts, "be placed apart from other pods, by "+t.TopologyKey)
	}
	if len(texts) == 0 {
		return "other pods have an anti-affinity to it."
	}
	return "the pod must " + strings.Join(texts, " and ") + ", and no node of the pool would satisfy this."
}

// size describes which request of a pod is too large for the plan types of a pool, or which limit excludes those that
// are large enough.
func (e *explainer) size(pool *karpv1.NodePool, pod *corev1.Pod, err error) string {
	want, ok := instancetype.ForPod(pool, pod)
	if !ok {
		return errorText(err)
	}
	asked := resources.RequestsForPods(pod)
	allowed := instancetype.Candidates(e.types.List(), want, nil)
	if len(allowed) == 0 {
		if why := missingFeatures(instancetype.Candidates(e.types.List(), instancetype.RequirementsOf(pool), nil), pod); why != "" {
			return why
		}
		return e.noneOf("none of the plan types that the pool and the pod allow is available in %s", want)
	}
	fit := instancetype.Candidates(e.types.List(), want, asked)
	if why, refused := e.chooser.Limits.RefusedBeside(e.tally, e.planned, pool.Name, fit); refused {
		return why + "."
	}
	if len(fit) > 0 && aboutLimits(err) {
		return overLimits
	}
	if len(fit) > 0 {
		return "the largest plan type of the pool is too small for the pod and the pods of DaemonSets."
	}
	return tooLarge(asked, allowed)
}

// missingFeatures names what a pod requires that none of the plan types of a pool has; "" if there is no such label.
func missingFeatures(types []*cloudprovider.InstanceType, pod *corev1.Pod) string {
	var texts []string
	wants := reqs.NewPodRequirements(pod)
	for _, key := range slices.Sorted(maps.Keys(wants)) {
		has := map[string]bool{}
		for _, it := range types {
			for _, value := range it.Requirements.Get(key).Values() {
				has[value] = true
			}
		}
		values := slices.Sorted(maps.Keys(has))
		if len(values) == 0 || slices.ContainsFunc(values, wants.Get(key).Has) {
			continue
		}
		text := fmt.Sprintf("the pod requires %s", wants.Get(key))
		if len(values) <= 4 {
			text += ", and the plan types of the pool have " + strings.Join(values, ", ")
		} else {
			text += ", which no plan type of the pool has"
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return ""
	}
	return strings.Join(texts, "; ") + "."
}

// tooLarge describes which request of a pod is too large for all plan types.
func tooLarge(asked corev1.ResourceList, allowed []*cloudprovider.InstanceType) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		var most resource.Quantity
		for _, it := range allowed {
			if has := it.Allocatable()[name]; has.Cmp(most) > 0 {
				most = has
			}
		}
		if wanted := asked[name]; wanted.Cmp(most) > 0 {
			texts = append(texts, fmt.Sprintf("the pod requests %s, and the largest plan type of the pool has %s",
				instancetype.AmountOf(name, wanted), instancetype.Amount(name, most)))
		}
	}
	if len(texts) == 0 {
		return "no plan type of the pool has everything that the pod requests."
	}
	return strings.Join(texts, "; ") + "."
}

// overLimits is the text of a Reason.
const overLimits = "a node of any plan type of the pool would exceed the limits of the pool."
