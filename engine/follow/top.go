package follow

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1" // adds its kinds to the scheme of client-go

	"github.com/lkeplan/lkeplan/engine/top"
)

// TopReader follows one cluster. It is safe for concurrent use.
type TopReader struct{ *Follower }

// NewTop returns a reader by a client. What it cannot watch, it lists in each interval.
func NewTop(c client.WithWatch, every time.Duration) *TopReader {
	return &TopReader{New(c, every, topKinds()...)}
}

func topKinds() []Kind {
	live := fields.AndSelectors(fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)))
	return []Kind{
		{Name: "Nodes", Empty: &corev1.NodeList{}, Needed: true},
		{Name: "Pods", Empty: &corev1.PodList{}, Opts: []client.ListOption{client.MatchingFieldsSelector{Selector: live}}},
		{Name: "NodeClaims", Group: "karpenter.sh", Empty: &karpv1.NodeClaimList{}},
		{Name: "NodePools", Group: "karpenter.sh", Empty: &karpv1.NodePoolList{}},
	}
}

// Cluster returns what is known, and whether it has changed since the last call. The
// objects are shared and must not be changed.
func (f *TopReader) Cluster() (c top.Cluster, changed bool) {
	objects, notes, changed := f.Objects()
	c.Notes, c.Unlisted = notes, f.Unlisted()
	for _, obj := range objects {
		switch obj := obj.(type) {
		case *corev1.Node:
			c.Nodes = append(c.Nodes, obj)
		case *corev1.Pod:
			c.Pods = append(c.Pods, obj)
		case *karpv1.NodeClaim:
			c.Claims = append(c.Claims, obj)
		case *karpv1.NodePool:
			c.Pools = append(c.Pools, obj)
		}
	}
	return c, changed
}
