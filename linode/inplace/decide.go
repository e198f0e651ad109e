package inplace

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// Next returns a NodeClaim and its Node as they should be; nil if one of them stays as it is. Write the claim first: it
// remembers which keys lkeplan has set. Node is nil if the claim has none that is registered.
//
// The stamp of a claim that has not drifted becomes that of the pool, with the current values, so that programs that
// compare the stamps see no drift. A claim that has drifted keeps its stamp and the values that belong to it.
func (t Template) Next(nc *karpv1.NodeClaim, node *corev1.Node) (*karpv1.NodeClaim, *corev1.Node) {
	claim, entries := t.next(nc)
	var nextNode *corev1.Node
	if node != nil && !entries.empty() {
		changed := node.DeepCopy()
		t.apply(&changed.Labels, &changed.Annotations, entries)
		if !maps.Equal(changed.Labels, node.Labels) || !maps.Equal(changed.Annotations, node.Annotations) {
			nextNode = changed
		}
	}
	if node != nil && nextNode == nil && claim.Annotations[karpv1.NodePoolHashAnnotationKey] == t.hash {
		t.forget(claim)
	}
	if maps.Equal(claim.Labels, nc.Labels) && maps.Equal(claim.Annotations, nc.Annotations) {
		claim = nil
	}
	return claim, nextNode
}

// Behind reports whether a NodeClaim or its Node has other values than the template for keys that change in place. Node
// is nil if the claim has none.
func (t Template) Behind(nc *karpv1.NodeClaim, node *corev1.Node) (claim, onNode bool) {
	next, values := t.next(nc)
	claim = !maps.Equal(next.Labels, nc.Labels) || !maps.Equal(withoutStamps(next.Annotations),
		withoutStamps(nc.Annotations))
	if node != nil && !values.empty() {
		changed := node.DeepCopy()
		t.apply(&changed.Labels, &changed.Annotations, values)
		onNode = !maps.Equal(changed.Labels, node.Labels) || !maps.Equal(changed.Annotations, node.Annotations)
	}
	return claim, onNode
}

// withoutStamps returns annotations without those that only describe the template.
func withoutStamps(annotations map[string]string) map[string]string {
	rest := maps.Clone(annotations)
	delete(rest, AnnotationValues)
	delete(rest, karpv1.NodePoolHashAnnotationKey)
	return rest
}

// Current sets the current values of keys that change in place on the labels of a NodeClaim.
func (t Template) Current(nc *karpv1.NodeClaim) map[string]string {
	next, _ := t.next(nc)
	return next.Labels
}

// next returns the claim with the current values, and the entries of its record.
func (t Template) next(nc *karpv1.NodeClaim) (*karpv1.NodeClaim, record) {
	recorded := readRecord(nc.Annotations)
	next := nc.DeepCopy()
	if len(t.keys) == 0 && recorded.empty() {
		return next, record{}
	}
	stamp := nc.Annotations[karpv1.NodePoolHashAnnotationKey]
	values, created := t.created(stamp, recorded, nc.Labels, nc.Annotations)
	// Karpenter stamps claims with a hash of another version, and does not compare claims without a stamp.
	created = (created || stamp == t.hash) && stamp != "" &&
		nc.Annotations[karpv1.NodePoolHashVersionAnnotationKey] == karpv1.NodePoolHashVersion
	template := t.pool.Spec.Template
	// A label of a claim that no template has set belongs to another.
	set := func(part, before map[string]*string, of map[string]string) {
		maps.DeleteFunc(part, func(key string, value *string) bool {
			_, known := before[key]
			_, is := of[key]
			return !known && !is && value == nil
		})
	}
	set(values.Labels, recorded.Labels, template.Labels)
	set(values.Annotations, recorded.Annotations, template.Annotations)
	t.apply(&next.Labels, &next.Annotations, values)
	values.Changed = values.Changed || !maps.Equal(next.Labels, nc.Labels) || !maps.Equal(next.Annotations, nc.Annotations)
	if values.Hash = stamp; created {
		values.Hash = t.hash
		restate(values.Labels, template.Labels)
		restate(values.Annotations, template.Annotations)
	}
	metav1.SetMetaDataAnnotation(&next.ObjectMeta, AnnotationValues, values.encode())
	if values.empty() {
		delete(next.Annotations, AnnotationValues)
	}
	if created {
		next.Annotations[karpv1.NodePoolHashAnnotationKey] = t.hash
	}
	return next, values
}

// apply sets the labels and annotations that have entries to the values of the template, and removes those that it does
// not set.
func (t Template) apply(labels, annotations *map[string]string, entries record) {
	put := func(to *map[string]string, entries map[string]*string, from map[string]string) {
		for key := range entries {
			value, ok := from[key]
			switch {
			case !ok:
				delete(*to, key)
			case *to == nil:
				*to = map[string]string{key: value}
			default:
				(*to)[key] = value
			}
		}
	}
	put(labels, entries.Labels, t.pool.Spec.Template.Labels)
	put(annotations, entries.Annotations, t.pool.Spec.Template.Annotations)
}

// restate sets the entries to the values of the template.
func restate(entries map[string]*string, values map[string]string) {
	for key := range entries {
		if value, ok := values[key]; ok {
			entries[key] = &value
		} else {
			entries[key] = nil
		}
	}
}

// forget removes the entries of a claim whose Node has the current values: those of keys that are no longer in the
// list, and those of keys that the template no longer sets.
func (t Template) forget(claim *karpv1.NodeClaim) {
	values := readRecord(claim.Annotations)
	old := func(key string, value *string) bool { return value == nil || !slices.Contains(t.keys, key) }
	maps.DeleteFunc(values.Labels, old)
	maps.DeleteFunc(values.Annotations, old)
	if values.empty() {
		delete(claim.Annotations, AnnotationValues)
	} else {
		claim.Annotations[AnnotationValues] = values.encode()
	}
}
