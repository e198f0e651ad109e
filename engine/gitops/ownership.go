package gitops

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// owned has the keys of live objects that carry the NodePlan's inventory label.
type owned map[manifest.Key]bool

// refuseForeign refuses to change objects that somebody else has applied, and
// fields that others have set in objects that this NodePlan has not applied yet.
func refuseForeign(p plan.Plan, ours owned) error {
	var lines []string
	for _, c := range p.Changes {
		if ours[c.Key()] {
			continue
		}
		for _, conflict := range c.Conflicts {
			lines = append(lines, fmt.Sprintf("%s of %s was set by %q", conflict.Path, c.Key(), conflict.Owner))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return stalled(lkeplanv1alpha1.ReasonConflict,
		"nothing is applied: %s. Have the owner give the field up, or remove it from the source.", strings.Join(lines, "; "))
}

// refuseMoved refuses to delete objects that another NodePlan declares now: their
// nodes would be deleted with them, and made again.
func (w *Worker) refuseMoved(np *lkeplanv1alpha1.NodePlan, p plan.Plan) error {
	var lines []string
	for _, c := range p.Changes {
		if c.Action != plan.Delete {
			continue
		}
		for _, other := range w.Rivals.Others(client.ObjectKeyFromObject(np), c.Key()) {
			lines = append(lines, fmt.Sprintf("%s would be deleted, and NodePlan %s declares it: "+
				"to hand it over, add removed { from = %s, delete = false }, each on a line of its own", c.Key(), other, c.Addr))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return stalled(lkeplanv1alpha1.ReasonConflict, "nothing is applied: %s.", strings.Join(lines, "; "))
}

// notifyOrphaned notifies the NodePlans that declare objects that the plan has
// orphaned.
func (w *Worker) notifyOrphaned(np *lkeplanv1alpha1.NodePlan, p plan.Plan) {
	for _, c := range p.Changes {
		if c.Action != plan.Forget {
			continue
		}
		for _, other := range w.Rivals.Others(client.ObjectKeyFromObject(np), c.Key()) {
			w.Rivals.notify(other)
		}
	}
}

// forcing applies our own objects by force.
type forcing struct {
	Cluster
	ours owned
}

// Apply sets fields of our own objects that others have set.
func (f forcing) Apply(ctx context.Context, obj, live map[string]any) (kube.Outcome, error) {
	if f.ours[manifest.KeyOf(obj)] {
		return f.ApplyForced(ctx, obj, live)
	}
	return f.Cluster.Apply(ctx, obj, live)
}

// ignored returns a function that reports whether a NodePlan lets others set a
// field.
func ignored(rules []lkeplanv1alpha1.DriftIgnore) func(plan.Drift) bool {
	return func(d plan.Drift) bool {
		return slices.ContainsFunc(rules, func(r lkeplanv1alpha1.DriftIgnore) bool { return covers(r, d) })
	}
}

// covers reports whether a rule names a field, or a field that holds it.
func covers(r lkeplanv1alpha1.DriftIgnore, d plan.Drift) bool {
	if (r.Kind != "" && r.Kind != d.Kind) || (r.Name != "" && r.Name != d.Name) {
		return false
	}
	return slices.ContainsFunc(r.Paths, func(pointer string) bool {
		path := plan.PathOf(pointer)
		return d.Path == path || strings.HasPrefix(d.Path, path+".") || strings.HasPrefix(d.Path, path+"[")
	})
}
