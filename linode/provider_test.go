package linode

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/limits"
	"github.com/lkeplan/lkeplan/linode/lke"
	"github.com/lkeplan/lkeplan/linode/maintenance"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

func TestCreatePicksTheCheapestPlanThatFits(t *testing.T) {
	class := in(linodev1alpha1.LabelInstanceClass, "standard", "dedicated")
	tests := []struct {
		name string
		pool *karpv1.NodePool
		nc   *karpv1.NodeClaim
		want string // plan, or "" for no capacity
	}{
		{"a shared plan is cheaper than a dedicated one", nodePool(), nodeClaim("4", class), "g6-standard-4"},
		{"a whole CPU of a small plan is there for pods", nodePool(), nodeClaim("1", class), "g6-standard-1"},
		{
			"requirements narrow the choice", nodePool(), nodeClaim("1",
				in(linodev1alpha1.LabelInstanceClass, "dedicated")), "g6-dedicated-2",
		},
		{"more than the largest plan has", nodePool(), nodeClaim("400", class), ""},
		{"another zone than the region's", nodePool(), nodeClaim("1", in(corev1.LabelTopologyZone, "us-east")), ""},
		{
			"spot that Karpenter asks for means cheaper", nodePool(), nodeClaim("1", class,
				in(karpv1.CapacityTypeLabelKey, "spot")), "g6-standard-1",
		},
		{
			"spot that the pool requests is unavailable", nodePool(in(karpv1.CapacityTypeLabelKey,
				"spot")), nodeClaim("1", class, in(karpv1.CapacityTypeLabelKey, "spot")), "",
		},
		{"a nanode is no node", nodePool(), nodeClaim("1", in(linodev1alpha1.LabelInstanceClass, "nanode")), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			created, err := provider(t, readyClass(), tt.pool).Create(t.Context(), tt.nc)
			if tt.want == "" {
				if !cloudprovider.IsInsufficientCapacityError(err) {
					t.Fatalf("err = %v, want insufficient capacity", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := created.Labels[corev1.LabelInstanceTypeStable]; got != tt.want {
				t.Errorf("plan = %s, want %s", got, tt.want)
			}
			if got := created.Labels[karpv1.CapacityTypeLabelKey]; got != "on-demand" {
				t.Errorf("capacity type = %s", got)
			}
		})
	}
}

// TestCreateRecordsTheTemplate: what a claim is created from, but not what it gets its machine by
// later.
func TestCreateRecordsTheTemplate(t *testing.T) {
	pool, class, nc := nodePool(), readyClass(), nodeClaim("1")
	nc.Annotations = map[string]string{karpv1.NodePoolHashAnnotationKey: pool.Hash()}
	p := provider(t, class, pool)
	created, err := p.Create(t.Context(), nc)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := created.Annotations[limits.AnnotationTemplate], limits.Template(pool, class); got != want {
		t.Errorf("the template is %q, want %q", got, want)
	}
	nc.Annotations[limits.AnnotationTemplate] = "earlier"
	again, err := p.chooser.Replan(t.Context(), nc)
	if err != nil {
		t.Fatal(err)
	}
	if got, there := again.Annotations[limits.AnnotationTemplate]; there {
		t.Errorf("with another plan type the template is %q", got)
	}
}

// TestNodeOverlaysAreForNodePools: Karpenter evaluates them for each NodePool,
// and knows of none for a NodeClaim that was made by hand.
func TestNodeOverlaysAreForNodePools(t *testing.T) {
	byHand := nodeClaim("1")
	delete(byHand.Labels, karpv1.NodePoolLabelKey)
	for want, nc := range map[string]*karpv1.NodeClaim{"g6-dedicated-2": nodeClaim("1"), "g6-standard-1": byHand} {
		p := provider(t, readyClass(), nodePool())
		p.chooser.Overlay = func(pool string, types []*cloudprovider.InstanceType) ([]*cloudprovider.InstanceType, error) {
			if pool != "web" {
				return nil, cloudprovider.NewUnevaluatedNodePoolError(pool)
			}
			others := func(it *cloudprovider.InstanceType) bool { return it.Name != want }
			return slices.DeleteFunc(slices.Clone(types), others), nil
		}
		created, err := p.Create(t.Context(), nc)
		if err != nil {
			t.Errorf("Create in NodePool %q: %v", nc.Labels[karpv1.NodePoolLabelKey], err)
		} else if got := created.Labels[corev1.LabelInstanceTypeStable]; got != want {
			t.Errorf("plan = %s, want %s", got, want)
		}
	}
}

// TestCreateReturnsImmediatelyWithAllFields: the claim alone says what to ask
// of LKE, and what the scheduler has to know of the node.
func TestCreateReturnsImmediatelyWithAllFields(t *testing.T) {
	nc := nodeClaim("4", in(corev1.LabelInstanceTypeStable, "g6-standard-4"), in("example.com/tier", "gold"))
	created, err := provider(t, readyClass(), nodePool()).Create(t.Context(), nc)
	if err != nil {
		t.Fatal(err)
	}
	if created.Status.ProviderID != "lke-pending://8f1c" {
		t.Errorf("provider id = %q", created.Status.ProviderID)
	}
	group, err := capacity.DecodeGroup(created.Annotations[nodeclaim.AnnotationGroup])
	if err != nil {
		t.Fatal(err)
	}
	want := capacity.Group{
		NodePool: "web", Plan: "g6-standard-4",
		// Labels of only this claim and keys that LKE refuses are not the pool's,
		// nor are start-up taints.
		Labels: map[string]string{karpv1.NodePoolLabelKey: "web", "example.com/team": "web"},
		Taints: []capacity.Taint{{Key: "example.com/only", Effect: "NoSchedule"}},
	}
	if diff := cmp.Diff(want, group); diff != "" {
		t.Errorf("group (-want +got):\n%s", diff)
	}
	for key, value := range map[string]string{
		corev1.LabelTopologyZone: "us-ord", corev1.LabelTopologyRegion: "us-ord", "example.com/tier": "gold",
		"example.com/slot":              "7",
		linodev1alpha1.LabelInstanceCPU: "4", linodev1alpha1.LabelInstanceMemory: "8192",
		linodev1alpha1.LabelInstanceClass: "standard", linodev1alpha1.LabelInstanceGeneration: "6",
	} {
		if created.Labels[key] != value {
			t.Errorf("label %s = %q, want %q", key, created.Labels[key], value)
		}
	}
	if cpu := created.Status.Allocatable.Cpu().String(); cpu != "4" {
		t.Errorf("allocatable CPU = %s, want 4: LKE reserves none", cpu)
	}
	claim, ok := lke.DemandOf(created)
	if !ok || claim.Group.Key() != group.Key() || claim.Instance != 0 {
		t.Errorf("the claim does not read back as demand: %+v", claim)
	}
}

func TestCreateWithoutAUsableClass(t *testing.T) {
	broken := readyClass()
	broken.StatusConditions().SetFalse(linodev1alpha1.ConditionValidationSucceeded, "Invalid", "spec.firewallID: no")
	_, err := provider(t, broken, nodePool()).Create(t.Context(), nodeClaim("1"))
	if !cloudprovider.IsNodeClassNotReadyError(err) {
		t.Errorf("a class that is not ready: %v", err)
	}
	_, err = provider(t, nodePool()).Create(t.Context(), nodeClaim("1"))
	if !cloudprovider.IsInsufficientCapacityError(err) {
		t.Errorf("a class that is not there: %v", err)
	}

	// A class that was made along with the claim may not have been seen, or
	// checked. Karpenter deletes claims after either of the errors above.
	early := nodeClaim("1")
	early.CreationTimestamp = metav1.Now()
	unchecked := readyClass()
	unchecked.StatusConditions().SetUnknown(linodev1alpha1.ConditionValidationSucceeded)
	for name, p := range map[string]*Provider{"not seen": provider(t,
		nodePool()), "not checked": provider(t, unchecked, nodePool())} {
		_, err := p.Create(t.Context(), early)
		if err == nil || cloudprovider.IsInsufficientCapacityError(err) || cloudprovider.IsNodeClassNotReadyError(err) {
			t.Errorf("a class that was %s yet: %v", name, err)
		}
	}
}

func TestDriftFollowsTheClass(t *testing.T) {
	class := readyClass()
	nc := nodeClaim("1")
	nc.Annotations = map[string]string{
		linodev1alpha1.AnnotationHash: class.Hash(), linodev1alpha1.AnnotationHashVersion: linodev1alpha1.HashVersion,
	}
	edited := func(edit func(*linodev1alpha1.LinodeNodeClassSpec)) *linodev1alpha1.LinodeNodeClass {
		c := class.DeepCopy()
		edit(&c.Spec)
		return c
	}
	firewall, image := 7, "linode/debian12"
	tests := []struct {
		name  string
		class *linodev1alpha1.LinodeNodeClass
		want  cloudprovider.DriftReason
	}{
		{"nothing changed", class, ""},
		{"tags change in place", edited(func(s *linodev1alpha1.LinodeNodeClassSpec) { s.Tags = []string{"env:prod"} }), ""},
		{"a field without effect on LKE", edited(func(s *linodev1alpha1.LinodeNodeClassSpec) { s.Image = image }), ""},
		{"the firewall", edited(func(s *linodev1alpha1.LinodeNodeClassSpec) { s.FirewallID = &firewall }), nodeclaim.NodeClassDrifted},
		{
			"the encryption", edited(func(s *linodev1alpha1.LinodeNodeClassSpec) { s.DiskEncryption = "enabled" }),
			nodeclaim.NodeClassDrifted,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := provider(t, tt.class).IsDrifted(t.Context(), nc)
			if err != nil || got != tt.want {
				t.Errorf("IsDrifted = %q, %v; want %q", got, err, tt.want)
			}
		})
	}
	// The annotation counts only while the class asks for it.
	asks := tests[0].class.DeepCopy()
	asks.Spec.ReplaceBeforeMaintenance = &metav1.Duration{Duration: time.Hour}
	upcoming := nc.DeepCopy()
	upcoming.Annotations[maintenance.AnnotationReplace] = "true"
	for _, tt := range []struct {
		class *linodev1alpha1.LinodeNodeClass
		nc    *karpv1.NodeClaim
		want  cloudprovider.DriftReason
	}{{asks, upcoming, nodeclaim.MaintenanceDrifted}, {asks, nc, ""}, {tests[0].class, upcoming, ""}} {
		if got, err := provider(t, tt.class).IsDrifted(t.Context(), tt.nc); err != nil || got != tt.want {
			t.Errorf("before maintenance IsDrifted = %q, %v; want %q", got, err, tt.want)
		}
	}
	old := nc.DeepCopy()
	old.Annotations[linodev1alpha1.AnnotationHashVersion] = "v1alpha1"
	if got, err := provider(t, tests[3].class).IsDrifted(t.Context(), old); err != nil || got != "" {
		t.Errorf("hashes of another version were compared: %q, %v", got, err)
	}
}

// TestEditsAtLKEReplaceNoNodes: firewall and version of an LKE pool are
// corrected in place, before its nodes have them. Another plan is not what was requested.
func TestEditsAtLKEReplaceNoNodes(t *testing.T) {
	old, newer, firewall := "v1.33.4+lke2", "v1.34.1+lke1", 9
	tests := []struct {
		name string
		edit func(*api.Pool)
		want cloudprovider.DriftReason
	}{
		{"nothing", func(*api.Pool) {}, ""},
		{"tags", func(p *api.Pool) { p.Tags = []string{"mine"} }, ""},
		{"the version", func(p *api.Pool) { p.K8sVersion = &newer }, ""},
		{"the firewall", func(p *api.Pool) { p.FirewallID = &firewall }, ""},
		{"the plan", func(p *api.Pool) { p.Type = "g6-standard-8" }, nodeclaim.PoolDrifted},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			class := readyClass()
			class.Spec.FirewallID = new(7)
			pool := api.Pool{
				Type: "g6-standard-4", K8sVersion: &old, FirewallID: class.Spec.FirewallID, Count: 1,
				Linodes: []api.Slot{{ID: "1-a", InstanceID: 10}},
			}
			tt.edit(&pool)
			p := providerOf(t, &shown{traits: lke.TraitsOf(pool)}, class)
			nc := decided(1)
			nc.Status.ProviderID = nodeclaim.LinodeID(10)
			nc.Annotations[linodev1alpha1.AnnotationHash] = class.Hash()
			nc.Annotations[linodev1alpha1.AnnotationHashVersion] = linodev1alpha1.HashVersion
			nc.Annotations[nodeclaim.AnnotationGroup] = capacity.Group{
				NodePool: "web", Plan: "g6-standard-4", Version: old, FirewallID: 7,
			}.Encode()
			if got, err := p.IsDrifted(t.Context(), nc); err != nil || got != tt.want {
				t.Errorf("IsDrifted = %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}
