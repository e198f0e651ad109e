package simulate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/simulate/settling"
	"github.com/lkeplan/lkeplan/engine/simulate/step"
)

// carryOut makes the new nodes, moves the pods, and removes the old ones. Where the new
// ones are not to be had, all stays as it is, and the same is not tried again.
func (e *ending) carryOut(ctx context.Context, command *settling.Command) error {
	var old, fresh []*made
	for _, m := range e.made {
		if slices.Contains(command.SourceNodeNames(), m.node) {
			old = append(old, m)
			m.claim.StatusConditions().SetTrue(karpv1.ConditionTypeDisruptionReason) // limits count it apart
		}
	}
	if _, err := e.chooser.Limits.Show(ctx); err != nil {
		return err
	}
	targets := map[types.UID]string{}
	for _, node := range command.Results.ExistingNodes {
		for _, pod := range node.Pods {
			targets[pod.UID] = node.Name()
		}
	}
	for _, r := range command.Replacements {
		name, why, err := e.makeNode(ctx, r.ToNodeClaim(), command.Kind == settling.StaticDrift)
		if err != nil {
			return err
		}
		if why != "" {
			return e.fail(ctx, command.Kind, old, fresh, why)
		}
		fresh = append(fresh, e.made[len(e.made)-1])
		for _, pod := range r.Pods {
			targets[pod.UID] = name
		}
	}
	e.peak()
	move := step.Move{Kind: command.Kind, Reason: string(command.Reason), Gone: e.refs(old), Made: e.refs(fresh)}
	move.Saved = e.cost(old).Less(e.cost(fresh))
	var err error
	if move.Pods, err = e.move(ctx, old, targets); err != nil {
		return err
	}
	e.out.Steps = append(e.out.Steps, move)
	e.pending, err = e.place(ctx, e.pending)
	return err
}

// fail takes back what was made for a command that cannot be carried out.
func (e *ending) fail(ctx context.Context, kind settling.Kind, old, fresh []*made, why string) error {
	for _, m := range old {
		e.stuck[stuckAs(kind, m.node)] = why
		if err := m.claim.StatusConditions().Clear(karpv1.ConditionTypeDisruptionReason); err != nil {
			return err
		}
	}
	return e.drop(ctx, fresh)
}

func stuckAs(kind settling.Kind, node string) string { return string(kind) + " " + node }

// move takes the pods of old nodes to others, and removes the nodes. Pods for which
// there is none wait.
func (e *ending) move(ctx context.Context, old []*made, targets map[types.UID]string) (pods int, err error) {
	for _, m := range old {
		moved := slices.Clone(e.store.Bound[m.node])
		e.store.Unbind(moved)
		e.pending = append(e.pending, moved...)
		pods += len(moved)
	}
	if err := e.drop(ctx, old); err != nil {
		return 0, err
	}
	left := []*corev1.Pod{}
	for _, pod := range e.pending {
		switch node := targets[pod.UID]; {
		case node == "":
			left = append(left, pod)
		case e.store.Nodes[node] == nil:
			return 0, fmt.Errorf("pod %s moves to %s, which is not there: please report it", pod.UID, node)
		default:
			e.store.Bind(pod, node)
		}
	}
	e.pending = left
	return pods, nil
}

// drop removes nodes. Limits hold what was chosen and not seen yet, so that they are
// shown both states.
func (e *ending) drop(ctx context.Context, nodes []*made) error {
	if _, err := e.chooser.Limits.Show(ctx); err != nil {
		return err
	}
	for _, m := range nodes {
		e.store.Remove(m.node)
	}
	e.made = slices.DeleteFunc(e.made, func(m *made) bool { return slices.Contains(nodes, m) })
	_, err := e.chooser.Limits.Show(ctx)
	return err
}

func (e *ending) refs(nodes []*made) []step.Ref {
	refs := []step.Ref{}
	for _, m := range nodes {
		refs = append(refs, step.Ref{Name: m.node, Pool: m.pool(), Plan: m.plan()})
	}
	return refs
}

func (e *ending) cost(nodes []*made) (sum step.Cost) {
	for _, m := range nodes {
		price := e.types.Price(m.plan())
		sum.Add(step.Cost{Hourly: price.Hourly, Monthly: price.PerMonth()})
	}
	return sum
}

// peak notes what all nodes cost that are there at a time.
func (e *ending) peak() {
	if now := e.cost(e.made); now.Hourly > e.out.Peak.Hourly {
		e.out.Peak = now
	}
}

// held says why nodes stay.
func (e *ending) held(held settling.Held) {
	at := map[string]int{}
	for _, m := range e.made {
		text := e.heldBy(m, held)
		i, known := at[m.pool()+" "+text]
		if !known {
			i = len(e.out.Held)
			at[m.pool()+" "+text] = i
			e.out.Held = append(e.out.Held, step.Stayed{Pool: m.pool(), Text: text})
		}
		e.out.Held[i].Nodes = append(e.out.Held[i].Nodes, m.node)
	}
	slices.SortStableFunc(e.out.Held, func(a, b step.Stayed) int { return cmp.Compare(a.Pool, b.Pool) })
}

// heldBy says why a node stays.
func (e *ending) heldBy(m *made, held settling.Held) string {
	reason, differs := karpv1.DisruptionReasonUnderutilized, ""
	switch {
	case drifted(m):
		reason, differs = karpv1.DisruptionReasonDrifted, "it differs from its pool, and "
	case m.static:
		return "its pool has a fixed number of nodes"
	case len(e.store.Bound[m.node]) == 0:
		reason = karpv1.DisruptionReasonEmpty
	}
	text := e.stuck[stuckAs(settling.StaticDrift, m.node)] + e.stuck[stuckAs(settling.Drift, m.node)]
	if differs == "" {
		text = cmp.Or(e.stuck[stuckAs(settling.Single, m.node)], e.stuck[stuckAs(settling.Multi, m.node)])
	}
	if text == "" {
		text = held.Why(m.node, e.store.Pools[m.pool()], reason, e.called)
	}
	return differs + strings.TrimSuffix(text, ".")
}

// called is the workload of a pod, in the place of the name that it has here.
func (e *ending) called(object string) string {
	if _, uid, ok := strings.Cut(object, "/pod-"); ok {
		if i, known := e.of[types.UID(uid)]; known {
			return "a pod of " + e.workloads[i].Name
		}
	}
	return object
}

const slowNote = "Karpenter has given up a search for several nodes at once after a minute, as it does in a cluster: " +
	"on another machine it may find other steps."

// finish says how it ends.
func (e *ending) finish(asked int) (*Settled, error) {
	out := e.out
	out.Nodes, out.Refused = []Node{}, len(e.pending)
	for _, m := range e.made {
		n := e.node(m)
		out.Nodes = append(out.Nodes, n)
		out.Total.Add(n.Cost)
		for _, s := range n.Pods {
			out.Placed += s.Pods
		}
	}
	out.Plans = plans(out.Nodes)
	if e.slow {
		out.Notes = append(out.Notes, slowNote)
	}
	if out.Placed+out.Refused != asked {
		return nil, fmt.Errorf("of %d pods %d have a node at the end and %d wait: this does not add up, please report it",
			asked, out.Placed, out.Refused)
	}
	return out, nil
}
