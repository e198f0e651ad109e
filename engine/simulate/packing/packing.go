// Package packing is the loop of Karpenter's scheduler with a memory, for many pods. In
// Karpenter each pod tries all nodes that are planned, most of which are full. Here a pod
// does not try what an equal pod could not have, and no node that has not enough left.
//
// What a node takes, Karpenter's own code decides, and nodes are tried in its order: the
// answer is the same one, which a test holds it to. The loop is that of karpenter
// v1.14.1, pkg/controllers/provisioning/scheduling/scheduler.go.
package packing

import (
	"context"
	"errors"
	"sort"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	reqs "sigs.k8s.io/karpenter/pkg/scheduling"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"
	"sigs.k8s.io/karpenter/pkg/utils/resources"
)

// Input is what Karpenter's scheduler is given.
type Input struct {
	Client   client.Client
	Pools    []*karpv1.NodePool // by weight
	Nodes    state.StateNodes   // that there are
	Topology *scheduling.Topology
	Types    map[string][]*cloudprovider.InstanceType // by pool
	Daemons  []*corev1.Pod                            // they are changed
	Left     func(pool string)                        // told of pools without a plan type to plan with
	// Shape says which pods are equal but for their names.
	Shape func(pod types.UID) int
	// Apart says that some pod, which may have a node, keeps others away from its own.
	Apart bool
}

// Solve finds nodes for pods, as the method of this name of Karpenter's scheduler does.
func Solve(ctx context.Context, in Input, pods []*corev1.Pod) (scheduling.Results, error) {
	p := newPacker(in)
	for _, pod := range pods {
		p.know(pod)
	}
	queue := scheduling.NewQueue(pods, p.data)
	failed := map[*corev1.Pod]error{}
	for {
		pod, ok := queue.Pop()
		if !ok {
			break
		}
		if err := ctx.Err(); err != nil {
			return scheduling.Results{}, err
		}
		if err := p.try(ctx, pod); err != nil {
			failed[pod] = err
			if err := p.in.Topology.Update(ctx, pod); err != nil {
				return scheduling.Results{}, err
			}
			p.know(pod)
			queue.Push(pod)
		} else {
			delete(failed, pod)
		}
	}
	results := scheduling.Results{ExistingNodes: p.nodes, PodErrors: failed}
	for _, c := range p.claims {
		c.FinalizeScheduling()
		results.NewNodeClaims = append(results.NewNodeClaims, c.NodeClaim)
	}
	return results, nil
}

// packer is the state of one call of Solve.
type packer struct {
	in           Input
	templates    []*scheduling.NodeClaimTemplate
	groups       map[*scheduling.NodeClaimTemplate][]scheduling.DaemonOverheadGroup
	preferences  scheduling.Preferences
	remaining    map[string]corev1.ResourceList // of the limits of pools
	reservations *scheduling.ReservationManager
	data         map[types.UID]*scheduling.PodData
	nodes        []*scheduling.ExistingNode
	claims       []*claim

	refused map[int]error // why there is no node for pods of a shape
	full    map[int]int   // the nodes that refused pods of a shape, which come first
}

func newPacker(in Input) *packer {
	p := &packer{
		in: in, groups: map[*scheduling.NodeClaimTemplate][]scheduling.DaemonOverheadGroup{},
		remaining: map[string]corev1.ResourceList{}, reservations: scheduling.NewReservationManager(in.Types),
		data: map[types.UID]*scheduling.PodData{}, refused: map[int]error{}, full: map[int]int{},
	}
	for _, pool := range in.Pools {
		p.remaining[pool.Name] = corev1.ResourceList(pool.Spec.Limits)
		for _, taint := range pool.Spec.Template.Spec.Taints {
			p.preferences.ToleratePreferNoSchedule = p.preferences.ToleratePreferNoSchedule ||
				taint.Effect == corev1.TaintEffectPreferNoSchedule
		}
		if template := templateOf(pool, in.Types[pool.Name]); len(template.InstanceTypeOptions) > 0 {
			p.templates = append(p.templates, template)
		} else {
			in.Left(pool.Name)
		}
	}
	for _, template := range p.templates {
		p.groups[template] = overheads(template, in.Daemons)
	}
	p.standing()
	return p
}

// templateOf is what the nodes of a pool may be.
func templateOf(pool *karpv1.NodePool, offered []*cloudprovider.InstanceType) *scheduling.NodeClaimTemplate {
	template := scheduling.NewNodeClaimTemplate(pool)
	for _, it := range offered {
		if it.Requirements.Intersects(template.Requirements) == nil && toBeHad(it, template.Requirements) {
			template.InstanceTypeOptions = append(template.InstanceTypeOptions, it)
		}
	}
	if template.Requirements.HasMinValues() {
		if _, _, err := template.InstanceTypeOptions.SatisfiesMinValues(template.Requirements); err != nil {
			template.InstanceTypeOptions = nil
		}
	}
	return template
}

func toBeHad(it *cloudprovider.InstanceType, want reqs.Requirements) bool {
	for _, group := range it.AllocatableOfferingsList() {
		for _, o := range group.Offerings {
			if want.IsCompatible(o.Requirements, reqs.AllowUndefinedWellKnownLabels) {
				return true
			}
		}
	}
	return false
}

// standing adds the nodes that there are.
func (p *packer) standing() {
	for _, node := range p.in.Nodes {
		taints := node.Taints()
		var daemons []*corev1.Pod
		for _, d := range p.in.Daemons {
			if !podutils.HasDRARequirements(d) && reqs.Taints(taints).ToleratesPod(d) == nil &&
				reqs.NewLabelRequirements(node.Labels()).Compatible(reqs.NewStrictPodRequirements(d)) == nil {
				daemons = append(daemons, d)
			}
		}
		p.nodes = append(p.nodes, scheduling.NewExistingNode(node, p.in.Topology, taints,
			resources.RequestsForPods(daemons...), nil, false))
		if left, ok := p.remaining[node.Labels()[karpv1.NodePoolLabelKey]]; ok {
			p.remaining[node.Labels()[karpv1.NodePoolLabelKey]] = resources.Subtract(left, node.Capacity())
		}
	}
	sort.SliceStable(p.nodes, func(i, j int) bool { return p.nodes[i].Name() < p.nodes[j].Name() })
}

// know takes down what a pod asks for.
func (p *packer) know(pod *corev1.Pod) {
	requirements := reqs.NewPodRequirements(pod)
	strict := requirements
	if reqs.HasPreferredNodeAffinity(pod) {
		strict = reqs.NewStrictPodRequirements(pod)
	}
	p.data[pod.UID] = &scheduling.PodData{
		Requests: resources.RequestsForPods(pod), Requirements: requirements, StrictRequirements: strict,
		HasResourceClaimRequests: podutils.HasDRARequirements(pod),
	}
}

// simple reports whether what a pod can have depends on nothing but what it asks for, and
// what is left only shrinks: so that a pod of its shape never gets what it could not.
func (p *packer) simple(pod *corev1.Pod) bool {
	return !p.in.Apart && pod.Spec.Affinity == nil && len(pod.Spec.TopologySpreadConstraints) == 0 &&
		!p.preferences.ToleratePreferNoSchedule
}

// lasting reports whether a node that refuses a pod refuses all of its shape from then on.
// What is left of a node only shrinks, and of pods that must be apart there are only more;
// those that must be together, or spread, may find that others have made room for them.
func (p *packer) lasting(pod *corev1.Pod) bool {
	if len(pod.Spec.TopologySpreadConstraints) > 0 || p.preferences.ToleratePreferNoSchedule {
		return false
	}
	a := pod.Spec.Affinity
	return a == nil || a.NodeAffinity == nil && a.PodAffinity == nil && (a.PodAntiAffinity == nil ||
		len(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution) == 0)
}

// try finds a node for a pod, without its preferences one by one where there is none.
func (p *packer) try(ctx context.Context, original *corev1.Pod) error {
	shape, simple := p.in.Shape(original.UID), p.simple(original)
	if err, known := p.refused[shape]; known && simple {
		p.sort()
		return err
	}
	pod := original
	if !simple {
		pod = original.DeepCopy()
	}
	for {
		err := p.add(ctx, pod, shape)
		if err == nil {
			return nil
		}
		if scheduling.IsReservedOfferingError(err) || scheduling.IsDRAError(err) {
			return err
		}
		if simple || !p.preferences.Relax(ctx, pod) {
			if simple {
				p.refused[shape] = err
			}
			return err
		}
		if err := p.in.Topology.Update(ctx, pod); err != nil {
			return err
		}
		p.know(pod)
	}
}

// add puts a pod on a node that there is, on one that is planned, or on a new one.
func (p *packer) add(ctx context.Context, pod *corev1.Pod, shape int) error {
	data, lasting := p.data[pod.UID], p.lasting(pod)
	if data.HasResourceClaimRequests {
		return scheduling.NewDRAError(errors.New(
			"pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter"))
	}
	from := 0
	if lasting {
		from = p.full[shape]
	}
	volumes, err := reqs.GetVolumes(ctx, p.in.Client, pod)
	if err != nil {
		return err
	}
	for i := from; i < len(p.nodes); i++ {
		if requirements, _, err := p.nodes[i].CanAdd(ctx, pod, data, volumes, nil); err == nil {
			p.nodes[i].Add(ctx, pod, data, requirements, volumes, nil)
			return nil
		}
		if lasting {
			p.full[shape] = i + 1
		}
	}
	p.sort()
	for _, c := range p.claims {
		if c.add(ctx, pod, data, shape, lasting) {
			return nil
		}
	}
	if len(p.templates) == 0 {
		return errors.New("nodepool requirements filtered out all available instance types")
	}
	return p.open(ctx, pod, data)
}

// sort puts the nodes that are planned into the order in which pods try them. It is not
// stable, and so must be done as often as Karpenter does it.
func (p *packer) sort() {
	sort.Slice(p.claims, func(a, b int) bool { return len(p.claims[a].Pods) < len(p.claims[b].Pods) })
}

// open plans a new node for a pod.
func (p *packer) open(ctx context.Context, pod *corev1.Pod, data *scheduling.PodData) error {
	var refusals refusals
	for _, template := range p.templates {
		its, err := within(template, p.remaining[template.NodePoolName])
		if err != nil {
			refusals = append(refusals, err)
			continue
		}
		nc := scheduling.NewNodeClaim(template, p.in.Topology, p.groups[template], its, p.reservations,
			scheduling.ReservedOfferingModeStrict)
		requirements, its, reserve, _, err := nc.CanAdd(ctx, pod, data, false, nil)
		if err != nil {
			refusals = append(refusals, parts(err)...)
			if scheduling.IsReservedOfferingError(err) {
				break
			}
			continue
		}
		nc.Annotations[karpv1.NodeClaimMinValuesRelaxedAnnotationKey] = "false"
		c := newClaim(nc, p.groups[template])
		c.take(ctx, pod, data, requirements, its, reserve)
		p.claims = append(p.claims, c)
		p.remaining[nc.NodePoolName] = less(p.remaining[nc.NodePoolName], nc.InstanceTypeOptions)
		return nil
	}
	if len(refusals) == 1 {
		return refusals[0]
	}
	return refusals
}
