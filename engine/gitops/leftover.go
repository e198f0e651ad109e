package gitops

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// leftovers decides what happens to objects with a NodePlan's label that are no longer in its source.
type leftovers struct {
	worker    *Worker
	rev       *revision
	prune     bool
	inventory nodeplan.Inventory
	current   bool     // the inventory is known to be that of the last status
	stays     []string // which objects are kept, and why
}

func (w *Worker) leftovers(rev *revision) *leftovers {
	return &leftovers{
		worker: w, rev: rev, prune: rev.deleting || rev.deletes != nil || rev.target.Spec.Prune == nil || *rev.target.Spec.Prune,
		inventory: nodeplan.InventoryOf(rev.target.Status.Inventory),
	}
}

// keepsObject reports whether an object stays unchanged, because the NodePlan has not applied it, or because
// another NodePlan may declare it. A removed block overrides the second reason, but an object that the NodePlan has
// not applied is never deleted.
func (l *leftovers) keepsObject(ctx context.Context, o config.Object) bool {
	if l.rev.deletes != nil && !l.rev.deletes(o) {
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
