package disrupt

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
)

// TestBudgetChanges: now, and once at each that allows something else.
func TestBudgetChanges(t *testing.T) {
	scheduled := func(nodes, schedule string, hours int) karpv1.Budget {
		return karpv1.Budget{Nodes: nodes, Schedule: ptr.To(schedule),
			Duration: &metav1.Duration{Duration: time.Duration(hours) * time.Hour}}
	}
	for name, test := range map[string]struct {
		budgets []karpv1.Budget
		want    []string
	}{
		"without a schedule":       {[]karpv1.Budget{{Nodes: "0"}}, []string{"Mon 00:00"}},
		"closed on working days":   {[]karpv1.Budget{scheduled("0", "0 0 * * mon-fri", 24)}, []string{"Mon 00:00", "Sat 00:00"}},
		"open at first":            {[]karpv1.Budget{scheduled("0", "0 8 * * *", 10)}, []string{"Mon 00:00", "Mon 08:00"}},
		"three kinds of hours":     {[]karpv1.Budget{{Nodes: "5"}, scheduled("0", "0 8 * * *", 4), scheduled("1", "0 10 * * *", 8)}, []string{"Mon 00:00", "Mon 08:00", "Mon 12:00"}},
		"one that cannot be read":  {[]karpv1.Budget{{Nodes: "1"}, scheduled("0", "@reboot", 4)}, []string{"Mon 00:00"}},
		"one that begins each min": {[]karpv1.Budget{scheduled("0", "* * * * *", 1)}, []string{"Mon 00:00"}},
	} {
		t.Run(name, func(t *testing.T) {
			pool := karpv1.NodePool{Spec: karpv1.NodePoolSpec{Disruption: karpv1.Disruption{Budgets: test.budgets}}}
			var got []string
			for at := range budgetChanges([]karpv1.NodePool{pool}, NewClock().Now()) {
				got = append(got, at.Format("Mon 15:04"))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestCountAllowed, of ten pods of which nine have a node.
func TestCountAllowed(t *testing.T) {
	var pods []*corev1.Pod
	for i := range 10 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Labels: map[string]string{"app": "api"}}}
		if i > 0 {
			pod.Spec.NodeName = "node"
		}
		pods = append(pods, pod)
	}
	most := func(v intstr.IntOrString) policyv1.PodDisruptionBudgetSpec {
		return policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &v}
	}
	least := func(v intstr.IntOrString) policyv1.PodDisruptionBudgetSpec {
		return policyv1.PodDisruptionBudgetSpec{MinAvailable: &v}
	}
	for name, test := range map[string]struct {
		spec      policyv1.PodDisruptionBudgetSpec
		namespace string
		want      int32
	}{
		"one may be away, and is":    {most(intstr.FromInt32(1)), "web", 0},
		"two may be":                 {most(intstr.FromInt32(2)), "web", 1},
		"a quarter, rounded up":      {most(intstr.FromString("25%")), "web", 2},
		"all":                        {most(intstr.FromString("100%")), "web", 9},
		"five must be there":         {least(intstr.FromInt32(5)), "web", 4},
		"55%, rounded up":            {least(intstr.FromString("55%")), "web", 3},
		"more than there are":        {least(intstr.FromInt32(50)), "web", 0},
		"what cannot be read":        {most(intstr.FromString("some")), "web", 0},
		"nothing is said":            {policyv1.PodDisruptionBudgetSpec{}, "web", 0},
		"those of another namespace": {most(intstr.FromInt32(3)), "other", 0},
	} {
		t.Run(name, func(t *testing.T) {
			test.spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "api"}}
			budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: test.namespace}, Spec: test.spec}
			CountAllowed([]*policyv1.PodDisruptionBudget{budget}, pods, false)
			if got := budget.Status.DisruptionsAllowed; got != test.want {
				t.Errorf("it allows %d evictions, want %d", got, test.want)
			}
		})
	}
}

// TestBlockedReasons: what Karpenter v1.15.0 says of nodes that stay.
func TestBlockedReasons(t *testing.T) {
	for message, want := range map[string]string{
		`Can't remove without creating 2 candidates`:                 "the pods of a node would need 2 new nodes, and Karpenter creates at most one",
		`Pdb prevents pod evictions (PodDisruptionBudget=[web/api])`: "PodDisruptionBudget web/api allows no eviction",
		`Something new.`: "Something new",
	} {
		if got := explainMessage(message, func(s string) string { return s }); got != want {
			t.Errorf("%q is explained as %q, want %q", message, got, want)
		}
	}
	said := []string{}
	for _, w := range messages {
		said = append(said, w.means)
	}
	slices.Sort(said)
	if len(slices.Compact(said)) != len(messages) {
		t.Error("two messages mean the same")
	}
}

// stopped is a search for several nodes that takes some time and then returns what it has found.
type stopped struct {
	disruption.Method
	takes time.Duration
}

func (s stopped) ComputeCommands(ctx context.Context, _ map[string]int, candidates ...*disruption.Candidate) ([]disruption.Command, error) {
	limited, cancel := context.WithTimeout(ctx, disruption.MultiNodeConsolidationTimeoutDuration) // as in Karpenter
	defer cancel()
	select {
	case <-limited.Done():
	case <-time.After(s.takes):
	}
	return []disruption.Command{{Candidates: candidates}}, nil
}

// TestSearchThatKarpenterStopsIsSlow: Karpenter returns what it has found within a minute as if it were all.
func TestSearchThatKarpenterStopsIsSlow(t *testing.T) {
	for takes, want := range map[time.Duration]bool{59 * time.Second: false, 10 * time.Minute: true} {
		synctest.Test(t, func(t *testing.T) {
			r := &round{Cluster: Cluster{Clock: NewClock(), Gate: func(m disruption.Method) disruption.Method { return stopped{m, takes} }}}
			command, err := r.compute(t.Context(), Multi, nil, nil, []*disruption.Candidate{candidate("a", "", 10)})
			if err != nil || command == nil || r.slow != want {
				t.Errorf("a search of %s is stopped: %t, want %t (%v, %v)", takes, r.slow, want, command, err)
			}
		})
	}
}
