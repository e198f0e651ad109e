package main

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/migrate"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

func TestUninstallCountsPodsWithoutAnotherNode(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{karpv1.NodePoolLabelKey: "a", "team": "web"}
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a-1", Labels: labels}}
	claim.Status.NodeName = "n1"
	leaves := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: labels}}
	stays := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "system"}}
	pod := func(name string, selector map[string]string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec: corev1.PodSpec{NodeName: "n1", NodeSelector: selector}}
	}
	found := cluster.Snapshot{Nodes: []*corev1.Node{leaves, stays}, Pods: []*corev1.Pod{
		pod("anywhere", nil), pod("web", map[string]string{"team": "web"}),
	}}
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "empty"}}
	pool.Spec.Template.Labels = map[string]string{"team": "web"}
	pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: "karpenter.k8s.linode", Kind: "LinodeNodeClass", Name: "default"}
	found.Pools = []*karpv1.NodePool{pool}
	h := migrate.Holdings{Claims: []*karpv1.NodeClaim{claim}, Nodes: found.Nodes, Pools: found.Pools}
	unread := found
	unread.Unlisted = []string{cluster.KindPods}
	for _, tt := range []struct {
		name  string
		found cluster.Snapshot
		want  string
	}{
		{"a label that no node has that stays", found, "matches them: 1."},
		{"pods that cannot be listed", unread, "is unknown: Pods cannot be listed"},
	} {
		got, err := drainLosses(h, tt.found, prices)
		if err != nil || !strings.Contains(got, tt.want) || !strings.Contains(got, "The price of these nodes is unknown") {
			t.Errorf("%s: %q, error %v; want %q", tt.name, got, err, tt.want)
		}
	}
}
