// Package disrupt finds Karpenter's next command for existing nodes: which nodes it removes because they are empty,
// have drifted, or can be replaced by fewer or cheaper ones, and what takes their place. The caller carries out the
// command in its cluster in memory, and asks for the next one.
//
// The decisions are made by Karpenter's own methods (its package disruption), with a client in memory and
// Karpenter's cluster state: candidates, budgets, PodDisruptionBudgets, do-not-disrupt, packing and prices.
// Karpenter's controller and queue do not run, because they write to the cluster and wait. This package repeats the
// order in which the controller tries the methods. So that the same input has the same result, three things differ
// from a cluster:
//
// - Commands are carried out one after the other; in a cluster some overlap. - Karpenter revalidates a command
// after 15 seconds. The simulation does not. - Candidates that are equally good, and pools, are tried in the order
// of their names. Karpenter's order is that of a map, which is random.
//
// Time advances only to the next start or end of a budget's schedule, if no node can go before it.
package disrupt

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/state/virtualpods"

	"github.com/lkeplan/lkeplan/engine/schedule"
)

// Cluster is a cluster in memory, with what the methods need.
type Cluster struct {
	Client   client.Client
	Provider cloudprovider.CloudProvider
	State    *state.Cluster // uses the same clock
	Clock    *Clock
	// Prices is the total price of all nodes of each pool, from their offerings.
	Prices map[string]float64
	// Except reports nodes for which a kind of command is not tried: their replacement was unavailable, or nothing
	// was found for them and nothing has changed that matters to them.
	Except func(kind Kind, node string) bool
	// Spare has the pods of CapacityBuffers.
	Spare *virtualpods.Cache
	// NotFound is called for each node for which Single finds nothing while the budget of its pool allows a removal.
	NotFound func(node string)
	// Blocked has the reasons why nodes stay; Next adds to it.
	Blocked Blocked
	// Gate wraps a method with the consolidation policies of this cluster.
	Gate func(disruption.Method) disruption.Method
}

// Kind is the kind of a command: the method that finds it.
type Kind string

// The kinds of commands, in the order in which they are tried.
const (
	Empty       Kind = "empty"        // nodes without pods
	StaticDrift Kind = "static_drift" // a drifted node of a static pool
	Drift       Kind = "drift"        // a drifted node, replaced by as many as its pods need
	Multi       Kind = "multi"        // several nodes, replaced by none or a cheaper one
	Single      Kind = "single"       // one node, replaced by none or a cheaper one
)

// Replicas is not a command of a method: nodes are added and removed at once if the number of nodes of a static
// pool changes.
const Replicas Kind = "replicas"

// Command is Karpenter's next command.
type Command struct {
	disruption.Command
	Kind   Kind
	Reason karpv1.DisruptionReason
}

// Found is the result of Next.
type Found struct {
	Command *Command // nil if no more nodes go
	Slow    bool     // Karpenter stopped a search after a minute; another run may find more
}

// Next finds the next command, for now or for the next time at which a budget lets a node go.
func (c Cluster) Next(ctx context.Context) (Found, error) {
	pools := &karpv1.NodePoolList{}
	if err := c.Client.List(ctx, pools); err != nil {
		return Found{}, err
	}
	slow := false
	for now := range budgetChanges(pools.Items, c.Clock.Now()) {
		c.Clock.now = now
		r := c.round(c.Blocked)
		command, err := r.next(ctx)
		slow = slow || r.slow
		if err != nil || command != nil {
			return Found{Command: command, Slow: slow}, err
		}
	}
	return Found{Slow: slow}, nil
}

// round is one turn of Karpenter's disruption controller.
type round struct {
	Cluster
	blocked     Blocked
	provisioner *provisioning.Provisioner
	queue       *disruption.Queue
	slow        bool
}

func (c Cluster) round(blocked Blocked) *round {
	r := &round{Cluster: c, blocked: blocked}
	r.provisioner = provisioning.NewProvisioner(c.Client, blocked, c.Provider, c.State, c.Clock, nil, c.Spare)
	r.queue = disruption.NewQueue(c.Client, blocked, c.State, c.Clock, r.provisioner)
	return r
}

// next tries the methods in Karpenter's order.
func (r *round) next(ctx context.Context) (*Command, error) {
	for _, kind := range []Kind{Empty, StaticDrift, Drift, Multi, Single} {
		command, err := r.try(ctx, kind)
		if err != nil || command != nil {
			return command, err
		}
	}
	return nil, nil
}

// method creates one of Karpenter's methods. Methods are not reused, because each remembers that it has found
// nothing.
func (r *round) method(kind Kind) disruption.Method {
	shared := disruption.MakeConsolidation(r.Clock, r.State, r.Client, r.provisioner, r.Provider, r.blocked, r.queue)
	switch kind {
	case Empty:
		return disruption.NewEmptiness(shared, disruption.WithValidator(unchanged{}))
	case StaticDrift:
		return disruption.NewStaticDrift(r.State, r.provisioner, r.Provider, r.blocked)
	case Drift:
		return disruption.NewDrift(r.Client, r.State, r.provisioner, r.blocked, r.Clock)
	case Multi:
		return disruption.NewMultiNodeConsolidation(shared, disruption.WithValidator(unchanged{}))
	default:
		return disruption.NewSingleNodeConsolidation(shared, disruption.WithValidator(unchanged{}))
	}
}

// try looks for a command with one method.
func (r *round) try(ctx context.Context, kind Kind) (*Command, error) {
	method := r.method(kind)
	candidates, totals, err := disruption.GetCandidatesWithTotals(ctx, r.State, r.Client, r.blocked, r.Clock, r.Provider,
		r.Gate(method).ShouldDisrupt, method.Class(), r.queue, nil)
	if err != nil {
		return nil, fmt.Errorf("find candidates: %w", err)
	}
	candidates = slices.DeleteFunc(candidates, func(c *disruption.Candidate) bool { return r.Except(kind, c.Name()) })
	slices.SortFunc(candidates, func(a, b *disruption.Candidate) int { return cmp.Compare(a.Name(), b.Name()) })
	for pool, total := range totals {
		total.TotalCost = r.Prices[pool]
		totals[pool] = total
	}
	allowed, err := disruption.BuildDisruptionBudgetMapping(ctx, r.State, r.Clock, r.Client, r.Provider, r.blocked,
		method.Reason())
	if err != nil {
		return nil, fmt.Errorf("read budgets: %w", err)
	}
	groups := [][]*disruption.Candidate{candidates}
	if single, ok := method.(*disruption.SingleNodeConsolidation); ok {
		groups = inTurn(ctx, single, candidates)
	}
	if kind == StaticDrift { // Karpenter picks one of several pools at random
		groups = byPool(candidates)
	}
	for _, group := range groups {
		if len(group) == 0 {
			continue
		}
		command, err := r.compute(ctx, kind, totals, maps.Clone(allowed), group)
		if err != nil || command != nil {
			return command, err
		}
		if c := group[0]; kind == Single && allowed[c.NodePool.Name] > 0 {
			r.NotFound(c.Name())
		}
	}
	return nil, nil
}

// compute runs a method on candidates.
func (r *round) compute(
	ctx context.Context, kind Kind, totals map[string]disruption.NodePoolTotals, allowed map[string]int,
	candidates []*disruption.Candidate,
) (*Command, error) {
	method := r.Gate(r.method(kind))
	if balancing, ok := method.(disruption.NodePoolTotalsSetter); ok {
		balancing.SetNodePoolTotals(totals)
	}
	began := time.Now()
	commands, err := method.ComputeCommands(ctx, allowed, candidates...)
	r.slow = r.slow || time.Since(began) >= disruption.MultiNodeConsolidationTimeoutDuration
	if err != nil {
		return nil, err
	}
	for _, command := range commands {
		if command.Decision() != disruption.NoOpDecision {
			return &Command{Command: command, Kind: kind, Reason: method.Reason()}, nil
		}
	}
	return nil, nil
}

// byPool groups the candidates by pool.
func byPool(candidates []*disruption.Candidate) (groups [][]*disruption.Candidate) {
	at := map[string]int{}
	for _, c := range candidates {
		i, known := at[c.NodePool.Name]
		if !known {
			i = len(groups)
			at[c.NodePool.Name] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}

// inTurn yields candidates one by one in Karpenter's order: the best one of each pool, then the second of each
// pool, and so on.
func inTurn(
	ctx context.Context, method *disruption.SingleNodeConsolidation, candidates []*disruption.Candidate,
) (groups [][]*disruption.Candidate) {
	pools := byPool(candidates)
	slices.SortFunc(pools, func(a, b []*disruption.Candidate) int {
		return cmp.Compare(a[0].NodePool.Name, b[0].NodePool.Name)
	})
	for i := range pools {
		pools[i] = method.SortCandidates(ctx, pools[i])
	}
	for i := range candidates {
		for _, pool := range pools {
			if i < len(pool) {
				groups = append(groups, pool[i:i+1])
			}
		}
	}
	return groups
}

// unchanged is a validator that accepts each command, because nothing changes between its choice and its execution.
type unchanged struct{}

// Validate implements disruption.Validator.
func (unchanged) Validate(_ context.Context, c disruption.Command, _ time.Duration) (disruption.Command, error) {
	return c, nil
}

// Clock is the time in the simulated cluster.
type Clock struct {
	clock.RealClock
	now time.Time
}

// NewClock returns a clock that shows a Monday, long after the creation of any node.
func NewClock() *Clock { return &Clock{now: time.Date(2100, time.January, 4, 0, 0, 0, 0, time.UTC)} }

// ClockAt returns a clock that shows a time.
func ClockAt(now time.Time) *Clock { return &Clock{now: now} }

// Now implements clock.PassiveClock.
func (c *Clock) Now() time.Time { return c.now }

// Since implements clock.PassiveClock.
func (c *Clock) Since(t time.Time) time.Duration { return c.now.Sub(t) }

// Blocked has the reasons why nodes stay. It is a recorder of events, because Karpenter reports the reasons as
// events.
type Blocked struct {
	Nodes map[string]string // the last message for each node
	Pools map[string]bool   // pools whose budgets block a reason; the key has both
}

// Publish implements events.Recorder.
func (h Blocked) Publish(all ...events.Event) {
	for _, e := range all {
		switch o := e.InvolvedObject.(type) {
		case *corev1.Node:
			if e.Reason == events.Unconsolidatable || e.Reason == events.DisruptionBlocked {
				h.Nodes[o.Name] = e.Message
			}
		case *karpv1.NodePool:
			if e.Reason == events.DisruptionBlocked {
				h.Pools[o.Name+" "+reasonOf(e.Message)] = true
			}
		}
	}
}

// reasonOf returns the reason of disruption that a message names.
func reasonOf(message string) string {
	if _, rest, ok := strings.Cut(message, "disruption reason "); ok {
		reason, _, _ := strings.Cut(rest, " ")
		return reason
	}
	return ""
}

// messages are Karpenter's messages (v1.15.0, package disruption) and their explanations.
var messages = []struct {
	said  *regexp.Regexp
	means string // explanation, with the groups of the message
}{
	{regexp.MustCompile(`^Can't replace with a cheaper node`), "the pods of a node fit neither on other nodes nor on one cheaper node"},
	{regexp.MustCompile(`^Can't remove without creating (\d+) candidates`), "the pods of a node would need $1 new nodes, and " +
		"Karpenter creates at most one"},
	{regexp.MustCompile(`has consolidation disabled$`), "consolidate_after of the pool is Never"},
	{regexp.MustCompile(`has consolidation policy WhenEmpty`), "the policy of the pool is WhenEmpty, and nodes with pods are not empty"},
	{regexp.MustCompile(`^Pod has "karpenter.sh/do-not-disrupt" annotation.*=([^)]*)`),
		`karpenter.sh/do-not-disrupt on $1 blocks the removal`},
	{regexp.MustCompile(`^Disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation`),
		`karpenter.sh/do-not-disrupt on the node blocks the removal`},
	{regexp.MustCompile(`^Pdb prevents pod evictions.*=\[?([^)\]]*)`), "PodDisruptionBudget $1 allows no eviction"},
	{regexp.MustCompile(`^Eviction does not support multiple PDBs.*=\[?([^)\]]*)`),
		"PodDisruptionBudgets $1 select the same pod, which therefore cannot be evicted"},
	{regexp.MustCompile(`has buffer pods$`), "a buffer reserves its capacity"},
	{regexp.MustCompile(`^Not all pods would schedule`), "some pods would become unschedulable"},
	{regexp.MustCompile(`^Filtering by price: (.*)`), "no cheaper node fits: $1"},
}

// Why explains why a node stays although there is a reason to disrupt it. named returns the name for users of an
// object that Karpenter calls default/pod-1.
func (h Blocked) Why(
	node string, pool *karpv1.NodePool, reason karpv1.DisruptionReason, named func(string) string,
) string {
	message, said := h.Nodes[node]
	closed := h.Pools[pool.Name+" "+string(reason)]
	switch {
	case closed && reason == karpv1.DisruptionReasonDrifted:
		return "the budgets of the pool allow no disruption"
	case said:
		return explainMessage(message, named)
	case closed:
		return "the budgets of the pool allow no disruption"
	case pool.Spec.Disruption.ConsolidationPolicy.IsBalanced():
		return "the policy of the pool is Balanced, and the savings are too small for the number of pods that would move"
	}
	return "Karpenter reports no reason"
}

func explainMessage(message string, named func(string) string) string {
	for _, w := range messages {
		found := w.said.FindStringSubmatch(message)
		if found == nil {
			continue
		}
		text := w.means
		for i, group := range found[1:] {
			group = named(strings.Trim(group, `"{} `))
			if strings.Contains(text, "Budgets $") {
				group = strings.Join(strings.Fields(group), " and ")
			}
			text = strings.ReplaceAll(text, fmt.Sprintf("$%d", i+1), group)
		}
		return text
	}
	return strings.TrimSuffix(message, ".")
}

const horizon = 366 * 24 * time.Hour

// mostAllowances limits the work on schedules that start and end often.
const mostAllowances = 1000

// budgetChanges yields the times, beginning with now, at which the budgets of pools allow something that they have
// not allowed at an earlier one. Without schedules there is only now.
func budgetChanges(pools []karpv1.NodePool, now time.Time) iter.Seq[time.Time] {
	periods := budgetRecurrences(pools)
	return func(yield func(time.Time) bool) {
		sets, seen := map[string]bool{}, map[string]bool{}
		for at, active := range schedule.Changes(periods, now, now.Add(horizon)) {
			set := fmt.Sprint(active)
			if sets[set] {
				continue
			}
			sets[set] = true
			if len(sets) > mostAllowances {
				return
			}
			if allowed := allowanceKey(pools, at); !seen[allowed] {
				seen[allowed] = true
				if !yield(at) {
					return
				}
			}
		}
	}
}

// budgetRecurrences returns the schedules of all budgets, each once. A budget whose schedule is not valid allows
// nothing.
func budgetRecurrences(pools []karpv1.NodePool) (all [][]schedule.Recurrence) {
	known := map[string]bool{}
	for _, pool := range pools {
		for _, b := range pool.Spec.Disruption.Budgets {
			if b.Schedule == nil || b.Duration == nil || known[*b.Schedule+b.Duration.String()] {
				continue
			}
			known[*b.Schedule+b.Duration.String()] = true
			if r, err := schedule.Recur(*b.Schedule, b.Duration.Duration); err == nil {
				all = append(all, []schedule.Recurrence{r})
			}
		}
	}
	return all
}

// allowanceKey returns a text that is equal for times at which the same number of nodes can be disrupted.
func allowanceKey(pools []karpv1.NodePool, at time.Time) string {
	const nodes = 1000 // so large that different percentages differ
	var b strings.Builder
	for _, pool := range pools {
		for _, reason := range []karpv1.DisruptionReason{
			karpv1.DisruptionReasonEmpty, karpv1.DisruptionReasonDrifted, karpv1.DisruptionReasonUnderutilized,
		} {
			fmt.Fprint(&b, pool.MustGetAllowedDisruptions(schedule.ClockAt(at), nodes, reason), " ")
		}
	}
	return b.String()
}

// CountAllowed sets how many evictions PodDisruptionBudgets allow. It counts pods with a node as ready, or all pods
// if ready is set. A budget that is not valid allows none.
func CountAllowed(budgets []*policyv1.PodDisruptionBudget, pods []*corev1.Pod, ready bool) {
	for _, b := range budgets {
		b.Status = policyv1.PodDisruptionBudgetStatus{}
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			continue
		}
		all, healthy := 0, 0
		for _, pod := range pods {
			if pod.Namespace != b.Namespace || !selector.Matches(labels.Set(pod.Labels)) {
				continue
			}
			all++
			if ready || pod.Spec.NodeName != "" {
				healthy++
			}
		}
		least := all
		if most := b.Spec.MaxUnavailable; most != nil {
			if n, err := intstr.GetScaledValueFromIntOrPercent(most, all, true); err == nil {
				least = max(0, all-n)
			}
		} else if b.Spec.MinAvailable != nil {
			if n, err := intstr.GetScaledValueFromIntOrPercent(b.Spec.MinAvailable, all, true); err == nil {
				least = n
			}
		}
		b.Status.ExpectedPods, b.Status.CurrentHealthy, b.Status.DesiredHealthy = int32(all), int32(healthy), int32(least)
		b.Status.DisruptionsAllowed = int32(max(0, healthy-least))
	}
}
