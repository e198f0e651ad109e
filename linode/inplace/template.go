// Package inplace changes labels and annotations of running nodes. Karpenter replaces a node if the template of its
// NodePool changes, labels and annotations included (kubernetes-sigs/karpenter#1123). A NodePool can list keys that
// change in place instead.
//
// A NodeClaim carries Karpenter's hash of the template that it was created from. The package records next to that stamp
// the values that the keys had in that template. So whether a node has drifted follows from one NodePool and one
// NodeClaim: the hash of the pool's template with the recorded values is the stamp, or it is not. A changed value needs
// no new stamp first, and no order of writes can make a node drift.
//
// The package is pure. The Relabeler of package linode carries out what it decides.
package inplace

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// AnnotationValues is the record of a NodeClaim: the values that keys had in the template with the hash of its stamp.
const AnnotationValues = "lkeplan.dev/in-place-values"

// ReasonNotRelabeled is the reason of the event on a NodePool whose nodes could not be changed in place.
const ReasonNotRelabeled = "NodesNotRelabeled"

// record is the value of AnnotationValues. An entry is null if the template with that hash did not set the key. A key
// with an entry was set by lkeplan: if the template no longer sets it, it is removed from the node.
type record struct {
	Hash        string             `json:"hash"`
	Labels      map[string]*string `json:"labels,omitempty"`
	Annotations map[string]*string `json:"annotations,omitempty"`
	// Changed reports that a value of the NodeClaim was changed after its creation.
	Changed bool `json:"changed,omitempty"`
}

// Keys returns the keys of the labels and annotations that a NodePool changes in place, sorted. Keys that belong to
// programs, and labels that the pool requires, are ignored: a NodePool that was not compiled can list them.
func Keys(pool *karpv1.NodePool) []string {
	var keys []string
	for key := range strings.SplitSeq(pool.Annotations[schemas.AnnotationInPlace], ",") {
		required := slices.ContainsFunc(pool.Spec.Template.Spec.Requirements,
			func(r karpv1.NodeSelectorRequirementWithMinValues) bool { return r.Key == key })
		if key != "" && !required && schemas.ReservedOnNodes(key) == "" {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Changed reports whether a label or an annotation of a NodeClaim with these annotations was changed in place.
func Changed(annotations map[string]string) bool { return readRecord(annotations).Changed }

// Template is the template of a NodePool, which NodeClaims are compared with.
type Template struct {
	pool *karpv1.NodePool
	keys []string
	hash string
}

// TemplateOf returns the template of a NodePool. The pool must not change afterwards.
func TemplateOf(pool *karpv1.NodePool) Template {
	return Template{pool: pool, keys: Keys(pool), hash: pool.Hash()}
}

// Hash returns Karpenter's hash, which is the stamp of the NodePool and of new NodeClaims.
func (t Template) Hash() string { return t.hash }

// Drifted reports whether a NodeClaim with these labels and annotations was created from a template that differs in
// more than keys that change in place. Keys with an entry in the claim's record change in place, too: a key that has
// left the pool's list does not replace nodes for an earlier value.
//
// It does not compare hash versions: the hashes of different versions differ.
func (t Template) Drifted(labels, annotations map[string]string) bool {
	stamp := annotations[karpv1.NodePoolHashAnnotationKey]
	if stamp == t.hash {
		return false
	}
	recorded := readRecord(annotations)
	if len(t.keys) == 0 && recorded.empty() {
		return true
	}
	_, created := t.created(stamp, recorded, labels, annotations)
	return !created
}

// Differs reports whether a change of a NodePool replaces its nodes because of their templates.
func Differs(before, after *karpv1.NodePool) bool {
	was, is := TemplateOf(before), TemplateOf(after)
	claim := was.claim()
	return is.Drifted(claim.Labels, claim.Annotations)
}

// claim returns a NodeClaim that was created from the template, with its record.
func (t Template) claim() *karpv1.NodeClaim {
	nc := t.pool.Spec.Template.ToNodeClaim()
	nc.Labels, nc.Annotations = maps.Clone(nc.Labels), maps.Clone(nc.Annotations)
	metav1.SetMetaDataAnnotation(&nc.ObjectMeta, karpv1.NodePoolHashAnnotationKey, t.hash)
	metav1.SetMetaDataAnnotation(&nc.ObjectMeta, karpv1.NodePoolHashVersionAnnotationKey, karpv1.NodePoolHashVersion)
	next, _ := t.next(nc)
	return next
}

// Reduced returns Karpenter's hash of a template without the keys that change in place.
func Reduced(pool *karpv1.NodePool) string {
	none := record{}
	for _, key := range Keys(pool) {
		none.set(key, nil, nil)
	}
	return hashWith(pool, none)
}

// created returns the values that the keys had in the template with the hash of a stamp, and whether that template
// differs from the pool's only in them. A key without an entry may have had the value of the pool's template, if it was
// in no list before, or that of the NodeClaim, which Karpenter copies from the template.
func (t Template) created(stamp string, recorded record, labels, annotations map[string]string) (record, bool) {
	unchanged, own := recorded.clone(), recorded.clone()
	if recorded.Hash != stamp { // Karpenter has stamped the claim again: the keys stay, with unknown values
		unchanged, own = record{Changed: recorded.Changed}, record{Changed: recorded.Changed}
	}
	template := t.pool.Spec.Template
	for _, key := range slices.Concat(t.keys, recorded.keys()) {
		unchanged.set(key, template.Labels, template.Annotations)
		own.set(key, labels, annotations)
	}
	for _, values := range []record{unchanged, own} {
		if hashWith(t.pool, values) == stamp {
			return values, true
		}
	}
	return own, false
}

// hashWith returns Karpenter's hash of a pool's template with recorded values.
func hashWith(pool *karpv1.NodePool, values record) string {
	with := &karpv1.NodePool{Spec: karpv1.NodePoolSpec{Template: pool.Spec.Template}}
	with.Spec.Template.Labels = replaceValues(pool.Spec.Template.Labels, values.Labels)
	with.Spec.Template.Annotations = replaceValues(pool.Spec.Template.Annotations, values.Annotations)
	return with.Hash()
}

// replaceValues returns a map with recorded values. An empty map becomes nil, because it has another hash, and
// compiled templates have no empty maps.
func replaceValues(current map[string]string, values map[string]*string) map[string]string {
	if len(values) == 0 {
		return current
	}
	next := maps.Clone(current)
	if next == nil {
		next = map[string]string{}
	}
	for key, value := range values {
		if value == nil {
			delete(next, key)
		} else {
			next[key] = *value
		}
	}
	if len(next) == 0 {
		return nil
	}
	return next
}

// readRecord reads the record of a NodeClaim; it returns an empty one if there is none, or it is not valid.
func readRecord(annotations map[string]string) (r record) {
	text, ok := annotations[AnnotationValues]
	if !ok || json.Unmarshal([]byte(text), &r) != nil {
		return record{}
	}
	for _, part := range []map[string]*string{r.Labels, r.Annotations} {
		maps.DeleteFunc(part, func(key string, _ *string) bool { return schemas.ReservedOnNodes(key) != "" })
	}
	return r
}

func (r record) encode() string { return manifest.Line(r) }

func (r record) empty() bool { return len(r.Labels)+len(r.Annotations) == 0 }

func (r record) clone() record {
	return record{
		Hash: r.Hash, Labels: maps.Clone(r.Labels), Annotations: maps.Clone(r.Annotations), Changed: r.Changed,
	}
}

// keys returns the keys with an entry.
func (r record) keys() []string {
	return slices.Concat(slices.Collect(maps.Keys(r.Labels)), slices.Collect(maps.Keys(r.Annotations)))
}

// set adds entries for a key that have no value yet.
func (r *record) set(key string, labels, annotations map[string]string) {
	r.Labels = withEntry(r.Labels, key, labels)
	r.Annotations = withEntry(r.Annotations, key, annotations)
}

func withEntry(entries map[string]*string, key string, values map[string]string) map[string]*string {
	if _, known := entries[key]; known {
		return entries
	}
	if entries == nil {
		entries = map[string]*string{}
	}
	entries[key] = nil
	if value, ok := values[key]; ok {
		entries[key] = &value
	}
	return entries
}
