package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Key names an object among all of a cluster: NodePool general, or
// CapacityBuffer web/spare.
func Key(obj map[string]any) string {
	u := unstructured.Unstructured{Object: obj}
	if u.GetNamespace() != "" {
		return u.GetKind() + " " + u.GetNamespace() + "/" + u.GetName()
	}
	return u.GetKind() + " " + u.GetName()
}

// Label is the value of a label of an object; "" where it has none.
func Label(obj map[string]any, name string) string {
	value, _, _ := unstructured.NestedString(obj, "metadata", "labels", name)
	return value
}

// Leaving reports whether a live object has been deleted, and is there until
// its finalizers are gone.
func Leaving(obj map[string]any) bool {
	return (&unstructured.Unstructured{Object: obj}).GetDeletionTimestamp() != nil
}

// LabelValue joins names with dots to a value that a label can have. Where they
// are longer together than the 63 characters that it has room for, the end is a
// digest of all of them.
func LabelValue(names ...string) string {
	const most = 63
	joined := strings.Join(names, ".")
	if len(joined) <= most {
		return joined
	}
	sum := sha256.Sum256([]byte(strings.Join(names, "/")))
	digest := hex.EncodeToString(sum[:8])
	return strings.TrimRight(joined[:most-len(digest)-1], "-._") + "." + digest
}
