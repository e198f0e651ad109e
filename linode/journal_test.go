package linode

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/lke"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// TestTheJournalOfAClass lists the nodes that were removed last, each once, regardless of the process that recorded them; a
// claim that never had a machine is not among them.
func TestTheJournalOfAClass(t *testing.T) {
	plans := provider(t).chooser.Types
	at := time.Date(2026, 11, 2, 14, 0, 0, 0, time.UTC)
	going := func(n int, state func(nc *karpv1.NodeClaim)) *karpv1.NodeClaim {
		nc := decided(n)
		nc.Name, nc.Status.ProviderID = fmt.Sprintf("web-%03d", n), fmt.Sprintf("linode://%d", n)
		nc.CreationTimestamp = metav1.Time{Time: at.Add(-time.Hour)}
		nc.DeletionTimestamp = &metav1.Time{Time: at.Add(time.Duration(n) * time.Second)}
		state(nc)
		return nc
	}
	plainly := func(*karpv1.NodeClaim) {}
	class := &linodev1alpha1.LinodeNodeClass{}
	class.Name = decided(1).Spec.NodeClassRef.Name
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithStatusSubresource(class).WithObjects(class).Build()
	journal := func(j *Journal) (written []string) {
		t.Helper()
		req := ctrl.Request{NamespacedName: client.ObjectKey{Name: class.Name}}
		if _, err := j.Reconcile(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		if len(j.new[class.Name]) > 0 {
			t.Errorf("%d entries are kept after they were written", len(j.new[class.Name]))
		}
		if err := c.Get(t.Context(), req.NamespacedName, class); err != nil {
			t.Fatal(err)
		}
		for _, g := range class.Status.Gone {
			written = append(written, strings.TrimSpace(g.NodeClaim+" "+g.Reason+" "+g.Message))
		}
		return written
	}
	first := NewJournal(c, plans, lke.New(nil, nil, 0, "", &shown{}))
	first.note(t.Context(), going(1, func(nc *karpv1.NodeClaim) {
		nc.StatusConditions().SetTrueWithReason(karpv1.ConditionTypeDrifted, "NodePoolDrifted", "")
		nc.StatusConditions().SetTrueWithReason(karpv1.ConditionTypeDisruptionReason, "Drifted", "")
	}), true)
	first.note(t.Context(), going(2, func(nc *karpv1.NodeClaim) { nc.Spec.ExpireAfter = karpv1.MustParseNillableDuration("60m") }), true)
	first.note(t.Context(), going(3, func(nc *karpv1.NodeClaim) { nc.Status.ProviderID = "lke-pending://x" }), true)
	first.note(t.Context(), going(4, func(nc *karpv1.NodeClaim) { nc.DeletionTimestamp = nil }), true)
	want := []string{"web-002 Expired", "web-001 Drifted NodePoolDrifted"}
	if got := journal(first); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if g := class.Status.Gone[0]; g.PlanType != "g6-standard-4" || g.HourlyPrice != "0.072" || g.NodePool != "web" {
		t.Errorf("entry %+v", g)
	}
	version := class.ResourceVersion

	second := NewJournal(c, plans, lke.New(nil, nil, 0, "", &shown{})) // of another leader, which sees those that still go
	second.note(t.Context(), going(2, func(nc *karpv1.NodeClaim) { nc.Spec.ExpireAfter = karpv1.MustParseNillableDuration("60m") }), true)
	if got := journal(second); !slices.Equal(got, want) || class.ResourceVersion != version {
		t.Errorf("%q, want %q, and nothing to be written", got, want)
	}
	for n := range 60 {
		second.note(t.Context(), going(10+n, plainly), true)
	}
	got := journal(second)
	if len(got) != linodev1alpha1.MostGone || got[0] != "web-069 Deleted" || got[49] != "web-020 Deleted" {
		t.Errorf("%d entries, from %s to %s", len(got), got[0], got[len(got)-1])
	}
}

// TestTheJournalKeepsTheRevision that a node was replaced for, as it was when it began to go.
func TestTheJournalKeepsTheRevision(t *testing.T) {
	by := manifest.RolledBy{NodePlan: "infra/prod", Name: "main@sha1:3f2a1c9"}
	pool, class := nodePool(), readyClass()
	class.Name = decided(1).Spec.NodeClassRef.Name
	pool.Annotations = map[string]string{manifest.AnnotationRolledBy: noteOf(t, by, pool.Spec.Template)}
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(pool, class).Build()
	for drift, want := range map[string]manifest.RolledBy{
		"NodePoolDrifted": by, "RequirementsDrifted": by, "NodeClassDrift": {}, "LKEPoolDrift": {}, "InstanceResized": {},
	} {
		nc := goingNow(1)
		nc.StatusConditions().SetTrueWithReason(karpv1.ConditionTypeDrifted, drift, "")
		nc.StatusConditions().SetTrueWithReason(karpv1.ConditionTypeDisruptionReason, "Drifted", "")
		j := NewJournal(c, provider(t).chooser.Types, lke.New(nil, nil, 0, "", &shown{}))
		j.note(t.Context(), nc, true)
		g := j.new[class.Name][nc.Name]
		if got := (manifest.RolledBy{NodePlan: g.NodePlan, Name: g.Revision}); got != want {
			t.Errorf("%s: %+v, want %+v", drift, got, want)
		}
	}
}

// TestTheJournalTellsLostNodes from Nodes whose NodeClaim a user deleted: by what was gone first, and not if
// no process watched at the time.
func TestTheJournalTellsLostNodes(t *testing.T) {
	there := api.Pool{ID: 1, Count: 2, Linodes: []api.Slot{{ID: "1-a", InstanceID: 1}, {ID: "1-b", InstanceID: 2}}}
	other := api.Pool{ID: 1, Count: 1, Linodes: []api.Slot{{ID: "1-b", InstanceID: 2}}}
	hidden := api.Pool{ID: 1, Count: 2, Linodes: []api.Slot{{ID: "1-b", InstanceID: 2}}}
	// The deletion of its NodeClaim began in version 9.
	for name, test := range map[string]struct {
		pools         []api.Pool
		before, after []string // its Node as it is seen: it stays, or goes in this version
		began         bool
		want          string
	}{
		"its NodeClaim is deleted":                 {[]api.Pool{there}, nil, nil, true, "Deleted"},
		"LKE does not list its machine":            {[]api.Pool{other}, nil, nil, true, "Lost MachineGone"},
		"LKE does not list all machines":           {[]api.Pool{hidden}, nil, nil, true, "Deleted"},
		"LKE has not been asked yet":               {nil, nil, nil, true, "Deleted"},
		"its Node was deleted before":              {[]api.Pool{there}, []string{"5"}, nil, true, "Lost NodeDeleted"},
		"its Node was tainted since":               {[]api.Pool{there}, []string{"5", "11"}, nil, true, "Lost NodeDeleted"},
		"its Node was deleted before, seen after":  {[]api.Pool{there}, nil, []string{"5", "11"}, true, "Lost NodeDeleted"},
		"another has the name of its Node":         {[]api.Pool{there}, []string{"5", "stays"}, nil, true, "Deleted"},
		"its Node stayed before":                   {[]api.Pool{there}, []string{"stays", "5"}, nil, true, "Lost NodeDeleted"},
		"its Node was deleted after it":            {[]api.Pool{there}, nil, []string{"50"}, true, "Deleted"},
		"neither the Node nor its machine is left": {[]api.Pool{other}, []string{"5"}, nil, true, "Lost MachineGone"},
		"it has begun before anybody looked":       {[]api.Pool{other}, []string{"5"}, nil, false, "Deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			nc := goingNow(1)
			nc.ResourceVersion, nc.Status.NodeName = "9", "lke77-1-a"
			c := fake.NewClientBuilder().WithScheme(scheme.Scheme).Build()
			j := NewJournal(c, provider(t).chooser.Types, lke.New(nil, nil, 0, "", &shown{last: test.pools}))
			sees := func(versions []string) {
				for _, version := range versions {
					node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "lke77-1-a"}}
					if version != "stays" {
						node.ResourceVersion, node.DeletionTimestamp = version, nc.DeletionTimestamp
					}
					j.sees(node)
				}
			}
			sees(test.before)
			j.note(t.Context(), nc, test.began)
			j.note(t.Context(), nc, true) // what was noted first stays
			sees(test.after)
			_, entries := j.fresh(nc.Spec.NodeClassRef.Name)
			g := entries[nc.Name]
			if got := strings.TrimSpace(g.Reason + " " + g.Message); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// TestTheJournalForgetsNodes that have gone long ago.
func TestTheJournalForgetsNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := NewJournal(nil, nil, lke.New(nil, nil, 0, "", &shown{}))
		now := metav1.Now()
		for n := range 3 {
			j.sees(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(n), DeletionTimestamp: &now}})
			time.Sleep(rememberNodes)
		}
		if len(j.nodes) != 2 {
			t.Errorf("%d Nodes are remembered, want the last two", len(j.nodes))
		}
	})
}

// goingNow is a NodeClaim that has a machine and has begun to go.
func goingNow(instance int) *karpv1.NodeClaim {
	nc := decided(instance)
	now := metav1.Now()
	nc.Status.ProviderID, nc.DeletionTimestamp = fmt.Sprintf("linode://%d", instance), &now
	return nc
}

func noteOf(t *testing.T, by manifest.RolledBy, part any) string {
	t.Helper()
	note, err := manifest.RolledByNote(by, part)
	if err != nil {
		t.Fatal(err)
	}
	return note
}

// TestTheJournalTellsNodesThatNeverJoined: Karpenter gives them up after 15 minutes, which may restart.
func TestTheJournalTellsNodesThatNeverJoined(t *testing.T) {
	for waited, want := range map[time.Duration]string{20 * time.Minute: "NeverJoined", 5 * time.Minute: "Deleted"} {
		nc := goingNow(1)
		nc.Status.Conditions = nil
		nc.StatusConditions().SetUnknown(karpv1.ConditionTypeRegistered)
		for i := range nc.Status.Conditions {
			nc.Status.Conditions[i].LastTransitionTime = metav1.NewTime(nc.DeletionTimestamp.Add(-waited))
		}
		c := fake.NewClientBuilder().WithScheme(scheme.Scheme).Build()
		j := NewJournal(c, provider(t).chooser.Types, lke.New(nil, nil, 0, "", &shown{}))
		j.note(t.Context(), nc, true)
		if got := j.new[nc.Spec.NodeClassRef.Name][nc.Name].Reason; got != want {
			t.Errorf("after %s: %s, want %s", waited, got, want)
		}
	}
}
