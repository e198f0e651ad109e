package limits

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/disruption"

	"github.com/lkeplan/lkeplan/linode/linodetest"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// made is when the claims of the tests are made.
var made = time.Date(2026, 11, 25, 8, 0, 0, 0, time.UTC)

// bronze is a NodePool whose label contradicts its requirement.
func bronze() *karpv1.NodePool {
	pool := linodetest.NodePool(linodetest.In("example.com/tier", "gold"))
	pool.Spec.Template.Labels["example.com/tier"] = "bronze"
	pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{
		Group: linodev1alpha1.Group, Kind: "LinodeNodeClass", Name: "default",
	}
	return pool
}

func class() *linodev1alpha1.LinodeNodeClass {
	return &linodev1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
}

// claimOf is the nth claim of a NodePool, with its Node.
func claimOf(n int, pool *karpv1.NodePool, class *linodev1alpha1.LinodeNodeClass) *karpv1.NodeClaim {
	nc := linodetest.Decided(n)
	nc.CreationTimestamp = metav1.NewTime(made)
	for key, value := range pool.Spec.Template.Labels {
		nc.Labels[key] = value
	}
	nc.Annotations[karpv1.NodePoolHashAnnotationKey] = pool.Hash()
	nc.Status.NodeName = "node-of-" + nc.Name
	StampTemplate(nc.Annotations, nc, pool, class)
	return nc
}

func nodeOf(nc *karpv1.NodeClaim) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: nc.Status.NodeName, Labels: map[string]string{karpv1.NodePoolLabelKey: nc.Labels[karpv1.NodePoolLabelKey]},
	}}
}

// condition sets a condition as Karpenter does, after a time.
func condition(nc *karpv1.NodeClaim, kind, reason string, after time.Duration) {
	nc.StatusConditions().SetTrueWithReason(kind, reason, reason)
	for i := range nc.Status.Conditions {
		if nc.Status.Conditions[i].Type == kind {
			nc.Status.Conditions[i].LastTransitionTime = metav1.NewTime(made.Add(after))
		}
	}
}

// replaced has Karpenter replace a claim for drift.
func replacedClaim(nc *karpv1.NodeClaim) *karpv1.NodeClaim {
	condition(nc, karpv1.ConditionTypeDrifted, string(disruption.RequirementsDrifted), time.Minute)
	condition(nc, karpv1.ConditionTypeDisruptionReason, string(karpv1.DisruptionReasonDrifted), time.Hour)
	return nc
}

// TestOnlyReplacementsWithoutAChangeCount is one claim that ends, and whether it counts.
func TestOnlyReplacementsWithoutAChangeCount(t *testing.T) {
	type is = struct {
		pool  *karpv1.NodePool
		class *linodev1alpha1.LinodeNodeClass
		claim *karpv1.NodeClaim
	}
	for name, tt := range map[string]struct {
		change func(*is)
		counts bool
	}{
		"the label contradicts a requirement": {func(*is) {}, true},
		"it is being deleted": {func(is *is) { is.claim.DeletionTimestamp = new(metav1.NewTime(made.Add(time.Hour))) },
			true},
		"the plan type is not sold after an hour": {func(is *is) {
			condition(is.claim, karpv1.ConditionTypeDrifted, string(disruption.InstanceTypeNotFound), 61*time.Minute)
		}, true},
		"the plan type of an old node is retired": {func(is *is) {
			is.claim = claimOf(1, is.pool, is.class)
			condition(is.claim, karpv1.ConditionTypeDrifted, string(disruption.InstanceTypeNotFound), 50*time.Hour)
			condition(is.claim, karpv1.ConditionTypeDisruptionReason, "Drifted", 51*time.Hour)
		}, false},
		"it reached the age at which its pool replaces nodes": {func(is *is) {
			condition(is.claim, karpv1.ConditionTypeDrifted, string(nodeclaim.AgeDrifted), 10*time.Minute)
		}, false},
		"it drifted while young, and a window was closed for a week": {func(is *is) {
			condition(is.claim, karpv1.ConditionTypeDisruptionReason, "Drifted", 7*24*time.Hour)
		}, true},
		"the clock of Karpenter is behind": {func(is *is) {
			is.claim = claimOf(1, is.pool, is.class)
			condition(is.claim, karpv1.ConditionTypeDrifted, "RequirementsDrifted", -time.Minute)
			condition(is.claim, karpv1.ConditionTypeDisruptionReason, "Drifted", 0)
		}, true},
		"it is consolidated": {func(is *is) {
			condition(is.claim, karpv1.ConditionTypeDisruptionReason, string(karpv1.DisruptionReasonUnderutilized), 0)
		}, false},
		"it is empty": {func(is *is) {
			condition(is.claim, karpv1.ConditionTypeDisruptionReason, string(karpv1.DisruptionReasonEmpty), 0)
		}, false},
		"it expires, or is deleted by hand": {func(is *is) {
			_ = is.claim.StatusConditions().Clear(karpv1.ConditionTypeDisruptionReason)
			is.claim.DeletionTimestamp = new(metav1.NewTime(made))
		}, false},
		"it drifted and waits": {func(is *is) { _ = is.claim.StatusConditions().Clear(karpv1.ConditionTypeDisruptionReason) },
			false},
		"its replacement failed": {func(is *is) {
			is.claim.StatusConditions().SetFalse(karpv1.ConditionTypeDisruptionReason, "Drifted", "")
		}, false},
		"the labels have changed": {func(is *is) { is.pool.Spec.Template.Labels["a"] = "b" }, false},
		"a requirement has changed": {func(is *is) {
			is.pool.Spec.Template.Spec.Requirements[0].Values[0] = "silver"
		}, false},
		"the class has changed":   {func(is *is) { is.class.Spec.FirewallID = new(7) }, false},
		"another class is used":   {func(is *is) { is.class.Name = "other" }, false},
		"the version has changed": {func(is *is) { version(is.class, "1.34") }, false},
		"a budget has changed": {func(is *is) {
			is.pool.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "1"}}
		}, true},
		"the values have another order":    {func(is *is) { slices.Reverse(is.pool.Spec.Template.Spec.Requirements) }, true},
		"it has no record of its template": {func(is *is) { delete(is.claim.Annotations, AnnotationTemplate) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			is := is{pool: bronze(), class: class()}
			is.pool.Spec.Template.Spec.Requirements = append(is.pool.Spec.Template.Spec.Requirements,
				linodetest.In("example.com/team", "web"))
			is.claim = replacedClaim(claimOf(1, is.pool, is.class))
			tt.change(&is)
			d := decideReplacements(replacementState{Pool: is.pool, Class: is.class, Claims: []karpv1.NodeClaim{*is.claim}, Most: 1})
			if got := d.Stopped != ""; got != tt.counts {
				t.Errorf("it counts: %v, want %v", got, tt.counts)
			}
		})
	}
}

func version(class *linodev1alpha1.LinodeNodeClass, v string) {
	class.Spec.LKEK8sVersion, class.Status.KubernetesVersion = &v, v
}

// TestAClaimThatWaitsForItsMachineKeepsItsTemplate: and one that was made from another than
// the present one is not said to be from this one.
func TestAClaimThatWaitsForItsMachineKeepsItsTemplate(t *testing.T) {
	pool, class := bronze(), class()
	nc := claimOf(1, pool, class)
	first := nc.Annotations[AnnotationTemplate]
	pool.Spec.Template.Spec.Requirements = nil
	if StampTemplate(nc.Annotations, nc, pool, class); nc.Annotations[AnnotationTemplate] != first || first == "" {
		t.Errorf("it was made from %q, and then says %q", first, nc.Annotations[AnnotationTemplate])
	}
	delete(nc.Annotations, AnnotationTemplate)
	pool.Spec.Template.Labels["a"] = "b"
	if StampTemplate(nc.Annotations, nc, pool, class); nc.Annotations[AnnotationTemplate] != "" {
		t.Error("a claim of the old template says that it is from the new one")
	}
	StampTemplate(nc.Annotations, nc, nil, class)
}

// recordOf is a record of replacements of a NodePool.
func recordOf(n int, pool *karpv1.NodePool, class *linodev1alpha1.LinodeNodeClass) string {
	r := replacementRecord{NodePool: pool.UID, Template: Template(pool, class), Why: "RequirementsDrifted"}
	for i := range n {
		r.Replaced = append(r.Replaced, types.UID(fmt.Sprintf("old-%d", i)))
	}
	return r.encode()
}

// TestReplacementRecordDecides is a NodePool with a drifted node, one that is replaced now, and a record.
func TestReplacementRecordDecides(t *testing.T) {
	type world struct {
		replacementState
		record func(n int) string
	}
	unreadable := func(text string) func(*world) {
		return func(w *world) { w.Pool.Annotations[AnnotationReplacements] = text }
	}
	had := func(n int) func(*world) {
		return func(w *world) { w.Pool.Annotations[AnnotationReplacements] = w.record(n) }
	}
	for name, tt := range map[string]struct {
		change func(*world)
		reason string
		counts int // in the record that is written; -1 for no record
	}{
		"none":                    {func(w *world) { delete(w.Pool.Annotations, AnnotationReplacements) }, "", 1},
		"three of five":           {had(3), "", 4},
		"four of five":            {had(4), ReasonRepeated, 5},
		"five of five":            {had(5), ReasonRepeated, 5},
		"the setting was lowered": {func(w *world) { had(5)(w); w.Most = 2 }, ReasonRepeated, 5},
		"the setting was raised":  {func(w *world) { had(5)(w); w.Most = 7 }, "", 6},
		"the setting is 0":        {func(w *world) { had(5)(w); w.Most = 0 }, "", -1},
		"the setting is 0, and it is unreadable": {func(w *world) { unreadable("{")(w); w.Most = 0 }, "",
			-1},
		"the same claim again": {func(w *world) {
			w.Pool.Annotations[AnnotationReplacements] = strings.Replace(w.record(4), "old-0", string(w.Claims[1].UID), 1)
		}, "", 4},
		"the class is hidden":                  {func(w *world) { had(5)(w); w.Class = nil }, ReasonRepeated, 5},
		"the class is hidden before the fifth": {func(w *world) { had(4)(w); w.Class = nil }, "", 4},
		"the template has changed": {func(w *world) {
			had(5)(w)
			w.Pool.Spec.Template.Spec.Requirements = nil
		}, "", -1},
		"the template has changed and is unreadable": {func(w *world) {
			unreadable("{")(w)
			w.Pool.Spec.Template.Spec.Requirements = nil
		}, ReasonUnreadable, 0},
		"the NodePool was made again":  {func(w *world) { had(5)(w); w.Pool.UID = "another" }, "", 1},
		"not JSON":                     {unreadable("{"), ReasonUnreadable, 0},
		"another's JSON":               {unreadable(`{"name":"x"}`), ReasonUnreadable, 0},
		"null":                         {unreadable("null"), ReasonUnreadable, 0},
		"empty":                        {unreadable(""), ReasonUnreadable, 0},
		"no claims":                    {unreadable(`{"nodePool":"u","template":"x","replaced":[]}`), ReasonUnreadable, 0},
		"cut":                          {func(w *world) { unreadable(w.record(5)[:60])(w) }, ReasonUnreadable, 0},
		"unreadable, and class hidden": {func(w *world) { unreadable("{")(w); w.Class = nil }, ReasonUnreadable, -2},
	} {
		t.Run(name, func(t *testing.T) {
			pool, class := bronze(), class()
			drifted, going := claimOf(1, pool, class), replacedClaim(claimOf(2, pool, class))
			condition(drifted, karpv1.ConditionTypeDrifted, "RequirementsDrifted", time.Minute)
			pool.Annotations = map[string]string{}
			w := &world{replacementState: replacementState{Pool: pool, Class: class, Claims: []karpv1.NodeClaim{*drifted, *going},
				Nodes: []corev1.Node{*nodeOf(drifted)}, Most: 5}}
			w.record = func(n int) string { return recordOf(n, pool, class) }
			tt.change(w)
			d := decideReplacements(w.replacementState)
			if d.Reason != tt.reason || (d.Stopped == "") != (tt.reason == "") {
				t.Errorf("it is stopped for %q: %q; want %q", d.Reason, d.Stopped, tt.reason)
			}
			if got := len(d.Hold); (got > 0) != (tt.reason != "") {
				t.Errorf("%d objects are held", got)
			}
			stored := *w.Pool
			stored.Annotations = map[string]string{AnnotationReplacements: d.Record}
			record, _ := readReplacements(&stored)
			switch {
			case tt.counts == -1 && d.Record != "":
				t.Errorf("the record %s stays", d.Record)
			case tt.counts == -2 && d.Record != "{":
				t.Errorf("the record becomes %s", d.Record)
			case tt.counts >= 0 && len(record.Replaced) != tt.counts:
				t.Errorf("the record is %s, want %d", d.Record, tt.counts)
			}
			// The next one to read it decides the same.
			w.Pool.Annotations[AnnotationReplacements] = d.Record
			if d.Record == "" {
				delete(w.Pool.Annotations, AnnotationReplacements)
			}
			if tt.counts != -1 {
				again := decideReplacements(w.replacementState)
				was, is := []string{d.Record, d.Reason, d.Stopped}, []string{again.Record, again.Reason, again.Stopped}
				if diff := cmp.Diff(was, is); diff != "" {
					t.Errorf("the next one decides otherwise:\n%s", diff)
				}
			}
		})
	}
}

// TestAnUnreadableRecordEndsWithTheTemplate: it was found under one template, and says nothing
// of the next.
func TestAnUnreadableRecordEndsWithTheTemplate(t *testing.T) {
	pool := bronze()
	pool.Annotations = map[string]string{AnnotationReplacements: "{"}
	s := replacementState{Pool: pool, Class: class(), Most: 5}
	pool.Annotations[AnnotationReplacements] = decideReplacements(s).Record
	if d := decideReplacements(s); d.Reason != ReasonUnreadable {
		t.Fatalf("it is forgotten at the second look: %+v", d)
	}
	pool.Spec.Template.Spec.Requirements = nil
	if d := decideReplacements(s); d.Stopped != "" || d.Record != "" {
		t.Errorf("after a change: %+v", d)
	}
}

// TestRevertedChangeCountsNothing: nodes that were on their way out for the change
// look afterwards as if they had been replaced for none.
func TestRevertedChangeCountsNothing(t *testing.T) {
	pool, class := bronze(), class()
	s := replacementState{Pool: pool, Class: class, Most: 5}
	for n := range 20 {
		s.Claims = append(s.Claims, *replacedClaim(claimOf(n, pool, class)))
	}
	was := pool.Spec.Template.Spec.Requirements
	tin := linodetest.In("example.com/tier", "tin")
	pool.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{tin}
	d := decideReplacements(s)
	if d.Stopped != "" || len(d.Looked) != 20 {
		t.Fatalf("a rollout: %q, %d looked at", d.Stopped, len(d.Looked))
	}
	for _, nc := range d.Looked {
		delete(nc.Annotations, AnnotationTemplate)
	}
	pool.Spec.Template.Spec.Requirements = was
	if d := decideReplacements(s); d.Stopped != "" || d.Record != "" {
		t.Errorf("after the change was taken back: %q, record %s", d.Stopped, d.Record)
	}
}

// TestWhichPoolsAreStopped is one claim and its Node in a NodePool that is stopped or not.
func TestWhichPoolsAreStopped(t *testing.T) {
	const keep = karpv1.DoNotDisruptAnnotationKey
	ours := map[string]string{keep: "true", AnnotationHeld: heldValue}
	theirs, refused := map[string]string{keep: "true"}, map[string]string{keep: "false"}
	unkept := map[string]string{AnnotationHeld: heldValue}
	holdNode, releaseBoth := []string{"hold node"}, []string{"release claim", "release node"}
	for name, tt := range map[string]struct {
		free          bool // the NodePool is not stopped
		fresh, hidden bool // the claim has not drifted; the list does not show it
		leaves        bool // it is being deleted
		claim, node   map[string]string
		want          []string
	}{
		"drifted":                                {want: []string{"hold claim", "hold node"}},
		"drifted, and held already":              {claim: ours, node: ours},
		"drifted, and another holds it":          {claim: theirs, node: theirs},
		"drifted, the Node was released by hand": {claim: ours, node: unkept, want: holdNode},
		"drifted, and another says false":        {claim: ours, node: refused, want: holdNode},
		"not drifted":                            {fresh: true},
		"not drifted any more":                   {fresh: true, claim: ours, node: ours, want: releaseBoth},
		"not drifted, another holds it":          {fresh: true, claim: theirs, node: theirs},
		"its claim is hidden":                    {hidden: true, node: ours},
		"it is being deleted":                    {leaves: true},
		"not stopped":                            {free: true, claim: ours, node: ours, want: releaseBoth},
		"not stopped, another holds it":          {free: true, claim: theirs, node: theirs},
		"not stopped, another holds a claim":     {free: true, claim: theirs, node: ours, want: []string{"release node"}},
		"not stopped, its claim is hidden":       {free: true, hidden: true, node: ours, want: []string{"release node"}},
	} {
		t.Run(name, func(t *testing.T) {
			pool, class := bronze(), class()
			pool.Annotations = map[string]string{AnnotationReplacements: recordOf(5, pool, class)}
			if tt.free {
				pool.Annotations = nil
			}
			nc := claimOf(1, pool, class)
			node := nodeOf(nc)
			if !tt.fresh {
				condition(nc, karpv1.ConditionTypeDrifted, "RequirementsDrifted", time.Minute)
			}
			if tt.leaves {
				nc.DeletionTimestamp = new(metav1.NewTime(made))
			}
			for key, value := range tt.claim {
				nc.Annotations[key] = value
			}
			node.Annotations = tt.node
			s := replacementState{Pool: pool, Class: class, Claims: []karpv1.NodeClaim{*nc}, Nodes: []corev1.Node{*node}, Most: 5}
			if tt.hidden {
				s.Claims = nil
			}
			d := decideReplacements(s)
			var got []string
			for verb, objects := range map[string][]client.Object{"hold ": d.Hold, "release ": d.Release} {
				for _, o := range objects {
					kind := "node"
					if _, claim := o.(*karpv1.NodeClaim); claim {
						kind = "claim"
					}
					got = append(got, verb+kind)
				}
			}
			if slices.Sort(got); !slices.Equal(got, tt.want) {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

// TestAStopSaysWhy names the label and the requirement, as they were when the last node went.
func TestAStopSaysWhy(t *testing.T) {
	pool, class := bronze(), class()
	s := replacementState{Pool: pool, Class: class, Claims: []karpv1.NodeClaim{*replacedClaim(claimOf(1, pool, class))}, Most: 1}
	const want = "Karpenter has replaced 1 of the nodes of the NodePool soon after their creation, although the template has not changed " +
		"(RequirementsDrifted: nodes get the label example.com/tier=bronze, and a requirement of the NodePool does not " +
		"allow that); drifted nodes are kept until the template of the NodePool or its LinodeNodeClass changes, " +
		"or its annotation lkeplan.dev/replacements is removed"
	if diff := cmp.Diff(want, decideReplacements(s).Stopped); diff != "" {
		t.Error(diff)
	}
	pool.Spec.Template.Spec.Requirements[0].Key = "example.com/rack"
	if got := conflictOf(pool, &s.Claims[0]); !strings.Contains(got, "nodes do not get the label example.com/rack") {
		t.Error(got)
	}
	pool.Spec.Template.Spec.Requirements = nil
	if got := conflictOf(pool, &s.Claims[0]); got != "" {
		t.Error(got)
	}
}
