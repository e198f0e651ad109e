package memory

import (
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"
)

// LeftOut is a recorder of events that notes the pools which the scheduler leaves out.
type LeftOut map[string]bool

// Publish implements events.Recorder.
func (l LeftOut) Publish(all ...events.Event) {
	for _, e := range all {
		if pool, ok := e.InvolvedObject.(*karpv1.NodePool); ok && e.Reason == events.NoCompatibleInstanceTypes {
			l[pool.Name] = true
		}
	}
}
