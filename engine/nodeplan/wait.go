package nodeplan

import (
	"context"
	"fmt"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// pollInterval is how often a NodePlan is read while a command waits for it.
const pollInterval = 500 * time.Millisecond

// Await returns a NodePlan when the reconciliation that was requested with a token has
// ended, with or without success. It reports each message of the NodePlan once.
func Await(ctx context.Context, c Cluster, at types.NamespacedName, token string,
	report func(string)) (*lkeplanv1alpha1.NodePlan, error) {
	var np *lkeplanv1alpha1.NodePlan
	said := ""
	err := waitUntil(ctx, func(ctx context.Context) (ended bool, err error) {
		if np, err = Get(ctx, c, at); err != nil {
			return false, err
		}
		ended, doing := reconcileProgress(np, token)
		if !ended && doing != "" && doing != said {
			report(doing)
			said = doing
		}
		return ended, nil
	}, func() error {
		return fmt.Errorf("timed out waiting for NodePlan %s, which continues; check that the controller runs. Its last message: %s", at,
			said)
	})
	return np, err
}

// reconcileProgress reports whether the reconciliation with a token has ended, or else what it
// does. A NodePlan whose condition Ready is unknown is still reconciled, unless it waits
// for its window.
func reconcileProgress(np *lkeplanv1alpha1.NodePlan, token string) (ended bool, doing string) {
	ready := apimeta.FindStatusCondition(np.Status.Conditions, meta.ReadyCondition)
	at := apimeta.FindStatusCondition(np.Status.Conditions, meta.ReconcilingCondition)
	switch {
	case np.Status.LastHandledReconcileAt != token:
		return false, "the controller has not seen it yet"
	case at != nil && at.Reason == meta.ProgressingReason:
		return false, at.Message
	case ready == nil || np.Status.ObservedGeneration != np.Generation:
		return false, ""
	case ready.Status == metav1.ConditionUnknown && ready.Reason != lkeplanv1alpha1.ReasonOutsideWindow:
		return false, ready.Message
	}
	return true, ""
}

// waitUntil polls until done; late is the error if ctx ends first.
func waitUntil(ctx context.Context, done func(context.Context) (bool, error), late func() error) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		ok, err := done(ctx)
		switch {
		case ctx.Err() != nil:
			return late()
		case ok || err != nil && !kube.IsNoResponse(err):
			return err
		}
		select {
		case <-ctx.Done():
			return late()
		case <-tick.C:
		}
	}
}
