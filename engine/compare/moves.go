package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/config"
	clusters "github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/loop"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Whole is all that determines which nodes Karpenter removes or replaces.
type Whole struct {
	clusters.Snapshot
	// Overlays are the NodeOverlays of the cluster.
	Overlays []map[string]any
	// Unknown is why it is not known, as a sentence without a period; "" if it is.
	Unknown string
}

// simulated is where the disruption of Karpenter is simulated.
type simulated struct {
	cluster config.Cluster
	prices  *catalog.Catalog
}

// longestSimulation is how long the disruption of Karpenter is simulated, before and after a change. 5,000 pods on 500 nodes
// take half of it.
const longestSimulation = time.Minute

// movesOf simulates which nodes Karpenter moves only after a plan.
func movesOf(ctx context.Context, p plan.Plan, in View, by simulated, now time.Time) (plan.Moves, error) {
	whole, err := in.Whole(ctx)
	if err != nil || whole.Unknown != "" {
		return plan.Moves{Unknown: whole.Unknown, Overlays: whole.Overlays}, err
	}
	for _, c := range p.Changes {
		if c.Action != plan.Keep && c.Kind == schemas.Buffer.Object.Kind {
			return plan.Moves{Unknown: notSimulated(c.Kind)}, nil
		}
	}
	live := simulate.Live{Snapshot: whole.Snapshot, Catalog: by.prices, Attached: map[types.UID][]string{}}
	live.Region, live.Tier = whole.Region()
	if by.cluster.Region != "" {
		live.Region = by.cluster.Region
	}
	if live.Region == "" {
		return plan.Moves{Unknown: "the region of the cluster is unknown"}, nil
	}
	volumes := simulate.NewVolumeIndex(whole.Volumes.Claims, whole.Volumes.All, whole.Volumes.Classes)
	for _, pod := range whole.Pods {
		if simulate.ClaimsVolumes(pod) {
			live.Attached[pod.UID] = volumes.Attached(ctx, pod)
		}
	}
	before, after, err := sidesOf(p, whole)
	if err != nil {
		return plan.Moves{}, err
	}
	limited, cancel := context.WithTimeout(ctx, longestSimulation)
	defer cancel()
	var moved []simulate.Moved
	err = loop.Try(slog.Default(), func() (err error) { moved, err = simulate.Moves(limited, live, now, before, after); return err })
	switch {
	case ctx.Err() != nil:
		return plan.Moves{}, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return plan.Moves{Unknown: fmt.Sprintf("the simulation takes longer than %s", longestSimulation)}, nil
	case err != nil:
		return plan.Moves{Unknown: "the simulation ends with an error: " + err.Error()}, nil
	}
	found := plan.Moves{Known: true}
	for _, m := range moved {
		move := plan.Move{Node: m.Name, Pool: m.Pool, Plan: m.Plan, Pods: m.Pods, Saves: m.Saves.Monthly}
		for _, to := range m.To {
			move.To = append(move.To, to.Pool+" "+to.Plan)
		}
		found.Nodes = append(found.Nodes, move)
	}
	return found, nil
}

// sidesOf are the pools, classes, limits and overlays of a cluster before and after a plan.
func sidesOf(p plan.Plan, whole Whole) (before, after []map[string]any, err error) {
	changes := p.ByKey()
	add := func(kind schemas.Object, object any) error {
		raw, err := json.Marshal(object) // the converter of apimachinery writes durations of Karpenter in another form
		if err != nil {
			return err
		}
		obj := map[string]any{}
		if err := utiljson.Unmarshal(raw, &obj); err != nil {
			return err
		}
		obj["apiVersion"], obj["kind"] = kind.APIVersion, kind.Kind // lists leave them out
		key := manifest.KeyOf(obj)
		c, changed := changes[key]
		delete(changes, key)
		switch {
		case changed && c.Released != nil:
			before, after = append(before, obj), append(after, c.Released)
		case !changed || c.Action == plan.Keep || c.Action == plan.Forget:
			before, after = append(before, obj), append(after, obj)
		case c.Action == plan.Delete:
			before = append(before, obj)
		default:
			before, after = append(before, obj), append(after, c.New)
		}
		return nil
	}
	for _, o := range whole.Pools {
		if o.Spec.Template.Spec.NodeClassRef != nil { // which its CRD requires, and Karpenter's code
			err = errors.Join(err, add(*schemas.Pool.Object, o))
		}
	}
	for _, o := range whole.Classes {
		err = errors.Join(err, add(*schemas.NodeClass.Object, o))
	}
	for _, o := range whole.Limits {
		err = errors.Join(err, add(*schemas.Limits.Object, o))
	}
	for _, o := range whole.Overlays {
		err = errors.Join(err, add(*schemas.Overlay.Object, o))
	}
	for _, c := range p.Changes {
		if _, left := changes[c.Key()]; left && c.New != nil {
			after = append(after, c.New)
		}
	}
	return before, after, err
}

// notSimulated is why moves are unknown in a cluster with an object of a kind.
func notSimulated(kind string) string {
	return fmt.Sprintf("the effect of a %s on consolidation is not simulated", kind)
}

// Whole implements View: what this user may not list is unknown.
func (l *live) Whole(ctx context.Context) (found Whole, err error) {
	if found.Overlays, err = l.Objects(ctx, *schemas.Overlay.Object); err == nil {
		var buffers []map[string]any
		if buffers, err = l.Objects(ctx, *schemas.Buffer.Object); len(buffers) > 0 {
			found.Unknown = notSimulated(schemas.Buffer.Object.Kind)
		}
	}
	if err == nil && found.Unknown == "" {
		found.Snapshot, err = clusters.Load(ctx, l.cluster, clusters.KindNodes, clusters.KindPods, clusters.KindBudgets, clusters.KindPools,
			clusters.KindDaemonSets, clusters.KindNamespaces, clusters.KindVolumeClaims, clusters.KindVolumes, clusters.KindStorageClasses)
		// Without volumes, more pods seem to fit on a node, so that more nodes seem to go.
		found.Unknown = found.Unread(clusters.KindNodes, clusters.KindPods, clusters.KindBudgets, clusters.KindPools, clusters.KindDaemonSets)
	}
	if err != nil || found.Unknown != "" {
		return found, forbidden(&found, err)
	}
	from := viewed{l}
	found.Claims, err = clusters.List[karpv1.NodeClaim](ctx, from, "karpenter.sh/v1", "NodeClaim")
	if err == nil {
		found.Classes, err = clusters.List[linodev1alpha1.LinodeNodeClass](ctx, from, schemas.NodeClass.Object.APIVersion, schemas.NodeClass.Object.Kind)
	}
	if err == nil {
		found.Limits, err = clusters.List[lkeplanv1alpha1.CapacityLimit](ctx, from, schemas.Limits.Object.APIVersion, schemas.Limits.Object.Kind)
	}
	return found, forbidden(&found, err)
}

// forbidden makes a list that the user may not read a reason why moves are unknown.
func forbidden(found *Whole, err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	found.Unknown = fmt.Sprintf("this user may not list %s", clusters.Refused(err))
	return nil
}

// Whole implements View. A snapshot does not say which pods run on which node.
func (t taken) Whole(ctx context.Context) (found Whole, err error) {
	found.Unknown = "the snapshot does not say on which nodes the pods run"
	found.Overlays, err = t.Objects(ctx, *schemas.Overlay.Object)
	return found, err
}
