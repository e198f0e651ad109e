package simulate

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/lkeplan/lkeplan/engine/simulate/refusal"
	"github.com/lkeplan/lkeplan/engine/simulate/step"
)

// Reason is why pods cannot have a node of a pool.
type Reason = refusal.Reason

// explainer says why pods are refused, by the last answer of Karpenter.
type explainer struct {
	*refusal.Explainer
	last answer
}

func (w *world) explainer(ctx context.Context) (*explainer, error) {
	e, err := refusal.New(ctx, w.types, w.chooser.Limits, w.dynamic, w.last.without)
	return &explainer{e, w.last}, err
}

// reasons says why a pod has no node, for each pool in the order in which Karpenter tries
// them.
func (e *explainer) reasons(ctx context.Context, pod *corev1.Pod) []Reason {
	if reason, refused := e.last.refused[pod.UID]; refused {
		reason = e.Choice(pod, reason)
		return []Reason{{Pool: reason.Pool, Text: step.Plain(reason.Text)}}
	}
	reasons := e.Reasons(settings(ctx), pod, e.last.errors[pod.UID])
	for i := range reasons {
		reasons[i].Text = step.Plain(reasons[i].Text)
	}
	return reasons
}
