package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	resourcehelper "k8s.io/component-helpers/resource"
	reqs "sigs.k8s.io/karpenter/pkg/scheduling"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"

	"github.com/lkeplan/lkeplan/schemas/text"
)

// pendingPod returns a pending pod without volumes. Volumes require only the region, which is the same for all
// nodes, and to be attached, for which the caller adds other volumes.
func pendingPod(like corev1.Pod) *corev1.Pod {
	pod := like.DeepCopy()
	pod.Namespace = cmp.Or(pod.Namespace, corev1.NamespaceDefault)
	pod.Status, pod.Spec.NodeName, pod.Spec.Volumes = corev1.PodStatus{}, "", nil
	DefaultPod(&pod.Spec)
	if terms := termsOf(pod.Spec); terms != nil && barredBy(pod.Spec) == "" {
		*terms = slices.DeleteFunc(*terms, isEmptyTerm)
	}
	return pod
}

// DefaultPod sets the defaults that the API server sets in pods, but not in pod templates: requests default to
// limits, for containers and for the whole pod, and ports of pods in the host network are ports of the node. The
// rules are those of SetDefaults_Pod and SetDefaults_ResourceList in Kubernetes 1.36 (pkg/apis/core/v1), which is
// not a library.
func DefaultPod(spec *corev1.PodSpec) {
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			roundUp(containers[i].Resources)
			fill(&containers[i].Resources.Requests, containers[i].Resources.Limits)
		}
	}
	if spec.Resources != nil {
		roundUp(*spec.Resources)
		defaultPodResources(spec)
	}
	defaultHostPorts(spec)
}

// roundUp rounds amounts to thousandths.
func roundUp(r corev1.ResourceRequirements) {
	for _, list := range []corev1.ResourceList{r.Requests, r.Limits} {
		for name, q := range list {
			q.RoundUp(resource.Milli)
			list[name] = q
		}
	}
}

// defaultPodResources sets the pod-level requests of a pod with pod-level limits: the sum of its containers'
// requests, or else the limit. The limit of huge pages is the sum of its containers' limits, because they cannot be
// overcommitted.
func defaultPodResources(spec *corev1.PodSpec) {
	pod, r := &corev1.Pod{Spec: *spec}, spec.Resources
	huge := func(name corev1.ResourceName) bool {
		return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
	}
	if len(r.Requests)+len(r.Limits) > 0 {
		for name, q := range resourcehelper.AggregateContainerLimits(pod, resourcehelper.PodResourcesOptions{}) {
			if _, asked := r.Requests[name]; huge(name) && !asked {
				setDefault(&r.Limits, name, q)
			}
		}
	}
	if len(r.Limits) == 0 {
		return
	}
	for name, q := range resourcehelper.AggregateContainerRequests(pod, resourcehelper.PodResourcesOptions{}) {
		if resourcehelper.IsSupportedPodLevelResource(name) && !huge(name) {
			setDefault(&r.Requests, name, q)
		}
	}
	for name, q := range r.Limits {
		if resourcehelper.IsSupportedPodLevelResource(name) {
			setDefault(&r.Requests, name, q)
		}
	}
}

// fill adds the resources to a list that it lacks.
func fill(list *corev1.ResourceList, from corev1.ResourceList) {
	for name, q := range from {
		setDefault(list, name, q)
	}
}

func setDefault(list *corev1.ResourceList, name corev1.ResourceName, q resource.Quantity) {
	if _, there := (*list)[name]; !there {
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		(*list)[name] = q.DeepCopy()
	}
}

func defaultHostPorts(spec *corev1.PodSpec) {
	if !spec.HostNetwork {
		return
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			for j := range containers[i].Ports {
				port := &containers[i].Ports[j]
				port.HostPort = cmp.Or(port.HostPort, port.ContainerPort)
			}
		}
	}
}

// barredBy returns why pods get no node of any pool; "" if they can get one.
func barredBy(spec corev1.PodSpec) string {
	if len(spec.SchedulingGates) > 0 {
		return fmt.Sprintf("the scheduling gate %s blocks it.", spec.SchedulingGates[0].Name)
	}
	if terms := termsOf(spec); terms != nil && !slices.ContainsFunc(*terms, func(t corev1.NodeSelectorTerm) bool {
		return !isEmptyTerm(t)
	}) {
		return "its nodeSelectorTerms match no node, because an empty term matches none."
	}
	return ""
}

// termsOf returns the required node affinity terms, of which a node must match one; nil if there are none.
func termsOf(spec corev1.PodSpec) *[]corev1.NodeSelectorTerm {
	if a := spec.Affinity; a != nil && a.NodeAffinity != nil &&
		a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		return &a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	}
	return nil
}

// isEmptyTerm reports whether a term is empty: such a term matches no node in Kubernetes, but any node in Karpenter.
func isEmptyTerm(t corev1.NodeSelectorTerm) bool {
	return len(t.MatchExpressions)+len(t.MatchFields) == 0
}

// ambiguousTopology returns a topology key of the pods that may have several values before there are nodes; "" if
// there is none.
func ambiguousTopology(spec corev1.PodSpec) string {
	var keys []string
	for _, c := range spec.TopologySpreadConstraints {
		keys = append(keys, c.TopologyKey)
	}
	if a := spec.Affinity; a != nil {
		for _, t := range AffinityTerms(&corev1.Affinity{PodAffinity: a.PodAffinity}) {
			keys = append(keys, t.TopologyKey)
		}
	}
	return divides(keys)
}

// dividesNodes reports whether pods spread, gather or stay apart by a label that divides the nodes of a cluster
// into groups.
func dividesNodes(spec corev1.PodSpec) bool {
	var keys []string
	for _, c := range spec.TopologySpreadConstraints {
		keys = append(keys, c.TopologyKey)
	}
	for _, t := range AffinityTerms(spec.Affinity) {
		keys = append(keys, t.TopologyKey)
	}
	return divides(keys) != ""
}

// divides returns the first key that divides nodes into groups. On LKE all nodes of a cluster have the same zone
// and region, and each has its own name.
func divides(keys []string) string {
	certain := []string{corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelTopologyRegion}
	i := slices.IndexFunc(keys, func(key string) bool { return !slices.Contains(certain, key) })
	if i < 0 {
		return ""
	}
	return keys[i]
}

// IsMirror reports whether a pod is a mirror pod: the API server's copy of a static pod of a kubelet.
func IsMirror(pod *corev1.Pod) bool {
	return podutils.IsOwnedByNode(pod) || pod.Annotations[corev1.MirrorPodAnnotationKey] != ""
}

// NeedsNode reports whether a pod needs a node, whether it is bound or pending. A pod that is being deleted does
// not, because its replacement exists already; in a StatefulSet it does, because the replacement is created later.
func NeedsNode(pod *corev1.Pod) bool {
	if podutils.IsTerminal(pod) || podutils.IsOwnedByDaemonSet(pod) || IsMirror(pod) {
		return false
	}
	controller := metav1.GetControllerOf(pod)
	return pod.DeletionTimestamp.IsZero() || controller != nil && controller.Kind == "StatefulSet"
}

// waitingPods returns copies of the pods for which Karpenter would plan nodes, with their attached volumes.
func waitingPods(pods []*corev1.Pod, attached map[types.UID][]string) (pending []*corev1.Pod) {
	for _, pod := range pods {
		if pod.Spec.NodeName == "" && pod.DeletionTimestamp.IsZero() && !podutils.IsTerminal(pod) &&
			len(pod.Spec.SchedulingGates) == 0 && !podutils.IsOwnedByDaemonSet(pod) && !IsMirror(pod) {
			pending = append(pending, withAttached(pod, attached[pod.UID]).DeepCopy())
		}
	}
	slices.SortFunc(pending, func(a, b *corev1.Pod) int { return strings.Compare(string(a.UID), string(b.UID)) })
	return pending
}

// withAttached returns a pod whose only volumes are the attached ones.
func withAttached(pod *corev1.Pod, attached []string) *corev1.Pod {
	copied := *pod
	Attached{Shared: attached}.To(&copied)
	return &copied
}

// selectsNode reports whether a required node affinity term of a pod matches the labels.
func selectsNode(pod *corev1.Pod, labels reqs.Requirements) bool {
	return anyTerm(pod, func(pod *corev1.Pod) bool { return labels.Compatible(reqs.NewStrictPodRequirements(pod)) == nil })
}

// anyTerm reports whether a condition holds for the pod with one of its required node affinity terms and without
// preferences.
func anyTerm(pod *corev1.Pod, holds func(*corev1.Pod) bool) bool {
	pod = pod.DeepCopy()
	if pod.Spec.Affinity != nil && pod.Spec.Affinity.NodeAffinity != nil {
		pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = nil
	}
	terms := termsOf(pod.Spec)
	if terms == nil {
		return holds(pod)
	}
	for _, term := range slices.Clone(*terms) {
		*terms = []corev1.NodeSelectorTerm{term}
		if holds(pod) {
			return true
		}
	}
	return false
}

// firstToLeave picks the n pods of a workload that leave first: those without a node, then one after the other from
// the node that has most of them.
func firstToLeave(pods []*corev1.Pod, n int) (leave []*corev1.Pod) {
	on := map[string][]*corev1.Pod{}
	var nodes []string
	for _, pod := range pods {
		if on[pod.Spec.NodeName] == nil {
			nodes = append(nodes, pod.Spec.NodeName)
		}
		on[pod.Spec.NodeName] = append(on[pod.Spec.NodeName], pod)
	}
	for len(leave) < n {
		most := slices.MaxFunc(nodes, func(a, b string) int {
			without := func(node string) bool { return node == "" && len(on[node]) > 0 }
			if without(a) != without(b) {
				if without(a) {
					return 1
				}
				return -1
			}
			return cmp.Compare(len(on[a]), len(on[b]))
		})
		last := len(on[most]) - 1
		leave, on[most] = append(leave, on[most][last]), on[most][:last]
	}
	return leave
}

// CheckPod returns an error for scheduling fields that no API server accepts, because Karpenter relies on its
// validation.
func CheckPod(spec corev1.PodSpec) error {
	for _, key := range slices.Sorted(maps.Keys(spec.NodeSelector)) {
		if _, err := labels.NewRequirement(key, selection.In, []string{spec.NodeSelector[key]}); err != nil {
			return fmt.Errorf("its nodeSelector: %q: %q is not a valid label", key, spec.NodeSelector[key])
		}
	}
	for _, t := range spec.Tolerations {
		if err := checkToleration(t); err != nil {
			return fmt.Errorf("its tolerations: %w", err)
		}
	}
	for _, c := range spec.TopologySpreadConstraints {
		if err := checkSpread(c); err != nil {
			return fmt.Errorf("its topologySpreadConstraints: %w", err)
		}
	}
	if a := spec.Affinity; a != nil {
		return errors.Join(checkNodeAffinity(a.NodeAffinity), checkPodAffinity(a))
	}
	return nil
}

func checkToleration(t corev1.Toleration) error {
	nodeOperators := []corev1.TolerationOperator{"", corev1.TolerationOpEqual, corev1.TolerationOpExists,
		corev1.TolerationOpLt, corev1.TolerationOpGt}
	effects := []corev1.TaintEffect{"", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule,
		corev1.TaintEffectNoExecute}
	switch {
	case !slices.Contains(nodeOperators, t.Operator):
		return fmt.Errorf("unknown operator %q", t.Operator)
	case !slices.Contains(effects, t.Effect):
		return fmt.Errorf("unknown effect %q", t.Effect)
	case t.Key == "" && t.Operator != corev1.TolerationOpExists:
		return errors.New("without a key the operator must be Exists")
	}
	return nil
}

func checkSpread(c corev1.TopologySpreadConstraint) error {
	_, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
	switch {
	case err != nil:
		return errors.New(escapeLine(err.Error()))
	case c.MaxSkew < 1:
		return fmt.Errorf("maxSkew is %d, but must be more than zero", c.MaxSkew)
	case c.TopologyKey == "":
		return errors.New("topologyKey is missing")
	case c.WhenUnsatisfiable != corev1.DoNotSchedule && c.WhenUnsatisfiable != corev1.ScheduleAnyway:
		return fmt.Errorf("whenUnsatisfiable is %q, but must be DoNotSchedule or ScheduleAnyway", c.WhenUnsatisfiable)
	case len(c.MatchLabelKeys) > 0 && c.LabelSelector == nil: // Karpenter (v1.15.0) would panic
		return errors.New("matchLabelKeys needs a labelSelector")
	case c.MinDomains != nil && *c.MinDomains < 1:
		return fmt.Errorf("minDomains is %d, but must be more than zero", *c.MinDomains)
	case c.MinDomains != nil && c.WhenUnsatisfiable != corev1.DoNotSchedule:
		return errors.New("minDomains requires whenUnsatisfiable: DoNotSchedule")
	}
	return nil
}

// checkNodeAffinity checks the terms of an affinity to nodes.
func checkNodeAffinity(a *corev1.NodeAffinity) error {
	if a == nil {
		return nil
	}
	var terms []corev1.NodeSelectorTerm
	if required := a.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		terms = slices.Clone(required.NodeSelectorTerms)
	}
	for _, preferred := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		terms = append(terms, preferred.Preference)
	}
	for _, term := range terms {
		for i, r := range slices.Concat(term.MatchExpressions, term.MatchFields) {
			operator, known := nodeOperators[r.Operator]
			if !known {
				return fmt.Errorf("its nodeAffinity: unknown operator %q", r.Operator)
			}
			if i >= len(term.MatchExpressions) {
				continue // names of nodes are not label values
			}
			if _, err := labels.NewRequirement(r.Key, operator, r.Values); err != nil {
				return fmt.Errorf("its nodeAffinity: no label can satisfy %q %s %q", r.Key, r.Operator, r.Values)
			}
		}
	}
	return nil
}

var nodeOperators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn,
	corev1.NodeSelectorOpExists: selection.Exists, corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	corev1.NodeSelectorOpGt: selection.GreaterThan, corev1.NodeSelectorOpLt: selection.LessThan,
}

// AffinityTerms returns all pod affinity terms, so that they can be changed in place.
func AffinityTerms(a *corev1.Affinity) (list []*corev1.PodAffinityTerm) {
	if a == nil {
		return nil
	}
	add := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		for i := range required {
			list = append(list, &required[i])
		}
		for i := range preferred {
			list = append(list, &preferred[i].PodAffinityTerm)
		}
	}
	if p := a.PodAffinity; p != nil {
		add(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		add(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return list
}

// checkPodAffinity checks the terms of affinities to other pods.
func checkPodAffinity(a *corev1.Affinity) error {
	for _, term := range AffinityTerms(a) {
		for _, selector := range []*metav1.LabelSelector{term.LabelSelector, term.NamespaceSelector} {
			if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
				return errors.New("its affinity to pods: " + escapeLine(err.Error()))
			}
		}
		if term.TopologyKey == "" {
			return errors.New("its affinity to pods: topologyKey is missing")
		}
	}
	return nil
}

// ownersOf names the owners of pods with the number of their pods, the largest number first.
func ownersOf(pods []*corev1.Pod) string {
	of := map[string]int{}
	for _, pod := range pods {
		of[Owner(pod)]++
	}
	names := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		return cmp.Or(cmp.Compare(of[b], of[a]), cmp.Compare(a, b))
	})
	const most = 3
	var texts []string
	for i, name := range names {
		if i == most {
			texts = append(texts, text.Count(len(names)-most, "other workload"))
			break
		}
		if !strings.HasPrefix(name, "Pod ") {
			name = text.Count(of[name], "pod") + " of " + name
		}
		texts = append(texts, name)
	}
	return strings.Join(texts, ", ")
}

// Owner names the owner of a pod; if it is the ReplicaSet of a Deployment, the Deployment.
func Owner(pod *corev1.Pod) string {
	controller := metav1.GetControllerOf(pod)
	if controller == nil || !named(controller) {
		return "Pod " + pod.Namespace + "/" + pod.Name
	}
	kind, name := controller.Kind, controller.Name
	if hash := pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; kind == "ReplicaSet" && hash != "" {
		if deployment, ok := strings.CutSuffix(name, "-"+hash); ok {
			kind, name = "Deployment", deployment
		}
	}
	return kind + " " + pod.Namespace + "/" + name
}

// named reports whether an owner reference has a possible kind and name: the API server accepts any text.
func named(owner *metav1.OwnerReference) bool {
	return len(validation.IsDNS1123Subdomain(owner.Name)) == 0 &&
		len(validation.IsDNS1035Label(strings.ToLower(owner.Kind))) == 0
}
