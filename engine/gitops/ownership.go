package gitops

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/engine/plan"
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
func (w *Worker) ownershipOf(ctx context.Context, rev *revision, p judged, inventory nodeplan.Inventory) ownership {
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
				lines = append(lines, fmt.Sprintf("%s of %s was set by %q: let that owner release the field, or remove "+
					"the field from the source", conflict.Path, c.Key(), conflict.Owner))
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
