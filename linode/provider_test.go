package linode

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/lkeapi"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// provider returns a Provider in us-ord that sees the objects.
func provider(t testing.TB, objects ...client.Object) *Provider {
	t.Helper()
	Register()
	facts, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).
		WithIndex(&karpv1.NodeClaim{}, indexUID, func(o client.Object) []string { return []string{string(o.GetUID())} }).Build()
	types := NewInstanceTypes(facts, "us-ord", catalog.Standard)
	fleet := NewFleet(nil, lkeapi.Cluster{ID: 77, Region: "us-ord"}, nil, types, Timing{}, nil)
	return NewProvider(c, fleet, NewLimits(c, c, types))
}

func readyClass() *linodev1alpha1.LinodeNodeClass {
	class := &linodev1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	class.StatusConditions().SetTrue(linodev1alpha1.ConditionValidationSucceeded)
	return class
}

func in(key string, values ...string) karpv1.NodeSelectorRequirementWithMinValues {
	return karpv1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
}

func nodePool(requirements ...karpv1.NodeSelectorRequirementWithMinValues) *karpv1.NodePool {
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	pool.Spec.Template.Labels = map[string]string{"example.com/team": "web", "node.kubernetes.io/team": "web"}
	pool.Spec.Template.Spec.Requirements = requirements
	return pool
}

// nodeClaim is a claim of the pool as the core makes it, for one pod of so many
// CPUs.
func nodeClaim(cpu string, requirements ...karpv1.NodeSelectorRequirementWithMinValues) *karpv1.NodeClaim {
	nc := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "web-abcde", UID: "8f1c", Labels: map[string]string{
			karpv1.NodePoolLabelKey: "web", "example.com/team": "web", "node.kubernetes.io/team": "web", "example.com/slot": "7",
		},
	}}
	nc.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: linodev1alpha1.Group, Kind: "LinodeNodeClass", Name: "default"}
	nc.Spec.Requirements = requirements
	nc.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	nc.Spec.Taints = []corev1.Taint{{Key: "example.com/only", Effect: corev1.TaintEffectNoSchedule}, {Key: "node.kubernetes.io/x", Effect: corev1.TaintEffectNoSchedule}}
	nc.Spec.StartupTaints = []corev1.Taint{{Key: "example.com/starting", Effect: corev1.TaintEffectNoExecute}}
	return nc
}

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
		{"requirements narrow the choice", nodePool(), nodeClaim("1", in(linodev1alpha1.LabelInstanceClass, "dedicated")), "g6-dedicated-2"},
		{"more than the largest plan has", nodePool(), nodeClaim("400", class), ""},
		{"another zone than the region's", nodePool(), nodeClaim("1", in(corev1.LabelTopologyZone, "us-east")), ""},
		{"spot that the core asks for means cheaper", nodePool(), nodeClaim("1", class, in(karpv1.CapacityTypeLabelKey, "spot")), "g6-standard-1"},
		{"spot that the pool asks for is not to be had", nodePool(in(karpv1.CapacityTypeLabelKey, "spot")), nodeClaim("1", class, in(karpv1.CapacityTypeLabelKey, "spot")), ""},
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

// TestNodeOverlaysAreForNodePools: the core evaluates them for each NodePool,
// and knows of none for a NodeClaim that was made by hand.
func TestNodeOverlaysAreForNodePools(t *testing.T) {
	byHand := nodeClaim("1")
	delete(byHand.Labels, karpv1.NodePoolLabelKey)
	for want, nc := range map[string]*karpv1.NodeClaim{"g6-dedicated-2": nodeClaim("1"), "g6-standard-1": byHand} {
		p := provider(t, readyClass(), nodePool())
		p.Overlay(func(pool string, types []*cloudprovider.InstanceType) ([]*cloudprovider.InstanceType, error) {
			if pool != "web" {
				return nil, cloudprovider.NewUnevaluatedNodePoolError(pool)
			}
			return slices.DeleteFunc(slices.Clone(types), func(it *cloudprovider.InstanceType) bool { return it.Name != want }), nil
		})
		created, err := p.Create(t.Context(), nc)
		if err != nil {
			t.Errorf("Create in NodePool %q: %v", nc.Labels[karpv1.NodePoolLabelKey], err)
		} else if got := created.Labels[corev1.LabelInstanceTypeStable]; got != want {
			t.Errorf("plan = %s, want %s", got, want)
		}
	}
}

// TestCreateAnswersAtOnceWithAllThatIsNeeded: the claim alone says what to ask
// of LKE, and what the scheduler has to know of the node.
func TestCreateAnswersAtOnceWithAllThatIsNeeded(t *testing.T) {
	nc := nodeClaim("4", in(corev1.LabelInstanceTypeStable, "g6-standard-4"), in("example.com/tier", "gold"))
	created, err := provider(t, readyClass(), nodePool()).Create(t.Context(), nc)
	if err != nil {
		t.Fatal(err)
	}
	if created.Status.ProviderID != "lke-pending://8f1c" {
		t.Errorf("provider id = %q", created.Status.ProviderID)
	}
	group, err := capacity.DecodeGroup(created.Annotations[AnnotationGroup])
	if err != nil {
		t.Fatal(err)
	}
	want := capacity.Group{
		NodePool: "web", Plan: "g6-standard-4",
		// Labels of this claim alone and keys that LKE refuses are not the pool's,
		// nor are start-up taints.
		Labels: map[string]string{karpv1.NodePoolLabelKey: "web", "example.com/team": "web"},
		Taints: []capacity.Taint{{Key: "example.com/only", Effect: "NoSchedule"}},
	}
	if diff := cmp.Diff(want, group); diff != "" {
		t.Errorf("group (-want +got):\n%s", diff)
	}
	for key, value := range map[string]string{
		corev1.LabelTopologyZone: "us-ord", corev1.LabelTopologyRegion: "us-ord", "example.com/tier": "gold", "example.com/slot": "7",
		linodev1alpha1.LabelInstanceCPU: "4", linodev1alpha1.LabelInstanceMemory: "8192", linodev1alpha1.LabelInstanceClass: "standard", linodev1alpha1.LabelInstanceGeneration: "6",
	} {
		if created.Labels[key] != value {
			t.Errorf("label %s = %q, want %q", key, created.Labels[key], value)
		}
	}
	if cpu := created.Status.Allocatable.Cpu().String(); cpu != "4" {
		t.Errorf("allocatable CPU = %s, want 4: LKE reserves none", cpu)
	}
	claim, ok := claimOf(created)
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
	// checked. The core deletes claims after either of the errors above.
	early := nodeClaim("1")
	early.CreationTimestamp = metav1.Now()
	unchecked := readyClass()
	unchecked.StatusConditions().SetUnknown(linodev1alpha1.ConditionValidationSucceeded)
	for name, p := range map[string]*Provider{"not seen": provider(t, nodePool()), "not checked": provider(t, unchecked, nodePool())} {
		_, err := p.Create(t.Context(), early)
		if err == nil || cloudprovider.IsInsufficientCapacityError(err) || cloudprovider.IsNodeClassNotReadyError(err) {
			t.Errorf("a class that was %s yet: %v", name, err)
		}
	}
}

func TestDriftFollowsTheClass(t *testing.T) {
	class := readyClass()
	nc := nodeClaim("1")
	nc.Annotations = map[string]string{linodev1alpha1.AnnotationHash: class.Hash(), linodev1alpha1.AnnotationHashVersion: linodev1alpha1.HashVersion}
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
		{"the firewall", edited(func(s *linodev1alpha1.LinodeNodeClassSpec) { s.FirewallID = &firewall }), NodeClassDrifted},
		{"the encryption", edited(func(s *linodev1alpha1.LinodeNodeClassSpec) { s.DiskEncryption = "enabled" }), NodeClassDrifted},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := provider(t, tt.class).IsDrifted(t.Context(), nc)
			if err != nil || got != tt.want {
				t.Errorf("IsDrifted = %q, %v; want %q", got, err, tt.want)
			}
		})
	}
	old := nc.DeepCopy()
	old.Annotations[linodev1alpha1.AnnotationHashVersion] = "v1alpha1"
	if got, err := provider(t, tests[3].class).IsDrifted(t.Context(), old); err != nil || got != "" {
		t.Errorf("hashes of another version were compared: %q, %v", got, err)
	}
}

// TestDriftFollowsTheVersionAndThePool: on Enterprise nodes follow the control
// plane, and a pool that was upgraded by hand is not what was asked for.
func TestDriftFollowsTheVersionAndThePool(t *testing.T) {
	old, newer := "v1.33.4+lke2", "v1.34.1+lke1"
	class := readyClass()
	tests := []struct {
		name                  string
		made, control, pinned string // versions: of the claim, the control plane, the class
		pool                  lkeapi.Pool
		want                  cloudprovider.DriftReason
	}{
		{"nothing changed", old, old, "", lkeapi.Pool{Version: &old}, ""},
		{"the control plane was upgraded", old, newer, "", lkeapi.Pool{Version: &old}, VersionDrifted},
		{"the class holds the version", old, newer, old, lkeapi.Pool{Version: &old}, ""},
		{"the class has another version", old, old, newer, lkeapi.Pool{Version: &old}, VersionDrifted},
		{"the pool was upgraded by hand", old, old, "", lkeapi.Pool{Version: &newer}, PoolDrifted},
		{"tags were edited by hand", old, old, "", lkeapi.Pool{Version: &old, Tags: []string{"mine"}}, ""},
		{"a standard cluster was upgraded", "", "", "", lkeapi.Pool{}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			class := class.DeepCopy()
			if tt.pinned != "" {
				class.Spec.LKEK8sVersion = &tt.pinned
			}
			p := provider(t, class)
			tt.pool.Type, tt.pool.Count, tt.pool.Slots = "g6-standard-4", 1, []lkeapi.Slot{{ID: "1-a", InstanceID: 10}}
			p.fleet.version, p.fleet.seen = tt.control, look{pools: []lkeapi.Pool{tt.pool}}
			nc := decided(1)
			nc.Status.ProviderID = linodeID(10)
			nc.Annotations[linodev1alpha1.AnnotationHash], nc.Annotations[linodev1alpha1.AnnotationHashVersion] = class.Hash(), linodev1alpha1.HashVersion
			nc.Annotations[AnnotationGroup] = capacity.Group{NodePool: "web", Plan: "g6-standard-4", Version: tt.made}.Encode()
			if got, err := p.IsDrifted(t.Context(), nc); err != nil || got != tt.want {
				t.Errorf("IsDrifted = %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestProviderIDs(t *testing.T) {
	for id, want := range map[string]int{
		"linode://97065433": 97065433, "linode://": 0, "linode://-4": 0, "linode:///97065433": 0, "lke-pending://8f1c": 0, "aws://97065433": 0,
	} {
		if got := instanceOf(id); got != want {
			t.Errorf("instanceOf(%q) = %d, want %d", id, got, want)
		}
	}
	for name, want := range map[string]string{
		"lke77-855500-0147dc250000": "855500 855500-0147dc250000 true", "lke77-855500": "855500 855500 false",
		"lke778-855500-0147dc250000": "0  false", "node-1": "0  false", "lke77-x-0147dc250000": "0 x-0147dc250000 false",
	} {
		pool, slot, ok := slotOf(77, name)
		if got := fmt.Sprint(pool, " ", slot, " ", ok); got != want {
			t.Errorf("slotOf(%q) = %s, want %s", name, got, want)
		}
	}
	if got := nodeName(77, "855500-0147dc250000"); got != "lke77-855500-0147dc250000" {
		t.Errorf("nodeName = %s", got)
	}
}

func TestMarkPutsOnWhatANodeMustNotBeWithout(t *testing.T) {
	joining := func() *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "lke77-1-a"},
			Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: corev1.TaintEffectNoSchedule}}},
		}
	}
	keys := func(n *corev1.Node) (keys []string) {
		for _, taint := range n.Spec.Taints {
			keys = append(keys, taint.Key)
		}
		return keys
	}
	pool := lkeapi.Pool{ID: 1, Labels: map[string]string{karpv1.NodePoolLabelKey: "web"}}

	unclaimed := joining()
	mark(unclaimed, pool, nil)
	if diff := cmp.Diff([]string{"node.cloudprovider.kubernetes.io/uninitialized", "karpenter.sh/unregistered"}, keys(unclaimed)); diff != "" {
		t.Errorf("taints before the claim is known (-want +got):\n%s", diff)
	}
	if unclaimed.Labels[karpv1.NodeDoNotSyncTaintsLabelKey] != "" {
		t.Error("the core is told not to add taints that nobody has added yet")
	}

	claimed := joining()
	nc := nodeClaim("1")
	mark(claimed, pool, nc)
	want := []string{"node.cloudprovider.kubernetes.io/uninitialized", "karpenter.sh/unregistered", "example.com/only", "node.kubernetes.io/x", "example.com/starting"}
	if diff := cmp.Diff(want, keys(claimed)); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
	if claimed.Labels["example.com/slot"] != "7" || claimed.Labels[karpv1.NodeDoNotSyncTaintsLabelKey] != "true" {
		t.Errorf("labels = %v", claimed.Labels)
	}

	// An agent has done its work and taken its taint away before the core has
	// registered the node: it must not come back.
	claimed.Spec.Taints = claimed.Spec.Taints[:4]
	mark(claimed, pool, nc)
	if diff := cmp.Diff(want[:4], keys(claimed)); diff != "" {
		t.Errorf("taints after the agent (-want +got):\n%s", diff)
	}
}
