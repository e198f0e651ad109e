package controller

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/trace"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// claimTracer creates traces of NodeClaims. A nil pointer creates none.
type claimTracer struct {
	sink   trace.Sink
	client client.Reader

	mu   sync.Mutex
	open map[string]*claimStory // by UID: NodeClaims whose nodes are not initialized yet
}

// claimStory is what is known about a NodeClaim so far.
type claimStory struct {
	name  string
	began time.Time
	over  [len(claimPhases)]bool      // which phases are over
	ends  [len(claimPhases)]time.Time // when they ended; zero if unknown
	calls []trace.Span
	left  int // number of calls that were dropped
}

// newClaimTracer returns a claimTracer for a sink; nil without one.
func newClaimTracer(sink trace.Sink) *claimTracer {
	if sink == nil {
		return nil
	}
	return &claimTracer{sink: sink, open: map[string]*claimStory{}}
}

// claimPhases are the phases of a NodeClaim, in this order, each with the condition that ends it. No
// condition ends the phase in which it gets its machine.
var claimPhases = [...]struct{ name, condition string }{
	{trace.Choose, karpv1.ConditionTypeLaunched},
	{trace.Machine, ""},
	{trace.Join, karpv1.ConditionTypeRegistered},
	{trace.Initialize, karpv1.ConditionTypeInitialized},
}

// Register implements operatorpkg's Controller.
func (t *claimTracer) Register(_ context.Context, mgr ctrl.Manager) error {
	t.client = mgr.GetClient()
	return ctrl.NewControllerManagedBy(mgr).Named("nodeclaim.trace").For(&karpv1.NodeClaim{}).Complete(t)
}

// Reconcile implements reconcile.Reconciler.
func (t *claimTracer) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var nc karpv1.NodeClaim
	err := t.client.Get(ctx, req.NamespacedName, &nc)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return ctrl.Result{}, err
	case err != nil:
		t.forget(req.Name)
	case nodeclaim.Managed(&nc):
		if over, told := t.look(&nc, time.Now()); over {
			t.sink.Take(trace.OfClaim(string(nc.UID)), told.tell(&nc, t.nodePlan(ctx, &nc), time.Now()))
		}
	}
	return ctrl.Result{}, nil
}

func (t *claimTracer) forget(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for uid, s := range t.open {
		if s.name == name {
			delete(t.open, uid)
		}
	}
}

// look records what has happened to a NodeClaim. It returns the story when it is complete. If it is
// complete when first seen, the previous process has already reported it.
func (t *claimTracer) look(nc *karpv1.NodeClaim, now time.Time) (over bool, told *claimStory) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, known := t.open[string(nc.UID)]
	over = claimPhaseEnded(nc, len(claimPhases)-1) || !nc.DeletionTimestamp.IsZero()
	if !known && over {
		return false, nil
	}
	if !known {
		s = &claimStory{name: nc.Name, began: notAfter(nc.CreationTimestamp.Time, now)}
		t.open[string(nc.UID)] = s
	}
	for i, phase := range claimPhases {
		if s.over[i] || !claimPhaseEnded(nc, i) {
			continue
		}
		s.over[i] = true
		if phase.condition != "" {
			s.ends[i] = notAfter(nc.StatusConditions().Get(phase.condition).LastTransitionTime.Time, now)
		} else if known {
			s.ends[i] = now
		}
	}
	if over {
		delete(t.open, string(nc.UID))
	}
	return over, s
}

// claimPhaseEnded reports whether a phase of a NodeClaim is over.
func claimPhaseEnded(nc *karpv1.NodeClaim, phase int) bool {
	if condition := claimPhases[phase].condition; condition != "" {
		return nc.StatusConditions().Get(condition).IsTrue()
	}
	return nodeclaim.InstanceOf(nc.Status.ProviderID) != 0
}

// notAfter limits the time of something that is seen now: Kubernetes truncates times to seconds.
func notAfter(said, now time.Time) time.Time {
	if end := said.Add(time.Second); now.After(end) {
		return end
	}
	return now
}

// tell converts a story into the spans of a trace. A deleted NodeClaim has failed in its current
// phase.
func (s *claimStory) tell(nc *karpv1.NodeClaim, nodePlan string, now time.Time) trace.Span {
	root := trace.Span{Name: trace.Claim, From: s.began, To: now, Attributes: s.about(nc, nodePlan), Children: s.calls}
	from := s.began
	for i, phase := range claimPhases {
		if !s.over[i] {
			root.Error = "it was deleted before its node was initialized"
			if !from.IsZero() {
				last := trace.Span{Name: phase.name, From: from, To: now, Error: claimReason(nc, phase.condition)}
				root.Children = append(root.Children, last)
			}
			return root
		}
		to := s.ends[i]
		if !from.IsZero() && !to.IsZero() {
			to = latest(from, to)
			root.Children = append(root.Children, trace.Span{Name: phase.name, From: from, To: to})
		}
		from = to
	}
	root.To = latest(root.From, from)
	return root
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// claimReason is why a condition of a NodeClaim is not true.
func claimReason(nc *karpv1.NodeClaim, condition string) string {
	if c := nc.StatusConditions().Get(condition); c != nil && c.Message != "" {
		return trace.Shorten(c.Message)
	}
	return "it was deleted"
}

func (s *claimStory) about(nc *karpv1.NodeClaim, nodePlan string) (list []trace.Attribute) {
	add := func(key string, value any, known bool) {
		if known {
			list = append(list, trace.Attribute{Key: key, Value: value})
		}
	}
	pool, plan := nc.Labels[karpv1.NodePoolLabelKey], nodeclaim.PlanOf(nc)
	instance := nodeclaim.InstanceOf(nc.Status.ProviderID)
	add(trace.NodeClaim, nc.Name, true)
	add(trace.UID, string(nc.UID), true)
	add(trace.NodePool, pool, pool != "")
	add(trace.NodePlan, nodePlan, nodePlan != "")
	add(trace.PlanType, plan, plan != "")
	add(trace.Linode, instance, instance != 0)
	add(trace.Node, nc.Status.NodeName, nc.Status.NodeName != "")
	add(trace.LeftOut, s.left, s.left > 0)
	return list
}

// nodePlan is the NodePlan in the label of a NodeClaim's pool, truncated to the length of a label; ""
// if there is none. This process does not know the revision of the pool.
func (t *claimTracer) nodePlan(ctx context.Context, nc *karpv1.NodeClaim) string {
	var pool karpv1.NodePool
	if t.client.Get(ctx, client.ObjectKey{Name: nc.Labels[karpv1.NodePoolLabelKey]}, &pool) != nil {
		return ""
	}
	name, ok := strings.CutPrefix(pool.Labels[kube.InventoryLabel], kube.NodePlanOwner+".")
	if !ok {
		return ""
	}
	return strings.Replace(name, ".", "/", 1) // a namespace has no dot
}

// mostCalls is the maximum number of calls kept for a NodeClaim, the first and the last ones: LKE may
// refuse it for hours.
const mostCalls = 40

// Call records a request to the Linode API for the NodeClaims that it was sent for.
func (t *claimTracer) Call(call api.Call) {
	if t == nil || len(call.For) == 0 {
		return
	}
	now := time.Now()
	span := trace.Span{Name: trace.Call, From: now.Add(-call.Duration - call.Waited), To: now}
	span.Attributes = []trace.Attribute{
		{Key: trace.Method, Value: call.Method}, {Key: trace.Route, Value: call.Route},
		{Key: trace.Status, Value: call.Status}, {Key: trace.Waited, Value: call.Waited.Seconds()},
		{Key: trace.SharedWith, Value: len(call.For)},
	}
	if call.Err != nil {
		span.Error = trace.Shorten(call.Err.Error())
		span.Attributes = append(span.Attributes, trace.Attribute{Key: trace.ErrorType, Value: string(call.Class)})
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, uid := range call.For {
		s := t.open[uid]
		if s == nil {
			continue
		}
		if s.calls = append(s.calls, span); len(s.calls) > mostCalls {
			s.calls = slices.Delete(s.calls, mostCalls/2, mostCalls/2+1)
			s.left++
		}
	}
}
