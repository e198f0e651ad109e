package plan

import (
	"maps"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/engine/object"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// An outcome is what the change of a field does to nodes that are there.
type outcome struct {
	effect  Effect
	partial bool // of Roll: only to nodes that do not match any more
	loosens bool // nodes that match may be removed
}

// effectsOf returns what the change of a field means, for two versions of one
// object with their defaults.
func effectsOf(before, after map[string]any) (func(path string) outcome, error) {
	switch after["kind"] {
	case "NodePool":
		return poolEffects(before, after)
	case "LinodeNodeClass":
		return classEffects(before, after)
	}
	return func(string) outcome { return outcome{effect: InPlace} }, nil
}

// TemplateHash is the digest by which Karpenter and the provider find that nodes
// have drifted; "" for objects that no nodes are made from.
func TemplateHash(obj map[string]any) (string, error) {
	switch obj["kind"] {
	case "NodePool":
		return hashAs[karpv1.NodePool](obj)
	case "LinodeNodeClass":
		return hashAs[linodev1alpha1.LinodeNodeClass](obj)
	}
	return "", nil
}

func hashAs[T any, P interface {
	*T
	Hash() string
}](obj map[string]any) (string, error) {
	typed, err := object.As[T](obj)
	if err != nil {
		return "", err
	}
	return P(typed).Hash(), nil
}

// rollsBy reports whether replacing one part of an object by that of its new
// version changes its hash. Karpenter replaces nodes when the hash that they
// were made under is another one (karpenter v1.14.1, areStaticFieldsDrifted).
func rollsBy(before, after map[string]any, part string) (bool, error) {
	value := lookup(after, part)
	if reflect.DeepEqual(lookup(before, part), value) {
		return false, nil
	}
	old, err := TemplateHash(before)
	if err != nil {
		return false, err
	}
	changed, err := TemplateHash(with(before, part, value))
	return old != changed, err
}

// parts of a NodePool's template that are replaced as a whole to see what they
// do to its hash.
var parts = []string{
	"spec.template.metadata.labels", "spec.template.metadata.annotations",
	"spec.template.spec.taints", "spec.template.spec.startupTaints", "spec.template.spec.nodeClassRef",
	"spec.template.spec.expireAfter", "spec.template.spec.terminationGracePeriod",
}

func poolEffects(before, after map[string]any) (func(string) outcome, error) {
	rolls := map[string]bool{}
	for _, part := range parts {
		r, err := rollsBy(before, after, part)
		if err != nil {
			return nil, err
		}
		rolls[part] = r
	}
	misfit, err := misfits(before, after)
	if err != nil {
		return nil, err
	}
	old, err := object.As[karpv1.NodePool](before)
	if err != nil {
		return nil, err
	}
	changed, err := object.As[karpv1.NodePool](after)
	if err != nil {
		return nil, err
	}
	return func(path string) outcome {
		if path == "spec.replicas" && shrinks(before, after) > 0 {
			return outcome{effect: DeleteNodes}
		}
		for _, part := range parts {
			if strings.HasPrefix(path, part) {
				if rolls[part] {
					return outcome{effect: Roll}
				}
				return outcome{effect: None}
			}
		}
		loose := loosens(old, changed, path)
		key, ok := requirementOf(path)
		switch {
		case ok && misfit[key]:
			return outcome{Roll, true, loose}
		case loose:
			return outcome{effect: MayRemove, loosens: true}
		}
		return outcome{effect: InPlace}
	}, nil
}

// shrinks is by how many nodes a static pool has fewer. Karpenter deletes them at once,
// past the budgets (karpenter v1.14.1, controllers/static/deprovisioning).
func shrinks(before, after map[string]any) int64 {
	old, _ := lookup(before, "spec.replicas").(int64)
	replicas, static := lookup(after, "spec.replicas").(int64)
	if !static {
		return 0
	}
	return max(0, old-replicas)
}

// misfits returns the label keys of whose requirements nodes may fall out that
// fitted before: Karpenter compares the new requirements with the labels of
// each node (karpenter v1.14.1, areRequirementsDrifted).
func misfits(before, after map[string]any) (map[string]bool, error) {
	const requirements = "spec.template.spec.requirements"
	if reflect.DeepEqual(lookup(before, requirements), lookup(after, requirements)) {
		return nil, nil
	}
	old, err := Requirements(before)
	if err != nil {
		return nil, err
	}
	wanted, err := Requirements(after)
	if err != nil {
		return nil, err
	}
	misfit := map[string]bool{}
	for key, want := range wanted {
		have := old.Get(key)
		// What was allowed and still is, is all that was allowed: no node falls
		// out.
		both := have.Intersection(want)
		have.MinValues, both.MinValues = nil, nil
		misfit[key] = !old.Has(key) || have.String() != both.String() || allowsNone(have) && !allowsNone(want)
	}
	return misfit, nil
}

// allowsNone reports whether a node fits that does not have the label at all (karpenter
// v1.14.1, Requirements.Compatible).
func allowsNone(r *scheduling.Requirement) bool {
	return r.Operator() == corev1.NodeSelectorOpNotIn || r.Operator() == corev1.NodeSelectorOpDoesNotExist
}

func classEffects(before, after map[string]any) (func(string) outcome, error) {
	rolls := map[string]bool{}
	spec := map[string]any{}
	for _, obj := range []map[string]any{before, after} {
		maps.Copy(spec, manifest.Map(obj, "spec"))
	}
	for key := range spec {
		r, err := rollsBy(before, after, "spec."+key)
		if err != nil {
			return nil, err
		}
		rolls[key] = r
	}
	return func(path string) outcome {
		field, _ := strings.CutPrefix(path, "spec.")
		field, _, _ = strings.Cut(field, ".")
		switch {
		case field == versionField:
			effect, partial := versionEffect(after)
			return outcome{effect: effect, partial: partial}
		case rolls[field]:
			return outcome{effect: Roll}
		case field == "tags":
			return outcome{effect: InPlace}
		default:
			return outcome{effect: None}
		}
	}, nil
}
