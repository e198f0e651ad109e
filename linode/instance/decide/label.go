package decide

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// hashed is how many hex digits of a label stand for the claim's UID.
const hashed = 20

// Label is the label of a claim's machine, and the name of its Node. Linode allows 64
// characters, so a cluster's name may have 43.
func Label(cluster, uid string) string {
	sum := sha256.Sum256([]byte(uid))
	return cluster + "-" + hex.EncodeToString(sum[:])[:hashed]
}

// Ours reports whether a label is one that Label has made for a cluster.
func Ours(cluster, label string) bool {
	digits, ok := strings.CutPrefix(label, cluster+"-")
	if _, err := hex.DecodeString(digits); err != nil {
		return false
	}
	return ok && len(digits) == hashed && digits == strings.ToLower(digits)
}
