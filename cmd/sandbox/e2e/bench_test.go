package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// BenchmarkFleet measures whole runs of the program against a real API server: apply
// of 500 pools to an empty cluster, and diff of them with the cluster and its 1,000
// NodeClaims, with list rights only. No pod runs.
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
			s.run("lkeplan", "apply", "--yes", "--wait", "none", dir)
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
				corev1.LabelInstanceTypeStable: "g6-standard-4", "karpenter.k8s.linode/instance-cpu": "4",
				"karpenter.k8s.linode/instance-class": "standard",
			},
			Annotations: map[string]string{karpv1.NodePoolHashAnnotationKey: pool.Hash(),
				karpv1.NodePoolHashVersionAnnotationKey: karpv1.NodePoolHashVersion},
		},
		Spec: karpv1.NodeClaimSpec{
			NodeClassRef: pool.Spec.Template.Spec.NodeClassRef,
			Requirements: pool.Spec.Template.Spec.Requirements,
			ExpireAfter:  pool.Spec.Template.Spec.ExpireAfter,
		},
	}
}

// BenchmarkNodePlans measures the time from the start of both processes, as they are
// installed, until 200 NodePlans of 5 pools each are ready, and what each uses at rest.
func BenchmarkNodePlans(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		s := startSandbox(b)
		s.installCRDs()
		var all strings.Builder
		for i := range 200 {
			var pools []string
			for n := range 5 {
				pools = append(pools, fmt.Sprintf("p%03d-%d", i, n))
			}
			text := strings.Replace(fleet("", pools...), "node_class \"default\" {}",
				fmt.Sprintf("node_class \"default\" {\n  name = \"c%03d\"\n}", i), 1)
			name := fmt.Sprintf("fleet-%03d", i)
			fmt.Fprintf(&all,
				"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: default}\ndata:\n  main.lke.hcl: %s\n---%s",
				name, strconv.Quote(text), strings.ReplaceAll(nodePlanOfConfigMap, "NAME", name))
		}
		s.kube(all.String(), "apply", "--server-side", "-f", "-")
		b.StartTimer()
		processes := map[string]*controller{}
		for _, part := range []string{"capacity", "gitops"} {
			processes[part] = s.startController("--only", part)
		}
		var list lkeplanv1alpha1.NodePlanList
		for ready := 0; ready < 200; time.Sleep(500 * time.Millisecond) {
			if err := s.client.List(b.Context(), &list); err != nil {
				b.Fatal(err)
			}
			ready = 0
			for i := range list.Items {
				if because(lkeplanv1alpha1.ReasonSucceeded)(&list.Items[i]) {
					ready++
				}
			}
		}
		b.StopTimer()
		time.Sleep(90 * time.Second) // Karpenter's controllers still look at new NodePools
		const rest = 30 * time.Second
		before := map[string]usage{}
		for part, c := range processes {
			before[part] = c.used(b)
		}
		time.Sleep(rest)
		for part, c := range processes {
			after := c.used(b)
			b.ReportMetric(float64(after.cpu-before[part].cpu)/float64(rest)*100, part+"-idle-cpu-%")
			b.ReportMetric(before[part].cpu.Seconds(), part+"-cpu-s")
			b.ReportMetric(float64(after.rss)/(1<<20), part+"-MiB")
		}
		b.StartTimer()
	}
}

// usage is the resources that a process has used.
type usage struct {
	cpu time.Duration
	rss int64
}

// used reads the controller's usage so far.
func (c *controller) used(t testing.TB) usage {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	fields := strings.Fields(rest)
	number := func(i int) int64 {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	// Ticks are hundredths of a second; utime and stime are the fields 14 and 15,
	// and rss, in pages, is the 24th (proc_pid_stat(5)).
	return usage{cpu: time.Duration(number(11)+number(12)) * 10 * time.Millisecond,
		rss: number(21) * int64(os.Getpagesize())}
}
