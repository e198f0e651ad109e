package capacity

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// shaped is what a group with everything in it asks for.
var shaped = Group{
	NodePool: "web", Plan: "g6-standard-4", Labels: map[string]string{"a": "b"}, Tags: []string{"Env:prod", "team:web"},
	Taints: []Taint{
		{Key: "x", Effect: "NoSchedule"}, {Key: "y", Value: "z", Effect: "NoExecute"},
	}, Version: "v1.33.4+lke2",
}

// TestPoolsAreCorrectedInPlace edits the one pool of a group, which holds the machine
// of a claim, and has it decided on while another claim waits.
func TestPoolsAreCorrectedInPlace(t *testing.T) {
	owner := Claim{UID: "a", Group: shaped, Instance: 10, Created: now}
	waiting := Claim{UID: "b", Group: shaped, Created: now}
	const grow = "grow pool 1 to 2 for b"
	tests := []struct {
		name string
		edit func(*Pool)
		past attempt // when the pool was corrected last
		want []string
	}{
		{"nothing was edited", func(*Pool) {}, attempt{}, []string{grow}},
		{
			"tags in another order and case are the same", func(p *Pool) { p.Tags = []string{"LKEplan", "team:web", "env:Prod"} },
			attempt{}, []string{grow},
		},
		{
			"taints in another order are the same", func(p *Pool) { p.Taints = []Taint{shaped.Taints[1], shaped.Taints[0]} },
			attempt{}, []string{grow},
		},
		{"tags", func(p *Pool) { p.Tags = p.Tags[:1] }, attempt{}, []string{"correct tags of pool 1", grow}},
		{
			"the mark was removed", func(p *Pool) { p.Tags = shaped.Tags }, attempt{},
			[]string{"correct mark of pool 1", grow},
		},
		{
			"LKE has not taken the mark", func(p *Pool) { p.Tags = shaped.Tags }, attempt{now.Add(-48 * time.Hour), 3, mostMarks, nil},
			[]string{grow},
		},
		{"labels", func(p *Pool) { p.Labels = nil }, attempt{}, []string{"correct labels of pool 1", grow}},
		{"taints", func(p *Pool) { p.Taints = nil }, attempt{}, []string{"correct taints of pool 1", grow}},
		{
			"the autoscaler was switched on", func(p *Pool) { p.Autoscaled = true }, attempt{},
			[]string{"correct autoscaler of pool 1", grow},
		},
		{"all at once", func(p *Pool) { p.Traits = Traits{Plan: p.Plan, Version: p.Version, Autoscaled: true} }, attempt{},
			[]string{"correct tags labels taints autoscaler of pool 1", grow}},
		{
			"the tag that names the group was taken away", func(p *Pool) { p.Group = "" }, attempt{},
			[]string{"correct group of pool 1", grow},
		},
		{
			"it was corrected a moment ago", func(p *Pool) { p.Labels = nil }, attempt{now.Add(-30 * time.Second), 1, 0, nil},
			[]string{grow},
		},
		{
			"and once more after a minute", func(p *Pool) { p.Labels = nil }, attempt{now.Add(-time.Minute), 1, 0, nil},
			[]string{"correct labels of pool 1", grow},
		},
		{"but less and less often", func(p *Pool) { p.Labels = nil }, attempt{now.Add(-10 * time.Minute), 5, 0, nil}, []string{grow}},
		// New nodes would not be what they should until it is corrected: the claim that waits gets another pool.
		{
			"another version", func(p *Pool) { p.Version = "v1.34.0+lke1" }, attempt{},
			[]string{"make a pool of 1 for b", "correct version of pool 1"},
		},
		{"another plan, which LKE cannot change", func(p *Pool) { p.Plan = "q" }, attempt{},
			[]string{"make a pool of 1 for b"}},
		{
			"another firewall is LKE's choice where none was asked for", func(p *Pool) { p.FirewallID = 7 }, attempt{},
			[]string{grow},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := Pool{ID: 1, Group: shaped.Key(), Count: 1, Slots: []Slot{{"1-a", 10}}, Traits: traits(shaped)}
			tt.edit(&p)
			memory := Memory{}
			if tt.past.inARow > 0 {
				memory.corrected = map[int]attempt{1: tt.past}
			}
			var got []string
			for _, line := range render(decide([]Claim{owner, waiting}, []Pool{p}, memory)) {
				if line != "wait" {
					got = append(got, line[len(": "):])
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhichNodesAPoolCanHave(t *testing.T) {
	whole := Group{Plan: "p", DiskEncryption: "enabled", FirewallID: 7, Version: "v1"}
	fits := Traits{Plan: "p", DiskEncryption: "enabled", FirewallID: 7, Version: "v1"}
	tests := []struct {
		name       string
		g          Group
		edit       func(*Traits)
		keep, hold bool // the nodes it has, and new ones
	}{
		{"all as it should be", whole, func(*Traits) {}, true, true},
		{"another plan", whole, func(t *Traits) { t.Plan = "q" }, false, false},
		{"not encrypted", whole, func(t *Traits) { t.DiskEncryption = "disabled" }, false, false},
		{"another firewall", whole, func(t *Traits) { t.FirewallID = 8 }, true, false},
		{"no firewall", whole, func(t *Traits) { t.FirewallID = 0 }, true, false},
		{"another version", whole, func(t *Traits) { t.Version = "v2" }, true, false},
		{"LKE says nothing of the version", whole, func(t *Traits) { t.Version = "" }, true, true},
		{"nothing was asked for", Group{Plan: "p"}, func(*Traits) {}, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			traits := fits
			tt.edit(&traits)
			if keep, hold := tt.g.CanKeep(traits), tt.g.CanHold(traits); keep != tt.keep || hold != tt.hold {
				t.Errorf("CanKeep = %v, CanHold = %v", keep, hold)
			}
		})
	}
}

// TestFirewallIsNeverRemovedInPlace: LKE changes a firewall of a pool for another, and not back to
// none. A class that has none any more asks for another group, whose pools are created, and no correction
// of the pools with the firewall names it.
func TestFirewallIsNeverRemovedInPlace(t *testing.T) {
	with := Group{NodePool: "web", Plan: "g6-standard-4", FirewallID: 7}
	without, other := with, with
	without.FirewallID, other.FirewallID = 0, 8
	if with.Key() == without.Key() || with.Key() == other.Key() {
		t.Error("groups with and without a firewall share pools")
	}
	traits := Traits{Plan: with.Plan, FirewallID: 7, Tags: []string{Mark}}
	if fields := without.outOfStep(traits); len(fields) > 0 {
		t.Errorf("of a group without a firewall %v is corrected", fields)
	}
	pool := Pool{ID: 1, Group: with.Key(), Count: 1, Slots: []Slot{{"1-a", 10}}, Traits: traits}
	claims := []Claim{
		{UID: "a", Group: with, Instance: 10, Created: now}, {UID: "b", Group: without, Created: now},
	}
	want := []string{"web: make a pool of 1 for b", "wait"}
	if diff := cmp.Diff(want, render(decide(claims, []Pool{pool}, Memory{}))); diff != "" {
		t.Errorf("decision (-want +got):\n%s", diff)
	}
}

// TestLabelsInPlaceAreCorrectedWithoutAPause: a commit changes them, and nothing is wrong with the pool.
func TestLabelsInPlaceAreCorrectedWithoutAPause(t *testing.T) {
	value, now := "b", time.Now()
	spec := Group{NodePool: "web", Plan: "p", Labels: map[string]string{"team": "a", "tier": "1"}, InPlace: map[string]*string{"team": &value}}
	g := &group{spec: spec, pools: []Pool{{ID: 1, Group: spec.Key(), Traits: Traits{Plan: "p", Tags: []string{Mark},
		Labels: map[string]string{"team": "a", "tier": "1"}}}}}
	memory := Memory{corrected: map[int]attempt{}}
	correct := func() (corrections []Correction) {
		next, work := Memory{corrected: map[int]attempt{}}, Work{}
		g.correct(memory, &next, &work, now)
		memory = next
		return work.Corrections
	}
	if got := correct(); len(got) != 1 || !got[0].Intended() {
		t.Fatalf("%+v", got)
	}
	if got := correct(); len(got) != 0 {
		t.Errorf("it is corrected again without a pause: %+v", got)
	}
	value = "c"
	if got := correct(); len(got) != 1 {
		t.Errorf("the next change waits: %+v", got)
	}
	g.pools[0].Labels = map[string]string{"team": "c", "tier": "2"}
	now = now.Add(lastPause)
	if got := correct(); len(got) != 1 || got[0].Intended() {
		t.Errorf("the change of another label is not reported: %+v", got)
	}
}
