package disrupt

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/operator/options"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// method is a method of Karpenter that disrupts each candidate alone, in order.
type method struct{ disruption.Method }

func (method) ShouldDisrupt(context.Context, *disruption.Candidate) bool { return true }

func (method) ComputeCommands(_ context.Context, _ map[string]int, candidates ...*disruption.Candidate) ([]disruption.Command, error) {
	if len(candidates) == 0 {
		return nil, nil
	}
	return []disruption.Command{{Candidates: candidates[:1]}}, nil
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
	g := &gate{method{}, policies, func() time.Time { return now }}
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

// TestOnlyConsolidationIsGated: drift is a change that a commit asks for.
func TestOnlyConsolidationIsGated(t *testing.T) {
	ctx := options.ToContext(t.Context(), &options.Options{})
	gated := map[bool]int{}
	for _, m := range disruption.NewMethods(ctx, nil, nil, nil, nil, nil, nil, nil) {
		_, is := Gate(m, nil, time.Now).(*gate)
		gated[is]++
		if drift := m.Reason() == karpv1.DisruptionReasonDrifted; drift == is {
			t.Errorf("%T is gated: %v", m, is)
		}
	}
	if diff := cmp.Diff(map[bool]int{true: 3, false: 2}, gated); diff != "" {
		t.Error(diff)
	}
}
