package plan

import (
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/linode/inplace"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// An outcome is what the change of a field does to existing nodes.
type outcome struct {
	effect  Effect
	partial bool // of Roll: only nodes that no longer match
	loosens bool // nodes that match may be removed

	relabels bool // labels or annotations of the nodes change in place
}

// effectsOf returns the outcome of a changed field, for two defaulted versions of an object.
func effectsOf(before, after object) func(path string) outcome {
	switch {
	case before.pool != nil && after.pool != nil:
		return poolEffects(before, after)
	case before.class != nil && after.class != nil:
		return classEffects(before.class, after.class)
	}
	return func(string) outcome { return outcome{effect: InPlace} }
}

// replacePart replaces the whole part of a template that contains a path, and reports whether such a part is in the
// hash. Karpenter replaces nodes whose hash differs from that of the pool (karpenter v1.15.0,
// areStaticFieldsDrifted).
func replacePart(path string, of, by *karpv1.NodeClaimTemplate) bool {
	in := func(part string) bool { return strings.HasPrefix(path, "spec.template."+part) }
	switch {
	case in("metadata.labels"):
		of.Labels = by.Labels
	case in("metadata.annotations"):
		of.Annotations = by.Annotations
	case in("spec.taints"):
		of.Spec.Taints = by.Spec.Taints
	case in("spec.startupTaints"):
		of.Spec.StartupTaints = by.Spec.StartupTaints
	case in("spec.nodeClassRef"):
		of.Spec.NodeClassRef = by.Spec.NodeClassRef
	case in("spec.expireAfter"):
		of.Spec.ExpireAfter = by.Spec.ExpireAfter
	case in("spec.terminationGracePeriod"):
		of.Spec.TerminationGracePeriod = by.Spec.TerminationGracePeriod
	default:
		return false
	}
	return true
}

// onNodes returns the key of a label or an annotation of the nodes of a pool at a path.
func onNodes(path string) (key string, ok bool) {
	for _, part := range []string{"spec.template.metadata.labels", "spec.template.metadata.annotations"} {
		if rest, found := strings.CutPrefix(path, part); found && rest != "" {
			return strings.TrimSuffix(rest[1:], "]"), true // as join writes it
		}
	}
	return "", false
}

// LabelsInPlace returns the labels of nodes that a change of a pool changes in place, in the order of the fields.
func (c Change) LabelsInPlace() (keys []string) {
	for _, f := range c.Fields {
		key, ok := onNodes(f.Path)
		if c.Relabels && ok && f.Effect == InPlace && strings.HasPrefix(f.Path, "spec.template.metadata.labels") {
			keys = append(keys, key)
		}
	}
	return keys
}

// LeavesInPlace reports whether a change of a pool removes keys from the list of those that change in place. Nodes
// that do not have the last value of such a key yet are replaced.
func (c Change) LeavesInPlace() bool {
	for _, f := range c.Fields {
		before, _ := f.Before.(string)
		after, _ := f.After.(string)
		left := strings.Split(after, ",")
		if f.Path == inPlace && before != "" && slices.ContainsFunc(strings.Split(before, ","),
			func(key string) bool { return !slices.Contains(left, key) }) {
			return true
		}
	}
	return false
}

func poolEffects(old, changed object) func(string) outcome {
	before, after, misfit := old.pool, changed.pool, changedRequirements(old, changed)
	// A key that leaves the list changes in place with the change that removes it from the list.
	keys := append(inplace.Keys(before), inplace.Keys(after)...)
	return func(path string) outcome {
		if key, ok := onNodes(path); ok && slices.Contains(keys, key) {
			return outcome{effect: InPlace, relabels: true}
		}
		if path == "spec.replicas" && after.Spec.Replicas != nil && *after.Spec.Replicas < ptr.Deref(before.Spec.Replicas, 0) {
			// Karpenter deletes them immediately, regardless of budgets (karpenter v1.15.0,
			// controllers/static/deprovisioning).
			return outcome{effect: DeleteNodes}
		}
		if replaced := before.DeepCopy(); replacePart(path, &replaced.Spec.Template, &after.Spec.Template) {
			if replaced.Hash() != before.Hash() {
				return outcome{effect: Roll}
			}
			return outcome{effect: None}
		}
		loose := loosensPool(before, after, path)
		key, ok := requirementOf(path)
		switch {
		case ok && misfit[key]:
			return outcome{effect: Roll, partial: true, loosens: loose}
		case loose:
			return outcome{effect: MayRemove, loosens: true}
		}
		return outcome{effect: InPlace}
	}
}

// changedRequirements returns the keys of requirements that nodes which matched before may no longer match: Karpenter
// compares the new requirements with the labels of each node (karpenter v1.15.0, areRequirementsDrifted).
func changedRequirements(before, after object) map[string]bool {
	misfit, old := map[string]bool{}, before.requirements()
	for key, want := range after.requirements() {
		have := old.Get(key)
		// If all values that were allowed are still allowed, each node still matches.
		both := have.Intersection(want)
		misfit[key] = !old.Has(key) || have.String() != both.String() || allowsNone(have) && !allowsNone(want)
	}
	return misfit
}

// allowsNone reports whether a node without the label matches (karpenter
// v1.15.0, Requirements.Compatible).
func allowsNone(r *scheduling.Requirement) bool {
	return r.Operator() == corev1.NodeSelectorOpNotIn || r.Operator() == corev1.NodeSelectorOpDoesNotExist
}

func classEffects(before, after *linodev1alpha1.LinodeNodeClass) func(string) outcome {
	rolls, spec := map[string]bool{}, reflect.ValueOf(after.Spec)
	for i := range spec.NumField() {
		name, _, _ := strings.Cut(spec.Type().Field(i).Tag.Get("json"), ",")
		replaced := before.DeepCopy()
		reflect.ValueOf(&replaced.Spec).Elem().Field(i).Set(spec.Field(i))
		rolls[name] = replaced.Hash() != before.Hash()
	}
	return func(path string) outcome {
		field, _ := strings.CutPrefix(path, "spec.")
		field, _, _ = strings.Cut(field, ".")
		switch {
		case field == versionField && ptr.Deref(after.Spec.LKEK8sVersion, "") == "":
			return outcome{effect: None} // existing nodes do not change
		case field == versionField:
			return outcome{effect: Roll, partial: true}
		case rolls[field]:
			return outcome{effect: Roll}
		case field == "tags", field == "replaceBeforeMaintenance", field == "consolidation":
			return outcome{effect: InPlace}
		default:
			return outcome{effect: None}
		}
	}
}
