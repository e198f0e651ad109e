package instance

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// How many hex digits of a label stand for the cluster, and how many for the group.
const (
	digitsOfCluster = 10
	digitsOfGroup   = 12
)

// Label is the label of a NodePool's placement group: letters, digits and dashes, 31 of them.
// A cluster is known by a tag that no other has. The policy of a group cannot be changed, so
// that another policy is another group.
//
// Unverified: that 31 characters are not too many. The API's specification names no limit;
// Cloud Manager has taken 32.
func Label(cluster string, of PoolGroup) string {
	return beginning(cluster) + digits(cluster+"\n"+of.Pool+"\n"+of.Policy, digitsOfGroup)
}

// ours reports whether a label is one that Label has made for a cluster.
func ours(cluster, label string) bool {
	rest, ok := strings.CutPrefix(label, beginning(cluster))
	if _, err := hex.DecodeString(rest); err != nil {
		return false
	}
	return ok && len(rest) == digitsOfGroup && rest == strings.ToLower(rest)
}

func beginning(cluster string) string { return "lkeplan-" + digits(cluster, digitsOfCluster) + "-" }

func digits(of string, n int) string {
	sum := sha256.Sum256([]byte(of))
	return hex.EncodeToString(sum[:])[:n]
}
