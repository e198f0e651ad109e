package inplace

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"

	"github.com/lkeplan/lkeplan/schemas"
)

// version is a NodePool with a list, labels as key=value, and a taint.
func version(list, labels, taint string) *karpv1.NodePool {
	pool := firstPool()
	if list != "" {
		pool.Annotations = map[string]string{schemas.AnnotationInPlace: list}
	}
	for pair := range strings.FieldsSeq(labels) {
		key, value, _ := strings.Cut(pair, "=")
		if pool.Spec.Template.Labels == nil {
			pool.Spec.Template.Labels = map[string]string{}
		}
		pool.Spec.Template.Labels["example.com/"+key] = value
	}
	if taint != "" {
		pool.Spec.Template.Spec.Taints = []corev1.Taint{{Key: taint, Effect: corev1.TaintEffectNoSchedule}}
	}
	return pool
}

func claimOf(pool *karpv1.NodePool) *karpv1.NodeClaim {
	nc := scheduling.NewNodeClaimTemplate(pool).NodeClaim.DeepCopy()
	nc.Name = "web-1"
	return nc
}

// relabeled is a claim after all writes for a pool, with its Node.
func relabeled(t *testing.T, pool *karpv1.NodePool, nc *karpv1.NodeClaim, node *corev1.Node) (*karpv1.NodeClaim,
	*corev1.Node) {
	t.Helper()
	for range 4 {
		claim, changed := TemplateOf(pool).Next(nc, node)
		if claim == nil && changed == nil {
			return nc, node
		}
		if claim != nil {
			nc = claim
		}
		if changed != nil {
			node = changed
		}
	}
	t.Fatal("it does not converge")
	return nil, nil
}

// TestWhichChangesReplaceNodes has sequences of commits. The claim is created from the first one. The nodes are
// relabeled after those that end with !.
func TestWhichChangesReplaceNodes(t *testing.T) {
	const team, both = "example.com/team", "example.com/team,example.com/x"
	type commit struct {
		list, labels, taint string
		relabel             bool
	}
	for name, test := range map[string]struct {
		commits []commit
		drifted bool
	}{
		"a value changes in place": {[]commit{{team, "team=a", "", true}, {team, "team=b", "", false}}, false},
		"a value changes in place before the first relabeling": {
			[]commit{{team, "team=a", "", false}, {team, "team=b", "", false}}, false},
		"a key joins the list and changes in one commit": {
			[]commit{{"", "team=a", "", false}, {team, "team=b", "", false}}, false},
		"a key joins the list, and a taint changes": {
			[]commit{{"", "team=a", "", false}, {team, "team=b", "t", false}}, true},
		"a key joins the list, and a label that is not in it changes": {
			[]commit{{"", "team=a x=1", "", false}, {team, "team=b x=2", "", false}}, true},
		"a value changes, and the next commit empties the list before the relabeling": {
			[]commit{{team, "team=a", "", true}, {team, "team=b", "", false}, {"", "team=b", "", false}}, false},
		"the list becomes empty in a commit without another change": {
			[]commit{{team, "team=a", "", false}, {"", "team=a", "", false}}, false},
		"a key leaves the list after a change, and changes again": {
			[]commit{{team, "team=a", "", true}, {team, "team=b", "", true}, {"", "team=b", "", true}, {"", "team=c", "",
				false}}, true},
		"a node that has drifted for a taint stays so while values change": {
			[]commit{{team, "team=a", "", true}, {team, "team=a", "t", true}, {team, "team=b", "t", true}}, true},
		"a taint is reverted after values have changed": {
			[]commit{{team, "team=a", "", true}, {team, "team=b", "t", true}, {both, "team=c x=1", "t", true}, {both,
				"team=c x=1", "", false}},
			false},
		"a key that made nodes drift joins the list": {
			[]commit{{"", "team=a", "", false}, {"", "team=b", "", false}, {team, "team=b", "", false}}, false},
		"a label and its key are removed in one commit": {
			[]commit{{team, "team=a x=1", "", true}, {"", "x=1", "", false}}, false},
		"the only label and its key are removed in one commit": {[]commit{{team, "team=a", "", true}, {"", "", "", false}},
			false},
		"a label that is not in the list is removed": {
			[]commit{{team, "team=a x=1", "", true}, {team, "team=a", "", false}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var nc *karpv1.NodeClaim
			var node *corev1.Node
			for _, c := range test.commits {
				pool := version(c.list, c.labels, c.taint)
				if nc == nil {
					nc = claimOf(pool)
					node = &corev1.Node{ObjectMeta: *nc.ObjectMeta.DeepCopy()}
				}
				if c.relabel {
					nc, node = relabeled(t, pool, nc, node)
				}
			}
			last := test.commits[len(test.commits)-1]
			if is := TemplateOf(version(last.list, last.labels, last.taint)).Drifted(nc.Labels,
				nc.Annotations); is != test.drifted {
				t.Errorf("drifted: %t, not %t; %v", is, test.drifted, nc.Annotations)
			}
		})
	}
}

// TestKeyThatLeavesIsRemovedOnlyIfLkeplanSetIt: a label of the same name that another has set on a Node stays.
func TestKeyThatLeavesIsRemovedOnlyIfLkeplanSetIt(t *testing.T) {
	pool := version("example.com/team", "team=a", "")
	nc, node := relabeled(t, pool, claimOf(pool), &corev1.Node{})
	if node.Labels["example.com/team"] != "a" {
		t.Fatalf("labels %v", node.Labels)
	}
	node.Annotations = map[string]string{"example.com/team": "another's annotation"}
	if nc, node = relabeled(t, version("", "", ""), nc, node); len(node.Labels) != 0 ||
		node.Annotations["example.com/team"] == "" {
		t.Errorf("labels %v, annotations %v", node.Labels, node.Annotations)
	}
	if nc.Annotations[AnnotationValues] != "" || nc.Labels["example.com/team"] != "" {
		t.Errorf("the claim remembers %v, labels %v", nc.Annotations, nc.Labels)
	}
}

// TestRemovedLabelStaysRemembered until the Node is known to lack it: Karpenter may register a Node with the labels
// that the claim had before.
func TestRemovedLabelStaysRemembered(t *testing.T) {
	pool := version("example.com/team", "team=a", "")
	nc, _ := relabeled(t, pool, claimOf(pool), nil)
	late := &corev1.Node{ObjectMeta: *nc.ObjectMeta.DeepCopy()}
	gone := version("", "", "")
	nc, _ = relabeled(t, gone, nc, nil)
	if nc.Labels["example.com/team"] != "" {
		t.Errorf("labels of the claim %v", nc.Labels)
	}
	if _, late = relabeled(t, gone, nc, late); late.Labels["example.com/team"] != "" {
		t.Errorf("labels of the Node %v", late.Labels)
	}
}

// TestClaimWithAnotherHashVersionKeepsItsStamp: Karpenter's hash controller gives it a stamp.
func TestClaimWithAnotherHashVersionKeepsItsStamp(t *testing.T) {
	for _, old := range []string{"v2", ""} {
		nc := claimOf(version("example.com/team", "team=a", ""))
		nc.Annotations[karpv1.NodePoolHashVersionAnnotationKey] = old
		stamp := nc.Annotations[karpv1.NodePoolHashAnnotationKey]
		pool := version("example.com/team", "team=b", "")
		nc, _ = relabeled(t, pool, nc, nil)
		if nc.Annotations[karpv1.NodePoolHashAnnotationKey] != stamp || nc.Labels["example.com/team"] != "b" {
			t.Errorf("%q: stamp %v, labels %v", old, nc.Annotations, nc.Labels)
		}
		// What Karpenter's hash controller does with such a claim.
		nc.Annotations[karpv1.NodePoolHashVersionAnnotationKey] = karpv1.NodePoolHashVersion
		nc.Annotations[karpv1.NodePoolHashAnnotationKey] = pool.Hash()
		if later := TemplateOf(version("example.com/team", "team=c", "")); later.Drifted(nc.Labels, nc.Annotations) {
			t.Errorf("%q: it drifts for a change in place", old)
		}
	}
}

// TestKeysOfProgramsAndRequirementsAreNotInPlace: an annotation that was not compiled cannot hide the mark of a
// removal.
func TestKeysOfProgramsAndRequirementsAreNotInPlace(t *testing.T) {
	pool := version("b.com/y,,a.com/x,"+schemas.AnnotationRemoval+",karpenter.sh/nodepool,kubernetes.io/arch,"+
		"example.com/zone,a.com/x", "", "")
	pool.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{{Key: "example.com/zone",
		Operator: "Exists"}}
	if got := strings.Join(Keys(pool), " "); got != "a.com/x b.com/y" {
		t.Error(got)
	}
	nc := claimOf(pool)
	nc.Annotations[AnnotationValues] = `{"hash":"` + pool.Hash() + `","annotations":{"` + schemas.AnnotationRemoval +
		`":null}}`
	removed := pool.DeepCopy()
	removed.Spec.Template.Annotations = map[string]string{schemas.AnnotationRemoval: "now"}
	if !TemplateOf(removed).Drifted(nc.Labels, nc.Annotations) {
		t.Error("a record hides the removal of a pool")
	}
}

// TestUnreadableRecordIsNone, so that a person who edits it causes no panic.
func TestUnreadableRecordIsNone(t *testing.T) {
	for _, text := range []string{"", "null", "[]", "{", `{"labels":{"example.com/team":null}}`,
		`{"labels":null,"hash":7}`} {
		nc := claimOf(version("example.com/team", "team=a", ""))
		nc.Annotations[AnnotationValues] = text
		pool := version("example.com/team", "team=b", "")
		if TemplateOf(pool).Drifted(nc.Labels, nc.Annotations) {
			t.Errorf("%q: drifted", text)
		}
		if nc, _ = relabeled(t, pool, nc, nil); nc.Labels["example.com/team"] != "b" {
			t.Errorf("%q: labels %v", text, nc.Labels)
		}
	}
}

// TestReducedHashIgnoresOnlyKeysInPlace: replacements are counted by it.
func TestReducedHashIgnoresOnlyKeysInPlace(t *testing.T) {
	a := version("example.com/team", "team=a x=1", "")
	if Reduced(a) != Reduced(version("example.com/team", "team=b x=1", "")) ||
		Reduced(a) == Reduced(version("example.com/team", "team=a x=2", "")) {
		t.Error("the reduced hash")
	}
	if none := version("", "team=a", ""); Reduced(none) != none.Hash() {
		t.Error("a pool without keys has another hash")
	}
	if Differs(a, version("example.com/team", "team=b x=1", "")) || !Differs(a, version("example.com/team", "team=a x=2",
		"")) {
		t.Error("Differs")
	}
}
