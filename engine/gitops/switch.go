package gitops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/during"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// switchable are the kinds of objects with during blocks.
func switchable() []schemas.Object {
	return []schemas.Object{*schemas.Pool.Object, *schemas.Buffer.Object}
}

// switchSettings applies the values of now to the objects of a NodePlan that have during blocks, writes the blocks that
// are active into the status, and returns events. The values are those of the objects' annotations, which are the last
// applied ones of each object: so values also switch while a new revision does not compile, waits or is tried, and
// while its source is not available. It changes no field that another user has set: only a reconciliation of the
// revision reverts that.
//
// It returns the objects as they are afterwards. If a revision was applied since they were returned, they are the
// argument: a block that has started or ended in between is an event, too, although the apply has set its values.
func (w *Worker) switchSettings(ctx context.Context, np *lkeplanv1alpha1.NodePlan, before forms) (
	events []notice, after forms,
) {
	if np.Spec.Mode == lkeplanv1alpha1.ModePlanOnly || len(np.Status.Inventory) == 0 {
		np.Status.Settings, np.Status.NextSwitch = nil, nil
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout(np))
	defer cancel()
	found, err := w.switched(ctx, np, before)
	if err != nil { // the status keeps what is known
		return []notice{{kind: corev1.EventTypeWarning, reason: lkeplanv1alpha1.ReasonSwitchFailed,
			message: fmt.Sprintf("the objects with during blocks cannot be listed: %v", err)}}, nil
	}
	np.Status.Settings, np.Status.NextSwitch = nil, nil
	after = forms{}
	for _, s := range found {
		after[s.status.Object] = s.form
		if np.Status.Settings = append(np.Status.Settings, s.status); s.event.message != "" {
			events = append(events, s.event)
		}
		if next := s.status.Next; next != nil && (np.Status.NextSwitch == nil || next.Before(np.Status.NextSwitch)) {
			np.Status.NextSwitch = next
		}
	}
	return events, after
}

// forms are objects with during blocks, by SettingsStatus.Object.
type forms map[string]map[string]any

// setting is the state of the during blocks of one object.
type setting struct {
	status lkeplanv1alpha1.SettingsStatus
	event  notice         // no message: nothing has changed
	form   map[string]any // of the object afterwards
}

// switched switches the values of all objects with during blocks.
func (w *Worker) switched(ctx context.Context, np *lkeplanv1alpha1.NodePlan, before forms) (all []setting, err error) {
	cluster, err := w.Connect(np)
	if err != nil {
		return nil, err
	}
	inventory := nodeplan.InventoryOf(np.Status.Inventory)
	for _, kind := range switchable() {
		if !inventory.HasKind(kind) {
			continue
		}
		objects, err := cluster.ListLabelled(ctx, kind.APIVersion, kind.Kind, kube.InventoryLabel,
			nodeplan.InventoryLabel(np))
		if err != nil {
			return nil, err
		}
		for _, obj := range objects {
			_, draining := plan.ReadRemoval(obj)
			_, dated := manifest.Lookup(obj, "metadata", "annotations", manifest.AnnotationDuring)
			if dated && !draining && !manifest.Deleted(obj) && inventory.Has(obj) {
				all = append(all, w.switchObject(ctx, cluster, obj, before[manifest.KeyOf(obj).String()]))
			}
		}
	}
	return all, nil
}

// attempts is how often a switch is tried if controllers write to the object, too.
const attempts = 5

// switchObject switches the values of one object. Before is the object before a revision was applied; nil if none was.
func (w *Worker) switchObject(ctx context.Context, cluster Cluster, live, before map[string]any) setting {
	s := setting{status: lkeplanv1alpha1.SettingsStatus{Object: manifest.KeyOf(live).String()}}
	for attempt := 1; ; attempt++ {
		now := w.Now()
		changed, form, state, err := switchOnce(ctx, cluster, live, now)
		s.status.Active, s.status.Next = state.Active, nil
		if !state.Next.IsZero() {
			s.status.Next = &metav1.Time{Time: state.Next}
		}
		if errors.Is(err, kube.ErrChanged) && attempt < attempts {
			if live, err = cluster.Get(ctx, live); err == nil && live != nil {
				continue
			}
		}
		if err == nil {
			changed = withApplied(changed, before, form, now)
		}
		s.form = form
		switch {
		case err != nil:
			s.status.Message = err.Error()
			s.event = notice{kind: corev1.EventTypeWarning, reason: lkeplanv1alpha1.ReasonSwitchFailed,
				message: fmt.Sprintf("%s keeps its values: %v", s.status.Object, err)}
		case len(changed) > 0:
			s.event = notice{kind: corev1.EventTypeNormal, reason: lkeplanv1alpha1.ReasonSwitched,
				message: fmt.Sprintf("%s: %s%s", s.status.Object, strings.Join(changed, ", "), because(state))}
		}
		return s
	}
}

// withApplied adds to the changes of a switch those that an apply has made because a block has started or ended since
// the object was read. Blocks that could not be read before the apply had not switched: then it adds none.
func withApplied(changed []string, before, after map[string]any, now time.Time) []string {
	if before == nil {
		return changed
	}
	_, paths, _, err := pending(before, now)
	if err != nil {
		return changed
	}
	for _, path := range paths {
		changed = append(changed, during.Changes(manifest.Kind(after), path, before, after)...)
	}
	slices.Sort(changed)
	return slices.Compact(changed)
}

// pending are the fields of a live object that do not have the values of now, and that no other user has set.
func pending(live map[string]any, now time.Time) (due map[string]any, paths []string, s during.State, err error) {
	edited, err := compare.EditedOf(live)
	if err != nil {
		return nil, nil, s, err
	}
	return during.Pending(live, now, kube.SameFields(live), edited)
}

// because names the during blocks that are active, and until when.
func because(s during.State) string {
	text := ": outside of all during blocks"
	if len(s.Active) > 0 {
		text = ": during " + strings.Join(s.Active, " and ")
	}
	if !s.Next.IsZero() {
		text += ", until " + s.Next.UTC().Format("Mon 2 Jan 15:04 UTC")
	}
	return text
}

// switchOnce applies the values of now to one object, and describes the fields that it has changed and the form that the
// object has now. The error is kube.ErrChanged if the object has changed since it was read.
func switchOnce(ctx context.Context, cluster Cluster, live map[string]any, now time.Time) (
	changed []string, form map[string]any, s during.State, err error,
) {
	due, paths, s, err := pending(live, now)
	if err != nil || len(paths) == 0 {
		return nil, live, s, err
	}
	desired, err := kube.Owned(live)
	if err != nil {
		return nil, live, s, err
	}
	for _, path := range paths {
		value, found := manifest.Field(due, path)
		desired = manifest.WithField(desired, path, value, found)
		changed = append(changed, during.Changes(manifest.Kind(live), path, live, due)...)
	}
	if version := manifest.Text(live, "metadata", "resourceVersion"); version != "" {
		metadata := manifest.Map(desired, "metadata")
		metadata["resourceVersion"] = version
	}
	if _, err = cluster.Apply(ctx, desired, live); err != nil {
		return nil, live, s, err
	}
	slices.Sort(changed)
	return changed, due, s, nil
}
