package podlint

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/engine/lint"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/engine/simulate/disrupt"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/lke"
)

// taints finds pools that no pod tolerates.
func (c *podChecker) taints() {
	for _, p := range c.pools {
		hard := slices.DeleteFunc(slices.Clone(p.Spec.Template.Spec.Taints), func(t corev1.Taint) bool {
			return t.Effect == corev1.TaintEffectPreferNoSchedule
		})
		if len(hard) == 0 || slices.ContainsFunc(c.in.Workloads, func(w simulate.Workload) bool {
			return scheduling.Taints(hard).ToleratesPod(&w.Pod) == nil
		}) {
			continue
		}
		c.find(lint.UntoleratedTaint, p.addr, "spec.template.spec.taints",
			"None of the pods tolerates %s, so this pool never gets nodes. Give pods a toleration, or remove the taint.",
			joinFew(textsOf(hard)))
	}
}

// tolerations finds pods that tolerate the taint of a pool, and also fit in pools without it.
func (c *podChecker) tolerations() {
	for _, p := range c.pools {
		for _, t := range p.Spec.Template.Spec.Taints {
			var loads, pools []string
			for _, w := range c.in.Workloads {
				if !namesTaint(w.Pod.Spec.Tolerations, t) || !c.fits(p, w) {
					continue
				}
				others := len(pools)
				for _, q := range c.pools {
					tainted := slices.ContainsFunc(q.Spec.Template.Spec.Taints, func(u corev1.Taint) bool { return u.Key == t.Key })
					if !tainted && c.fits(q, w) {
						pools = append(pools, q.Name)
					}
				}
				if len(pools) > others {
					loads = append(loads, w.Name)
				}
			}
			slices.Sort(pools)
			if len(loads) > 0 {
				c.find(lint.TolerationOnly, p.addr, "spec.template.spec.taints",
					"These pods tolerate %[2]s, but do not select this pool, so they can also run in %[3]s: %[1]s. Make the pods "+
						"select a label of this pool.", joinFew(loads), t.ToString(), joinFew(slices.Compact(pools)))
			}
		}
	}
}

// namesTaint reports whether a toleration names the key of a taint that excludes pods.
func namesTaint(tolerations []corev1.Toleration, t corev1.Taint) bool {
	return t.Effect != corev1.TaintEffectPreferNoSchedule && slices.ContainsFunc(tolerations, func(of corev1.Toleration) bool {
		return of.Key == t.Key && scheduling.Taints{t}.ToleratesPod(&corev1.Pod{Spec: corev1.PodSpec{Tolerations: []corev1.Toleration{of}}}) == nil
	})
}

// fits reports whether a pod of a workload matches a pool, and one of the pool's plans is large enough.
func (c *podChecker) fits(p pool, w simulate.Workload) bool {
	want, ok := instancetype.ForPod(p.NodePool, &w.Pod)
	return ok && w.Why() == "" && len(instancetype.Candidates(c.types, want, resources.RequestsForPods(&w.Pod))) > 0
}

// startupTaints finds startup taints that no agent on the node can remove.
func (c *podChecker) startupTaints() {
	sets := slices.DeleteFunc(slices.Clone(c.in.DaemonSets), lke.OwnDaemonSet) // they tolerate all taints and remove none
	if len(sets) == 0 {
		c.skip(lint.StartupTaintStays, "the manifests contain no DaemonSet")
		return
	}
	for _, p := range c.pools {
		for i, t := range p.Spec.Template.Spec.StartupTaints {
			tolerated := false
			for _, d := range sets {
				pod := &corev1.Pod{Spec: d.Spec.Template.Spec}
				tolerated = tolerated || scheduling.Taints{t}.ToleratesPod(pod) == nil
			}
			if !tolerated {
				c.find(lint.StartupTaintStays, p.addr, fmt.Sprintf("spec.template.spec.startupTaints.%d", i),
					"No DaemonSet of the manifests (%d checked) tolerates the startup taint %s, so no agent can start on a new "+
						"node and remove the taint.", len(sets), t.ToString())
			}
		}
	}
}

func textsOf(taints []corev1.Taint) (texts []string) {
	for _, t := range taints {
		texts = append(texts, t.ToString())
	}
	return texts
}

// blocks finds pools whose nodes are never replaced because of their pods.
func (c *podChecker) blocks() {
	held := c.notEvictable()
	for _, p := range c.pools {
		if p.Spec.Template.Spec.TerminationGracePeriod != nil {
			continue
		}
		var causes []string
		for _, w := range p.workloads {
			if why := held[w.Name]; why != "" {
				causes = append(causes, fmt.Sprintf("%s (%s)", w.Name, why))
			}
		}
		if len(causes) > 0 {
			c.find(lint.PodsBlockDrift, p.addr, "metadata.name",
				"Karpenter never replaces a node on which one of these pods runs: %s. They cannot be evicted, and without a "+
					"termination_grace_period Karpenter waits for them forever.", joinFew(causes))
		}
	}
}

// notEvictable returns why pods of workloads can never be evicted. Jobs are left out, because their pods end.
func (c *podChecker) notEvictable() map[string]string {
	why := map[string]string{}
	var pods []*corev1.Pod
	for _, w := range c.in.Workloads {
		pod := w.Pod.DeepCopy()
		pod.Spec.NodeName = "there" // so that it counts as healthy
		for range w.Pods {
			pods = append(pods, pod)
		}
		ends := strings.HasPrefix(w.Name, "Job ") || strings.HasPrefix(w.Name, "CronJob ")
		if pod.Annotations[karpv1.DoNotDisruptAnnotationKey] == "true" && !ends {
			why[w.Name] = karpv1.DoNotDisruptAnnotationKey
		}
	}
	var budgets []*policyv1.PodDisruptionBudget
	for _, b := range c.in.Budgets {
		budgets = append(budgets, b.DeepCopy())
	}
	disrupt.CountAllowed(budgets, pods, false)
	for _, b := range budgets {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil || b.Status.ExpectedPods == 0 || b.Status.DisruptionsAllowed > 0 {
			continue
		}
		for _, w := range c.in.Workloads {
			if w.Pod.Namespace == b.Namespace && selector.Matches(labels.Set(w.Pod.Labels)) {
				why[w.Name] = fmt.Sprintf("PodDisruptionBudget %s/%s", b.Namespace, b.Name)
			}
		}
	}
	return why
}

// cutsShort finds pools whose termination grace period is too short for their pods.
func (c *podChecker) cutsShort() {
	const kubernetes = int64(corev1.DefaultTerminationGracePeriodSeconds)
	for _, p := range c.pools {
		bound := p.Spec.Template.Spec.TerminationGracePeriod
		if bound == nil {
			continue
		}
		var longer []string
		for _, w := range p.workloads {
			takes := time.Duration(ptr.Deref(w.Pod.Spec.TerminationGracePeriodSeconds, kubernetes)) * time.Second
			if takes > bound.Duration {
				longer = append(longer, fmt.Sprintf("%s (%v)", w.Name, takes))
			}
		}
		if len(longer) > 0 {
			c.find(lint.TerminationCutsShort, p.addr, "spec.template.spec.terminationGracePeriod",
				"Karpenter deletes a node of this pool after a termination_grace_period of %v, but pods may take longer to "+
					"end: %s.", bound.Duration, joinFew(longer))
		}
	}
}
