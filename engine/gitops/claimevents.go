package gitops

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusters "github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/rollout"
)

// remembered is how long an event about missing capacity counts. Package lke does not offer a plan type without
// capacity for some minutes, in which Karpenter does not request it again.
const remembered = 10 * time.Minute

// The reasons of events about NodeClaims by which Karpenter and packages lke and instance report missing machines.
const (
	noCapacity      = "InsufficientCapacity"
	notLaunched     = "InsufficientCapacityError"
	clusterFull     = "ClusterFull"
	accountLimit    = "LinodeAccountLimit"
	badToken        = "LinodeTokenRefused"
	refusedCapacity = "LKERefused"
	notDisrupted    = "DisruptionBlocked"
)

// readEvents reads the events about NodeClaims of the pools of a wave. now is the time of the
// cluster; if it is zero, all events count.
func (r proofReader) readEvents(ctx context.Context, at map[string]*rollout.Pool, now time.Time) error {
	// Events about objects without a namespace are in this namespace.
	var list corev1.EventList
	err := r.Live.List(ctx, &list, client.InNamespace(metav1.NamespaceDefault),
		client.MatchingFields{"involvedObject.kind": "NodeClaim"})
	if err != nil {
		return fmt.Errorf("list events of NodeClaims: %w", err)
	}
	slices.SortStableFunc(list.Items, func(a, b corev1.Event) int {
		return clusters.LastSeen(&a).Compare(clusters.LastSeen(&b))
	})
	for _, e := range list.Items {
		p := at[poolOfClaim(e.InvolvedObject.Name)]
		if p == nil {
			continue
		}
		text := strings.TrimSpace(e.Message)
		switch e.Reason {
		case noCapacity, notLaunched, clusterFull, accountLimit, badToken:
			if now.Sub(clusters.LastSeen(&e)) < remembered {
				p.NoStock = text
			}
		case refusedCapacity: // only of a NodeClaim of this revision
			if slices.ContainsFunc(p.New, func(n rollout.Node) bool { return n.Name == e.InvolvedObject.Name }) {
				p.Refused = text
			}
		case notDisrupted:
			p.Blocked = text
		}
	}
	return nil
}

// poolOfClaim returns the pool of a NodeClaim that may be gone. Karpenter derives the name of a NodeClaim from that of
// its pool.
func poolOfClaim(claim string) string {
	i := strings.LastIndexByte(claim, '-')
	return claim[:max(i, 0)]
}
