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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/engine/costs"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
)

// Input is the input of a simulation.
type Input struct {
	Region  string
	Tier    catalog.Tier // "" means standard
	Catalog *catalog.Catalog
	// Objects are the objects of a configuration with their defaults, from Decode. A simulation does not change them.
	Objects []client.Object
	Pods
	// AssumeLKE adds LKE's own DaemonSets as they were observed, unless they are given.
	AssumeLKE bool
	// CostBy is what the cost of the nodes is split by; nil for nothing.
	CostBy *costs.By
	// Consolidate also simulates consolidation; nil disables it.
	Consolidate *Consolidation

	uncached bool // set by tests: keep nothing from one step to the next
}

// Pods are the pods of a cluster, with the objects that affect them.
type Pods struct {
	Workloads  []Workload
	DaemonSets []*appsv1.DaemonSet // their pods run on every node that matches
	// Budgets are the PodDisruptionBudgets, which limit disruption.
	Budgets []*policyv1.PodDisruptionBudget
	// Templates are the objects to which CapacityBuffers can refer.
	Templates []Template
}

// A Workload is a number of identical pods.
type Workload struct {
	Name string // for users, such as "Deployment web/api"
	Pods int
	// Pod is the template. Its name and the fields that the API server sets are ignored.
	Pod corev1.Pod
	// Barred is a sentence that says why the pods get no node of any pool; "" if they can get one.
	Barred string
	// Volumes are the volumes that a node attaches for each of the pods.
	Volumes Attached
}

// Why returns why the pods get no node of any pool; "" if they can get one.
func (l Workload) Why() string { return cmp.Or(l.Barred, barredBy(l.Pod.Spec)) }

// Run simulates that all pods are created at once in a cluster without nodes. In the result each pod is on a node
// or refused; Run returns an error if Karpenter's answer does not account for all pods.
//
// As in a cluster, several passes are needed near limits: Karpenter counts each planned node as its largest
// possible plan type, and plans again with what is left of a limit after the plan types are chosen. Pods keep their
// nodes from pass to pass. In a cluster kube-scheduler binds the pods, and may place them differently.
func Run(ctx context.Context, in Input) (Result, error) { return run(ctx, in, manyPods) }

// MaxPods is the largest number of pods of a simulation: a few characters of input can ask for billions.
const MaxPods = 100_000

// manyPods is the number of pods from which Karpenter's scheduler takes too long, because each pod tries each
// planned node.
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

// startCluster creates a cluster, places the pods, and returns those without a node.
func startCluster(ctx context.Context, in Input, many int) (*cluster, []*corev1.Pod, error) {
	if in.Region == "" {
		return nil, nil, errNoRegion
	}
	asked := 0
	for _, load := range in.Workloads {
		asked += load.Pods
		if asked > MaxPods {
			return nil, nil, fmt.Errorf("with the %d pods of %s there are more than the %d that can be simulated", load.Pods,
				load.Name, MaxPods)
		}
	}
	instancetype.Register()
	w, err := newCluster(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	w.packFrom = many
	if err := w.makeStatic(ctx, nil); err != nil {
		return nil, nil, err
	}
	pending, err := w.place(ctx, w.pods)
	return w, pending, err
}

var errNoRegion = errors.New("the region of the cluster is unknown, but plans and prices depend on it")

// place runs passes as long as some pod gets a node, and returns the pods without one. For pods of buffers, it
// creates at most as many nodes as there are pods.
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
		pending = podsWithoutNode(pending)
		if !placed {
			break
		}
	}
	return pending, nil
}

// podsWithoutNode returns the pods without a node.
func podsWithoutNode(pods []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return p.Spec.NodeName != "" })
}

// check returns an error if a result does not account for all pods.
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
