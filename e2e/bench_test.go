package e2e

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// BenchmarkFleet measures whole runs of the program against a real API server:
// to apply 500 pools to an empty cluster, and to compare them with the cluster
// when they have 1,000 NodeClaims, as somebody who may only list. No pod runs.
func BenchmarkFleet(b *testing.B) {
	s := startSandbox(b)
	s.installCRDs()
	var names []string
	for i := range 500 {
		names = append(names, fmt.Sprintf("p%03d", i))
	}
	dir := pooled(b, "", names...)
	b.Run("apply 500 pools", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			s.kube("", "delete", "nodepools,linodenodeclasses", "--all")
			b.StartTimer()
			s.run("lkeplan", "apply", "--wait", "none", dir)
		}
	})
	s.makeClaims()
	reader := s.reader()
	heavier := pooled(b, "", names...)
	rewrite(b, heavier, "weight       = 10", "weight       = 20")
	rolling := pooled(b, "", names...)
	rewrite(b, rolling, "weight       = 10", "labels       = { team = \"web\" }")
	for name, dir := range map[string]string{"nothing": dir, "in place": heavier, "a roll": rolling} {
		b.Run("diff 500 pools and 1000 claims, "+name, func(b *testing.B) {
			for b.Loop() {
				s.run("lkeplan", "diff", "--base", "live", "--kubeconfig", reader, "-o", "json", dir)
			}
		})
	}
}

// makeClaims makes two NodeClaims for each pool, as they are after a launch.
func (s *sandbox) makeClaims() {
	s.t.Helper()
	var list karpv1.NodePoolList
	if err := s.client.List(s.t.Context(), &list); err != nil {
		s.t.Fatal(err)
	}
	slots := make(chan struct{}, 8)
	var wg sync.WaitGroup
	for i := range list.Items {
		for n := range 2 {
			wg.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				if err := s.client.Create(s.t.Context(), claimOf(&list.Items[i], n)); err != nil {
					s.t.Error(err)
				}
			})
		}
	}
	wg.Wait()
}

func claimOf(pool *karpv1.NodePool, n int) *karpv1.NodeClaim {
	return &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: pool.Name + "-" + strconv.Itoa(n),
			Labels: map[string]string{
				karpv1.NodePoolLabelKey: pool.Name, karpv1.CapacityTypeLabelKey: karpv1.CapacityTypeOnDemand,
				corev1.LabelInstanceTypeStable: "g6-standard-4", "karpenter.k8s.linode/instance-cpu": "4", "karpenter.k8s.linode/instance-class": "standard",
			},
			Annotations: map[string]string{karpv1.NodePoolHashAnnotationKey: pool.Hash(), karpv1.NodePoolHashVersionAnnotationKey: karpv1.NodePoolHashVersion},
		},
		Spec: karpv1.NodeClaimSpec{
			NodeClassRef: pool.Spec.Template.Spec.NodeClassRef,
			Requirements: pool.Spec.Template.Spec.Requirements,
			ExpireAfter:  pool.Spec.Template.Spec.ExpireAfter,
		},
	}
}
