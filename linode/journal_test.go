package linode

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// TestTheJournalOfAClass has the nodes that went last, each once, whoever has noted them; a
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
	first := NewJournal(c, plans)
	first.note(going(1, func(nc *karpv1.NodeClaim) {
		nc.StatusConditions().SetTrueWithReason(karpv1.ConditionTypeDrifted, "NodePoolDrifted", "")
		nc.StatusConditions().SetTrueWithReason(karpv1.ConditionTypeDisruptionReason, "Drifted", "")
	}))
	first.note(going(2, func(nc *karpv1.NodeClaim) { nc.Spec.ExpireAfter = karpv1.MustParseNillableDuration("60m") }))
	first.note(going(3, func(nc *karpv1.NodeClaim) { nc.Status.ProviderID = "lke-pending://x" }))
	first.note(going(4, func(nc *karpv1.NodeClaim) { nc.DeletionTimestamp = nil }))
	want := []string{"web-002 Expired", "web-001 Drifted NodePoolDrifted"}
	if got := journal(first); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if g := class.Status.Gone[0]; g.PlanType != "g6-standard-4" || g.HourlyPrice != "0.072" || g.NodePool != "web" {
		t.Errorf("entry %+v", g)
	}
	version := class.ResourceVersion

	second := NewJournal(c, plans) // of another leader, which sees those that still go
	second.note(going(2, func(nc *karpv1.NodeClaim) { nc.Spec.ExpireAfter = karpv1.MustParseNillableDuration("60m") }))
	if got := journal(second); !slices.Equal(got, want) || class.ResourceVersion != version {
		t.Errorf("%q, want %q, and nothing to be written", got, want)
	}
	for n := range 60 {
		second.note(going(10+n, plainly))
	}
	got := journal(second)
	if len(got) != linodev1alpha1.MostGone || got[0] != "web-069 Deleted" || got[49] != "web-020 Deleted" {
		t.Errorf("%d entries, from %s to %s", len(got), got[0], got[len(got)-1])
	}
}
