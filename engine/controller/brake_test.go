package controller

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	k8sevents "k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/options"

	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/linodetest"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// stops are the DisruptionStops of a cluster.
type stops struct {
	client.Reader
	items []lkeplanv1alpha1.DisruptionStop
	err   error
}

func (s *stops) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	into.(*lkeplanv1alpha1.DisruptionStopList).Items = s.items
	return s.err
}

// stopOf returns a stop that begins at worldStart.
func stopOf(name string, lasts time.Duration, drains string) lkeplanv1alpha1.DisruptionStop {
	return lkeplanv1alpha1.DisruptionStop{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(worldStart)},
		Spec:       lkeplanv1alpha1.DisruptionStopSpec{For: metav1.Duration{Duration: lasts}, Reason: "errors", Drains: drains},
	}
}

// slow is a method whose validation of a command takes 15 seconds, during which something happens.
type slow struct {
	disruption.Method
	happens func()
}

func (slow) ShouldDisrupt(context.Context, *disruption.Candidate) bool { return true }

func (s slow) ComputeCommands(_ context.Context, _ map[string]int, candidates ...*disruption.Candidate) ([]disruption.Command, error) {
	s.happens()
	return []disruption.Command{{Candidates: candidates}}, nil
}

func TestNoCommandIsFoundWhileDisruptionIsStopped(t *testing.T) {
	active := []lkeplanv1alpha1.DisruptionStop{stopOf("a", time.Hour, "")}
	for _, tc := range []struct {
		name    string
		cached  stops
		live    stops
		happens func(cached, live *stops, clk *clocktesting.FakeClock)
		should  bool // the node is a candidate
		starts  bool // a command is returned
	}{
		{name: "without a stop", should: true, starts: true},
		{name: "stopped", cached: stops{items: active}, live: stops{items: active}},
		{name: "stopped, and the API server does not answer", cached: stops{items: active}, live: stops{err: errors.New("timeout")}},
		{name: "the cache cannot list stops", cached: stops{err: errors.New("not synced")}},
		{name: "stopped after the command is computed, before it starts", should: true,
			happens: func(cached, live *stops, _ *clocktesting.FakeClock) { cached.items, live.items = active, active }},
		{name: "stopped in between, and the watch is behind", should: true,
			happens: func(_, live *stops, _ *clocktesting.FakeClock) { live.items = active }},
		{name: "the right to list stops is gone", should: true,
			happens: func(_, live *stops, _ *clocktesting.FakeClock) { live.err = errors.New("forbidden") }},
		{name: "the stop has ended in the cache, and another one begins", should: true,
			cached: stops{items: []lkeplanv1alpha1.DisruptionStop{stopOf("old", -time.Second, "")}},
			happens: func(_, live *stops, _ *clocktesting.FakeClock) {
				live.items = []lkeplanv1alpha1.DisruptionStop{stopOf("old", -time.Second, ""), stopOf("new", time.Hour, "")}
			}},
		{name: "the clock jumps back into a stop", should: true,
			cached:  stops{items: []lkeplanv1alpha1.DisruptionStop{stopOf("old", -time.Second, "")}},
			live:    stops{items: []lkeplanv1alpha1.DisruptionStop{stopOf("old", -time.Second, "")}},
			happens: func(_, _ *stops, clk *clocktesting.FakeClock) { clk.SetTime(worldStart.Add(-2 * time.Second)) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			clk := clocktesting.NewFakeClock(worldStart)
			nc, np := linodetest.NodeClaim("1"), &karpv1.NodePool{}
			nc.UID = "1"
			node := &disruption.Candidate{StateNode: &state.StateNode{NodeClaim: nc}, NodePool: np}
			happens := func() {}
			d := newDelayed(slow{happens: func() { happens() }}, clk, brake{&tc.cached, &tc.live, clk})
			if should := d.ShouldDisrupt(t.Context(), node); should != tc.should {
				t.Errorf("ShouldDisrupt is %t, want %t", should, tc.should)
			}
			if tc.happens != nil {
				happens = func() { tc.happens(&tc.cached, &tc.live, clk) }
			}
			commands, err := d.ComputeCommands(t.Context(), nil, node)
			if err != nil || len(commands) > 0 != tc.starts {
				t.Errorf("got %d commands and error %v, want some %t", len(commands), err, tc.starts)
			}
			if tc.starts {
				return
			}
			// A command that was not started has not failed: when the stop ends, the node does not wait.
			tc.cached, tc.live, happens = stops{}, stops{}, func() {}
			if commands, _ := d.ComputeCommands(t.Context(), nil, node); len(commands) != 1 {
				t.Errorf("after the stop there are %d commands, want 1", len(commands))
			}
		})
	}
}

// TestStartedCommandDrainsNoNodeWhileDisruptionIsStopped: Karpenter's own queue has a command that repairs a node. The stop
// begins while its replacement starts.
func TestStartedCommandDrainsNoNodeWhileDisruptionIsStopped(t *testing.T) {
	instancetype.Register()
	ctx := options.ToContext(t.Context(), Karpenter{}.options())
	clk := clocktesting.NewFakeClock(worldStart)
	old, replacement := linodetest.NodeClaim("1"), linodetest.NodeClaim("1")
	old.Name, replacement.Name = "old", "new"
	old.Status.ProviderID = "linode://1"
	replacement.StatusConditions().SetTrue(karpv1.ConditionTypeInitialized)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "old"}, Spec: corev1.NodeSpec{ProviderID: "linode://1"}}
	server := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(old, replacement, node).
		WithStatusSubresource(old).Build()
	there := &stops{items: []lkeplanv1alpha1.DisruptionStop{stopOf("a", 5*time.Minute, "")}}
	cluster := state.NewCluster(clk, server, &linode.Provider{})
	queue := disruption.NewQueue(startingClient{server, brake{&stops{}, there, clk}}, noEvents{}, cluster, clk, nil)
	grace := time.Minute
	cmd := &disruption.Command{
		Method: repairs{}, CreationTimestamp: clk.Now(),
		Candidates: []*disruption.Candidate{{StateNode: &state.StateNode{NodeClaim: old, Node: node}, NodePool: &karpv1.NodePool{},
			TerminationGracePeriod: &grace}},
		Replacements: []*disruption.Replacement{{Name: "new", NodeClaim: &scheduling.NodeClaim{}}},
	}
	queue.ProviderIDToCommand[old.Status.ProviderID] = cmd
	stays := func() (is bool) {
		t.Helper()
		if _, err := queue.Reconcile(ctx, old); err != nil {
			t.Fatal(err)
		}
		live := &karpv1.NodeClaim{}
		err := server.Get(ctx, client.ObjectKeyFromObject(old), live)
		if err == nil && live.Annotations[karpv1.NodeClaimTerminationTimestampAnnotationKey] != "" {
			t.Error("the drain of the node got an end before its start, and would have no time")
		}
		return client.IgnoreNotFound(err) == nil && !apierrors.IsNotFound(err)
	}
	for range 5 {
		if !stays() {
			t.Fatal("the node is deleted while disruption is stopped")
		}
		clk.Step(time.Second)
	}
	clk.SetTime(worldStart.Add(5 * time.Minute))
	if stays() {
		t.Error("the node stays after the stop")
	}
}

// repairs is the method of a command.
type repairs struct{ disruption.Method }

func (repairs) Reason() karpv1.DisruptionReason { return karpv1.DisruptionReasonDrifted }
func (repairs) ConsolidationType() string       { return "" }

// TestCommandIsGivenUpInALongStop: the node can be used again, as Karpenter removes its taint and keeps no command.
func TestCommandIsGivenUpInALongStop(t *testing.T) {
	instancetype.Register()
	ctx := options.ToContext(t.Context(), Karpenter{}.options())
	clk := clocktesting.NewFakeClock(worldStart)
	old := linodetest.NodeClaim("1")
	old.Name = "old"
	old.Status.ProviderID = "linode://1"
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "old"},
		Spec: corev1.NodeSpec{ProviderID: "linode://1", Taints: []corev1.Taint{karpv1.DisruptedNoScheduleTaint}}}
	server := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(old, node).WithStatusSubresource(old).Build()
	there := &stops{items: []lkeplanv1alpha1.DisruptionStop{stopOf("a", 2*time.Hour, "")}}
	queue := disruption.NewQueue(startingClient{server, brake{there, there, clk}}, noEvents{},
		state.NewCluster(clk, server, &linode.Provider{}), clk, nil)
	queue.ProviderIDToCommand[old.Status.ProviderID] = &disruption.Command{
		Method: repairs{}, CreationTimestamp: clk.Now(),
		Candidates: []*disruption.Candidate{{StateNode: &state.StateNode{NodeClaim: old, Node: node}, NodePool: &karpv1.NodePool{}}},
	}
	for range 61 {
		clk.Step(time.Minute)
		if queue.IsEmpty() {
			break
		}
		if _, err := queue.Reconcile(ctx, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := server.Get(ctx, client.ObjectKeyFromObject(node), node); err != nil || len(node.Spec.Taints) > 0 || !queue.IsEmpty() {
		t.Errorf("the node has taints %v, and the queue is empty: %t (%v)", node.Spec.Taints, queue.IsEmpty(), err)
	}
	if err := server.Get(ctx, client.ObjectKeyFromObject(old), old); err != nil {
		t.Errorf("its NodeClaim: %v", err)
	}
}

func TestPodsAreEvictedUnlessDrainsAreHeld(t *testing.T) {
	for _, tc := range []struct {
		name, drains string
		passed       time.Duration
		listErr      error
		refused      bool
	}{
		{name: "drains finish", drains: lkeplanv1alpha1.DrainsFinish},
		{name: "drains are held", drains: lkeplanv1alpha1.DrainsHold, refused: true},
		{name: "the hold has ended", drains: lkeplanv1alpha1.DrainsHold, passed: time.Hour},
		{name: "stops cannot be listed", drains: lkeplanv1alpha1.DrainsHold, listErr: errors.New("not synced")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			instancetype.Register()
			clk := clocktesting.NewFakeClock(worldStart.Add(tc.passed))
			there := &stops{items: []lkeplanv1alpha1.DisruptionStop{stopOf("a", time.Hour, tc.drains)}, err: tc.listErr}
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
			server := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(pod).Build()
			shown := claimClient{Client: evictingClient{server, brake{there, there, clk}}}
			err := shown.SubResource("eviction").Create(t.Context(), pod, &policyv1.Eviction{})
			gone := apierrors.IsNotFound(server.Get(t.Context(), client.ObjectKeyFromObject(pod), pod))
			if gone == tc.refused || apierrors.IsTooManyRequests(err) != tc.refused || err != nil != tc.refused {
				t.Errorf("gone %t with error %v, want refused %t", gone, err, tc.refused)
			}
			// Karpenter deletes a pod itself at the end of the terminationGracePeriod of its node.
			if tc.refused {
				if err := shown.Delete(t.Context(), pod); err != nil {
					t.Error(err)
				}
			}
			said := &heard{}
			holdRecorder{said, brake{there, there, clk}}.Publish(
				events.Event{Reason: events.FailedDraining, Message: "violates a PDB"}, events.Event{Reason: "Other", Message: "other"})
			if got := strings.Contains(said.all[0].Message, "drains are stopped until"); got != tc.refused || said.all[1].Message != "other" {
				t.Errorf("the events are %v", said.all)
			}
		})
	}
}

// heard is a recorder that keeps what it gets.
type heard struct{ all []events.Event }

func (h *heard) Publish(all ...events.Event) { h.all = append(h.all, all...) }

func TestStaticPoolKeepsItsNodesWhileDisruptionIsStopped(t *testing.T) {
	w := newStaticWorld(t, staticPool("web", 4))
	w.stock = 100
	nodes := func() (n int) {
		for _, nc := range w.all() {
			if nc.DeletionTimestamp.IsZero() {
				n++
			}
		}
		return n
	}
	w.run(10 * time.Second)
	if n := nodes(); n != 4 {
		t.Fatalf("the pool has %d nodes, want 4", n)
	}
	s := stopOf("a", time.Hour, "")
	s.CreationTimestamp = metav1.NewTime(w.time.Now())
	w.must(w.server.Create(t.Context(), &s))
	pool := w.nodePools()[0]
	pool.Spec.Replicas = new(int64(2))
	w.must(w.server.Update(t.Context(), &pool))
	w.run(30 * time.Second)
	if n := nodes(); n != 4 {
		t.Errorf("the pool has %d nodes while disruption is stopped, want 4", n)
	}
	pool = w.nodePools()[0]
	pool.Spec.Replicas = new(int64(5))
	w.must(w.server.Update(t.Context(), &pool))
	w.run(30 * time.Second)
	if n := nodes(); n != 5 {
		t.Errorf("the pool has %d nodes, want 5: more capacity is created while disruption is stopped", n)
	}
	pool = w.nodePools()[0]
	pool.Spec.Replicas = new(int64(2))
	w.must(w.server.Update(t.Context(), &pool))
	w.time.Step(time.Hour)
	w.run(10 * time.Second)
	if n := nodes(); n != 2 {
		t.Errorf("the pool has %d nodes after the stop, want 2", n)
	}
}

func TestStartAndEndOfStopsAreReportedOnce(t *testing.T) {
	instancetype.Register()
	clk := clocktesting.NewFakeClock(worldStart)
	a, old := stopOf("a", time.Hour, ""), stopOf("old", time.Second, "")
	old.CreationTimestamp = metav1.NewTime(worldStart.Add(-time.Hour))
	server := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(&a, &old).Build()
	told := k8sevents.NewFakeRecorder(10)
	r := &stopReporter{server, told, slog.New(slog.DiscardHandler), clk, map[types.UID]bool{}}
	values := func() (stopped, until float64) {
		registry := prometheus.NewRegistry()
		registry.MustRegister(brake{server, server, clk}.metrics()...)
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		return families[0].GetMetric()[0].GetGauge().GetValue(), families[1].GetMetric()[0].GetGauge().GetValue()
	}
	for i, want := range []string{"Warning DisruptionStopped disruption is stopped until", "", "Normal DisruptionResumed the stop has ended; disruption is allowed", ""} {
		for _, name := range []string{"a", "old", "gone"} {
			if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}}); err != nil {
				t.Fatal(err)
			}
		}
		got := ""
		select {
		case got = <-told.Events:
		default:
		}
		if !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("event %d is %q, want %q", i, got, want)
		}
		stopped, until := values()
		if end := float64(worldStart.Add(time.Hour).Unix()); i < 2 && (stopped != 1 || until != end) || i >= 2 && stopped+until != 0 {
			t.Errorf("step %d: the metrics are %v and %v", i, stopped, until)
		}
		if i == 1 {
			clk.Step(time.Hour)
		}
	}
}
