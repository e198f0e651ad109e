package paidhour

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

	"github.com/lkeplan/lkeplan/linode/catalog"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// TestWindowIsTheEndOfEachPaidHour of a machine that was created at 12:00.
func TestWindowIsTheEndOfEachPaidHour(t *testing.T) {
	for _, tc := range []struct {
		last        time.Duration
		now         time.Duration // after noon
		open        bool
		from, until time.Duration
	}{
		{10 * time.Minute, 0, false, 50 * time.Minute, time.Hour},
		{10 * time.Minute, 49*time.Minute + 59*time.Second, false, 50 * time.Minute, time.Hour},
		{10 * time.Minute, 50 * time.Minute, true, 50 * time.Minute, time.Hour},
		{10 * time.Minute, time.Hour - 1, true, 50 * time.Minute, time.Hour},
		{10 * time.Minute, time.Hour, false, 110 * time.Minute, 2 * time.Hour},
		{10 * time.Minute, 71*time.Hour + 55*time.Minute, true, 71*time.Hour + 50*time.Minute, 72 * time.Hour},
		{10 * time.Minute, -5 * time.Minute, false, 50 * time.Minute, time.Hour}, // the clock was set back
		{0, 5 * time.Minute, true, 5 * time.Minute, 65 * time.Minute},
		{time.Hour, 5 * time.Minute, true, 5 * time.Minute, 65 * time.Minute},
		{90 * time.Minute, 5 * time.Minute, true, 5 * time.Minute, 65 * time.Minute},
	} {
		p := Policy{Last: tc.last}
		from, until := p.Window(noon, noon.Add(tc.now))
		if p.Open(noon, noon.Add(tc.now)) != tc.open || !from.Equal(noon.Add(tc.from)) || !until.Equal(noon.Add(tc.until)) {
			t.Errorf("%s before the end, after %s: from %s until %s", tc.last, tc.now, from.Sub(noon), until.Sub(noon))
		}
	}
}

func TestSavingIsByTheMonth(t *testing.T) {
	for _, tc := range []struct {
		least  catalog.Money
		hourly float64
		want   bool
	}{
		{0, 0, true}, {0, -1, false}, {5 * catalog.Dollar, 5.0 / catalog.HoursPerMonth, true},
		{5 * catalog.Dollar, 4.99 / catalog.HoursPerMonth, false}, {73 * catalog.Dollar, 0.1, true},
	} {
		if got := (Policy{Saving: tc.least}).Worth(tc.hourly); got != tc.want {
			t.Errorf("%s a month: %v an hour is worth it: %v", tc.least, tc.hourly, got)
		}
	}
}

func TestPolicyIsThatOfTheClass(t *testing.T) {
	class := &linodev1alpha1.LinodeNodeClass{}
	if p, err := PolicyOf(class); err != nil || p != (Policy{}) {
		t.Errorf("a class that says nothing has %+v, %v", p, err)
	}
	class.Spec.Consolidation = &linodev1alpha1.Consolidation{
		BeforePaidHourEnds: &metav1.Duration{Duration: 10 * time.Minute}, MinimumMonthlySaving: "7.50",
	}
	if p, err := PolicyOf(class); err != nil || p != (Policy{10 * time.Minute, 7*catalog.Dollar + catalog.Dollar/2}) {
		t.Errorf("it is read as %+v, %v", p, err)
	}
	class.Spec.Consolidation.MinimumMonthlySaving = "much"
	if p, err := PolicyOf(class); err == nil {
		t.Errorf("it is read as %+v", p)
	}
}

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
	policies := func(_ context.Context, class string) (Policy, error) {
		if class == "unreadable" {
			return Policy{}, errors.New("the API server does not answer")
		}
		return map[string]Policy{"late": {Last: 10 * time.Minute}, "picky": {Saving: 20 * catalog.Dollar}}[class], nil
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
	gated := map[bool]int{}
	for _, m := range disruption.NewMethods(nil, nil, nil, nil, nil, nil, nil) {
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
