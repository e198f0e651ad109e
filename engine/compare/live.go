// Package compare reads two states of a configuration, or a configuration and a cluster, and computes the plan
// between them with package plan. A cluster is a View: the live cluster, which is only listed, or a Snapshot of it. A
// plan can be saved, and checked against the cluster before it is applied.
//
// The package changes nothing in a cluster and prints nothing.
package compare

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/lkeplan/lkeplan/config"
	clusters "github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/rollout"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
	"github.com/lkeplan/lkeplan/schemas/task"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// LiveOptions are further inputs of Live.
type LiveOptions struct {
	// Base is the last applied configuration, if known: differences of the cluster from it are drift.
	Base   compile.Result
	Prices *catalog.Catalog
	Now    time.Time
	// Prune adds objects to the plan that were applied from an earlier state of the configuration and are no longer
	// in it.
	Prune bool
	// Keeps reports whether such an object is left as it is, and is not in the plan; nil
	// for none.
	Keeps func(config.Object) bool
	// PruneNow deletes such pools immediately, with their nodes.
	PruneNow bool
	// Reads means that nothing is applied. Otherwise changes of a directory that a NodePlan applies are conflicts.
	Reads bool
	// DryRun asks the API server what it would store; nil if there is no API server, as for a snapshot.
	DryRun DryRun
	// Ignore reports whether others own a field, so that the configuration no longer sets it; nil for none.
	Ignore func(plan.Drift) bool
	// Market has the prices by which Karpenter moves nodes; nil for Prices. A repository could pin others to hide
	// moves.
	Market *catalog.Catalog
	// Turn limits how many simulations run at a time; nil for no limit.
	Turn Turn
	// WithoutMoves plans as if Karpenter moved no node. Such a plan must not be applied: it shows whether guards refuse a plan only
	// because it is unknown which nodes move.
	WithoutMoves bool
	// By is the applied revision, which is recorded on the objects whose nodes it rolls; the zero Revision if unknown.
	By manifest.RolledBy
}

// Comparison is a plan with the input to apply it.
type Comparison struct {
	Plan    plan.Plan
	Targets []Target // of the objects of head, in their order
	// Pools that head does not declare and that have nodes to drain.
	Condemned []Target
}

// Live plans to apply head to a cluster: the changes of objects, field by field as by server-side apply, the effect
// on each node, and the drift. It only reads the cluster.
func Live(ctx context.Context, head compile.Result, cluster View, opts LiveOptions) (Comparison, error) {
	instancetype.Register()
	objects, nodes, notes, err := readLive(ctx, head, cluster, true)
	if err != nil {
		return Comparison{}, err
	}
	live := indexByKey(objects)
	drift, err := findDrift(opts.Base, head, live)
	if err != nil {
		return Comparison{}, err
	}
	if without, found := Without(head, drift, opts.Ignore); found {
		head = without
		if drift, err = findDrift(opts.Base, head, live); err != nil {
			return Comparison{}, err
		}
	}
	by, applied := &applies{dryRun: opts.DryRun, unasked: map[string]bool{}}, head
	holder := holderOf(head, live)
	if holder != nil {
		applied.Inventory = holder.Inventory
		notes = append(notes, holder.note())
	}
	targets, err := targetsOf(ctx, applied, opts.Base, live, by)
	if err != nil {
		return Comparison{}, err
	}
	if holder != nil && !opts.Reads {
		holder.refuse(targets)
	}
	before := plan.State{
		PruneNow: opts.PruneNow, Offers: offersFor(head, opts.Prices), Nodes: nodes, Now: opts.Now,
		Price: Prices(head.Cluster, opts.Prices),
	}
	after := before
	after.Removed = head.Removed
	before.Unheld, before.Released, before.Whole = rollout.WithoutWaveBudget, Released, true
	addTargets(&before, &after, head, targets)
	over, unknown := leftOver(head, objects)
	notes = slices.Concat(notes, directoryNotes(applied, opts.Base, targets), takeoverNotes(head, targets), unknown)
	if opts.Keeps != nil {
		over = slices.DeleteFunc(over, opts.Keeps)
	} else {
		var copies []string
		over, copies = withoutCopies(over)
		notes = append(notes, copies...)
	}
	switch before := opts.Base.Directory; {
	case head.Origin() != "" && before != "" && before != head.Directory && len(over) > 0:
		// Otherwise a change could claim objects and delete them.
		notes = append(notes, fmt.Sprintf("The change renames this directory to %s; it was %s. Objects that were applied from %s and "+
			"are not in it stay. After the change is merged, --prune deletes them.", head.Directory, before, head.Directory))
		over = nil
	case !opts.Prune:
		for _, o := range over {
			notes = append(notes,
				fmt.Sprintf("The deletion of %s, which was applied from this directory and is no longer in it; --prune deletes it.", o.Key()))
		}
		over = nil
	}
	before.Objects = append(before.Objects, over...)
	before.Others = undeclaredPools(objects, nodes, before, after)
	after.Others = before.Others
	p, err := diff(ctx, before, after, slices.Concat(liveOf(head, live), removingPools(objects, head)), cluster,
		simulated{head.Cluster, cmp.Or(opts.Market, opts.Prices), opts.Turn, opts.Market == nil && changesCatalog(opts.Base, head), opts.WithoutMoves}, notes)
	if err != nil {
		return Comparison{}, err
	}
	p.Drift = drift
	addUpgrades(&p, head, live)
	found := Comparison{Plan: p, Targets: targets}
	if err := found.sign(opts.By); err != nil {
		return Comparison{}, err
	}
	err = found.addRemovals(ctx, over, nodes, by, opts.Now)
	found.Plan.Notes = append(found.Plan.Notes, by.notes()...)
	return found, err
}

// findDrift returns the differences of live objects from a configuration.
func findDrift(base, head compile.Result, live map[manifest.Key]map[string]any) ([]plan.Drift, error) {
	return plan.Drifts(base.Objects, spelledAs(head.Objects, live), live, kube.FieldManager)
}

// addUpgrades adds differences between the versions of the control plane and of the nodes to a plan.
func addUpgrades(p *plan.Plan, head compile.Result, live map[manifest.Key]map[string]any) {
	drifts, notes := plan.Upgrades(head.Objects, live)
	p.Drift, p.Notes = append(p.Drift, drifts...), append(p.Notes, notes...)
	slices.SortStableFunc(p.Drift, func(a, b plan.Drift) int { return strings.Compare(a.Addr, b.Addr) })
}

// RevisionsOn compares two configurations as Revisions does, with the nodes and the drift of a cluster.
func RevisionsOn(ctx context.Context, base, head compile.Result, cluster View, prices *catalog.Catalog,
	now time.Time) (plan.Plan, error) {
	instancetype.Register()
	objects, nodes, notes, err := readLive(ctx, head, cluster, false)
	if err != nil {
		return plan.Plan{}, err
	}
	before, after, err := statesOf(base, head, prices, now)
	if err != nil {
		return plan.Plan{}, err
	}
	before.Nodes, after.Nodes = nodes, nodes
	before.Others = append(undeclaredPools(objects, nodes, before), undeclaredClasses(objects, before)...)
	after.Others = undeclaredPools(objects, nodes, before, after)
	live := indexByKey(objects)
	p, err := diff(ctx, before, after, slices.Concat(liveOf(head, live), removingPools(objects, head)), cluster,
		simulated{cluster: head.Cluster, prices: prices, repriced: changesCatalog(base, head)}, notes)
	if err != nil {
		return p, err
	}
	p.Drift, err = findDrift(base, head, live)
	addUpgrades(&p, head, live)
	return p, err
}

// diff compares two states with the nodes of a cluster. It reads pods, to find what holds nodes and which pods depend
// on labels that change in place, only if nodes are rolled by this change or an earlier one, or labels change in
// place.
func diff(ctx context.Context, before, after plan.State, live []config.Object, cluster View, by simulated,
	notes []string) (plan.Plan, error) {
	before, err := before.Decode()
	if err != nil {
		return plan.Plan{}, err
	}
	if after, err = after.Decode(); err != nil {
		return plan.Plan{}, err
	}
	p, err := plan.Diff(ctx, before, after)
	if err != nil {
		return p, err
	}
	if slices.ContainsFunc(p.Changes, func(c plan.Change) bool { return c.Action != plan.Keep }) && len(after.Nodes) > 0 {
		if after.Moves, err = movesOf(ctx, p, cluster, after.Nodes, by, after.Now); err != nil {
			return p, err
		}
		if p, err = plan.Diff(ctx, before, after); err != nil {
			return p, err
		}
		p.Joining = after.Moves.Joining
		if why := after.Moves.Unknown; why != "" && len(p.Summary().Removable) > 0 {
			notes = append(notes, "Which nodes Karpenter removes or replaces because other capacity is cheaper or has room is unknown: "+why+".")
		}
	}
	now, err := plan.State{Objects: live, Offers: after.Offers, Nodes: after.Nodes, Now: after.Now}.Decode()
	if err != nil {
		return p, err
	}
	if p.Rolling, err = plan.Rolls(now); err != nil {
		return p, err
	}
	p.Notes = append(p.Notes, notes...)
	p.Rolling = plan.UnderWay(p.Rolling)
	if len(p.Rolling) == 0 && !movesNodes(p.Summary()) && !relabelsNodes(p) {
		return p, nil
	}
	held, more, err := cluster.Holds(ctx, withRemovals(p, after.Nodes), p.Changes, after.Now)
	if err != nil {
		return p, err
	}
	after.Nodes, now.Nodes = held, held
	p.Notes = slices.Concat(p.Notes, more, notesOnSelectedPods(p, held))
	if p.Rolling, err = plan.Rolls(now); err != nil {
		return p, err
	}
	p.Rolling = plan.UnderWay(p.Rolling)
	return p, p.SetImpact(ctx, before, after)
}

// movesNodes reports whether nodes are replaced or drained.
func movesNodes(s plan.Summary) bool { return s.NodesRolled.Nodes+s.NodesDrained.Nodes > 0 }

// relabelsNodes reports whether labels of existing nodes change in place.
func relabelsNodes(p plan.Plan) bool {
	return slices.ContainsFunc(p.Changes, func(c plan.Change) bool {
		return c.Impact != nil && c.Impact.Of > 0 && len(c.LabelsInPlace()) > 0
	})
}

// notesOnSelectedPods returns notes about pods on nodes whose placement depends on labels that change in place.
func notesOnSelectedPods(p plan.Plan, nodes []plan.Node) (notes []string) {
	for _, c := range p.Changes {
		for _, key := range c.LabelsInPlace() {
			var workloads []string
			unknown, on := false, 0
			for _, n := range nodes {
				if n.Pool != c.Name {
					continue
				}
				unknown = unknown || n.Selects == nil
				if len(n.Selects[key]) > 0 {
					on++
				}
				workloads = append(workloads, n.Selects[key]...)
			}
			slices.Sort(workloads)
			workloads = slices.Compact(workloads)
			if unknown {
				notes = append(notes, fmt.Sprintf("The label %s of %s changes in place. The pods on the nodes of the pool were not read, "+
					"so it is unknown which pods depend on the label.", key, c.Addr))
			}
			if len(workloads) > 0 {
				notes = append(notes, fmt.Sprintf("The label %s of %s changes in place, and the placement of pods on %s depends on it: %s. "+
					"Kubernetes deletes pods of DaemonSets that no longer match their node. Other pods keep running, and may not be able to "+
					"start on these nodes again.", key, c.Addr, text.Count(on, "node"), text.List(workloads, mostSelected)))
			}
		}
	}
	return notes
}

// mostSelected is how many workloads a note about a label names.
const mostSelected = 10

// readLive lists nodes, and the objects of the kinds in head or of all kinds; pools even if head has only classes. If
// the user may not list a kind that head does not have, that is not an error.
func readLive(ctx context.Context, head compile.Result, cluster View,
	all bool) (objects []map[string]any, nodes []plan.Node, notes []string, err error) {
	needed := map[schemas.Object]bool{}
	for _, o := range head.Objects {
		needed[schemas.Object{APIVersion: o.APIVersion(), Kind: o.Kind()}] = true
	}
	rolls := needed[*schemas.NodeClass.Object] // undeclared pools may use its classes
	asked := slices.DeleteFunc(Kinds(), func(k schemas.Object) bool {
		return !all && !needed[k] && (!rolls || k != *schemas.Pool.Object)
	})
	lists := make([][]map[string]any, len(asked))
	var reads []func() error
	for i, kind := range asked {
		reads = append(reads, func() (err error) { lists[i], err = cluster.Objects(ctx, kind); return err })
	}
	reads = append(reads, func() (err error) { nodes, err = cluster.Nodes(ctx); return err })
	errs := task.Each(slog.Default(), len(reads), reads, func(_ int, read func() error) error { return read() })
	notes = slices.Clone(cluster.Notes())
	for i, kind := range asked {
		if err := errs[i]; apierrors.IsForbidden(err) && !needed[kind] {
			errs[i] = nil
			notes = append(notes,
				fmt.Sprintf("This user may not list %s, so objects to prune are unknown.", clusters.Refused(err)))
		}
	}
	// One cause fails every list; report it once.
	return slices.Concat(lists...), nodes, notes, cmp.Or(errs...)
}

// withoutCopies leaves out objects that others have applied with the label, such as copies by kubectl: the label
// alone does not prove ownership. An object without field managers, as in a snapshot, counts as ours.
func withoutCopies(over []config.Object) (ours []config.Object, notes []string) {
	for _, o := range over {
		if _, managed := manifest.Lookup(o.Manifest, "metadata", "managedFields"); managed && !kube.Applied(o.Manifest) {
			notes = append(notes, fmt.Sprintf("%s has this directory's label %s, but lkeplan has not applied it; it stays.",
				o.Key(), kube.InventoryLabel))
			continue
		}
		ours = append(ours, o)
	}
	return ours, notes
}

// leftOver returns the live objects that were applied from this directory and are no longer in it, without those
// that are being deleted. notes name the objects for which this is unknown, because their repository is unknown.
func leftOver(head compile.Result, live []map[string]any) (objects []config.Object, notes []string) {
	owner := head.Owner()
	if owner == "" {
		return nil, nil
	}
	declared := plan.ByKey(head.Objects)
	addrs := map[manifest.Key]config.Addr{}
	for _, r := range head.Removed {
		addrs[r.Key()] = r.Addr
	}
	for _, obj := range live {
		key := manifest.KeyOf(obj)
		_, stays := declared[key]
		origin := originOf(obj)
		if manifest.Label(obj, kube.InventoryLabel) != owner || stays || manifest.Deleted(obj) {
			continue
		}
		if head.Origin() != "" && sameButUnknown(head.Origin(), origin) {
			notes = append(notes, fmt.Sprintf("%s was applied from the directory %s, and it is unknown whether this directory, %s, is the "+
				"same one; it stays. If this clone is shallow, fetch its history: git fetch --unshallow", key, origin, head.Origin()))
		}
		if head.Origin() != "" && head.Origin() != origin {
			continue
		}
		object := liveObject(obj)
		if addr, known := addrs[key]; known {
			object.Addr = addr
		}
		objects = append(objects, object)
	}
	return objects, notes
}

// Rolling returns how far the nodes of each pool of head match the live pool and its class.
func Rolling(ctx context.Context, in View, head compile.Result) ([]plan.Rolling, error) {
	objects, nodes, _, err := readLive(ctx, head, in, false)
	if err != nil {
		return nil, err
	}
	return plan.Rolls(plan.State{Objects: liveOf(head, indexByKey(objects)), Nodes: nodes})
}

// UnderWay returns the pools of head with nodes that are still to be replaced or have not joined, with their holds,
// and notes about what could not be read.
func UnderWay(ctx context.Context, in View, head compile.Result, prices *catalog.Catalog,
	now time.Time) ([]plan.Rolling, []string, error) {
	objects, nodes, notes, err := readLive(ctx, head, in, false)
	if err != nil {
		return nil, nil, err
	}
	held, more, err := in.Holds(ctx, nodes, nil, now)
	if err != nil {
		return nil, nil, err
	}
	all, err := plan.Rolls(plan.State{
		Objects: liveOf(head, indexByKey(objects)), Offers: regionOffers(head.Cluster, prices), Nodes: held, Now: now,
	})
	return plan.UnderWay(all), append(notes, more...), err
}

// liveOf returns the live objects of head, without marks of a removal: head cancels it.
func liveOf(head compile.Result, live map[manifest.Key]map[string]any) (objects []config.Object) {
	for _, o := range head.Objects {
		o.Defaulted = plan.UnmarkRemoval(live[o.Key()])
		if o.Defaulted != nil {
			objects = append(objects, o)
		}
	}
	return objects
}

// Guard evaluates the guards and policies of the last applied configuration, and adds their verdicts to the plan. A
// permission is the name of a guard and the address that it is given for, as in max_deleted_pools:pool.web. A
// permission that is not needed is an error, as is one that names nothing.
func Guard(p *plan.Plan, lastApplied compile.Result, head compile.Result, permissions []string) error {
	verdicts, err := p.Judge(plan.Bounds{
		Guards: lastApplied.Guards, Before: len(lastApplied.Objects), After: len(head.Objects),
	})
	if err != nil {
		return err
	}
	policies := plan.JudgePolicies(lastApplied.Policies, lastApplied.Guards, p.PolicyValue(), p.NullReasons())
	p.Verdicts = slices.Concat(verdicts, policies, ruleChanges(lastApplied, head))
	return p.Allow(permissions)
}

func indexByKey(objects []map[string]any) map[manifest.Key]map[string]any {
	m := make(map[manifest.Key]map[string]any, len(objects))
	for _, o := range objects {
		m[manifest.KeyOf(o)] = o
	}
	return m
}
