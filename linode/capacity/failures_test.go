package capacity

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// failed is a failure of a pool at so many seconds, by LKE's clock.
func failed(id, pool, seconds int) Failure {
	return Failure{ID: id, Pool: pool, At: now.Add(time.Duration(seconds)*time.Second + ahead)}
}

// TestFailedSlotEndsWithinSeconds: and no other is, for no other failure.
func TestFailedSlotEndsWithinSeconds(t *testing.T) {
	var (
		none  []Pool
		one   = []Pool{pool(1, 1, Slot{"1-a", 0})}
		two   = []Pool{pool(1, 2, Slot{"1-a", 0}, Slot{"1-b", 0})}
		three = []Pool{pool(1, 3, Slot{"1-a", 0}, Slot{"1-b", 0}, Slot{"1-c", 0})}
		a     = waits("a")
		claim = []Claim{a}
		both  = []Claim{a, {UID: "z", Group: web, Created: now.Add(time.Second)}}
		all   = append(both, Claim{UID: "y", Group: web, Created: now.Add(-time.Second)})
	)
	type look struct {
		at       int
		claims   []Claim
		pools    []Pool
		failures []Failure
	}
	for name, tt := range map[string]struct {
		looks  []look
		silent int // the look at which LKE does not say when it answered
		want   []string
	}{
		"a failure after the slot was asked for": {
			looks: []look{{0, claim, none, nil}, {2, claim, one, nil}, {34, claim, one, []Failure{failed(7, 1, 3)}}},
			want:  []string{"web: delete pool 1", "web: end a"},
		},
		"a failure in the second of the last view without it": {
			looks: []look{{0, claim, none, nil}, {2, claim, one, nil}, {34, claim, one, []Failure{failed(7, 1, 0)}}},
			want:  []string{"web: delete pool 1", "web: end a"},
		},
		"it is not asked about before the slot is doubtful": {
			looks: []look{{0, claim, none, nil}, {2, claim, one, nil}, {30, claim, one, []Failure{failed(7, 1, 3)}}},
			want:  []string{"wait"},
		},
		"one that was written before": {
			looks: []look{{0, claim, none, nil}, {2, claim, one, nil}, {34, claim, one, []Failure{failed(7, 1, -1)}}},
			want:  []string{"wait"},
		},
		"one of another pool": {
			looks: []look{{0, claim, none, nil}, {2, claim, one, nil}, {34, claim, one, []Failure{failed(7, 2, 3)}}},
			want:  []string{"wait"},
		},
		"the slot has got its instance": {
			looks: []look{
				{0, both, none, nil}, {2, both, two, nil},
				{34, both, []Pool{pool(1, 1, Slot{"1-a", 10})}, []Failure{failed(7, 1, 3)}},
			},
			want: []string{"bind a to 10", "web: grow pool 1 to 2 for z", "wait"},
		},
		"another slot was asked for after it": {
			looks: []look{
				{0, claim, none, nil}, {2, claim, one, nil}, {60, both, one, nil}, {62, both, two, nil},
				{64, both, []Pool{pool(1, 2, Slot{"1-a", 10}, Slot{"1-b", 0})}, nil},
				{100, []Claim{has("a", 10), both[1]}, []Pool{pool(1, 2, Slot{"1-a", 10}, Slot{"1-b", 0})}, []Failure{failed(7, 1, 3)}},
			},
			want: []string{"wait"},
		},
		"of two slots one is ended": {
			looks: []look{{0, both, none, nil}, {2, both, two, nil}, {34, both, two, []Failure{failed(7, 1, 3)}}},
			want:  []string{"web: delete slot 1-a", "web: end z", "wait"},
		},
		"listed twice it is one failure": {
			looks: []look{
				{0, both, none, nil}, {2, both, two, nil}, {34, both, two, []Failure{failed(7, 1, 3), failed(7, 1, 3)}},
			},
			want: []string{"web: delete slot 1-a", "web: end z", "wait"},
		},
		"listed again it explains no other slot": {
			looks: []look{
				{0, all, none, nil}, {2, all, three, nil}, {34, all, three, []Failure{failed(7, 1, 3)}},
				{50, both, []Pool{pool(1, 2, two[0].Slots[1], three[0].Slots[2])}, []Failure{failed(7, 1, 3)}},
			},
			want: []string{"wait"},
		},
		"listed late it counts": {
			looks: []look{
				{0, claim, none, nil}, {2, claim, one, nil}, {34, claim, one, nil}, {90, claim, one, []Failure{failed(7, 1, 3)}},
			},
			want: []string{"web: delete pool 1", "web: end a"},
		},
		"a slot that is not doubtful yet is left": {
			looks: []look{
				{0, claim, none, nil}, {2, claim, one, nil}, {30, both, one, nil}, {31, both, two, nil},
				{34, both, two, []Failure{failed(7, 1, 3), failed(8, 1, 32)}},
			},
			want: []string{"web: delete slot 1-a", "web: end z", "wait"},
		},
		"two failures end two": {
			looks: []look{
				{0, both, none, nil}, {2, both, two, nil}, {34, both, two, []Failure{failed(8, 1, 5), failed(7, 1, 3)}},
			},
			want: []string{"web: delete pool 1", "web: end z", "web: end a"},
		},
		"a slot that was hidden before": {
			looks: []look{
				{0, claim, none, nil}, {2, claim, []Pool{pool(1, 1)}, nil},
				{50, claim, []Pool{pool(1, 1)}, nil}, {60, claim, one, nil}, {92, claim, one, []Failure{failed(7, 1, 20)}},
			},
			want: []string{"web: delete pool 1", "web: end a"},
		},
		"a slot that was asked for while another was hidden": {
			looks: []look{
				{0, claim, none, nil}, {2, []Claim{has("a", 10)}, []Pool{pool(1, 2, Slot{"1-a", 10})}, nil},
				{50, []Claim{has("a", 10)}, []Pool{pool(1, 2, Slot{"1-a", 10})}, nil},
				{60, []Claim{has("b", 11)}, []Pool{pool(1, 2, Slot{"1-b", 11})}, nil},
				{62, []Claim{has("b", 11), both[1]}, []Pool{pool(1, 2, Slot{"1-b", 11}, Slot{"1-c", 0})}, nil},
				{94, []Claim{has("b", 11), both[1]}, []Pool{pool(1, 2, Slot{"1-b", 11}, Slot{"1-c", 0})}, []Failure{failed(7, 1, 20)}},
			},
			want: []string{"wait"},
		},
		"slots of the last process": {
			looks: []look{{0, claim, one, nil}, {32, claim, one, []Failure{failed(7, 1, -1)}}},
			want:  []string{"wait"},
		},
		"LKE has not said when it answered": {
			looks: []look{
				{0, claim, none, nil}, {2, claim, one, nil}, {4, claim, one, nil}, {34, claim, one, []Failure{failed(7, 1, 1)}},
			},
			silent: 1,
			want:   []string{"wait"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &story{T: t, at: now}
			var got []string
			for i, l := range tt.looks {
				s.failures, s.silent = l.failures, i+1 == tt.silent
				got = s.sees(now.Add(time.Duration(l.at)*time.Second).Sub(s.at), Done, l.claims, l.pools)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("at last (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEndedSlotGetsNoCalls: LKE is asked for failures while one could explain something, and no longer.
func TestEndedSlotGetsNoCalls(t *testing.T) {
	s := &story{T: t, at: now}
	claim := []Claim{waits("a")}
	s.sees(0, Done, claim, nil)
	var asked []int
	for second := 10; second <= 300; second += 10 {
		if _, ask := s.memory.Doubts(s.at.Add(10 * time.Second)); ask {
			asked = append(asked, second)
		}
		if second >= 60 {
			s.failures = []Failure{failed(7, 1, 1)}
		}
		s.sees(10*time.Second, Refused, claim, []Pool{pool(1, 1, Slot{"1-a", 0})})
	}
	if diff := cmp.Diff([]int{40, 50, 60}, asked); diff != "" {
		t.Errorf("asked after so many seconds (-want +got):\n%s", diff)
	}
}
