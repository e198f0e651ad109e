// Package simulate predicts which nodes pods get, in this process and without a cluster: the
// command simulate, "diff --simulate", tests of configurations and "why pod" use it. Karpenter's
// own scheduler places the pods, and the controller's linode.Chooser chooses the plan types.
//
// Run begins without nodes. Change starts with the nodes that Run has found for the base, and
// replaces them as the head asks. Place answers for the pending pods of an existing cluster.
//
// Each of them builds a cluster in memory. Package workload reads the pods. The usable pools and the
// nodes of static pools are created, and passes of the scheduler (pass.go) place pods until no more
// get a node; packing.go places many equal pods, and spread.go those that spread over nodes.
// refusal.go explains why the remaining pods get no node. consolidation.go carries out the commands
// that package disrupt finds with Karpenter's own methods.
//
// The package is pure: its input is objects, prices and pods, it reads no files, it keeps nothing
// between simulations, and the same input has the same result, except where Karpenter chooses at random.
package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Input is what a simulation is of.
type Input struct {
	Region  string
	Tier    catalog.Tier // "" stands for standard
	Catalog *catalog.Catalog
	// Objects are those of a configuration, with their defaults, as JSON has them.
	Objects []map[string]any
	Pods
	// AssumeLKE has LKE's own DaemonSets count as they were seen, but for those that are given.
	AssumeLKE bool
	// Consolidate has what Karpenter does afterwards simulated, too; nil: it is not.
	Consolidate *Consolidation

	anew bool // tests set it: nothing is remembered from one step to the next
}

// Pods are the pods that a cluster has, and what goes with them.
type Pods struct {
	Workloads  []Workload
	DaemonSets []*appsv1.DaemonSet // whose pods every node has that they are for
	// Budgets are the PodDisruptionBudgets, which matter where nodes are disrupted.
	Budgets []*policyv1.PodDisruptionBudget
	// Templates are what CapacityBuffers can reserve capacity for.
	Templates []Template
}

// A Workload is so many pods that are alike.
type Workload struct {
	Name string // for people, such as "Deployment web/api"
	Pods int
	// Pod is what each of them is like. Its name, and all that a cluster gives a pod,
	// is ignored.
	Pod corev1.Pod
	// Barred says in a sentence why they get no node of any pool; "" if they can.
	Barred string
	// Volumes are those that a node has to attach for each of them.
	Volumes Attached
}

// Why says why the pods get no node of any pool; "" if they can.
func (l Workload) Why() string { return cmp.Or(l.Barred, barredBy(l.Pod.Spec)) }

// Run simulates that all pods are there at once and no node is. Each pod is on a node of
// the result, or refused: an error where Karpenter's answer does not add up.
//
// As in a cluster it takes several passes where limits are near: Karpenter plans each
// node as the largest that it may become, and what is left of a limit when plan types
// are chosen is planned with again. Pods that have a node keep it. In a cluster the
// scheduler of Kubernetes binds them, which may distribute them otherwise.
func Run(ctx context.Context, in Input) (Result, error) { return run(ctx, in, manyPods) }

// MaxPods bounds the pods of a simulation: a few characters can ask for billions.
const MaxPods = 100_000

// manyPods is from how many pods on Karpenter's scheduler takes too long: each pod tries each node that is planned.
const manyPods = 1000

func run(ctx context.Context, in Input, many int) (Result, error) {
	w, pending, err := startCluster(ctx, in, many)
	if err != nil {
		return Result{}, err
	}
	result, err := w.result(ctx, pending)
	if err == nil && in.Consolidate != nil {
		var end *consolidation
		if end, err = w.consolidate(ctx, in, pending); err != nil {
			return Result{}, err
		}
		result.Consolidated, err = end.finish(len(end.pods))
	}
	return result, err
}

// startCluster makes a cluster in which the pods have got their nodes, and returns those without.
func startCluster(ctx context.Context, in Input, many int) (*cluster, []*corev1.Pod, error) {
	if in.Region == "" {
		return nil, nil, errNoRegion
	}
	asked := 0
	for _, load := range in.Workloads {
		if asked += load.Pods; asked > MaxPods {
			return nil, nil, fmt.Errorf("with the %d pods of %s there are more than the %d that can be simulated", load.Pods,
				load.Name, MaxPods)
		}
	}
	linode.Register()
	w, err := newCluster(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	w.many = many
	if err := w.makeStatic(ctx, nil); err != nil {
		return nil, nil, err
	}
	pending, err := w.place(ctx, w.pods)
	return w, pending, err
}

var errNoRegion = errors.New("the region of the cluster is unknown, but plans and prices depend on it")

// place has pods placed for as long as some get a node, and returns those without one. For pods of buffers, it makes at most as
// many nodes as there are pods.
func (w *cluster) place(ctx context.Context, pending []*corev1.Pod) ([]*corev1.Pod, error) {
	w.spare.most = len(w.spare.pods)
	for len(pending) > 0 || len(w.spare.pods) > 0 {
		after, err := w.pass(ctx, pending)
		if err != nil {
			return nil, err
		}
		pending = after.pending
		if after.progress {
			continue
		}
		placed, err := w.spread(ctx, pending)
		if err != nil {
			return nil, err
		}
		if pending = waiting(pending); !placed {
			break
		}
	}
	return pending, nil
}

// waiting are the pods that have no node.
func waiting(pods []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return p.Spec.NodeName != "" })
}

// check holds a result to what was asked.
func (r Result) check(asked int) error {
	on := 0
	for _, n := range r.Nodes {
		for _, s := range n.Pods {
			on += s.Pods
		}
	}
	refused := 0
	for _, f := range r.Refusals {
		refused += f.Pods
	}
	if r.Asked != asked || on != r.Placed || refused != r.Refused || on+refused != asked {
		return fmt.Errorf("internal error: of %d pods, %d have a node and %d are refused; please report this", asked, on, refused)
	}
	return nil
}
