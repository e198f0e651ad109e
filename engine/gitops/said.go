package gitops

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/engine/rollout"
)

// remembered is for how long it counts that there was no capacity. Package fleet does not
// offer such a plan type for some minutes, in which Karpenter asks for none.
const remembered = 10 * time.Minute

// The reasons of events about NodeClaims: what Karpenter and package fleet say of machines
// that are not there.
const (
	noCapacity      = "InsufficientCapacity"
	notLaunched     = "InsufficientCapacityError"
	clusterFull     = "ClusterFull"
	accountLimit    = "LinodeAccountLimit"
	badToken        = "LinodeTokenRefused"
	refusedCapacity = "LKERefused"
	notDisrupted    = "DisruptionBlocked"
)

// said reads the events about NodeClaims of the pools of a wave. now is the time of the
// cluster; if it is not known, what was said counts.
func (r proofReader) said(ctx context.Context, at map[string]*rollout.Pool, now time.Time) error {
	// Those about objects without a namespace are in this one.
	var list corev1.EventList
	err := r.Live.List(ctx, &list, client.InNamespace(metav1.NamespaceDefault),
		client.MatchingFields{"involvedObject.kind": "NodeClaim"})
	if err != nil {
		return fmt.Errorf("list what is said of NodeClaims: %w", err)
	}
	slices.SortStableFunc(list.Items, func(a, b corev1.Event) int { return moment(a).Compare(moment(b)) })
	for _, e := range list.Items {
		p := at[poolOf(e.InvolvedObject.Name)]
		if p == nil {
			continue
		}
		text := strings.TrimSpace(e.Message)
		switch e.Reason {
		case noCapacity, notLaunched, clusterFull, accountLimit, badToken:
			if now.Sub(moment(e)) < remembered {
				p.NoStock = text
			}
		case refusedCapacity: // of a NodeClaim of the revision, not of one before it
			if slices.ContainsFunc(p.New, func(n rollout.Node) bool { return n.Name == e.InvolvedObject.Name }) {
				p.Refused = text
			}
		case notDisrupted:
			p.Blocked = text
		}
	}
	return nil
}

// poolOf is the pool of a NodeClaim by its name, which Karpenter makes of that of the pool:
// the NodeClaim may be gone.
func poolOf(claim string) string {
	i := strings.LastIndexByte(claim, '-')
	return claim[:max(i, 0)]
}

// moment is when an event was last seen.
func moment(e corev1.Event) time.Time {
	last := e.LastTimestamp.Time
	if e.Series != nil && e.Series.LastObservedTime.After(last) {
		last = e.Series.LastObservedTime.Time
	}
	if e.EventTime.After(last) {
		last = e.EventTime.Time
	}
	if last.IsZero() {
		return cmp.Or(e.FirstTimestamp.Time, e.CreationTimestamp.Time)
	}
	return last
}
