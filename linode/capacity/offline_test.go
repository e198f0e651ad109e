package capacity

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestAMachineThatStaysOfflineIsLost: if it has never become a Node, and was offline whenever it was checked during
// five minutes. A restart begins them again.
func TestAMachineThatStaysOfflineIsLost(t *testing.T) {
	registered := has("a", 10)
	registered.Registered = true
	type look struct {
		minute  int
		offline map[int]bool
	}
	off, on := map[int]bool{10: true}, map[int]bool{10: false}
	steady := []look{{0, off}, {1, off}, {2, off}, {3, off}, {4, off}, {5, off}, {6, off}, {7, off}}
	for name, tt := range map[string]struct {
		claim Claim
		looks []look
		node  int // the minute in which it has a Node; 0: never
		new   int // the minute in which another process begins; 0: never
		want  []int
	}{
		"always offline":                  {claim: has("a", 10), looks: steady, want: []int{6, 7}},
		"it runs":                         {claim: has("a", 10), looks: []look{{0, on}, {1, on}, {2, on}, {9, on}, {20, on}}},
		"it booted in between":            {claim: has("a", 10), looks: []look{{0, off}, {1, off}, {2, off}, {3, on}, {4, off}, {6, off}, {8, off}}},
		"and is offline again":            {claim: has("a", 10), looks: []look{{0, off}, {1, off}, {3, on}, {4, off}, {8, off}, {9, off}}, want: []int{9}},
		"it is never looked at":           {claim: has("a", 10), looks: []look{{0, nil}, {5, nil}, {10, nil}, {15, nil}}},
		"some looks are not answered":     {claim: has("a", 10), looks: []look{{0, off}, {1, off}, {3, nil}, {6, nil}, {7, off}}, want: []int{7}},
		"it had a Node":                   {claim: has("a", 10), looks: steady, node: 1},
		"its claim has had a Node":        {claim: registered, looks: steady},
		"another process begins":          {claim: has("a", 10), looks: steady, new: 3},
		"its claim goes":                  {claim: Claim{UID: "a", Group: web, Instance: 10, Leaving: true}, looks: steady},
		"the list does not have it":       {claim: has("a", 11), looks: []look{{0, map[int]bool{11: true}}, {6, map[int]bool{11: true}}}},
		"the answer is of other machines": {claim: has("a", 10), looks: []look{{0, nil}, {1, map[int]bool{11: true}}, {9, map[int]bool{11: true}}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			var lost []int
			for _, l := range tt.looks {
				if s.nodes = nil; tt.node > 0 && l.minute == tt.node {
					s.nodes = map[int]Node{10: {Name: "n"}}
				}
				if tt.new > 0 && l.minute == tt.new {
					s.memory = Memory{}
				}
				s.offline = l.offline
				at := now.Add(time.Duration(l.minute) * time.Minute)
				if got := s.sees(at.Sub(s.at), Done, []Claim{tt.claim}, []Pool{pool(1, 1, Slot{"1-a", 10})}); slices.Contains(got, "offline a") {
					lost = append(lost, l.minute)
				}
			}
			if diff := cmp.Diff(tt.want, lost); diff != "" {
				t.Errorf("lost in the minutes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOneRequestReadsAHundredMachines: of those that have waited longest.
func TestOneRequestReadsAHundredMachines(t *testing.T) {
	s := begin(t)
	claims, slots := ownersOf(120), slotsOf(120)
	s.sees(0, Done, claims[50:], []Pool{pool(1, 120, slots...)})
	s.sees(time.Minute, Done, claims, []Pool{pool(1, 120, slots...)})
	if got := s.memory.Unjoined(s.at); len(got) != 70 || got[0] != 1050 {
		t.Errorf("%v", got)
	}
	if got := s.memory.Unjoined(s.at.Add(time.Minute)); len(got) != 100 || got[99] != 1029 {
		t.Errorf("a minute later %v", got)
	}
}
