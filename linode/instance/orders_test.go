package instance

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

func classOf(t *testing.T, spec string) *linodev1alpha1.LinodeNodeClass {
	t.Helper()
	class := &linodev1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if err := yaml.UnmarshalStrict([]byte(spec), &class.Spec); err != nil {
		t.Fatal(spec, err)
	}
	return class
}

func clientWith(objects ...client.Object) client.Client {
	_ = linodev1alpha1.AddToScheme(scheme.Scheme) // it never fails
	return fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).Build()
}

func typesOf(t *testing.T) *instancetype.Set {
	t.Helper()
	facts, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return instancetype.New(facts, "us-ord", "")
}

// TestAnOrderIsReadAsItWasWritten, and asks Linode for all that the class says.
func TestAnOrderIsReadAsItWasWritten(t *testing.T) {
	class := classOf(t, `{image: x, tags: [b-tag, a-tag], authorizedKeys: [k], authorizedUsers: [u], backupsEnabled: true,
	  swap_size: 0, osDisk: {size: 20Gi}, configuration: {kernel: linode/grub2}, diskEncryption: disabled,
	  placementGroup: {id: 40, compliant_only: true}, ipv6Options: {enableSLAAC: true, enableRanges: true, isPublicIPv6: true},
	  kubelet: {maxPods: 50}, bootstrap: {kind: custom, userDataSecret: s}}`)
	class.Status.Selected = &linodev1alpha1.Selected{
		Image: "linode/debian12", FirewallID: 7, VPCID: 21, SubnetID: 31, PlacementGroupID: 40, PlacementGroupSize: 5,
	}
	o := OrderFor(class, "g6-standard-4")
	again, err := DecodeOrder(o.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(o, again); d != "" {
		t.Error(d)
	}
	text, err := yaml.Marshal(o.Spec("us-ord", "secret"))
	if err != nil {
		t.Fatal(err)
	}
	want := `authorized_keys:
- k
authorized_users:
- u
backups_enabled: true
boot_size: 20480
booted: true
disk_encryption: disabled
firewall_id: 7
image: linode/debian12
interface_generation: legacy_config
interfaces:
- ipv4:
    nat_1_1: any
  ipv6:
    is_public: true
    ranges:
    - range: auto
    slaac:
    - range: auto
  primary: true
  purpose: vpc
  subnet_id: 31
kernel: linode/grub2
placement_group:
  compliant_only: true
  id: 40
region: us-ord
root_pass: secret
swap_size: 0
tags:
- a-tag
- b-tag
type: g6-standard-4
`
	if d := cmp.Diff(want, string(text)); d != "" {
		t.Error(d)
	}
	if _, err := DecodeOrder(`{"plan":"g6-standard-4"}`); err == nil {
		t.Error("an order without an image is read")
	}
}

// TestUnsetSwapMeansNoSwap: Linode makes a swap disk if the call says nothing, and with one no kubelet starts.
// The order stays as releases before have written it, so that nothing is recreated for it.
func TestUnsetSwapMeansNoSwap(t *testing.T) {
	class := classOf(t, `{image: x}`)
	class.Status.Selected = &linodev1alpha1.Selected{Image: "x"}
	const before = `{"plan":"g6-standard-4","image":"x","bootstrap":{"kind":"kubeadm"}}`
	o := OrderFor(class, "g6-standard-4")
	if d := cmp.Diff(before, o.Encode()); d != "" {
		t.Error(d)
	}
	old, err := DecodeOrder(before)
	if err != nil {
		t.Fatal(err)
	}
	zero := OrderFor(classOf(t, `{image: x, swap_size: 0}`), "g6-standard-4")
	for _, o := range []Order{o, old, zero} {
		if !o.Plain() {
			t.Errorf("a Node of %s has not what its plan type has", o.Encode())
		}
		if swap := o.Spec("us-ord", "secret").SwapSize; swap == nil || *swap != 0 {
			t.Errorf("Linode is asked for %v MB of swap", swap)
		}
	}
}

// TestKubeletsTakeTheirShare, of the types of their class only, which keep their pointers.
func TestKubeletsTakeTheirShare(t *testing.T) {
	with := classOf(t, `{image: x, kubelet: {maxPods: 200, podsPerCore: 10, kubeReserved: {cpu: 100m, memory: 200Mi},
	  systemReserved: {memory: 100Mi, pid: "100"}, evictionHard: {memory.available: 5%}}}`)
	plain := classOf(t, `{image: x}`)
	plain.Name = "plain"
	o, types := NewOrders(clientWith(with, plain), nil), typesOf(t).List()
	offered, err := o.Offer(t.Context(), "default", nil, types)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := o.Offer(t.Context(), "default", nil, types)
	same, _ := o.Offer(t.Context(), "plain", nil, types)
	for k, it := range types {
		if same[k] != it || again[k] != offered[k] {
			t.Fatalf("%s has another pointer", it.Name)
		}
		if it.Name != "g6-standard-4" {
			continue
		}
		memory := it.Capacity.Memory().Value()
		free := offered[k].Allocatable()
		if got, want := free.Memory().Value(), memory-memory/20-300<<20; got < want-1 || got > want+1 {
			t.Errorf("memory %d, want %d", got, want)
		}
		if cpu, pods := free.Cpu().MilliValue(), offered[k].Capacity.Pods().Value(); cpu != 3900 || pods != 40 {
			t.Errorf("%d mCPU and %d pods", cpu, pods)
		}
	}
}

// TestDisksTakeTheirShare: pods are promised no more of a machine's disk than the class leaves.
func TestDisksTakeTheirShare(t *testing.T) {
	const gib = 1 << 30
	tests := map[string]struct {
		spec string
		want func(whole int64) int64 // of what the plan type has
	}{
		"a swap disk":             {`{image: x, swap_size: 4096}`, func(whole int64) int64 { return whole - 4*gib }},
		"nothing said":            {`{image: x}`, func(whole int64) int64 { return whole }},
		"no swap disk":            {`{image: x, swap_size: 0}`, func(whole int64) int64 { return whole }},
		"a small disk":            {`{image: x, osDisk: {size: 20Gi}}`, func(int64) int64 { return 20 * gib * 983 / 1000 }},
		"a disk that is large":    {`{image: x, osDisk: {size: 20Ti}}`, func(whole int64) int64 { return whole }},
		"more swap than there is": {`{image: x, swap_size: 4194304}`, func(int64) int64 { return 0 }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			class := classOf(t, tt.spec)
			o, types := NewOrders(clientWith(class), nil), typesOf(t).List()
			offered, err := o.Offer(t.Context(), "default", nil, types)
			if err != nil {
				t.Fatal(err)
			}
			k := slices.IndexFunc(types, func(it *cloudprovider.InstanceType) bool { return it.Name == "g6-standard-4" })
			want := tt.want(types[k].Capacity.StorageEphemeral().Value())
			if got := offered[k].Capacity.StorageEphemeral().Value(); got != want {
				t.Errorf("%d bytes, want %d", got, want)
			}
			free := offered[k].Allocatable() // a tenth is kept back
			if got := free.StorageEphemeral().Value(); got < want*9/10-1024 || got > want*9/10 {
				t.Errorf("%d bytes for pods, want %d", got, want*9/10)
			}
		})
	}
}

// TestAResizedLinodeDrifts: what Linode does not show is not resized, and no answer says nothing.
func TestAResizedLinodeDrifts(t *testing.T) {
	class := classOf(t, `{image: x}`)
	class.Status.Selected = &linodev1alpha1.Selected{Image: "x"}
	order := OrderFor(class, "g6-standard-4").Encode()
	synctest.Test(t, func(t *testing.T) {
		l := &listing{all: []api.Instance{{ID: 1, Type: "g6-standard-4"}, {ID: 2, Type: "g6-standard-8"}, {ID: 3}}}
		machines, _ := countingIn(t, l)
		o := NewOrders(clientWith(class), machines)
		silent, _ := countingIn(t, &listing{err: errSilence})
		for _, tc := range []struct {
			name, provider, order string
			want                  cloudprovider.DriftReason
		}{
			{"as it was ordered", "linode://1", order, ""},
			{"another plan type", "linode://2", order, nodeclaim.Resized},
			{"Linode does not say which plan type", "linode://3", order, ""},
			{"Linode does not show it", "linode://4", order, ""},
			{"no machine yet", "", order, ""},
			{"another provider has ordered it", "linode://2", "", ""},
			{"an order that cannot be read", "linode://2", `{"plan":1}`, ""},
		} {
			nc := claim("a")
			nc.Status.ProviderID, nc.Annotations = tc.provider, map[string]string{nodeclaim.AnnotationOrder: tc.order}
			if got, err := o.Drifted(t.Context(), nc, class); err != nil || got != tc.want {
				t.Errorf("%s: %q, %v; want %q", tc.name, got, err, tc.want)
			}
			if got, err := NewOrders(clientWith(class), nil).Drifted(t.Context(), nc, class); err != nil || got != "" {
				t.Errorf("%s, and no Linode is there to be asked: %q, %v", tc.name, got, err)
			}
			unknown := tc.provider != "" && tc.order == order
			if got, err := NewOrders(clientWith(class), silent).Drifted(t.Context(), nc, class); (err != nil) != unknown || got != "" {
				t.Errorf("%s, and Linode does not answer: %q, %v", tc.name, got, err)
			}
		}
	})
}

// TestAPlacementGroupTakesFew: claims that are made at the same time, and those that the cache does not show
// yet, count.
func TestAPlacementGroupTakesFew(t *testing.T) {
	class := classOf(t, `{image: x}`)
	class.Status.Selected = &linodev1alpha1.Selected{Image: "x", PlacementGroupID: 40, PlacementGroupSize: 5}
	var objects []client.Object
	for _, n := range []int{1, 2} {
		nc := claim(fmt.Sprint("there-", n))
		nc.Annotations = map[string]string{nodeclaim.AnnotationOrder: OrderFor(class, "g6-standard-4").Encode()}
		objects = append(objects, nc)
	}
	o := NewOrders(clientWith(append(objects, class)...), nil)
	var made atomic.Int32
	var all sync.WaitGroup
	for n := range 10 {
		all.Go(func() {
			_, err := o.Order(t.Context(), claim(fmt.Sprint("new-", n)), class, nil, "g6-standard-4")
			switch {
			case err == nil:
				made.Add(1)
			case !cloudprovider.IsInsufficientCapacityError(err):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if made.Load() != 3 {
		t.Errorf("%d orders in addition to the 2 existing ones, want 3", made.Load())
	}
	types := typesOf(t).List()
	offered, err := o.Offer(t.Context(), "default", nil, types)
	if err != nil {
		t.Fatal(err)
	}
	for k, it := range offered {
		if len(it.Offerings.Available()) > 0 || types[k] == it {
			t.Errorf("%s is offered for a group that is full", it.Name)
		}
	}
	if _, err := o.Order(t.Context(), claim("there-1"), class, nil, "g6-standard-4"); err != nil {
		t.Errorf("a claim that is in the group is refused: %v", err)
	}
}

func claim(uid string) *karpv1.NodeClaim {
	return &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: uid, UID: apitypes.UID(uid)}}
}
