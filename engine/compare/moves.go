package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	autoscalingv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	karpv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/lkeplan/lkeplan/config"
	clusters "github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/engine/simulate/workload"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Whole is all that determines which nodes Karpenter removes or replaces, together with the nodes of the plan.
type Whole struct {
	// Objects are the NodePools, LinodeNodeClasses, CapacityLimits, NodeOverlays and CapacityBuffers of the cluster.
	Objects []client.Object
	Shapes  workload.Shapes // of pods and nodes
	// Salt is that of the hashes in the shapes; "" if they have words.
	Salt string
	// Unknown is why it is not known, as a sentence without a period; "" if it is.
	Unknown string
}

// simulated is where the disruption of Karpenter is simulated.
type simulated struct {
	cluster      config.Cluster
	prices       *catalog.Catalog
	turn         Turn
	repriced     bool // the prices are of a catalogue that the change alters, so that they could hide what moves
	withoutMoves bool // no node moves
}

// Turn waits until disruption can be simulated, and returns what ends the simulation; nil never waits. The controller limits the
// memory of all simulations with it.
type Turn func(ctx context.Context) (done func(), err error)

// longestSimulation is how long the disruption of Karpenter is simulated, before and after a change. 5,000 pods on 500 nodes
// take half of it on two cores, and half a GiB. The controller runs it in the reconciler of NodePlans, not in the loop that makes
// machines.
const longestSimulation = time.Minute

// mostPods and mostNodes are the largest cluster whose disruption is simulated. Larger ones take more time and memory than is
// allowed.
const (
	mostPods  = 10_000
	mostNodes = 1_000
)

// tooLarge says of a cluster that is not simulated how large it is; "" for others.
func tooLarge(pods, nodes int) string {
	if pods <= mostPods && nodes <= mostNodes {
		return ""
	}
	return fmt.Sprintf("the cluster has %d pods on %d nodes, and at most %d pods on %d nodes are simulated", pods, nodes, mostPods, mostNodes)
}

// movesOf simulates which nodes Karpenter moves only after a plan.
func movesOf(ctx context.Context, p plan.Plan, in View, nodes []plan.Node, by simulated, now time.Time) (plan.Moves, error) {
	if by.withoutMoves {
		return plan.Moves{Known: true}, nil
	}
	if by.turn != nil {
		done, err := by.turn(ctx)
		if err != nil {
			return plan.Moves{}, fmt.Errorf("wait to simulate consolidation: %w", err)
		}
		defer done()
	}
	var buffers []client.Object
	for _, c := range p.Changes {
		if c.New != nil && c.Kind == schemas.Buffer.Object.Kind {
			buffer, err := clusters.Decode(c.New)
			if err != nil {
				return plan.Moves{}, err
			}
			buffers = append(buffers, buffer)
		}
	}
	whole, err := in.Whole(ctx, buffers)
	if by.repriced {
		whole.Unknown = cmp.Or(whole.Unknown, "the change alters the price catalogue; update the catalogue in a change of its own")
	}
	if err != nil || whole.Unknown != "" {
		return plan.Moves{Unknown: whole.Unknown, Overlays: ofType[*karpv1alpha1.NodeOverlay](whole.Objects)}, err
	}
	before, after, err := sidesOf(p, whole.Objects)
	if err != nil {
		return plan.Moves{}, err
	}
	live, err := whole.live(by, nodes, slices.Concat(before, after))
	if err == nil && whole.Salt != "" {
		err = missingTemplate(live.Templates, slices.Concat(before, after))
	}
	if err != nil {
		waits, _ := errors.AsType[joining](err)
		return plan.Moves{Unknown: err.Error(), Joining: waits}, nil
	}
	if why := tooLarge(len(live.Pods), len(live.Nodes)); why != "" {
		return plan.Moves{Unknown: why}, nil
	}
	limited, cancel := context.WithTimeout(ctx, longestSimulation)
	defer cancel()
	moved, err := simulate.Moves(limited, live, now, before, after)
	switch {
	case ctx.Err() != nil:
		return plan.Moves{}, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return plan.Moves{Unknown: fmt.Sprintf("the simulation takes longer than %s", longestSimulation)}, nil
	case err != nil:
		return plan.Moves{Unknown: "the simulation ends with an error: " + err.Error()}, nil
	}
	found, joined := plan.Moves{Known: true}, map[string]string{}
	for _, n := range nodes {
		joined[n.Name] = n.Node
	}
	for _, m := range moved {
		move := plan.Move{Node: m.Name, NodeName: joined[m.Name], Pool: m.Pool, Plan: m.Plan, Pods: m.Pods,
			Saves: plan.Amount(m.Saves.Monthly), When: m.When}
		for _, to := range m.To {
			move.To = append(move.To, to.Pool+" "+to.Plan)
		}
		found.Nodes = append(found.Nodes, move)
	}
	return found, nil
}

// joining are NodeClaims without a machine, which they get in a few seconds. Until then it is unknown what runs on them.
type joining []string

func (j joining) Error() string { return fmt.Sprintf("NodeClaim %s has no machine yet", j[0]) }

// live is the cluster as the simulation reads it: the same from a snapshot as from the cluster that it was taken of.
func (w Whole) live(by simulated, nodes []plan.Node, objects []client.Object) (simulate.Live, error) {
	claims, byNode := make([]*karpv1.NodeClaim, len(nodes)), map[string]*karpv1.NodeClaim{}
	for i, n := range nodes {
		nc := &karpv1.NodeClaim{}
		nc.Name, nc.UID, nc.CreationTimestamp = n.Name, types.UID(n.Name), metav1.NewTime(n.Created)
		nc.Labels, nc.Annotations = maps.Clone(n.Labels), maps.Clone(n.Annotations)
		nc.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: linodev1alpha1.Group, Kind: schemas.NodeClass.Object.Kind, Name: n.Class}
		if n.ExpireAfter > 0 {
			nc.Spec.ExpireAfter.Duration = &n.ExpireAfter
		}
		if !n.NoTerminationGrace {
			nc.Spec.TerminationGracePeriod = &metav1.Duration{} // how long it is does not matter
		}
		nc.Status.ProviderID = nodeclaim.LinodeID(i + 1)
		claims[i], byNode[cmp.Or(n.Node, n.Name)] = nc, nc
	}
	region, tier := clusters.Snapshot{Claims: claims, Classes: ofType[*linodev1alpha1.LinodeNodeClass](w.Objects)}.Region()
	if region = cmp.Or(by.cluster.Region, region); region == "" {
		return simulate.Live{}, errors.New("the region of the cluster is unknown")
	}
	shapes := w.Shapes
	if w.Salt != "" {
		shapes = shapes.Readable(w.Salt, workload.KnownWords(objects, instancetype.New(by.prices, region, tier).List()))
	}
	live := shapes.Cluster(byNode)
	live.Region, live.Tier, live.Catalog = region, tier, by.prices
	var waits joining
	for i, n := range nodes {
		switch claim := claims[i]; {
		case n.Node != "" || n.Deleting:
		case claim.Status.NodeName == "":
			waits = append(waits, n.Name)
		default: // it has no Node yet
			claim.Status.NodeName = ""
			live.Nodes = slices.DeleteFunc(live.Nodes, func(node *corev1.Node) bool { return node.Name == n.Name })
		}
	}
	if waits != nil {
		return simulate.Live{}, waits
	}
	return live, nil
}

// missingTemplate is an error if some buffer refers to an object that a snapshot does not have.
func missingTemplate(have []simulate.Template, objects []client.Object) error {
	for _, buffer := range ofType[*autoscalingv1beta1.CapacityBuffer](objects) {
		key := simulate.TemplateKey(buffer)
		if key != (manifest.Key{}) && !slices.ContainsFunc(have, func(t simulate.Template) bool { return t.Key == key }) {
			return fmt.Errorf("the snapshot has no %s, to which %s refers", key, keyOf(buffer))
		}
	}
	return nil
}

// templatesOf reads the objects to which the buffers among some objects refer, as far as they exist.
func templatesOf(ctx context.Context, from client.Reader, objects []client.Object) (found []simulate.Template, err error) {
	wanted, kinds := map[manifest.Key]bool{}, map[string]bool{}
	for _, buffer := range ofType[*autoscalingv1beta1.CapacityBuffer](objects) {
		key := simulate.TemplateKey(buffer)
		wanted[key], kinds[key.Kind] = true, true
	}
	lists := simulate.TemplateLists()
	for _, kind := range slices.Sorted(maps.Keys(lists)) {
		if !kinds[kind] {
			continue
		}
		if err := from.List(ctx, lists[kind]); err != nil {
			return nil, err
		}
		for _, o := range clusters.Items(lists[kind]) {
			if wanted[keyOf(o)] {
				found = append(found, simulate.TemplateOf(o))
			}
		}
	}
	return found, nil
}

// sidesOf are the objects of a cluster before and after a plan.
func sidesOf(p plan.Plan, objects []client.Object) (before, after []client.Object, err error) {
	changes := p.ByKey()
	add := func(to *[]client.Object, obj map[string]any) {
		typed, wrong := clusters.Decode(obj)
		*to, err = append(*to, typed), errors.Join(err, wrong)
	}
	for _, o := range objects {
		if pool, ok := o.(*karpv1.NodePool); ok && pool.Spec.Template.Spec.NodeClassRef == nil {
			continue // its CRD requires it, and so does Karpenter's code
		}
		before = append(before, o)
		c, changed := changes[keyOf(o)]
		delete(changes, keyOf(o))
		switch {
		case changed && c.Released != nil:
			add(&after, c.Released)
		case !changed || c.Action == plan.Keep || c.Action == plan.Forget:
			after = append(after, o)
		case c.Action != plan.Delete:
			add(&after, c.New)
		}
	}
	for _, c := range p.Changes {
		if _, left := changes[c.Key()]; !left {
			continue
		}
		if c.Old != nil && c.Action != plan.Forget { // a cache may not have it yet
			add(&before, c.Old)
		}
		if c.New != nil {
			add(&after, c.New)
		}
	}
	return before, after, err
}

// keyOf identifies an object, whose kind lists leave out.
func keyOf(o client.Object) manifest.Key {
	return manifest.Key{Kind: reflect.TypeOf(o).Elem().Name(), Namespace: o.GetNamespace(), Name: o.GetName()}
}

// ofType returns the objects of a type.
func ofType[T client.Object](objects []client.Object) (list []T) {
	for _, o := range objects {
		if typed, ok := o.(T); ok {
			list = append(list, typed)
		}
	}
	return list
}

// Whole implements View: what this user may not list is unknown.
func (r *NodeReader) Whole(ctx context.Context, buffers []client.Object) (found Whole, err error) {
	if err := found.readObjects(ctx, r.From); err != nil {
		return found, forbidden(&found, err)
	}
	templates, err := templatesOf(ctx, r.From, slices.Concat(found.Objects, buffers))
	if err != nil {
		return found, forbidden(&found, err)
	}
	var read clusters.Snapshot
	if read, found.Shapes, err = readShapes(ctx, r.From, templates); err != nil {
		return found, forbidden(&found, err)
	}
	needed := []string{clusters.KindNodes, clusters.KindClaims, clusters.KindBudgets, clusters.KindDaemonSets}
	if slices.ContainsFunc(read.Pods, simulate.ClaimsVolumes) {
		// Without them, more pods seem to fit on a node, so that nodes seem to go without the change as well.
		needed = append(needed, clusters.KindVolumeClaims, clusters.KindVolumes, clusters.KindStorageClasses)
	}
	found.Unknown = read.Unread(needed...)
	return found, nil
}

// readObjects reads the objects of a cluster that determine which nodes Karpenter removes or replaces. The overlays
// come first, because a plan needs them even if the user may not list others.
func (w *Whole) readObjects(ctx context.Context, from client.Reader) error {
	for _, list := range []client.ObjectList{&karpv1alpha1.NodeOverlayList{}, &autoscalingv1beta1.CapacityBufferList{}, &karpv1.NodePoolList{},
		&linodev1alpha1.LinodeNodeClassList{}, &lkeplanv1alpha1.CapacityLimitList{}} {
		if err := from.List(ctx, list); err != nil && !apimeta.IsNoMatchError(err) { // of a kind that is not served there are none
			return err
		}
		w.Objects = append(w.Objects, clusters.Items(list)...)
	}
	return nil
}

// WithoutConsolidation is a view with which no consolidation is simulated, so that its effect is unknown.
func WithoutConsolidation(view View) View { return still{view} }

type still struct{ View }

// Whole implements View.
func (s still) Whole(ctx context.Context, _ []client.Object) (found Whole, err error) {
	found.Unknown = "--no-consolidation leaves it out"
	overlays := &karpv1alpha1.NodeOverlayList{}
	err = clusters.Reader(viewed{s}).List(ctx, overlays)
	found.Objects = clusters.Items(overlays)
	return found, err
}

// forbidden makes a list that the user may not read a reason why moves are unknown.
func forbidden(found *Whole, err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	found.Unknown = fmt.Sprintf("this user may not list %s", clusters.Refused(err))
	return nil
}

// Whole implements View.
func (t taken) Whole(ctx context.Context, _ []client.Object) (found Whole, err error) {
	switch err = found.readObjects(ctx, clusters.Reader(viewed{t})); {
	case err != nil:
		return found, err
	case len(t.Unlisted) > 0:
		found.Unknown = fmt.Sprintf("the snapshot has no objects of kind %s", strings.Join(t.Unlisted, " and "))
	case t.Snapshot.Shapes == nil || t.Snapshot.Shapes.Machines == nil:
		found.Unknown = "the snapshot does not say on which nodes the pods run"
	default:
		found.Shapes, found.Salt = *t.Snapshot.Shapes, t.salt()
	}
	return found, nil
}
