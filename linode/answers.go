package linode

import (
	"context"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/lkeplan/lkeplan/linode/lkeapi"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// watchStanding asks for all classes whenever the Linode API begins or ceases to
// answer.
func (n *NodeClass) watchStanding(
	ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) error {
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-n.Standing.Changed():
			}
			for _, request := range n.every(ctx, nil) {
				queue.Add(request)
			}
		}
	}()
	return nil
}

// answers says of a class whether Linode answers. A class is not ready while Linode
// refuses the token; it stays ready while Linode does not answer, so that NodeClaims
// wait and nobody has to plan again.
func (n *NodeClass) answers(class *linodev1alpha1.LinodeNodeClass, conditions status.ConditionSet) {
	const kind = linodev1alpha1.ConditionLinodeAnswers
	was, problem := conditions.Get(kind), n.Standing.Problem()
	if problem.Reason == "" {
		if conditions.SetTrue(kind) && was.IsFalse() {
			n.events.Eventf(class, nil, corev1.EventTypeNormal, kind, "Validate", "the Linode API answers again")
		}
	} else if conditions.SetFalse(kind, problem.Reason, problem.Text); was == nil || was.Reason != problem.Reason {
		n.events.Eventf(class, nil, corev1.EventTypeWarning, problem.Reason, "Validate", "%s", problem.Text)
	}
	switch valid := conditions.Get(linodev1alpha1.ConditionValidationSucceeded).IsTrue(); {
	case valid && problem.Reason == lkeapi.ReasonTokenRefused:
		conditions.SetFalse(status.ConditionReady, problem.Reason, problem.Text)
	case valid:
		conditions.SetTrue(status.ConditionReady)
	}
}
