package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
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

// BenchmarkApply measures apply of 500 pools to a cluster with its controller, until all
// of them are ready.
func BenchmarkApply(b *testing.B) {
	s := startSandbox(b)
	s.installCRDs()
	s.startController()
	var names []string
	for i := range 500 {
		names = append(names, fmt.Sprintf("p%03d", i))
	}
	dir := pooled(b, "", names...)
	for b.Loop() {
		b.StopTimer()
		s.kube("", "delete", "nodepools,linodenodeclasses", "--all")
		b.StartTimer()
		s.run("lkeplan", "apply", "--yes", "--timeout", "10m", dir)
	}
}

// makeClaims creates two NodeClaims for each pool, as they are after a launch.
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
// installed, until 200 NodePlans of 5 pools each are ready, what each process uses at
// rest, and how long both take to be through with all NodePlans after a restart.
func BenchmarkNodePlans(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		s := startSandbox(b)
		s.installCRDs()
		s.kube(manyNodePlans(200, 5), "apply", "--server-side", "-f", "-")
		b.StartTimer()
		processes := s.startBoth()
		s.untilAll(200, because(lkeplanv1alpha1.ReasonSucceeded))
		b.StopTimer()
		time.Sleep(90 * time.Second) // Karpenter's controllers still look at new NodePools
		reportRest(b, processes)
		s.kube("", "annotate", "nodeplans", "--all", meta.ReconcileRequestAnnotation+"=restart")
		s.untilAll(200, handled("restart"))
		for _, c := range processes {
			c.kill()
		}
		s.kube("", "annotate", "--overwrite", "nodeplans", "--all", meta.ReconcileRequestAnnotation+"=again")
		again := time.Now()
		s.startBoth()
		s.untilAll(200, handled("again"))
		b.ReportMetric(time.Since(again).Seconds(), "restart-s")
		b.StartTimer()
	}
}

// manyNodePlans are NodePlans with a ConfigMap each that has so many pools.
func manyNodePlans(plans, poolsOfEach int) string {
	var all strings.Builder
	for i := range plans {
		var pools []string
		for n := range poolsOfEach {
			pools = append(pools, fmt.Sprintf("p%03d-%d", i, n))
		}
		text := strings.Replace(fleet("", pools...), "node_class \"default\" {}",
			fmt.Sprintf("node_class \"default\" {\n  name = \"c%03d\"\n}", i), 1)
		name := fmt.Sprintf("fleet-%03d", i)
		fmt.Fprintf(&all,
			"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: default}\ndata:\n  main.lke.hcl: %s\n---%s",
			name, strconv.Quote(text), strings.ReplaceAll(nodePlanOfConfigMap, "NAME", name))
	}
	return all.String()
}

// startBoth starts a process for capacity and one for NodePlans.
func (s *sandbox) startBoth() map[string]*controller {
	processes := map[string]*controller{}
	for _, part := range []string{"capacity", "gitops"} {
		processes[part] = s.startController("--only", part)
	}
	return processes
}

// untilAll waits until something holds for so many NodePlans.
func (s *sandbox) untilAll(n int, holds func(*lkeplanv1alpha1.NodePlan) bool) {
	s.t.Helper()
	for so := 0; so < n; time.Sleep(500 * time.Millisecond) {
		var list lkeplanv1alpha1.NodePlanList
		if err := s.client.List(s.t.Context(), &list); err != nil {
			s.t.Fatal(err)
		}
		so = 0
		for i := range list.Items {
			if holds(&list.Items[i]) {
				so++
			}
		}
	}
}

// handled reports whether a NodePlan was reconciled as it was requested.
func handled(request string) func(*lkeplanv1alpha1.NodePlan) bool {
	return func(np *lkeplanv1alpha1.NodePlan) bool { return np.Status.LastHandledReconcileAt == request }
}

// reportRest measures what processes use in half a minute in which nothing is asked of them.
func reportRest(b *testing.B, processes map[string]*controller) {
	b.Helper()
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
		b.ReportMetric(float64(after.heap)/(1<<20), part+"-heap-MiB")
	}
}

// usage is the resources that a process has used.
type usage struct {
	cpu  time.Duration
	rss  int64 // bytes, the program's pages among them
	heap int64 // bytes that are no file's
}

// used reads the controller's usage so far.
func (c *controller) used(t testing.TB) usage {
	t.Helper()
	read := func(name string) string {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", c.cmd.Process.Pid, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	number := func(text string) int64 {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	_, stat, _ := strings.Cut(read("stat"), ") ")
	fields, memory := strings.Fields(stat), read("smaps_rollup")
	kib := func(name string) int64 {
		_, rest, _ := strings.Cut(memory, "\n"+name+":")
		return number(strings.Fields(rest)[0])
	}
	// Ticks are hundredths of a second; utime and stime are the fields 14 and 15
	// (proc_pid_stat(5)).
	return usage{
		cpu: time.Duration(number(fields[11])+number(fields[12])) * 10 * time.Millisecond,
		rss: kib("Rss") << 10, heap: kib("Anonymous") << 10,
	}
}
