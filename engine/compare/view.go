package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/object"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/schemas"
)

// View is a cluster as a comparison sees it: the cluster itself, by Live, or a
// Snapshot of it.
type View interface {
	// Objects returns all objects of a kind; none where the cluster does not know
	// the kind.
	Objects(ctx context.Context, kind schemas.Object) ([]map[string]any, error)
	// Nodes returns a node for each NodeClaim; never nil.
	Nodes(ctx context.Context) ([]plan.Node, error)
	// Holds returns nodes with what holds them, and notes of what could not be
	// read.
	Holds(ctx context.Context, nodes []plan.Node, now time.Time) ([]plan.Node, []string, error)
	// Notes are of what could not be read before anything is asked.
	Notes() []string
}

// lister is the cluster as it is read; kube.Cluster is one. It is asked for
// lists and changes nothing.
type lister interface {
	List(ctx context.Context, apiVersion, kind string) ([]map[string]any, error)
}

// LiveView reads a cluster, by lists and nothing else.
func LiveView(cluster lister) View { return &live{cluster: cluster} }

type live struct {
	cluster  lister
	nodeless atomic.Bool // Node objects could not be listed
}

func (l *live) Objects(ctx context.Context, kind schemas.Object) ([]map[string]any, error) {
	objects, err := l.cluster.List(ctx, kind.APIVersion, kind.Kind)
	if meta.IsNoMatchError(err) && kind != *schemas.Pool.Object && kind != *schemas.NodeClass.Object {
		return nil, nil
	}
	return objects, err
}

func (l *live) Nodes(ctx context.Context) ([]plan.Node, error) {
	claims, err := listOf[karpv1.NodeClaim](ctx, l.cluster, "karpenter.sh/v1", "NodeClaim")
	if err != nil {
		return nil, err
	}
	machines, err := listOf[corev1.Node](ctx, l.cluster, "v1", "Node")
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	l.nodeless.Store(err != nil)
	return NodesOf(claims, machines), nil
}

// NodesOf are NodeClaims as a plan knows them, without what holds them. Claims and
// nodes are only read, and what is returned shares their labels and annotations.
func NodesOf(claims []karpv1.NodeClaim, machines []corev1.Node) []plan.Node {
	kubelets, unready := make(map[string]string, len(machines)), map[string]bool{}
	for i := range machines {
		kubelets[machines[i].Name] = machines[i].Status.NodeInfo.KubeletVersion
		unready[machines[i].Name] = !ready(&machines[i])
	}
	nodes := make([]plan.Node, len(claims))
	for i := range claims {
		nodes[i] = nodeOf(&claims[i])
		nodes[i].Unready = unready[nodes[i].Node]
		nodes[i].Version = nodeclaim.VersionOf(&claims[i], kubelets[nodes[i].Node])
	}
	return nodes
}

func nodeOf(claim *karpv1.NodeClaim) plan.Node {
	n := plan.Node{
		Name: claim.Name, Node: claim.Status.NodeName,
		Pool: claim.Labels[karpv1.NodePoolLabelKey], Labels: claim.Labels, Annotations: claim.Annotations,
		Made:        claim.CreationTimestamp.Time,
		MilliCPU:    claim.Status.Capacity.Cpu().MilliValue(),
		MemoryBytes: claim.Status.Capacity.Memory().Value(),
		Settled:     initialized(claim),
		Leaving:     !claim.DeletionTimestamp.IsZero(),
		Patient:     claim.Spec.TerminationGracePeriod == nil,
	}
	if claim.Spec.NodeClassRef != nil {
		n.Class = claim.Spec.NodeClassRef.Name
	}
	if d := claim.Spec.ExpireAfter.Duration; d != nil {
		n.ExpireAfter = *d
	}
	return n
}

func initialized(claim *karpv1.NodeClaim) bool {
	return slices.ContainsFunc(claim.Status.Conditions, func(c status.Condition) bool {
		return c.Type == karpv1.ConditionTypeInitialized && c.Status == metav1.ConditionTrue
	})
}

// Holds lists nodes, pods and disruption budgets. A list that this user may not
// have is left out, and noted.
func (l *live) Holds(ctx context.Context, nodes []plan.Node, now time.Time) ([]plan.Node, []string, error) {
	var notes []string
	noted := func(err error) error {
		if !apierrors.IsForbidden(err) {
			return err
		}
		notes = append(notes, fmt.Sprintf("This user may not list %s, so what they hold back is not known.", refused(err)))
		return nil
	}
	machines, nodesErr := listOf[corev1.Node](ctx, l.cluster, "v1", "Node")
	pods, podsErr := listOf[corev1.Pod](ctx, l.cluster, "v1", "Pod")
	budgets, budgetsErr := listOf[policyv1.PodDisruptionBudget](ctx, l.cluster, "policy/v1", "PodDisruptionBudget")
	pools, poolsErr := listOf[karpv1.NodePool](ctx, l.cluster, "karpenter.sh/v1", "NodePool")
	if err := cmp.Or(noted(nodesErr), noted(podsErr), noted(budgetsErr), noted(poolsErr)); err != nil {
		return nil, nil, err
	}
	held, err := Hold(nodes, Holders{Machines: machines, Pods: pods, Budgets: budgets, Pools: pools}, now)
	return held, notes, err
}

// Notes implements View: the lists themselves say what else may not be read.
func (l *live) Notes() []string {
	if l.nodeless.Load() {
		return []string{"This user may not list nodes, so whether they are ready, and which version of Kubernetes they run, is " +
			"not known."}
	}
	return nil
}

// refused is the resource that the right to list is missing for, such as nodepools.karpenter.sh.
func refused(err error) string {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || answer.Status().Details == nil {
		return "some objects"
	}
	details := answer.Status().Details
	return strings.TrimSuffix(details.Kind+"."+details.Group, ".")
}

// listOf reads a list into its type.
func listOf[T any](ctx context.Context, from lister, apiVersion, kind string) ([]T, error) {
	objects, err := from.List(ctx, apiVersion, kind)
	if err != nil {
		return nil, err
	}
	typed := make([]T, len(objects))
	for i, obj := range objects {
		one, err := object.As[T](obj)
		if err != nil {
			return nil, err
		}
		typed[i] = *one
	}
	return typed, nil
}

// Kinds are the kinds of object that a configuration compiles to.
func Kinds() (kinds []schemas.Object) {
	for _, block := range schemas.Document() {
		if block.Object != nil {
			kinds = append(kinds, *block.Object)
		}
	}
	return kinds
}
