package gitops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/rollout"
	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// owned has the keys of live objects that a NodePlan may change by force.
type owned map[manifest.Key]bool

// ownership has the managers of the live objects that a revision affects.
type ownership struct {
	ours     owned // applied by the NodePlan, or taken over from another NodePlan
	received owned // only those that the NodePlan takes over
	// contested are the objects that another NodePlan manages. refused explains for them, and
	// for objects of other owners, why nothing is applied.
	contested []lkeplanv1alpha1.ContestedEntry
	refused   []string
	undecided bool // it is unknown yet whether another NodePlan releases an object
}

// ownershipOf finds the owners of the objects that the revision declares, and of those that carry
// the NodePlan's label.
func (w *Worker) ownershipOf(ctx context.Context, rev *candidate, p judged, inventory nodeplan.Inventory) ownership {
	o := ownership{ours: owned{}, received: owned{}}
	for _, obj := range p.labelled {
		if inventory.Has(obj) {
			o.ours[manifest.KeyOf(obj)] = true
		}
	}
	for i, t := range p.Targets {
		if t.Live == nil {
			continue
		}
		key := manifest.KeyOf(t.Live)
		switch inventory.Declared(t.Live, rev.head.Inventory, rev.head.Imports) {
		case nodeplan.Ours:
			o.ours[key] = true
		case nodeplan.Free:
			if !kube.Applied(t.Live) && !t.KeepsValues() {
				o.refused = append(o.refused, fmt.Sprintf("%s was created by %s with other values, and no guard of theirs is known: "+
					"declare it with its current values, and change them in the next commit", key, nodeplan.Maker(t.Live)))
			}
		case nodeplan.Foreign:
			delete(o.ours, key)
			o.refused = append(o.refused, fmt.Sprintf("%s was created by %s: to take it over, add an import block with "+
				"to = %s and id = %q", key, nodeplan.Maker(t.Live), rev.head.Objects[i].Addr, key.Name))
		case nodeplan.HeldByOther:
			by := nodeplan.HolderOf(t.Live)
			switch why, undecided := w.whyNotReleased(ctx, rev, t.Live); {
			case why == "":
				o.ours[key], o.received[key] = true, true
			default:
				id := nodeplan.EntryOf(t.Live).ID
				o.contested = append(o.contested, lkeplanv1alpha1.ContestedEntry{ID: id, Holder: by})
				o.refused = append(o.refused, fmt.Sprintf("%s is managed by NodePlan %s, %s", key, by, why))
				o.undecided = o.undecided || undecided
			}
		}
	}
	return o
}

// refuseForeign refuses to change objects of other owners, and fields that others have set in
// objects that this NodePlan has not applied yet.
func refuseForeign(p plan.Plan, o ownership) error {
	lines := slices.Clone(o.refused)
	for _, c := range p.Changes {
		if o.ours[c.Key()] {
			continue
		}
		for _, conflict := range c.Conflicts {
			if conflict.Holder == "" {
				lines = append(lines, fmt.Sprintf("%s of %s was set by %q: set it to the declared value, let that owner "+
					"release it, or remove it from the source", conflict.Path, c.Key(), conflict.Owner))
			}
		}
	}
	if len(lines) == 0 {
		return nil
	}
	refused := stalled(lkeplanv1alpha1.ReasonConflict, "nothing is applied: %s.", strings.Join(lines, "; "))
	refused.stalled, refused.failed = !o.undecided, o.undecided
	return refused
}

// forcing applies the objects that the NodePlan manages by force.
type forcing struct {
	Cluster
	ours owned
}

// Apply overrides fields that others have set, if the NodePlan manages the object.
func (f forcing) Apply(ctx context.Context, obj, live map[string]any) (kube.Outcome, error) {
	if f.ours[manifest.KeyOf(obj)] {
		return f.ApplyForced(ctx, obj, live)
	}
	return f.Cluster.Apply(ctx, obj, live)
}

// declaration is what another NodePlan declares at a revision.
type declaration struct {
	objects map[manifest.Key]config.Object
	err     error // why the declaration is unknown
}

func (d declaration) has(key manifest.Key) bool { _, ok := d.objects[key]; return ok }

// whyNotReleased explains why a NodePlan keeps a live object with its label, as the end of a sentence. It returns
// "" if the NodePlan releases the object: it has the same source, and does not declare the object at this revision.
// So a pool moves with one commit, regardless of which NodePlan sees it first. If undecided is true, a retry may
// have a different result.
func (w *Worker) whyNotReleased(ctx context.Context, rev *candidate, live map[string]any) (why string, undecided bool) {
	all, err := w.otherNodePlans(ctx, rev.revision)
	if err != nil {
		return "and " + err.Error(), true
	}
	label := manifest.Label(live, kube.InventoryLabel)
	i := slices.IndexFunc(all, func(o lkeplanv1alpha1.NodePlan) bool { return nodeplan.InventoryLabel(&o) == label })
	if i < 0 {
		return fmt.Sprintf("which does not exist: remove the label %s from the object to release it", kube.InventoryLabel), false
	}
	holder := &all[i]
	switch {
	case !w.sameOrigin(ctx, rev.revision, holder):
		return "which has a different source: remove the object from one of the sources; to hand it over, add a " +
			"removed block with delete = false to the source of that NodePlan", false
	case !holder.DeletionTimestamp.IsZero():
		return "which is being deleted", true
	case takenOverByOther(rev.revision, live):
		return "which has taken it over at another revision", true
	case !nodeplan.InventoryOf(holder.Status.Inventory).Has(live):
		return "whose status does not list it", true
	case rollout.HasWaveBudget(live):
		return "which tests a revision on it: let the rollout succeed, or revert the revision, before you move the pool", true
	}
	switch d := w.declarationOf(ctx, rev, holder); {
	case d.err != nil:
		return fmt.Sprintf("and it is unknown whether that NodePlan still declares it: %v", d.err), true
	case d.has(manifest.KeyOf(live)):
		return "which also declares it: remove it from one of them", false
	case sourceKey(rev.target.NodePlan) == sourceKey(holder):
		return "", false
	}
	// Another source object may serve other files at the same URL and revision: only what the holder has applied
	// proves that it releases the object.
	switch d := w.lastAppliedBy(ctx, holder); {
	case d.err != nil:
		return fmt.Sprintf("and it is unknown whether that NodePlan has released it: %v", d.err), true
	case d.has(manifest.KeyOf(live)):
		return "which has another source object, and has not applied a revision without it yet", true
	}
	return "", false
}

// lastAppliedBy returns what another NodePlan declared when it last applied a revision.
func (w *Worker) lastAppliedBy(ctx context.Context, other *lkeplanv1alpha1.NodePlan) declaration {
	vars, err := w.Vars(ctx, other)
	if err != nil {
		return declaration{err: errors.New("its variables cannot be read")}
	}
	dir, err := os.MkdirTemp("", "nodeplan-")
	if err != nil {
		return declaration{err: fmt.Errorf("create a directory for what was last applied: %w", err)}
	}
	defer os.RemoveAll(dir)
	at := filepath.Join(dir, "base")
	last, err := w.base(ctx, target{other, vars}, at, compiled{request: compile.Request{Root: dir}})
	if err != nil || last.request.Root != at {
		return declaration{err: errors.New("its last applied revision is not known")}
	}
	return declaration{objects: plan.ByKey(last.Objects)}
}

// takenOverByOther reports whether this NodePlan has already managed a live object at this revision, and another
// one has taken it over since. The present owner then knows another revision, and taking the object back would
// start a fight over it.
func takenOverByOther(rev revision, live map[string]any) bool {
	np := rev.target.NodePlan
	return np.Status.LastAppliedRevision == rev.Revision && np.Status.ObservedGeneration == np.Generation &&
		nodeplan.InventoryOf(np.Status.Inventory).Has(live)
}

// otherDeclarer explains which other NodePlan declares, or may declare, an object that this one no longer
// declares; "" if none does. NodePlans with the same source are checked at this revision, others
// only if their status contests the object.
func (w *Worker) otherDeclarer(ctx context.Context, rev *candidate, o config.Object) string {
	all, err := w.otherNodePlans(ctx, rev.revision)
	if err != nil {
		return err.Error()
	}
	for i := range all {
		other, name := &all[i], client.ObjectKeyFromObject(&all[i])
		if other.Spec.Mode == lkeplanv1alpha1.ModePlanOnly || !other.DeletionTimestamp.IsZero() {
			continue
		}
		if rev.deleting || !w.sameOrigin(ctx, rev.revision, other) { // there are no files during a deletion
			if waitsFor(other, o.Manifest, rev.target.NodePlan) {
				return fmt.Sprintf("NodePlan %s also declares it. Add a removed block with from = %s, and with "+
					"delete = false to hand it over, or with delete = true to delete it", name, o.Addr)
			}
			continue
		}
		switch d := w.declarationOf(ctx, rev, other); {
		case d.err != nil:
			return fmt.Sprintf("it is unknown whether NodePlan %s, which has the same source, declares it now: %v. To delete "+
				"it anyway, add a removed block with from = %s and delete = true", name, d.err, o.Addr)
		case d.has(o.Key()):
			return fmt.Sprintf("NodePlan %s declares it now, and takes it over", name)
		}
	}
	return ""
}

// waitsFor reports whether a NodePlan waits for an object that another NodePlan manages.
func waitsFor(np *lkeplanv1alpha1.NodePlan, obj map[string]any, holder *lkeplanv1alpha1.NodePlan) bool {
	id, name := nodeplan.EntryOf(obj).ID, client.ObjectKeyFromObject(holder).String()
	return slices.ContainsFunc(np.Status.Contested, func(c lkeplanv1alpha1.ContestedEntry) bool {
		return c.ID == id && c.Holder == name
	})
}

// otherNodePlans lists all NodePlans except for those of the revision, by name.
func (w *Worker) otherNodePlans(ctx context.Context, rev revision) ([]lkeplanv1alpha1.NodePlan, error) {
	var list lkeplanv1alpha1.NodePlanList
	if err := w.Cache.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("the NodePlans of the cluster cannot be listed: %w", err)
	}
	all := slices.DeleteFunc(list.Items, func(o lkeplanv1alpha1.NodePlan) bool {
		at := client.ObjectKeyFromObject(&o)
		return at == client.ObjectKeyFromObject(rev.target.NodePlan) || at == client.ObjectKeyFromObject(rev.np)
	})
	slices.SortFunc(all, func(a, b lkeplanv1alpha1.NodePlan) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return all, nil
}

// declarationOf compiles the directory of another NodePlan in the files of this revision, once.
// Its details are never shown, because it may be in another namespace.
func (w *Worker) declarationOf(ctx context.Context, rev *candidate, other *lkeplanv1alpha1.NodePlan) declaration {
	at := client.ObjectKeyFromObject(other)
	if known, ok := rev.othersDeclare[at]; ok {
		return known
	}
	if rev.othersDeclare == nil {
		rev.othersDeclare = map[client.ObjectKey]declaration{}
	}
	answer, err := w.compileFor(ctx, rev.revision, other)
	d := declaration{plan.ByKey(answer.Objects), err}
	rev.othersDeclare[at] = d
	return d
}

func (w *Worker) compileFor(
	ctx context.Context, rev revision, other *lkeplanv1alpha1.NodePlan,
) (compile.Answer, error) {
	if rev.files == "" {
		return compile.Answer{}, errors.New("the files of this revision are not available")
	}
	if other.Spec.Suspend {
		return compile.Answer{}, errors.New("it is suspended")
	}
	vars, err := w.Vars(ctx, other)
	if err != nil {
		return compile.Answer{}, errors.New("its variables cannot be read")
	}
	req := compile.Request{Root: rev.files, Dir: sourcePath(other.Spec.Path), Vars: vars.Vars, Version: w.Version}
	answer, err := w.Compiler.Compile(ctx, req)
	if w.refuseUnfit(rev.Revision, answer, err) != nil {
		return compile.Answer{}, fmt.Errorf("it does not compile at revision %s", rev.Revision)
	}
	return answer, nil
}

func (w *Worker) sameOrigin(ctx context.Context, rev revision, other *lkeplanv1alpha1.NodePlan) bool {
	return sameSource(ctx, w.Cache, rev.target.NodePlan, rev.Revision, other)
}

// leftovers decides what happens to objects with a NodePlan's label that are no longer in its source.
type leftovers struct {
	worker    *Worker
	rev       *candidate
	part      func(config.Object) bool // see compare
	prune     bool
	inventory nodeplan.Inventory
	current   bool     // the inventory is known to be that of the last status
	stays     []string // which objects are kept, and why
}

func (w *Worker) leftovers(rev *candidate, part func(config.Object) bool) *leftovers {
	return &leftovers{
		worker: w, rev: rev, part: part,
		prune:     rev.deleting || part != nil || rev.target.Spec.Prune == nil || *rev.target.Spec.Prune,
		inventory: nodeplan.InventoryOf(rev.target.Status.Inventory),
	}
}

// keepsObject reports whether an object stays unchanged, because the NodePlan has not applied it, or because
// another NodePlan may declare it. A removed block overrides the second reason, but an object that the NodePlan has
// not applied is never deleted.
func (l *leftovers) keepsObject(ctx context.Context, o config.Object) bool {
	if l.part != nil && !l.part(o) {
		return true
	}
	removal := l.removal(o)
	if removal != nil && !removal.Delete {
		return false // it is orphaned
	}
	applied, err := l.applied(ctx, o.Manifest)
	why := ""
	switch {
	case err != nil:
		why = fmt.Sprintf("it is unknown whether this NodePlan has applied it: %v", err)
	case !applied:
		why = "it carries the label of this NodePlan, which has not applied it. Delete the object, or remove the label"
	case removal == nil && l.prune:
		why = l.worker.otherDeclarer(ctx, l.rev, o)
	}
	if why != "" {
		l.stays = append(l.stays, fmt.Sprintf("%s is kept: %s.", o.Key(), why))
	}
	return why != ""
}

func (l *leftovers) removal(o config.Object) *config.Removal {
	for i, r := range l.rev.head.Removed {
		if r.Key() == o.Key() {
			return &l.rev.head.Removed[i]
		}
	}
	return nil
}

// applied reports whether the NodePlan has applied an object. The NodePlan may come from a cache
// that lacks the last status, so it is read again before the answer is no.
func (l *leftovers) applied(ctx context.Context, obj map[string]any) (bool, error) {
	if l.inventory.Has(obj) {
		return true, nil
	}
	if l.current {
		return false, nil
	}
	var now lkeplanv1alpha1.NodePlan
	if err := l.worker.Reader.Get(ctx, client.ObjectKeyFromObject(l.rev.target.NodePlan), &now); err != nil {
		return false, err
	}
	l.current = true
	if now.UID == l.rev.target.UID {
		l.inventory = nodeplan.InventoryOf(now.Status.Inventory)
	}
	return l.inventory.Has(obj), nil
}
