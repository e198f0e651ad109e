// Package compare reads two states of a configuration, or a configuration and a
// cluster, and has package plan say what going from one to the other does. A
// cluster is a View: the live one, by lists only, or a Snapshot of it. A plan
// can be saved, and checked against the cluster before it is applied.
//
// It changes nothing in a cluster and prints nothing.
package compare

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// LiveOptions are the inputs of Live besides the configuration and the cluster.
type LiveOptions struct {
	// Base is the configuration that was last applied, as far as it is known: what
	// differs from it in the cluster is drift.
	Base   compile.Result
	Prices *catalog.Catalog
	Now    time.Time
	// Prune puts objects into the plan that were applied from an earlier state of
	// the configuration and are no longer in it.
	Prune bool
	// Predict says what applying an object makes of the live one, which is nil
	// where there is none; nil works it out locally.
	Predict func(ctx context.Context, live, desired map[string]any) (predicted map[string]any, conflicts []kube.Conflict, err error)
	// Ignore reports whether others may set a field, so that the configuration no
	// longer does; nil for none.
	Ignore func(plan.Drift) bool
}

// Comparison is a plan, with what it takes to apply it.
type Comparison struct {
	Plan plan.Plan
	Head compile.Result // without the fields that LiveOptions.Ignore leaves to others
}

// Live says what applying head to a cluster does: to its objects, field by
// field as a server-side apply would leave them, to each of its nodes, and what
// others have changed in it. The cluster is only read.
func Live(ctx context.Context, head compile.Result, cluster View, opts LiveOptions) (Comparison, error) {
	linode.Register()
	objects, nodes, notes, err := read(ctx, head, cluster, true)
	if err != nil {
		return Comparison{}, err
	}
	there := Index(objects)
	drift, err := drifts(opts.Base, head, there)
	if err != nil {
		return Comparison{}, err
	}
	if without, found := Without(head, drift, opts.Ignore); found {
		head = without
		if drift, err = drifts(opts.Base, head, there); err != nil {
			return Comparison{}, err
		}
	}
	before := plan.State{Offers: offers(head.Cluster, opts.Prices), Nodes: nodes, Now: opts.Now}
	after := before
	if err := predict(ctx, head, there, opts, &before, &after); err != nil {
		return Comparison{}, err
	}
	if over := left(head, objects); opts.Prune {
		before.Objects = append(before.Objects, over...)
	} else {
		for _, o := range over {
			notes = append(notes, fmt.Sprintf("%s was applied from here and is no longer in the directory; --prune deletes it.", kube.Key(o.Manifest)))
		}
	}
	after.Removed = head.Removed
	p, err := plan.Diff(before, after)
	if err != nil {
		return Comparison{}, err
	}
	p, err = withHolds(ctx, p, before, after, cluster)
	p.Notes, p.Drift = append(p.Notes, notes...), drift
	return Comparison{p, head}, err
}

// RevisionsOn compares two configurations as Revisions does, and says of a cluster how
// many of its nodes that means, and what others have changed in it.
func RevisionsOn(ctx context.Context, base, head compile.Result, cluster View, prices *catalog.Catalog, now time.Time) (plan.Plan, error) {
	linode.Register()
	objects, nodes, notes, err := read(ctx, head, cluster, false)
	if err != nil {
		return plan.Plan{}, err
	}
	before, after := stateOf(base, prices, now), stateOf(head, prices, now)
	before.Nodes, after.Nodes = nodes, nodes
	p, err := plan.Diff(before, after)
	if err != nil {
		return p, err
	}
	if p, err = withHolds(ctx, p, before, after, cluster); err != nil {
		return p, err
	}
	p.Notes = append(p.Notes, notes...)
	p.Drift, err = drifts(base, head, Index(objects))
	return p, err
}

// withHolds adds to a plan what holds the nodes that it rolls. Only where it
// rolls any is it worth reading every pod.
func withHolds(ctx context.Context, p plan.Plan, before, after plan.State, cluster View) (plan.Plan, error) {
	if p.Summary().NodesRolled == 0 {
		return p, nil
	}
	held, notes, err := cluster.Holds(ctx, after.Nodes, after.Now)
	if err != nil {
		return p, err
	}
	before.Nodes, after.Nodes = held, held
	p, err = plan.Diff(before, after)
	p.Notes = append(p.Notes, notes...)
	return p, err
}

func drifts(base, head compile.Result, there map[string]map[string]any) ([]plan.Drift, error) {
	return plan.Drifts(base.Resources, head.Resources, func(o config.Object) map[string]any {
		return there[kube.Key(o.Manifest)]
	}, kube.FieldManager)
}

// read lists the objects of the kinds that head has, or of all kinds, and the
// nodes. Of a kind that head does not have, it is no error that this user may
// not list it.
func read(ctx context.Context, head compile.Result, cluster View, all bool) (objects []map[string]any, nodes []plan.Node, notes []string, err error) {
	needed := map[schemas.Object]bool{}
	for _, r := range head.Resources {
		apiVersion, _ := r.Manifest["apiVersion"].(string)
		needed[schemas.Object{APIVersion: apiVersion, Kind: r.Kind()}] = true
	}
	asked := slices.DeleteFunc(Kinds(), func(k schemas.Object) bool { return !all && !needed[k] })
	lists, errs := make([][]map[string]any, len(asked)), make([]error, len(asked)+1)
	var wg sync.WaitGroup
	for i, kind := range asked {
		wg.Go(func() { lists[i], errs[i] = cluster.Objects(ctx, kind) })
	}
	wg.Go(func() { nodes, errs[len(asked)] = cluster.Nodes(ctx) })
	wg.Wait()
	for i, kind := range asked {
		if apierrors.IsForbidden(errs[i]) && !needed[kind] {
			errs[i] = nil
			notes = append(notes, fmt.Sprintf("This user may not list objects of kind %s, so those that are left over are not known.", kind.Kind))
		}
	}
	// One cause fails every list; the first says it.
	return slices.Concat(lists...), nodes, notes, cmp.Or(errs...)
}

// predict fills in what head makes of the objects that are there.
func predict(ctx context.Context, head compile.Result, there map[string]map[string]any, opts LiveOptions, before, after *plan.State) error {
	apply := opts.Predict
	if apply == nil {
		validator, err := kube.BuiltinValidator()
		if err != nil {
			return err
		}
		apply = func(_ context.Context, live, desired map[string]any) (map[string]any, []kube.Conflict, error) {
			return validator.Predict(live, desired)
		}
	}
	results := make([]prediction, len(head.Resources))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, r := range head.Resources {
		group.Go(func() error {
			results[i].predicted, results[i].conflicts, results[i].err = apply(ctx, there[kube.Key(r.Manifest)], head.Labelled(r.Manifest))
			return nil
		})
	}
	_ = group.Wait() // the errors are in results, in the order of objects
	after.Conflicts = map[manifest.Key][]plan.Conflict{}
	for i, r := range head.Resources {
		if results[i].err != nil {
			return results[i].err
		}
		r.Defaulted = results[i].predicted
		after.Objects = append(after.Objects, r)
		conflicts := append(conflictsOf(results[i].conflicts), taken(there[kube.Key(r.Manifest)], head.Owner())...)
		after.Conflicts[r.Key()] = conflicts
		if live := there[kube.Key(r.Manifest)]; live != nil {
			before.Objects = append(before.Objects, config.Object{Addr: r.Addr, Manifest: live, Defaulted: live, Origins: r.Origins})
		}
	}
	return nil
}

// taken is the conflict about an object that a NodePlan keeps, for everybody
// else: it would be taken from it, and taken back.
func taken(live map[string]any, mark string) []plan.Conflict {
	other := kube.Label(live, kube.InventoryLabel)
	if name, kept := strings.CutPrefix(other, kube.NodePlanMark+"."); kept && other != mark {
		return []plan.Conflict{{Path: "metadata.labels[" + kube.InventoryLabel + "]", Owner: "NodePlan " + name}}
	}
	return nil
}

type prediction struct {
	predicted map[string]any
	conflicts []kube.Conflict
	err       error
}

// left are the live objects that carry the configuration's mark, and are in it
// no longer. Those that are on their way out already were in an earlier plan.
func left(head compile.Result, live []map[string]any) (objects []config.Object) {
	mark := head.Owner()
	if mark == "" {
		return nil
	}
	declared := map[string]bool{}
	for _, r := range head.Resources {
		declared[kube.Key(r.Manifest)] = true
	}
	addrs := map[string]config.Addr{}
	for _, r := range head.Removed {
		addrs[r.Kind+" "+r.Name] = r.Addr
	}
	for _, obj := range live {
		at := kube.Key(obj)
		if kube.Label(obj, kube.InventoryLabel) != mark || declared[at] || kube.Leaving(obj) {
			continue
		}
		addr, known := addrs[at]
		if !known {
			addr = config.Addr{Type: schemas.TypeOf(manifest.Kind(obj)), Name: manifest.Name(obj)}
		}
		objects = append(objects, config.Object{Addr: addr, Manifest: obj, Defaulted: obj})
	}
	return objects
}

// Index returns objects by their kind and name.
func Index(objects []map[string]any) map[string]map[string]any {
	m := make(map[string]map[string]any, len(objects))
	for _, o := range objects {
		m[kube.Key(o)] = o
	}
	return m
}

func conflictsOf(found []kube.Conflict) (conflicts []plan.Conflict) {
	for _, c := range found {
		conflicts = append(conflicts, plan.Conflict{Path: strings.TrimPrefix(c.Field, "."), Owner: c.Owner})
	}
	return conflicts
}
