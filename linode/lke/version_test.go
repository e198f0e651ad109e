package lke

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/linodetest"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

func TestWhichVersionNodesGet(t *testing.T) {
	offered := []string{"v1.34.1+lke1", "v1.33.4+lke2"}
	tests := []struct {
		name         string
		wish         wish
		want, reason string
	}{
		{"the first time, the control plane's", wish{controlPlane: "v1.33.4+lke2"}, "v1.33.4+lke2", ""},
		{"and on the standard tier", wish{controlPlane: "1.33"}, "1.33", ""},
		{
			"where there are nodes, what they have", wish{nodes: []string{"v1.31.8+lke1", "", "v1.33.4+lke2"},
				controlPlane: "v1.34.1+lke1", offered: offered}, "v1.33.4+lke2", controlPlaneAhead,
		},
		{"as their kubelets say", wish{nodes: []string{"v1.33.9"}, controlPlane: "1.34"}, "1.33", controlPlaneAhead},
		{
			"an upgrade of the control plane changes nothing",
			wish{kept: "v1.33.4+lke2", controlPlane: "v1.34.1+lke1", offered: offered}, "v1.33.4+lke2", controlPlaneAhead,
		},
		{
			"nor where it is written down", wish{written: "v1.33.4+lke2", kept: "v1.33.4+lke2", controlPlane: "v1.34.1+lke1"},
			"v1.33.4+lke2", controlPlaneAhead,
		},
		{"nor a new release of the same version", wish{kept: "v1.33.4+lke2", controlPlane: "v1.33.4+lke3"},
			"v1.33.4+lke2", controlPlaneAhead},
		{
			"another one is written", wish{written: "v1.34.1+lke1", kept: "v1.33.4+lke2", controlPlane: "v1.34.1+lke1"},
			"v1.34.1+lke1", "",
		},
		{
			"an older one is written", wish{written: "v1.33.4+lke2", kept: "v1.34.1+lke1", controlPlane: "v1.34.1+lke1"},
			"v1.33.4+lke2", controlPlaneAhead,
		},
		{
			"one that the control plane does not have yet",
			wish{written: "v1.34.1+lke1", kept: "v1.33.4+lke2", controlPlane: "v1.33.4+lke2"}, "v1.33.4+lke2",
			controlPlaneBehind,
		},
		{"nor on the standard tier", wish{written: "1.34", kept: "1.33", controlPlane: "1.33"}, "1.33", controlPlaneBehind},
		{"none is written any more", wish{kept: "v1.34.1+lke1", controlPlane: "v1.34.1+lke1"}, "v1.34.1+lke1", ""},
		{
			"LKE makes no more of what is not written", wish{kept: "v1.31.1+lke4", controlPlane: "v1.34.1+lke1",
				offered: offered}, "v1.34.1+lke1", versionGone,
		},
		{
			"LKE need not offer what the control plane has", wish{kept: "v1.33.9+lke9", controlPlane: "v1.33.9+lke9",
				offered: offered}, "v1.33.9+lke9", buildNotOffered,
		},
		{"LKE has not said what the control plane has", wish{written: "v1.34.1+lke1"}, "v1.34.1+lke1", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.wish.decide()
			if got.version != tt.want || got.reason != tt.reason || (got.reason == "") != (got.message == "") {
				t.Errorf("decided %+v, want %s %s", got, tt.want, tt.reason)
			}
		})
	}
}

// plane is a control plane of one version.
type plane string

func (p plane) Version() string                   { return string(p) }
func (plane) Upgrades() <-chan event.GenericEvent { return nil }

// reconciled reconciles the class default next to other objects, and returns it with
// the events.
func reconciledClass(t *testing.T, tier catalog.Tier, controlPlane string, account account,
	class *linodev1alpha1.LinodeNodeClass, others ...client.Object) (*linodev1alpha1.LinodeNodeClass, []string) {
	t.Helper()
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(append(others, class)...).
		WithStatusSubresource(class).
		WithIndex(&karpv1.NodeClaim{}, nodeclaim.IndexClass, func(o client.Object) []string {
			return []string{o.(*karpv1.NodeClaim).Spec.NodeClassRef.Name}
		}).Build()
	recorder := events.NewFakeRecorder(50)
	n := classes(c, tier, plane(controlPlane), account, recorder)
	for range 3 { // what is said once is not said again
		if _, err := n.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(class)}); err != nil {
			t.Fatal(err)
		}
	}
	got := &linodev1alpha1.LinodeNodeClass{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(class), got); err != nil {
		t.Fatal(err)
	}
	var said []string
	for len(recorder.Events) > 0 {
		said = append(said, <-recorder.Events)
	}
	return got, said
}

// claimOf is the nth claim of a NodePool: on Enterprise with the version of its LKE
// pool.
func claimOf(pool string, n int, version string) *karpv1.NodeClaim {
	nc := linodetest.NodeClaim("1")
	nc.Name, nc.UID = fmt.Sprintf("%s-%d", pool, n), types.UID(fmt.Sprintf("%s-%d", pool, n))
	nc.Labels[karpv1.NodePoolLabelKey] = pool
	group := capacity.Group{NodePool: pool, Plan: "g6-standard-4", Version: version}
	class := linodev1alpha1.LinodeNodeClass{}
	nc.Annotations = map[string]string{
		nodeclaim.AnnotationGroup: group.Encode(), linodev1alpha1.AnnotationHash: class.Hash(),
		linodev1alpha1.AnnotationHashVersion: linodev1alpha1.HashVersion,
	}
	nc.Status.NodeName = "lke77-" + nc.Name
	return nc
}

// kubeletOf is the Node of a claim on the standard tier.
func kubeletOf(nc *karpv1.NodeClaim, version string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nc.Status.NodeName}}
	node.Status.NodeInfo.KubeletVersion = version
	return node
}

func TestClassCountsOutdatedNodes(t *testing.T) {
	class := readyClass()
	class.Spec.LKEK8sVersion = new("v1.34.1+lke1")
	class.Status.KubernetesVersion = "v1.33.4+lke2"
	got, said := reconciledClass(t, catalog.Enterprise, "v1.34.1+lke1", shelf{}, class, claimOf("a", 1, "v1.33.4+lke2"),
		claimOf("a", 2, "v1.34.1+lke1"), claimOf("b", 1, "v1.33.4+lke2"))
	status := got.Status
	if status.KubernetesVersion != "v1.34.1+lke1" || status.ControlPlaneVersion != "v1.34.1+lke1" ||
		status.OutdatedNodes != 2 || status.KubernetesVersionSince == nil {
		t.Errorf("the status is %+v", status)
	}
	if !got.StatusConditions().Get(linodev1alpha1.ConditionVersionCurrent).IsTrue() || len(said) > 0 {
		t.Errorf("the condition is %+v, the events are %q", got.StatusConditions().List(), said)
	}
}

// TestNewerControlPlaneIsReportedOnce: with what can be done, and by when.
func TestNewerControlPlaneIsReportedOnce(t *testing.T) {
	for _, tt := range []struct {
		tier             catalog.Tier
		have, ahead      string
		written, silence bool
		want             []string
	}{
		{tier: catalog.Enterprise, have: "v1.33.4+lke2", ahead: "v1.34.1+lke1", written: true,
			want: []string{"stay at v1.33.4+lke2", "control planes up to 1.36", "a build is unknown", `kubernetes_version to "v1.34.1+lke1"`}},
		{tier: catalog.Enterprise, have: "v1.33.4+lke2", ahead: "v1.34.1+lke1",
			want: []string{"kubernetes_version (spec.lkeK8sVersion) is not set", `to pin their current version, set it to "v1.33.4+lke2"`}},
		{tier: catalog.Standard, have: "1.33", ahead: "1.34", written: true,
			want: []string{"On the standard tier", "always get the control plane's version"}},
		{tier: catalog.Standard, have: "1.33", ahead: "1.34",
			want: []string{"On the standard tier", `to pin their current version, set it to "1.33"`}},
	} {
		class := readyClass()
		class.Status.KubernetesVersion = tt.have
		if tt.written {
			class.Spec.LKEK8sVersion = &tt.have
		}
		got, said := reconciledClass(t, tt.tier, tt.ahead, shelf{}, class)
		if len(said) != 1 || got.Status.KubernetesVersion != tt.have || got.Status.ControlPlaneVersion != tt.ahead {
			t.Fatalf("%s, written %v: %q, %+v", tt.tier, tt.written, said, got.Status)
		}
		for _, part := range tt.want {
			if !strings.Contains(said[0], part) {
				t.Errorf("%s, written %v: the event is %q, want %q in it", tt.tier, tt.written, said[0], part)
			}
		}
		if !got.StatusConditions().Get("Ready").IsTrue() {
			t.Errorf("%s: a class whose control plane is ahead is not ready", tt.tier)
		}
	}
}

// TestNodesMoveByTheirClassOnly: the version of nodes moves when their class names
// another one that the control plane has, and for nothing else.
func TestNodesMoveByTheirClassOnly(t *testing.T) {
	const old, next = "v1.33.4+lke2", "v1.34.1+lke1"
	tests := []struct {
		name             string
		written, decided string
		controlPlane     string
		node             string // on Enterprise the version of its pool, on standard the kubelet's
		drifts           bool
	}{
		{"nothing has changed", old, old, old, old, false},
		{"the control plane is ahead", old, old, next, old, false},
		{"the control plane is ahead, and nothing is written", "", old, next, old, false},
		{"the version that is kept was lost", "", next, next, old, false},
		{"another one is written", next, next, next, old, true},
		{"the controller has not agreed to it yet", next, old, old, old, false},
		{"an older one is written again", old, old, next, next, true},
		{"a kubelet is behind", "1.34", "1.34", "1.34", "v1.33.4", true},
		{"a kubelet is as it should be", "1.34", "1.34", "1.34", "v1.34.2", false},
		{"a kubelet is ahead, as the control plane is", "1.33", "1.33", "1.34", "v1.34.2", false},
		{"a kubelet is behind, and so is the control plane", "1.34", "1.33", "1.33", "v1.33.4", false},
		{"a node that has not joined", "1.34", "1.34", "1.34", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			class := readyClass()
			class.Status.KubernetesVersion, class.Status.ControlPlaneVersion = tt.decided, tt.controlPlane
			if tt.written != "" {
				class.Spec.LKEK8sVersion = &tt.written
			}
			nc := claimOf("web", 1, tt.node)
			node := kubeletOf(nc, tt.node)
			if !strings.Contains(tt.node, "+") {
				nc = claimOf("web", 1, "")
			}
			got, err := provider(t, catalog.Standard, &shown{}, class, nc, node).IsDrifted(t.Context(), nc)
			want := map[bool]cloudprovider.DriftReason{true: nodeclaim.VersionDrifted}[tt.drifts]
			if err != nil || got != want {
				t.Errorf("drift = %q, %v; want %q", got, err, want)
			}
		})
	}
}

func TestNodePoolsFollowOneAnother(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	at := func(pool string, outdated int, newest, since time.Duration) upgrading {
		return upgrading{pool, outdated, now.Add(-newest), now.Add(-since)}
	}
	const long = 100 * time.Hour
	tests := []struct {
		name string
		all  []upgrading
		want []string // whose turn it is
	}{
		{"it begins with the first", []upgrading{at("a", 3, long, 0), at("b", 3, long, 0)}, []string{"a"}},
		{"the first goes on", []upgrading{at("a", 1, time.Minute, 5*time.Hour), at("b", 3, long, 5*time.Hour)},
			[]string{"a"}},
		{"the first is through", []upgrading{at("a", 0, time.Minute, time.Hour), at("b", 3, long, time.Hour)},
			[]string{"a", "b"}},
		{"the first cannot go on", []upgrading{at("a", 3, long, time.Hour), at("b", 3, long, time.Hour),
			at("c", 3, 0, time.Hour)}, []string{"a", "b", "c"}},
		{"the second goes on while the first cannot", []upgrading{at("a", 3, long, time.Hour), at("b", 3, 0, time.Hour),
			at("c", 3, long, time.Hour)}, []string{"a", "b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, u := range tt.all {
				if mayReplace(tt.all, u.pool, now) {
					got = append(got, u.pool)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("turns (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNextPoolDoesNotDriftYet: of two NodePools with outdated nodes.
func TestNextPoolDoesNotDriftYet(t *testing.T) {
	class := readyClass()
	class.Spec.LKEK8sVersion, class.Status.KubernetesVersion = new("v1.34.1+lke1"), "v1.34.1+lke1"
	class.Status.KubernetesVersionSince = new(metav1.Now())
	first, second := claimOf("a", 1, "v1.33.4+lke2"), claimOf("b", 1, "v1.33.4+lke2")
	p := provider(t, catalog.Standard, &shown{}, class, first, second)
	for nc, want := range map[*karpv1.NodeClaim]cloudprovider.DriftReason{first: nodeclaim.VersionDrifted, second: ""} {
		if got, err := p.IsDrifted(t.Context(), nc); err != nil || got != want {
			t.Errorf("drift of %s = %q, %v; want %q", nc.Name, got, err, want)
		}
	}
}

// TestANewHashIsNoDrift: a release of lkeplan that makes the hash in another way
// writes it on the claims that were as their class was. Others stay drifted.
func TestANewHashIsNoDrift(t *testing.T) {
	class := readyClass()
	class.Spec.DiskEncryption = "enabled"
	class.Annotations = map[string]string{
		linodev1alpha1.AnnotationHash: "1", linodev1alpha1.AnnotationHashVersion: "lkeplan-v1",
	}
	same, other := claimOf("a", 1, ""), claimOf("a", 2, "")
	for nc, encryption := range map[*karpv1.NodeClaim]string{same: "enabled", other: "disabled"} {
		group := capacity.Group{NodePool: "a", Plan: "g6-standard-4", DiskEncryption: encryption}
		nc.Annotations = map[string]string{
			nodeclaim.AnnotationGroup: group.Encode(), linodev1alpha1.AnnotationHash: "1",
			linodev1alpha1.AnnotationHashVersion: "lkeplan-v1",
		}
	}
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(class, same, other).WithStatusSubresource(class).
		WithIndex(&karpv1.NodeClaim{}, nodeclaim.IndexClass, func(o client.Object) []string {
			return []string{o.(*karpv1.NodeClaim).Spec.NodeClassRef.Name}
		}).Build()
	n := classes(c, catalog.Standard, plane("1.33"), shelf{}, events.NewFakeRecorder(5))
	if _, err := n.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(class)}); err != nil {
		t.Fatal(err)
	}
	p := providerOf(t, catalog.Standard, &shown{}, c)
	for nc, want := range map[*karpv1.NodeClaim]cloudprovider.DriftReason{same: "", other: nodeclaim.NodeClassDrifted} {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(nc), nc); err != nil {
			t.Fatal(err)
		}
		if got, err := p.IsDrifted(t.Context(), nc); err != nil || got != want {
			t.Errorf("drift of %s = %q, %v; want %q", nc.Name, got, err, want)
		}
	}
}

// TestNodesAreMadeOfTheDecidedVersion: a class that has changed is not used before
// the controller has seen the change.
func TestNodesAreMadeOfTheDecidedVersion(t *testing.T) {
	made := func(class *linodev1alpha1.LinodeNodeClass) (string, error) {
		p := provider(t, catalog.Enterprise, &shown{}, class, linodetest.NodePool())
		nc, err := p.Create(context.Background(), linodetest.NodeClaim("1"))
		if err != nil {
			return "", err
		}
		return nodeclaim.VersionOf(nc, ""), nil
	}
	class := readyClass()
	if _, err := made(class); err == nil || cloudprovider.IsNodeClassNotReadyError(err) {
		t.Errorf("before a version is decided: %v, want an error after which Karpenter tries again", err)
	}
	class.Status.KubernetesVersion = "v1.33.4+lke2"
	if got, err := made(class); err != nil || got != "v1.33.4+lke2" {
		t.Errorf("version = %q, %v", got, err)
	}
	class.Generation = 7
	if _, err := made(class); err == nil || errors.As(err, new(*cloudprovider.NodeClassNotReadyError)) {
		t.Errorf("before a change was seen: %v, want an error after which Karpenter tries again", err)
	}
}
