// Package age decides which nodes are replaced because of their age. Karpenter drains a node at its expireAfter at any
// time, without a replacement first. A node that is due to be refreshed drifts instead: Karpenter replaces it within the
// disruption budgets of its NodePool, and drains it after its replacement is ready.
//
// The package is pure: it knows no cluster and no clock.
package age

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/schemas"
)

// After returns the age at which nodes of a NodePool are replaced; 0 if they are not, or if the value is not valid, which
// the error explains. A NodePool that was not compiled can have any value.
func After(pool *karpv1.NodePool) (time.Duration, error) {
	text, set := pool.Annotations[schemas.AnnotationRefreshAfter]
	if !set {
		return 0, nil
	}
	after, err := time.ParseDuration(text)
	if err != nil || after < schemas.ShortestRefresh {
		return 0, fmt.Errorf("the annotation %s has the value %q, which is not a duration of 10m or more, so no node is replaced by age",
			schemas.AnnotationRefreshAfter, text)
	}
	return after, nil
}

// Due returns when a node with the name of a NodeClaim is to be replaced: at the age after, or up to a tenth earlier. The
// names of claims are random, so the nodes of a burst are due at different times, and the same node always at the same.
func Due(created time.Time, claim string, after time.Duration) time.Time {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(claim)) // never fails
	const steps = 1000
	return created.Add(after - after/10/steps*time.Duration(sum.Sum32()%steps))
}

// Compare orders nodes that are due: the oldest first.
func Compare(created time.Time, claim string, otherCreated time.Time, otherClaim string) int {
	return cmp.Or(created.Compare(otherCreated), strings.Compare(claim, otherClaim))
}
