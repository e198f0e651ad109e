package limits

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	karpdisruption "sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	karpevents "sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/utils/pdb"

	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// provider is what Karpenter's drift controller asks of a provider: nothing drifts of itself.
type provider struct{ cloudprovider.CloudProvider }

func (provider) IsDrifted(context.Context, *karpv1.NodeClaim) (cloudprovider.DriftReason, error) {
	return "", nil
}

func (provider) GetSupportedNodeClasses() []status.Object {
	return []status.Object{&linodev1alpha1.LinodeNodeClass{}}
}

// world is a cluster with one NodePool, Karpenter's own drift controller, and what Karpenter's
// disruption does of one node after another.
type replacementWorld struct {
	t      *testing.T
	random *rand.Rand
	client client.Client // of the API server
	cached client.Client // of a controller: it may be behind, and lists may hide a claim
	events *events.FakeRecorder
	clock  *clocktesting.FakeClock
	made   int // claims
	gone   int // replaced

	leaders []*Replacements
	faults  bool
	before  *karpv1.NodePool // an earlier version that a cache may show
}

const atMost = 5

func newReplacementWorld(t *testing.T, seed uint64, pool *karpv1.NodePool) *replacementWorld {
	w := &replacementWorld{t: t, random: rand.New(rand.NewPCG(seed, 0)), events: events.NewFakeRecorder(1000),
		clock: clocktesting.NewFakeClock(made)}
	stored := fake.NewClientBuilder().WithScheme(scheme.Scheme).
		WithStatusSubresource(&karpv1.NodePool{}, &karpv1.NodeClaim{}).
		WithIndex(&karpv1.NodePool{}, "metadata.name", func(o client.Object) []string { return []string{o.GetName()} }).
		WithObjects(pool, class()).Build()
	w.client = stored
	w.cached = interceptor.NewClient(stored, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			if pool, ok := o.(*karpv1.NodePool); ok && w.faults && w.before != nil && w.random.IntN(4) == 0 {
				w.before.DeepCopyInto(pool)
				return nil
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			if claims, ok := list.(*karpv1.NodeClaimList); ok && w.faults && len(claims.Items) > 0 && w.random.IntN(4) == 0 {
				n := w.random.IntN(len(claims.Items))
				claims.Items = append(claims.Items[:n], claims.Items[n+1:]...)
			}
			return err
		},
	})
	w.restart()
	for range 3 {
		w.make()
	}
	return w
}

// restart has another process lead. The one before it may not know yet.
func (w *replacementWorld) restart() {
	w.leaders = append(w.leaders, NewReplacements(w.cached, w.client, atMost, w.events))
	if len(w.leaders) > 2 {
		w.leaders = w.leaders[1:]
	}
}

func (w *replacementWorld) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *replacementWorld) pool() *karpv1.NodePool {
	w.t.Helper()
	var pool karpv1.NodePool
	w.must(w.client.Get(w.t.Context(), client.ObjectKey{Name: "web"}, &pool))
	return &pool
}

func (w *replacementWorld) claims() []karpv1.NodeClaim {
	w.t.Helper()
	var list karpv1.NodeClaimList
	w.must(w.client.List(w.t.Context(), &list))
	return list.Items
}

func (w *replacementWorld) node(nc *karpv1.NodeClaim) *corev1.Node {
	w.t.Helper()
	var node corev1.Node
	w.must(w.client.Get(w.t.Context(), client.ObjectKey{Name: nc.Status.NodeName}, &node))
	return &node
}

// make creates a claim and its Node from the present template.
func (w *replacementWorld) make() {
	w.t.Helper()
	nc := claimOf(w.made, w.pool(), class())
	nc.CreationTimestamp = metav1.NewTime(w.clock.Now())
	nc.Finalizers = []string{karpv1.TerminationFinalizer}
	nc.Spec.NodeClassRef = bronze().Spec.Template.Spec.NodeClassRef
	nc.StatusConditions().SetTrue(karpv1.ConditionTypeLaunched)
	w.must(w.client.Create(w.t.Context(), nodeOf(nc)))
	w.must(w.client.Create(w.t.Context(), nc))
	w.made++
}

// drift has Karpenter look at all claims.
func (w *replacementWorld) drift() {
	w.t.Helper()
	karpenter := disruption.NewController(w.clock, w.client, provider{})
	for _, nc := range w.claims() {
		_, err := karpenter.Reconcile(w.t.Context(), &nc)
		w.must(err)
	}
}

// reconcile has every leader reconcile, at last with caches that show all there is.
func (w *replacementWorld) reconcile() {
	w.t.Helper()
	for _, faults := range []bool{true, true, false} {
		w.faults = faults
		for _, c := range w.leaders {
			_, err := c.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "web"}})
			w.must(err)
		}
	}
}

// replace has Karpenter replace one drifted node that nothing holds, and reports whether there
// is one.
func (w *replacementWorld) replace() bool {
	w.t.Helper()
	ctx := w.t.Context()
	for _, nc := range w.claims() {
		if !nc.StatusConditions().Get(karpv1.ConditionTypeDrifted).IsTrue() ||
			w.node(&nc).Annotations[karpv1.DoNotDisruptAnnotationKey] == "true" {
			continue
		}
		nc.StatusConditions(status.WithClock(w.clock)).SetTrueWithReason(karpv1.ConditionTypeDisruptionReason,
			string(karpv1.DisruptionReasonDrifted), "")
		w.must(w.client.Status().Update(ctx, &nc))
		w.reconcile()
		w.clock.Step(time.Minute)
		w.make()
		w.must(w.client.Delete(ctx, &nc))
		w.reconcile()
		w.must(w.client.Delete(ctx, w.node(&nc)))
		w.must(w.client.Get(ctx, client.ObjectKeyFromObject(&nc), &nc))
		nc.Finalizers = nil
		w.must(w.client.Update(ctx, &nc))
		w.gone++
		return true
	}
	return false
}

// round is once all that runs in a cluster.
func (w *replacementWorld) round() {
	w.t.Helper()
	w.before = w.pool()
	w.drift()
	w.reconcile()
	if w.random.IntN(3) == 0 {
		w.restart()
	}
	w.replace()
}

// marks are how many claims and Nodes have an annotation.
func (w *replacementWorld) marks(key string) (n int) {
	w.t.Helper()
	for _, nc := range w.claims() {
		for _, o := range []client.Object{&nc, w.node(&nc)} {
			if _, there := o.GetAnnotations()[key]; there {
				n++
			}
		}
	}
	return n
}

// TestALoopIsStopped is a NodePool with three nodes whose label contradicts a requirement,
// with caches that are behind, lists that hide a claim, and processes that end.
func TestALoopIsStopped(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newReplacementWorld(t, seed, bronze())
			theirs := w.claims()[0]
			node := w.node(&theirs) // which another has annotated
			node.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"}
			w.must(w.client.Update(t.Context(), node))
			for range 2 * atMost {
				w.round()
			}
			if w.gone != atMost {
				t.Errorf("%d nodes were replaced, want %d", w.gone, atMost)
			}
			c := stoppedCondition(w.pool())
			if !c.IsTrue() || c.Reason != ReasonRepeated || !strings.Contains(c.Message, "example.com/tier=bronze") {
				t.Errorf("the condition is %+v", c)
			}
			if n := len(w.events.Events); n == 0 {
				t.Error("there is no event")
			}
			pool := w.pool()
			pool.Status.Conditions = nil
			w.must(w.client.Status().Update(t.Context(), pool))
			w.make() // for a pod: a NodePool that is stopped still gets nodes
			w.round()
			if !stoppedCondition(w.pool()).IsTrue() {
				t.Error("another writer dropped the condition, and it is not written again")
			}
			if got := w.marks(AnnotationHeld); w.gone != atMost || got != 7 { // of 4 claims and 3 Nodes
				t.Errorf("%d were replaced, and %d objects are held", w.gone, got)
			}

			pool = w.pool()
			pool.Spec.Template.Spec.Requirements[0].Values = []string{"bronze"}
			w.must(w.client.Update(t.Context(), pool))
			for range 5 {
				w.round()
			}
			pool = w.pool()
			if _, there := pool.Annotations[AnnotationReplacements]; there || stoppedCondition(pool) != nil {
				t.Errorf("after the requirement was mended it has %v, and says %+v", pool.Annotations, stoppedCondition(pool))
			}
			if got := w.marks(AnnotationHeld); got != 0 || w.gone != atMost {
				t.Errorf("%d objects are held, and %d were replaced", got, w.gone)
			}
			if got := w.marks(karpv1.DoNotDisruptAnnotationKey); got != 1 {
				t.Errorf("%d objects have do-not-disrupt, want that of another", got)
			}
		})
	}
}

// TestRemovingTheRecordReleases: counting restarts, without those that were on their way.
func TestRemovingTheRecordReleases(t *testing.T) {
	w := newReplacementWorld(t, 1, bronze())
	for range 10 {
		w.round()
	}
	for want := 2 * atMost; want <= 3*atMost; want += atMost {
		pool := w.pool()
		delete(pool.Annotations, AnnotationReplacements)
		w.must(w.client.Update(t.Context(), pool))
		w.before = nil
		for range 10 {
			w.round()
		}
		if w.gone != want {
			t.Errorf("%d were replaced, want %d", w.gone, want)
		}
	}
}

// TestACacheThatIsBehindReleasesNothing: it shows the NodePool as it was before it was stopped,
// and all else as it is.
func TestACacheThatIsBehindReleasesNothing(t *testing.T) {
	w := newReplacementWorld(t, 1, bronze())
	w.before = w.pool()
	behind := interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			if pool, ok := o.(*karpv1.NodePool); ok {
				w.before.DeepCopyInto(pool)
				return nil
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	for range 2 * atMost {
		w.drift()
		w.reconcile()
		w.replace()
	}
	held := w.marks(AnnotationHeld)
	c := NewReplacements(behind, w.client, atMost, w.events)
	_, err := c.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "web"}})
	w.must(err)
	if got := w.marks(AnnotationHeld); held == 0 || got != held || !stoppedCondition(w.pool()).IsTrue() {
		t.Errorf("%d of %d are held, and the NodePool says %+v", got, held, stoppedCondition(w.pool()))
	}
}

// TestARolloutIsNotStopped: nodes that are old or young, of a template that has changed.
func TestARolloutIsNotStopped(t *testing.T) {
	for name, age := range map[string]time.Duration{"old": 50 * time.Hour, "young": time.Minute} {
		t.Run(name, func(t *testing.T) {
			pool := bronze()
			pool.Spec.Template.Spec.Requirements[0].Values = []string{"bronze"}
			w := newReplacementWorld(t, 1, pool)
			for range 9 {
				w.make()
			}
			w.clock.Step(age)
			pool = w.pool()
			pool.Spec.Template.Labels["example.com/tier"] = "gold"
			pool.Spec.Template.Spec.Requirements[0].Values = []string{"gold"}
			w.must(w.client.Update(t.Context(), pool))
			w.drift()
			for w.replace() {
				continue
			}
			if w.gone != 12 || stoppedCondition(w.pool()) != nil || w.marks(AnnotationHeld) > 0 {
				t.Errorf("%d of 12 were replaced, it says %+v, and %d are held", w.gone, stoppedCondition(w.pool()), w.marks(AnnotationHeld))
			}
		})
	}
}

// TestANodePoolThatIsGoneIsForgotten: and one that is being deleted is left alone.
func TestANodePoolThatIsGoneIsForgotten(t *testing.T) {
	w := newReplacementWorld(t, 1, bronze())
	for range 8 {
		w.round()
	}
	pool := w.pool()
	pool.Finalizers = []string{"example.com/keep"}
	w.must(w.client.Update(t.Context(), pool))
	w.must(w.client.Delete(t.Context(), pool))
	w.before = nil
	before := w.pool().ResourceVersion
	w.reconcile()
	c := w.leaders[len(w.leaders)-1]
	if w.pool().ResourceVersion != before || len(c.announced) != 0 || len(c.names) != 0 {
		t.Errorf("it is remembered: %v %v", c.announced, c.names)
	}
}

// TestKarpenterKeepsHeldNodes: also a node that pods cannot keep from being replaced, as it
// has a terminationGracePeriod.
func TestKarpenterKeepsHeldNodes(t *testing.T) {
	pool, types := bronze(), map[string]map[string]*cloudprovider.InstanceType{"web": {}}
	cluster := fake.NewClientBuilder().WithScheme(scheme.Scheme).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(client.Object) []string { return nil }).Build()
	for name, grace := range map[string]*metav1.Duration{"": nil, "with terminationGracePeriod": {Duration: time.Minute}} {
		nc := replacedClaim(claimOf(1, pool, class()))
		nc.Spec.TerminationGracePeriod = grace
		node := nodeOf(nc)
		node.Labels[karpv1.NodeRegisteredLabelKey], node.Labels[karpv1.NodeInitializedLabelKey] = "true", "true"
		candidate := func() error {
			is := state.NewNode()
			is.Node, is.NodeClaim = node, nc
			clk := clocktesting.NewFakeClock(made)
			recorder := karpevents.NewRecorder(record.NewFakeRecorder(10))
			_, err := karpdisruption.NewCandidate(t.Context(), cluster, recorder, clk, is, pdb.Limits{},
				map[string]*karpv1.NodePool{"web": pool}, types,
				karpdisruption.NewQueue(nil, recorder, nil, clk, nil), karpdisruption.EventualDisruptionClass)
			return err
		}
		if err := candidate(); err != nil {
			t.Errorf("%s: without being held: %v", name, err)
		}
		node.Annotations = map[string]string{}
		holdPool(node.Annotations)
		if err := candidate(); err == nil || !strings.Contains(err.Error(), karpv1.DoNotDisruptAnnotationKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWhichMachinesAreChecked: not each of Karpenter's writes.
func TestWhichMachinesAreChecked(t *testing.T) {
	claim := func(change func(*karpv1.NodeClaim)) *karpv1.NodeClaim {
		nc := claimOf(1, bronze(), class())
		change(nc)
		return nc
	}
	plain := claim(func(*karpv1.NodeClaim) {})
	for name, tt := range map[string]struct {
		is   *karpv1.NodeClaim
		want bool
	}{
		"nothing": {plain, false},
		"ready": {claim(func(nc *karpv1.NodeClaim) {
			nc.StatusConditions().SetTrue(karpv1.ConditionTypeInitialized)
		}), false},
		"drifted": {claim(func(nc *karpv1.NodeClaim) { nc.StatusConditions().SetTrue(karpv1.ConditionTypeDrifted) }), true},
		"is replaced": {claim(func(nc *karpv1.NodeClaim) {
			nc.StatusConditions().SetTrue(karpv1.ConditionTypeDisruptionReason)
		}), true},
		"has a Node":  {claim(func(nc *karpv1.NodeClaim) { nc.Status.NodeName = "a" }), true},
		"is released": {claim(func(nc *karpv1.NodeClaim) { nc.Annotations[AnnotationHeld] = heldValue }), true},
	} {
		if got := claimChanges(event.UpdateEvent{ObjectOld: plain, ObjectNew: tt.is}); got != tt.want {
			t.Errorf("a claim: %s: %v", name, got)
		}
	}
	says, recorded := bronze(), bronze()
	says.StatusConditions().SetTrue(ConditionReplacementsStopped)
	recorded.Annotations = map[string]string{AnnotationReplacements: "{}"}
	for name, tt := range map[string]struct {
		was, is *karpv1.NodePool
		want    bool
	}{
		"nothing":     {bronze(), bronze(), false},
		"it is said":  {bronze(), says, false},
		"it is lost":  {says, bronze(), true},
		"a record":    {bronze(), recorded, true},
		"record gone": {recorded, bronze(), true},
	} {
		if got := templateChanges.Update(event.UpdateEvent{ObjectOld: tt.was, ObjectNew: tt.is}); got != tt.want {
			t.Errorf("a NodePool: %s: %v", name, got)
		}
	}
	changed := class()
	changed.Spec.FirewallID = new(7)
	if !classChanges(event.UpdateEvent{ObjectOld: class(), ObjectNew: changed}) ||
		classChanges(event.UpdateEvent{ObjectOld: class(), ObjectNew: class()}) {
		t.Error("a class")
	}
}
