package migrate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/linode/api"
)

// DrainCluster is the cluster whose pods move; kube.Cluster is one.
type DrainCluster interface {
	cluster.Lister
	Merge(ctx context.Context, obj, change map[string]any, manager string) error
	// Evict evicts a pod within its budgets. refused is why it cannot be evicted now.
	Evict(ctx context.Context, pod map[string]any) (refused string, err error)
}

// LKE is the API of LKE pools; api.Client is one.
type LKE interface {
	Pools(ctx context.Context, cluster int) ([]api.Pool, error)
	ChangePool(ctx context.Context, cluster, pool int, change api.PoolChange) error
	DeletePool(ctx context.Context, cluster, pool int) error
}

// PoolDrain moves pods from the nodes of LKE pools that Karpenter does not manage to nodes that it creates, and deletes each LKE
// pool when it is empty.
//
// Pods are evicted, which respects PodDisruptionBudgets, one node after the other. If a pod cannot be evicted, or does not run
// elsewhere, the drain stops with that pod: the other pods stay where they are. The controller creates the nodes.
type PoolDrain struct {
	Cluster   DrainCluster
	LKE       LKE
	ClusterID int // of the LKE cluster

	// Timeout is how long the pods of one node can take to end and to run elsewhere, and how
	// long an API can fail.
	Timeout time.Duration
	// Unmanaged also evicts pods that would not be recreated.
	Unmanaged bool
	// Report receives each step.
	Report func(Step)
}

// Step is a change of an object or an LKE pool, or what the command is waiting for.
type Step struct{ Kind, Name, What string }

// ErrDrainStopped means that pods could not move. Nodes of the LKE pool are cordoned, and run
// their remaining pods; the same command continues from there.
var ErrDrainStopped = errors.New("moving pods has stopped")

// drainer owns the fields that are changed here.
const drainer = "lkeplan-adopt"

// poll is how often pods are listed while they move.
const poll = 2 * time.Second

// Hold turns the autoscalers of LKE pools off, before the first of them is drained: the
// autoscaler of another one would create nodes there for the pending pods.
func (m PoolDrain) Hold(ctx context.Context, pools []api.Pool) error {
	for _, p := range pools {
		if err := (&drainRun{PoolDrain: m, id: p.ID}).hold(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Pool moves the pods of one LKE pool, and deletes the LKE pool when it is empty. Its
// autoscaler is turned off first. After any error the same call continues from where it was.
func (m PoolDrain) Pool(ctx context.Context, p api.Pool) error {
	l := &drainRun{PoolDrain: m, id: p.ID, moved: ledger{}}
	if err := l.clear(ctx); err != nil {
		return err
	}
	return l.remove(ctx)
}

// drainRun is the move of one LKE pool.
type drainRun struct {
	PoolDrain
	id    int // of the LKE pool
	moved ledger
}

func (l *drainRun) name() string { return strconv.Itoa(l.id) }

// clear returns when no node of the LKE pool has pods to move, and all moved pods run.
func (l *drainRun) clear(ctx context.Context) error {
	for {
		if err := l.hold(ctx); err != nil {
			return err
		}
		at, err := l.await(ctx, "")
		if err != nil {
			return err
		}
		node := at.occupied()
		if node == "" {
			return nil
		}
		for node != "" {
			if at, err = l.await(ctx, node); err != nil {
				return err
			}
			l.Report(Step{"Node", node, "is empty"})
			node = at.occupied()
		}
	}
}

// hold turns the autoscaler of the LKE pool off, in case it was turned on again.
func (l *drainRun) hold(ctx context.Context) error {
	return l.retry(ctx, "", func() ([]string, error) {
		pools, err := l.LKE.Pools(ctx, l.ClusterID)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(pools, func(p api.Pool) bool { return p.ID == l.id })
		if at < 0 || !pools[at].Autoscaler.Enabled {
			return nil, nil
		}
		off := pools[at].Autoscaler
		off.Enabled = false
		if err := l.LKE.ChangePool(ctx, l.ClusterID, l.id, api.PoolChange{Autoscaler: &off}); err != nil {
			return nil, err
		}
		l.Report(Step{"LKE pool", l.name(), fmt.Sprintf("its autoscaler, %d to %d, is off", off.Min, off.Max)})
		return nil, nil
	})
}

// await evicts the pods of a node, "" for none, and returns the state when the node has
// none left and all moved pods run elsewhere. It reads the cluster twice: a pod may have been on
// its way to the node, or not been recreated yet.
func (l *drainRun) await(ctx context.Context, node string) (at drainState, err error) {
	quiet := false // nothing was left to do the last time
	err = l.retry(ctx, node, func() (why []string, err error) {
		was := quiet
		quiet = false
		if at, err = l.look(ctx); err != nil {
			return nil, err
		}
		left := cluster.PodsToMove(at.pods, node)
		if err := l.note(ctx, at, node, left); err != nil {
			return nil, err
		}
		if why, err = l.evict(ctx, at, left); err != nil {
			return nil, err
		}
		why = append(why, l.moved.missing(at)...)
		quiet = len(why)+len(left) == 0 && !at.fresh
		if len(why) == 0 && !(quiet && was) {
			why = []string{soon}
		}
		return why, nil
	})
	return at, err
}

// evict requests the eviction of pods that are not ending yet, and returns why each is still
// there that cannot be evicted, or does not end. An error does not stop other evictions.
func (l *drainRun) evict(ctx context.Context, at drainState, pods []*corev1.Pod) (held []string, err error) {
	var errs []error
	for _, pod := range pods {
		why := protected(pod)
		switch {
		case !pod.DeletionTimestamp.IsZero():
			why = at.endless(pod)
		case why == "":
			var err error
			if why, err = l.Cluster.Evict(ctx, reference(pod)); err != nil {
				errs = append(errs, err)
			}
		}
		if why != "" {
			held = append(held, fmt.Sprintf("%s: %s", keyOf(pod), why))
		}
	}
	return held, errors.Join(errs...)
}

// protected is the annotation by which a pod must not be evicted; "" if it has none.
func protected(pod *corev1.Pod) string {
	for _, is := range []struct{ key, value string }{
		{karpv1.DoNotDisruptAnnotationKey, "true"}, {"cluster-autoscaler.kubernetes.io/safe-to-evict", "false"},
	} {
		if pod.Annotations[is.key] == is.value {
			return fmt.Sprintf("its annotation %s is %s; when it can be evicted, delete the pod or the annotation", is.key, is.value)
		}
	}
	return ""
}

// again is how many polls pass before the deletion of an LKE pool is requested again.
const again = 5

// remove deletes the LKE pool, and returns when LKE no longer lists it.
func (l *drainRun) remove(ctx context.Context) error {
	tries := 0
	err := l.retry(ctx, "", func() ([]string, error) {
		if tries++; tries%again == 1 {
			if err := l.LKE.DeletePool(ctx, l.ClusterID, l.id); err != nil {
				tries = 0
				return nil, err
			}
		}
		pools, err := l.LKE.Pools(ctx, l.ClusterID)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(pools, func(p api.Pool) bool { return p.ID == l.id }) {
			return []string{"LKE pool is empty and its deletion was requested, but LKE still lists it"}, nil
		}
		return nil, nil
	})
	if err == nil {
		l.Report(Step{"LKE pool", l.name(), "is deleted"})
	}
	return err
}

// Check returns what prevents a move, before anything is changed: no pool that could
// create nodes, an LKE pool whose nodes are not in this cluster, one that the controller
// runs on, pods that would not be recreated, or that can run only on these nodes.
func (m PoolDrain) Check(ctx context.Context, pools []api.Pool) error {
	nodes, err := cluster.List[corev1.Node](ctx, m.Cluster, "v1", "Node")
	if err != nil {
		return err
	}
	pods, err := cluster.List[corev1.Pod](ctx, m.Cluster, "v1", "Pod")
	if err != nil {
		return err
	}
	errs := []error{m.hasReadyPool(ctx)}
	for _, p := range pools {
		of := nodesOf(nodes, m.ClusterID, p.ID)
		if len(of) == 0 && p.Count > 0 {
			errs = append(errs, fmt.Errorf("this cluster has no node of LKE pool %d: its nodes have not joined, or the "+
				"kubeconfig is for another cluster", p.ID))
		}
		for _, node := range of {
			errs = append(errs, m.objections(p.ID, cluster.PodsToMove(pods, node.Name))...)
		}
	}
	return errors.Join(errs...)
}

// hasReadyPool returns an error if no pool can create nodes for the pods.
func (m PoolDrain) hasReadyPool(ctx context.Context) error {
	pools, err := cluster.List[karpv1.NodePool](ctx, m.Cluster, "karpenter.sh/v1", "NodePool")
	if err != nil && !meta.IsNoMatchError(err) {
		return err
	}
	why := "there is none"
	for _, pool := range pools {
		if !pool.DeletionTimestamp.IsZero() {
			continue
		}
		ready := pool.StatusConditions(status.WithObservedOnly()).Root()
		if !ready.IsFalse() {
			return nil
		}
		why = fmt.Sprintf("%s is not ready%s", pool.Name, colon(ready.Message))
	}
	return fmt.Errorf("no pool of this cluster can create nodes for the pods: %s; apply what import --lke has written", why)
}

func (m PoolDrain) objections(pool int, pods []*corev1.Pod) (errs []error) {
	for _, pod := range pods {
		switch tied, controller := tiedBy(pod, pool), metav1.GetControllerOfNoCopy(pod); {
		case !pod.DeletionTimestamp.IsZero():
		case pod.Labels["app.kubernetes.io/part-of"] == "lkeplan":
			errs = append(errs, fmt.Errorf("the controller, %s, runs on LKE pool %d, and cannot run on nodes that it "+
				"creates itself: keep this LKE pool, and name the others", keyOf(pod), pool))
		case !m.Unmanaged && controller == nil:
			errs = append(errs, fmt.Errorf("pod %s on LKE pool %d has no controller and would not be recreated: delete it, or "+
				"evict it with --unmanaged-pods", keyOf(pod), pool))
		case tied != "" && controller != nil:
			errs = append(errs, fmt.Errorf("the pod %s can run only on nodes of LKE pool %d, by its nodeSelector %s: remove "+
				"that from its owner", keyOf(pod), pool, tied))
		}
	}
	return errs
}

// tiedBy is the label of a single LKE pool that a pod selects; "" if it selects none.
func tiedBy(pod *corev1.Pod, pool int) string {
	if pod.Spec.NodeSelector[poolLabel] == strconv.Itoa(pool) {
		return poolLabel
	}
	if _, found := pod.Spec.NodeSelector[corev1.LabelHostname]; found {
		return corev1.LabelHostname
	}
	return ""
}

// soon is why something is not done yet that the next poll will do, unless nodes are uncordoned again.
const soon = "its nodes do not stay cordoned"

// silentFor is how long a move waits before it reports what it is waiting for, and between two reports.
const silentFor = 30 * time.Second

// retry retries until nothing blocks, for at most Timeout. For a node, or for
// the LKE pool itself, it reports what it is waiting for. Transient errors are retried.
func (l *drainRun) retry(ctx context.Context, node string, try func() (why []string, err error)) error {
	deadline := time.NewTimer(l.Timeout)
	defer deadline.Stop()
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	spoke, last := time.Now(), false
	for {
		why, err := try()
		switch {
		case err != nil && (ctx.Err() != nil || permanent(err)):
			return err
		case err == nil && len(why) == 0:
			return nil
		case err != nil:
			why = []string{err.Error()}
		}
		if time.Since(spoke) >= silentFor && why[0] != soon {
			spoke = time.Now()
			l.Report(l.waits(node, why))
		}
		select {
		case <-ticker.C:
		case <-deadline.C:
			switch {
			case err != nil:
				return err
			case last || why[0] != soon:
				return stopped(node, why)
			}
			last = true
			deadline.Reset(3 * poll)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// waits is what a move reports while it waits.
func (l *drainRun) waits(node string, why []string) Step {
	what := "waiting: " + why[0]
	if more := len(why) - 1; more > 0 {
		what += fmt.Sprintf(" (and %d more)", more)
	}
	if node == "" {
		return Step{"LKE pool", l.name(), what}
	}
	return Step{"Node", node, what}
}

// stopped is the error with what blocks a move.
func stopped(node string, why []string) error {
	const most = 5
	if more := len(why) - most; more > 0 {
		why = append(why[:most:most], fmt.Sprintf("and %d more", more))
	}
	at := ""
	if node != "" {
		at = " at node " + node
	}
	return fmt.Errorf("%w%s:\n  %s", ErrDrainStopped, at, strings.Join(why, "\n  "))
}

// permanent reports whether a retry cannot help: a request that is
// invalid or forbidden. What no longer exists is not listed the next time.
func permanent(err error) bool {
	if _, ofLinode := errors.AsType[*api.Error](err); ofLinode {
		class := api.ClassOf(err)
		return !slices.Contains([]api.Class{api.ClassBusy, api.ClassUnknown, api.ClassNotFound}, class)
	}
	var answer apierrors.APIStatus
	if errors.As(err, &answer) {
		switch code := answer.Status().Code; code {
		case http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
			return false
		default:
			return code >= 400 && code < 500
		}
	}
	return meta.IsNoMatchError(err)
}
