package inspect

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lkeplan/lkeplan/engine/simulate"
)

// asks is what the volumes of a pod ask of its node.
type asks struct {
	places  simulate.VolumePlaces
	unready string // why Karpenter does not plan for the pod; "" where it does
}

// index finds the volumes of pods; it is made once.
func (w *explainer) index() *simulate.VolumeIndex {
	if w.volumes == nil {
		w.volumes = simulate.NewVolumeIndex(w.Volumes.Claims, w.Volumes.All, w.Volumes.Classes)
	}
	return w.volumes
}

// storageOf is what the volumes of a pod ask for, in the way that Karpenter reads them.
func (w *explainer) storageOf(ctx context.Context, pod *corev1.Pod) asks {
	if !simulate.ClaimsVolumes(pod) || w.Unread(kindsOfVolumes...) != "" {
		return asks{} // or not to be known, which doubts says
	}
	wait, err := w.index().Ready(ctx, pod)
	switch {
	case wait != nil && wait.Why == simulate.ClaimUnbound:
		return asks{unready: fmt.Sprintf("%s: %v", wait, err)}
	case wait != nil && wait.Why == simulate.VolumeBroken:
		return asks{unready: fmt.Sprintf("of its volumes: %v", err)}
	case wait != nil:
		return asks{unready: wait.String()}
	}
	places, err := w.index().Places(ctx, pod)
	if err != nil {
		return asks{unready: fmt.Sprintf("of its volumes: %v", err)}
	}
	return asks{places: places}
}

// attached are the volumes of Linode that nodes attach for pods.
func (w *explainer) attached(ctx context.Context) map[types.UID][]string {
	if w.Unread(kindsOfVolumes...) != "" {
		return nil
	}
	names := map[types.UID][]string{}
	for _, pod := range w.Pods {
		if simulate.ClaimsVolumes(pod) {
			for _, full := range w.index().Attach(ctx, pod) {
				_, name, _ := strings.Cut(full, "/")
				names[pod.UID] = append(names[pod.UID], name)
			}
		}
	}
	return names
}
