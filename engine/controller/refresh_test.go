package controller

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/reconciler"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	nodeclaimdisruption "sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/state/virtualpods"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/age"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/limits"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/testdata/nightly"
)

// refreshWorld is a cluster with a pool whose nodes are replaced by age: by Karpenter's controllers, as the controller runs
// them, with the clock of the test.
type refreshWorld struct {
	*staticWorld
	ctx      context.Context
	pool     *karpv1.NodePool
	provider *linode.Provider
	drift    *nodeclaimdisruption.Controller
	disrupts interface {
		Reconcile(context.Context) (reconciler.Result, error)
	}
	commands *disruption.Queue
	after    time.Duration
	due      map[string]time.Time // when each node is due
	started  map[string]time.Time // when the replacement of each node began
}

// plainOrders are orders that change nothing.
type plainOrders struct{ linode.Orders }

func (plainOrders) Offer(_ context.Context, _ string, _ *karpv1.NodePool, all []*cloudprovider.InstanceType) ([]*cloudprovider.InstanceType, error) {
	return all, nil
}

func (plainOrders) Drifted(context.Context, *karpv1.NodeClaim, *linodev1alpha1.LinodeNodeClass) (cloudprovider.DriftReason, error) {
	return "", nil
}

const takesToJoin = 150 * time.Second // with the step that removes the old node, three minutes

func newRefreshWorld(t *testing.T, pool *karpv1.NodePool, now time.Time, after time.Duration, created []time.Time) *refreshWorld {
	t.Helper()
	class := &linodev1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	w := &refreshWorld{staticWorld: newStaticWorld(t, pool), pool: pool, after: after, due: map[string]time.Time{},
		started: map[string]time.Time{}}
	w.ctx = options.ToContext(t.Context(), Karpenter{Quiet: true}.options())
	w.time.SetTime(now)
	w.must(w.server.Create(w.ctx, class))
	prices, err := catalog.Embedded()
	w.must(err)
	sold := instancetype.New(prices, "us-ord", catalog.Standard)
	w.provider = linode.NewProvider(&linode.Chooser{Client: w.server, Types: sold, Orders: plainOrders{},
		Limits: limits.NewEnforcer(w.server, w.server, sold)}, nil)
	w.provider.Now = w.time.Now
	c := claimClient{linode.WithoutStamps(w.server), "us-ord", w.staticPools}
	provisioner := provisioning.NewProvisioner(c, noEvents{}, w.provider, w.cluster, w.time, nil, virtualpods.NewVirtualPodCache(c))
	all := disruptionControllers(w.ctx, w.time, c, w.provider, noEvents{}, w.brake, provisioner, true)
	w.commands, w.disrupts = all[0].(*disruption.Queue), all[1].(*disruption.Controller)
	w.drift = nodeclaimdisruption.NewController(w.time, linode.WithoutStamps(w.server), w.provider)
	for i, at := range created {
		w.time.SetTime(at) // which the server writes
		nc := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{GenerateName: "web-", Finalizers: []string{karpv1.TerminationFinalizer},
			Labels: map[string]string{karpv1.NodePoolLabelKey: pool.Name},
			Annotations: map[string]string{linodev1alpha1.AnnotationHash: class.Hash(),
				linodev1alpha1.AnnotationHashVersion: linodev1alpha1.HashVersion}}}
		nc.Spec.NodeClassRef = pool.Spec.Template.Spec.NodeClassRef
		w.must(w.server.Create(w.ctx, nc))
		w.join(nc, i+1)
		w.must(w.update(nc))
	}
	w.time.SetTime(now)
	w.look()
	return w
}

// join makes a NodeClaim a node.
func (w *refreshWorld) join(nc *karpv1.NodeClaim, id int) {
	nc.Labels[corev1.LabelInstanceTypeStable], nc.Labels[karpv1.CapacityTypeLabelKey] = "g6-standard-4", karpv1.CapacityTypeOnDemand
	nc.Labels[corev1.LabelTopologyZone] = "us-ord"
	nc.Status.ProviderID, nc.Status.NodeName = nodeclaim.LinodeID(id), "node-"+nc.Name
	for _, condition := range []string{karpv1.ConditionTypeLaunched, karpv1.ConditionTypeRegistered, karpv1.ConditionTypeInitialized} {
		nc.StatusConditions().SetTrue(condition)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nc.Status.NodeName, Labels: map[string]string{
		karpv1.NodeRegisteredLabelKey: "true", karpv1.NodeInitializedLabelKey: "true"}}}
	for key, value := range nc.Labels {
		node.Labels[key] = value
	}
	node.Spec.ProviderID = nc.Status.ProviderID
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	w.must(w.server.Create(w.ctx, node))
	w.due[nc.Name] = age.Due(nc.CreationTimestamp.Time, nc.Name, w.after)
}

// look shows Karpenter's state all objects.
func (w *refreshWorld) look() {
	w.t.Helper()
	var nodes corev1.NodeList
	w.must(w.server.List(w.ctx, &nodes))
	for _, nc := range w.all() {
		w.cluster.UpdateNodeClaim(&nc)
	}
	for i := range nodes.Items {
		w.must(w.cluster.UpdateNode(w.ctx, &nodes.Items[i]))
	}
}

// step lets half a minute pass: nodes join and go, and Karpenter's controllers run.
func (w *refreshWorld) step() {
	w.t.Helper()
	all, ready := w.all(), 0
	for _, nc := range all {
		if nc.DeletionTimestamp.IsZero() && nc.Status.NodeName != "" {
			ready++
		}
	}
	for _, nc := range all {
		switch old := w.time.Since(nc.CreationTimestamp.Time); {
		case !nc.DeletionTimestamp.IsZero():
			if ready < int(*w.pool.Spec.Replicas) {
				w.t.Errorf("at %s, %s drains, and only %d nodes are ready", w.time.Now(), nc.Name, ready)
			}
			w.must(w.server.Delete(w.ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nc.Status.NodeName}}))
			nc.Finalizers = nil
			w.must(w.server.Update(w.ctx, &nc))
			w.cluster.DeleteNode(nc.Status.NodeName)
			w.cluster.DeleteNodeClaim(nc.Name)
			delete(w.due, nc.Name)
		case nc.Status.NodeName == "" && old >= takesToJoin:
			w.join(&nc, 1000+w.made*100+len(w.started))
			w.must(w.update(&nc))
		case nc.Status.ProviderID == "":
			nc.Status.ProviderID = nodeclaim.PendingID(string(nc.UID))
			nc.StatusConditions().SetTrue(karpv1.ConditionTypeLaunched)
			w.must(w.update(&nc))
		}
	}
	w.look()
	for _, nc := range w.all() {
		if nc.DeletionTimestamp.IsZero() {
			_, err := w.drift.Reconcile(w.ctx, &nc)
			w.must(err)
		}
	}
	w.look()
	for again := true; again; {
		before := len(w.commands.GetCommands())
		_, err := w.disrupts.Reconcile(w.ctx)
		w.must(err)
		again = len(w.commands.GetCommands()) > before
		w.look()
	}
	var nodes corev1.NodeList // replacements that are ready count for percentages, as in Karpenter
	w.must(w.server.List(w.ctx, &nodes))
	allowed, err := w.pool.GetAllowedDisruptionsByReason(w.time, len(nodes.Items), karpv1.DisruptionReasonDrifted)
	w.must(err)
	running := w.commands.GetCommands()
	for _, command := range running {
		name := command.Candidates[0].NodeClaim.Name
		if _, known := w.started[name]; !known {
			w.started[name] = w.time.Now()
			if len(running) > allowed {
				w.t.Errorf("at %s, %d nodes are replaced, and the budgets allow %d", w.time.Now(), len(running), allowed)
			}
		}
		_, err := w.commands.Reconcile(w.ctx, command.Candidates[0].NodeClaim)
		w.must(err)
	}
}

// update stores a NodeClaim with its status.
func (w *refreshWorld) update(nc *karpv1.NodeClaim) error {
	status := nc.Status.DeepCopy()
	if err := w.server.Update(w.ctx, nc); err != nil {
		return err
	}
	nc.Status = *status
	return w.server.Status().Update(w.ctx, nc)
}

// idle reports whether nothing happens now: no node is due, or none may go.
func (w *refreshWorld) idle() bool {
	w.t.Helper()
	if !w.commands.IsEmpty() {
		return false
	}
	for _, due := range w.due {
		if !w.time.Now().Before(due) {
			allowed, err := w.pool.GetAllowedDisruptionsByReason(w.time, len(w.due), karpv1.DisruptionReasonDrifted)
			w.must(err)
			return allowed == 0
		}
	}
	return true
}

// TestNodesAreReplacedByAgeAsTheCalendarSays draws pools of 20 nodes that were created together, and lets a fortnight pass in
// which summer time ends. Karpenter's controllers replace the nodes only while the budgets allow it, never more at a time, and
// each after its replacement is ready. Each node goes in the night that the calendar has.
func TestNodesAreReplacedByAgeAsTheCalendarSays(t *testing.T) {
	gone, worlds := 0, nightly.Or(2, 20) // each takes five seconds of a CPU
	for seed := range uint64(worlds) {
		rng := rand.New(rand.NewPCG(seed, 49))
		now := time.Date(2026, time.October, 18, rng.IntN(24), 0, 0, 0, time.FixedZone("CEST", 7200))
		after := time.Duration(400+rng.IntN(600)) * time.Hour
		pool := staticPool("web", 20)
		pool.Annotations = map[string]string{schemas.AnnotationRefreshAfter: after.String()}
		pool.Spec.Disruption.Budgets = []karpv1.Budget{
			{Nodes: []string{"1", "2", "10%", "25%"}[rng.IntN(4)]},
			{Nodes: "0", Schedule: ptr.To(fmt.Sprintf("%d %d * * %s", rng.IntN(60), rng.IntN(24), []string{"*", "mon-fri"}[rng.IntN(2)])),
				Duration: &metav1.Duration{Duration: 24*time.Hour - []time.Duration{10 * time.Minute, time.Hour, 8 * time.Hour}[rng.IntN(3)]}},
		}
		var created []time.Time
		var nodes []plan.Node
		first := now.Add(-after).Add(time.Duration(rng.IntN(14*24)-48) * time.Hour).UTC().Truncate(time.Second)
		for i := range 20 {
			created = append(created, first.Add(time.Duration(i/4)*time.Second))
			nodes = append(nodes, plan.Node{Name: fmt.Sprintf("web-%d", i+1), Created: created[i], Initialized: true})
		}
		calendar, err := plan.CalendarOf(pool, nodes, func(plan.Node) bool { return false }, now)
		if err != nil {
			t.Fatal(err)
		}
		w := newRefreshWorld(t, pool, now, after, created)
		for end := now.AddDate(0, 0, 14); w.time.Now().Before(end); w.time.Step(30 * time.Second) {
			if !w.idle() {
				w.step()
			}
		}
		got, want := map[string]string{}, map[string]string{}
		for name, at := range w.started {
			got[name] = at.UTC().Format(time.RFC3339)
		}
		for _, night := range calendar.Nights {
			for _, name := range night.Nodes {
				want[name] = fmt.Sprintf("from %s to %s", night.From, night.Until)
				if at, ok := w.started[name]; ok && !at.Before(night.From) && at.Before(night.Until) {
					want[name] = got[name]
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d (-calendar +happened):\n%s", seed, diff)
		}
		gone += len(got)
	}
	if gone < 10*worlds {
		t.Errorf("%d nodes are too few to tell anything", gone)
	}
	t.Logf("%d nodes were replaced", gone)
}
