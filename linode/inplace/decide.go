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
	nextNode := t.nextNode(node, entries)
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
	return claim, t.nextNode(node, values) != nil
}

// nextNode returns a Node with the current values; nil if it has them, or there is none.
func (t Template) nextNode(node *corev1.Node, entries record) *corev1.Node {
	if node == nil || entries.empty() {
		return nil
	}
	next := node.DeepCopy()
	t.apply(&next.ObjectMeta, entries)
	if maps.Equal(next.Labels, node.Labels) && maps.Equal(next.Annotations, node.Annotations) {
		return nil
	}
	return next
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
	t.apply(&next.ObjectMeta, values)
	values.Changed = values.Changed || !maps.Equal(next.Labels, nc.Labels) || !maps.Equal(next.Annotations, nc.Annotations)
	values.Hash = stamp
	if created {
		values.Hash = t.hash
		values.Labels = restateEntries(values.Labels, template.Labels)
		values.Annotations = restateEntries(values.Annotations, template.Annotations)
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
func (t Template) apply(meta *metav1.ObjectMeta, entries record) {
	template := t.pool.Spec.Template
	meta.Labels = replaceValues(meta.Labels, restateEntries(entries.Labels, template.Labels))
	meta.Annotations = replaceValues(meta.Annotations, restateEntries(entries.Annotations, template.Annotations))
}

// restateEntries returns the entries with the values of the template.
func restateEntries(entries map[string]*string, values map[string]string) (now map[string]*string) {
	for key := range entries {
		now = withEntry(now, key, values)
	}
	return now
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
