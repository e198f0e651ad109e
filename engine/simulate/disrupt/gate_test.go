package disrupt

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	autoscalingv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	pscheduling "sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// method is a method of Karpenter that disrupts each candidate alone, in order.
type method struct {
	disruption.Method
	replacement func(*disruption.Candidate) *disruption.Replacement
	results     pscheduling.Results
}

func (method) ShouldDisrupt(context.Context, *disruption.Candidate) bool { return true }

func (m method) ComputeCommands(_ context.Context, _ map[string]int, candidates ...*disruption.Candidate) ([]disruption.Command, error) {
	if len(candidates) == 0 {
		return nil, nil
	}
	command := disruption.Command{Candidates: candidates[:1], Results: m.results}
	if m.replacement != nil {
		command.Replacements = []*disruption.Replacement{m.replacement(candidates[0])}
	}
	return []disruption.Command{command}, nil
}

// candidate is a node of a class, which is created at noon; without it its price is saved.
func candidate(name, class string, monthly float64) *disruption.Candidate {
	nc := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(noon)}}
	nc.Spec.NodeClassRef = &karpv1.NodeClassReference{Name: class}
	return &disruption.Candidate{StateNode: &state.StateNode{NodeClaim: nc}, Price: monthly / catalog.HoursPerMonth}
}

// TestGate: what saves too little is left out, and the next is tried; a class that cannot be read is not consolidated.
func TestGate(t *testing.T) {
	policies := func(_ context.Context, class string) (nodeclaim.ConsolidationPolicy, error) {
		if class == "unreadable" {
			return nodeclaim.ConsolidationPolicy{}, errors.New("the API server does not answer")
		}
		return map[string]nodeclaim.ConsolidationPolicy{"late": {Last: 10 * time.Minute}, "picky": {Saving: 20 * catalog.Dollar}}[class], nil
	}
	now := noon.Add(30 * time.Minute)
	g := &gate{method{}, state.NewCluster(clock.RealClock{}, nil, nil), policies, func() time.Time { return now }}
	for class, want := range map[string]bool{"": true, "picky": true, "late": false, "unreadable": false} {
		if got := g.ShouldDisrupt(t.Context(), candidate("a", class, 10)); got != want {
			t.Errorf("a node of class %q may be consolidated: %v", class, got)
		}
	}
	now = noon.Add(55 * time.Minute)
	if !g.ShouldDisrupt(t.Context(), candidate("a", "late", 10)) {
		t.Error("the paid hour ends, and the node may not be consolidated")
	}
	for _, tc := range []struct {
		candidates []*disruption.Candidate
		want       []string
	}{
		{nil, nil},
		{[]*disruption.Candidate{candidate("a", "picky", 10)}, nil},
		{[]*disruption.Candidate{candidate("a", "picky", 10), candidate("b", "picky", 20)}, []string{"b"}},
		{[]*disruption.Candidate{candidate("a", "picky", 10), candidate("b", "", 1)}, []string{"b"}},
		{[]*disruption.Candidate{candidate("a", "unreadable", 99)}, nil},
	} {
		commands, err := g.ComputeCommands(t.Context(), nil, tc.candidates...)
		var got []string
		for _, command := range commands {
			for _, c := range command.Candidates {
				got = append(got, c.NodeClaim.Name)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
	}
}

// TestConsolidationLeavesBuffersTheirCapacity: a command is left out if fewer pods of buffers have room afterwards. Pods that had
// no room before do not count.
func TestConsolidationLeavesBuffersTheirCapacity(t *testing.T) {
	virtual := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		autoscalingv1beta1.FakePodAnnotationKey: autoscalingv1beta1.FakePodAnnotationValue}}}
	pods := func(virtuals int) (all []*corev1.Pod) {
		return append(slices.Repeat([]*corev1.Pod{virtual}, virtuals), &corev1.Pod{})
	}
	for name, tc := range map[string]struct {
		before, existing, created int
		want                      bool
	}{
		"no buffers":                             {0, 0, 0, true},
		"all have room on existing nodes":        {2, 2, 0, true},
		"one has room on a node that is created": {2, 1, 1, true},
		"one has no room":                        {2, 1, 0, false},
		"more have room than before":             {2, 2, 1, true},
	} {
		cluster := state.NewCluster(clock.RealClock{}, nil, nil)
		nc := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		nc.Status.ProviderID = "linode://1"
		cluster.UpdateNodeClaim(nc)
		cluster.UpdateBufferPodCounts(map[string]int{"linode://1": tc.before, "linode://2": 9}) // the second is gone
		results := pscheduling.Results{ExistingNodes: []*pscheduling.ExistingNode{{Pods: pods(tc.existing)}},
			NewNodeClaims: []*pscheduling.NodeClaim{{Pods: pods(tc.created)}}}
		policies := func(context.Context, string) (nodeclaim.ConsolidationPolicy, error) {
			return nodeclaim.ConsolidationPolicy{}, nil
		}
		g := &gate{method{results: results}, cluster, policies, time.Now}
		commands, err := g.ComputeCommands(t.Context(), nil, candidate("a", "", 10))
		if err != nil || len(commands) > 0 != tc.want {
			t.Errorf("%s: %d commands, %v", name, len(commands), err)
		}
	}
}

// TestNodesAreNotReplacedByTheirOwnPlanType: if the price of a plan type falls after Karpenter has read that of a node, the same
// plan type seems to be cheaper. Only plan types that cost less than it take the place of the node.
func TestNodesAreNotReplacedByTheirOwnPlanType(t *testing.T) {
	for name, tc := range map[string]struct {
		pool      string
		prices    map[string]float64 // of the plan types that Karpenter finds cheaper than a node of pool web, with plan type own
		minValues int
		want      []string // the plan types that are left; none if the node stays
	}{
		"the same":                      {"web", map[string]float64{"own": 1}, 0, nil},
		"the same, and a cheaper one":   {"web", map[string]float64{"own": 2, "small": 1}, 0, []string{"small"}},
		"the same, and dearer ones":     {"web", map[string]float64{"own": 2, "large": 3, "equal": 2}, 0, nil},
		"fewer cheaper ones than asked": {"web", map[string]float64{"own": 2, "small": 1}, 2, nil},
		"others":                        {"web", map[string]float64{"large": 3, "small": 1}, 0, []string{"large", "small"}},
		"the same of another pool":      {"cheap", map[string]float64{"own": 2, "large": 3}, 0, []string{"large", "own"}},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			replacement := func(*disruption.Candidate) *disruption.Replacement {
				asked++
				nc := &pscheduling.NodeClaim{}
				nc.NodePoolName, nc.Requirements = tc.pool, scheduling.NewRequirements()
				if tc.minValues > 0 {
					nc.Requirements.Add(scheduling.NewRequirementWithFlexibility(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpExists, &tc.minValues))
				}
				for _, plan := range slices.Sorted(maps.Keys(tc.prices)) {
					offering := &cloudprovider.Offering{Price: tc.prices[plan], Available: true,
						Requirements: scheduling.NewLabelRequirements(map[string]string{karpv1.CapacityTypeLabelKey: karpv1.CapacityTypeOnDemand})}
					nc.InstanceTypeOptions = append(nc.InstanceTypeOptions, &cloudprovider.InstanceType{Name: plan, Offerings: cloudprovider.Offerings{offering},
						Requirements: scheduling.NewLabelRequirements(map[string]string{corev1.LabelInstanceTypeStable: plan})})
				}
				return &disruption.Replacement{NodeClaim: nc}
			}
			g := &gate{method{replacement: replacement}, state.NewCluster(clock.RealClock{}, nil, nil), func(context.Context, string) (nodeclaim.ConsolidationPolicy, error) {
				return nodeclaim.ConsolidationPolicy{}, nil
			}, time.Now}
			var candidates []*disruption.Candidate
			for _, node := range []string{"a", "b"} {
				c := candidate(node, "", 4)
				c.NodeClaim.Labels = map[string]string{karpv1.NodePoolLabelKey: "web", corev1.LabelInstanceTypeStable: "own"}
				candidates = append(candidates, c)
			}
			commands, err := g.ComputeCommands(t.Context(), nil, candidates...)
			var got []string
			for _, command := range commands {
				for _, it := range command.Replacements[0].InstanceTypeOptions {
					got = append(got, it.Name)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
			if len(tc.want) == 0 && asked != len(candidates) {
				t.Errorf("%d of %d nodes were tried", asked, len(candidates))
			}
		})
	}
}

// TestOnlyConsolidationIsGated: drift is a change that a commit asks for.
func TestOnlyConsolidationIsGated(t *testing.T) {
	ctx := options.ToContext(t.Context(), &options.Options{})
	gated := map[bool]int{}
	for _, m := range disruption.NewMethods(ctx, nil, nil, nil, nil, nil, nil, nil) {
		_, is := Gate(m, nil, nil, time.Now).(*gate)
		gated[is]++
		if drift := m.Reason() == karpv1.DisruptionReasonDrifted; drift == is {
			t.Errorf("%T is gated: %v", m, is)
		}
	}
	if diff := cmp.Diff(map[bool]int{true: 3, false: 2}, gated); diff != "" {
		t.Error(diff)
	}
}
