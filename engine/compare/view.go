package compare

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"

	clusters "github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/schemas"
)

// View is a cluster for a comparison: the live cluster, or a Snapshot of it.
type View interface {
	// Objects returns all objects of a kind; none if the cluster does not know
	// the kind.
	Objects(ctx context.Context, kind schemas.Object) ([]map[string]any, error)
	// Nodes returns a node for each NodeClaim; never nil.
	Nodes(ctx context.Context) ([]plan.Node, error)
	// Holds returns nodes with what holds them after changes, and notes of what could not be
	// read.
	Holds(ctx context.Context, nodes []plan.Node, changes []plan.Change, now time.Time) ([]plan.Node, []string, error)
	// Whole returns all that determines which nodes Karpenter removes or replaces. The buffers are those of a change.
	Whole(ctx context.Context, buffers []client.Object) (Whole, error)
	// Notes are about what could not be read before anything is requested.
	Notes() []string
}

// LiveView reads a cluster. It only lists.
func LiveView(cluster clusters.Lister) View {
	return &live{&NodeReader{From: clusters.Reader(cluster)}, cluster}
}

type live struct {
	*NodeReader
	cluster clusters.Lister
}

func (l *live) Objects(ctx context.Context, kind schemas.Object) ([]map[string]any, error) {
	objects, err := l.cluster.List(ctx, kind.APIVersion, kind.Kind)
	if meta.IsNoMatchError(err) && kind != *schemas.Pool.Object && kind != *schemas.NodeClass.Object {
		return nil, nil
	}
	return objects, err
}

// NodeReader implements View without Objects. It notes what its user may not list.
type NodeReader struct {
	From     client.Reader
	nodeless atomic.Bool // Node objects could not be listed
}

// Nodes implements View.
func (r *NodeReader) Nodes(ctx context.Context) ([]plan.Node, error) {
	claims := &karpv1.NodeClaimList{}
	if err := r.From.List(ctx, claims); err != nil {
		return nil, err
	}
	read, err := clusters.Load(ctx, r.From, &corev1.NodeList{})
	r.nodeless.Store(read.Unread(clusters.KindNodes) != "")
	return NodesOf(clusters.Of(clusters.Items(claims), nil).Claims, read.Nodes), err
}

// NodesOf converts NodeClaims for a plan, without holds. The result shares labels and annotations with claims and
// nodes.
func NodesOf(claims []*karpv1.NodeClaim, machines []*corev1.Node) []plan.Node {
	joined := make(map[string]*corev1.Node, len(machines))
	for _, machine := range machines {
		joined[machine.Name] = machine
	}
	nodes := make([]plan.Node, len(claims))
	for i, claim := range claims {
		nodes[i] = planNode(claim)
		kubelet := ""
		if machine := joined[nodes[i].Node]; machine != nil {
			kubelet, nodes[i].Unready = machine.Status.NodeInfo.KubeletVersion, !isNodeReady(machine)
		}
		nodes[i].Version = nodeclaim.VersionOf(claim, kubelet)
	}
	return nodes
}

func isNodeReady(machine *corev1.Node) bool {
	return nodeutils.GetCondition(machine, corev1.NodeReady).Status == corev1.ConditionTrue
}

func planNode(claim *karpv1.NodeClaim) plan.Node {
	n := plan.Node{
		Name: claim.Name, Node: claim.Status.NodeName,
		Pool: claim.Labels[karpv1.NodePoolLabelKey], Labels: claim.Labels, Annotations: claim.Annotations,
		Created:            claim.CreationTimestamp.Time,
		MilliCPU:           claim.Status.Capacity.Cpu().MilliValue(),
		MemoryBytes:        claim.Status.Capacity.Memory().Value(),
		Initialized:        claim.StatusConditions(status.WithObservedOnly()).Get(karpv1.ConditionTypeInitialized).IsTrue(),
		Deleting:           !claim.DeletionTimestamp.IsZero(),
		NoTerminationGrace: claim.Spec.TerminationGracePeriod == nil,
	}
	launched := claim.StatusConditions(status.WithObservedOnly()).Get(karpv1.ConditionTypeLaunched)
	n.Unlaunched = launched != nil && !launched.IsTrue()
	if claim.Spec.NodeClassRef != nil {
		n.Class = claim.Spec.NodeClassRef.Name
	}
	if d := claim.Spec.ExpireAfter.Duration; d != nil {
		n.ExpireAfter = *d
	}
	return n
}

// Holds implements View.
func (r *NodeReader) Holds(ctx context.Context, nodes []plan.Node, changes []plan.Change, now time.Time) ([]plan.Node, []string, error) {
	found, err := clusters.Load(ctx, r.From, &corev1.NodeList{}, &corev1.PodList{}, &policyv1.PodDisruptionBudgetList{},
		&karpv1.NodePoolList{})
	if err != nil {
		return nil, nil, err
	}
	var notes []string
	for _, kind := range found.Unlisted {
		notes = append(notes, fmt.Sprintf("This user may not list %s, so the nodes that they block are unknown.", found.Refused[kind]))
	}
	held, err := Hold(nodes, changes, found, now)
	return held, notes, err
}

// Notes implements View. Other missing permissions are errors of the lists.
func (r *NodeReader) Notes() []string {
	if r.nodeless.Load() {
		return []string{"This user may not list nodes, so their readiness and their Kubernetes versions are " +
			"unknown."}
	}
	return nil
}

// Kinds returns the kinds of objects that a configuration compiles to.
func Kinds() (kinds []schemas.Object) {
	for _, block := range schemas.Document() {
		if block.Object != nil {
			kinds = append(kinds, *block.Object)
		}
	}
	return kinds
}

// Ahead starts to list what Live will read, so that a cluster answers while the configuration is compiled. Each list is
// requested once. The reader of a list waits for it and gets its error.
func Ahead(ctx context.Context, view View) View {
	a := ahead{View: view, objects: map[schemas.Object]list[map[string]any]{}}
	for _, kind := range Kinds() {
		a.objects[kind] = startList(func() ([]map[string]any, error) { return view.Objects(ctx, kind) })
	}
	a.nodes = startList(func() ([]plan.Node, error) { return view.Nodes(ctx) })
	return a
}

type ahead struct {
	View
	objects map[schemas.Object]list[map[string]any]
	nodes   list[plan.Node]
}

// A list is a pending or finished request.
type list[T any] func() ([]T, error)

func startList[T any](ask list[T]) list[T] {
	once := sync.OnceValues(ask)
	go once()
	return once
}

func (a ahead) Objects(ctx context.Context, kind schemas.Object) ([]map[string]any, error) {
	if asked, ok := a.objects[kind]; ok {
		return asked()
	}
	return a.View.Objects(ctx, kind)
}

func (a ahead) Nodes(context.Context) ([]plan.Node, error) { return a.nodes() }
