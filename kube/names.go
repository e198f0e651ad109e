package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

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
