package linode

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/awslabs/operatorpkg/status"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/lkeplan/lkeplan/linode/api"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/task"
)

// onEither returns a source that enqueues the requests of all each time that one of two channels receives; the
// second may be nil.
func onEither(first, second <-chan struct{}, all handler.MapFunc) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		go func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-first:
				case <-second:
				}
				_ = task.Try(slog.New(logr.ToSlogHandler(log.FromContext(ctx))), func() error {
					for _, request := range all(ctx, nil) {
						queue.Add(request)
					}
					return nil
				})
			}
		}()
		return nil
	})
}

// setLinodeAnswers sets the condition LinodeAnswers of a class. If Linode rejects the token, the class is not ready. If
// Linode does not answer, the class stays ready, so that NodeClaims wait and Karpenter does not plan their pods
// again.
func (n *NodeClass) setLinodeAnswers(class *linodev1alpha1.LinodeNodeClass, conditions status.ConditionSet) {
	const kind = linodev1alpha1.ConditionLinodeAnswers
	was, problem := conditions.Get(kind), n.Standing.Problem()
	if problem.Reason == "" {
		if conditions.SetTrue(kind) && was.IsFalse() {
			n.events.Eventf(class, nil, corev1.EventTypeNormal, kind, "Validate", "the Linode API answers again")
		}
	} else {
		conditions.SetFalse(kind, problem.Reason, problem.Text)
		if was == nil || was.Reason != problem.Reason {
			n.events.Eventf(class, nil, corev1.EventTypeWarning, problem.Reason, "Validate", "%s", problem.Text)
		}
	}
	switch valid := conditions.Get(linodev1alpha1.ConditionValidationSucceeded).IsTrue(); {
	case valid && problem.Reason == api.ReasonTokenRefused:
		conditions.SetFalse(status.ConditionReady, problem.Reason, problem.Text)
	case valid:
		conditions.SetTrue(status.ConditionReady)
	}
}

// setPlanClosed sets the condition PlanClosed of a class.
func (n *NodeClass) setPlanClosed(class *linodev1alpha1.LinodeNodeClass, conditions status.ConditionSet) {
	if n.Plans == nil {
		return
	}
	closed := n.Plans.Closed()
	if len(closed) == 0 {
		_ = conditions.Clear(linodev1alpha1.ConditionPlanClosed) // an error is only possible for parts of Ready
		return
	}
	var plans []string
	for _, plan := range slices.Sorted(maps.Keys(closed)) {
		plans = append(plans, fmt.Sprintf("%s (next attempt at %s)", plan, closed[plan].UTC().Format("15:04 UTC")))
	}
	text := fmt.Sprintf("a limit on the account prevents Linode from creating %s; other plan types are used; "+
		"ask Linode Support for access and name the plan", strings.Join(plans, ", "))
	if conditions.SetTrueWithReason(linodev1alpha1.ConditionPlanClosed, "AccountLimit", text) {
		n.events.Eventf(class, nil, corev1.EventTypeWarning, linodev1alpha1.ConditionPlanClosed, "Validate", "%s", text)
	}
}
