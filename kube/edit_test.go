package kube

import (
	"errors"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestEvictionIsRefusedBecauseOfPod, or fails for another reason.
func TestEvictionIsRefusedBecauseOfPod(t *testing.T) {
	answer := func(code int32, reason metav1.StatusReason, text string, causes ...metav1.StatusCause) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Code: code, Reason: reason, Message: text, Details: &metav1.StatusDetails{Causes: causes},
		}}
	}
	const busy, internal = http.StatusTooManyRequests, http.StatusInternalServerError
	tests := map[string]struct {
		err  error
		want string
	}{
		"a budget": {answer(busy, metav1.StatusReasonTooManyRequests, "Cannot evict pod",
			metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget web needs 2"}),
			"The disruption budget web needs 2"},
		"two budgets": {answer(internal, metav1.StatusReasonInternalError,
			"This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."),
			"This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."},
		"a namespace that goes": {answer(http.StatusForbidden, metav1.StatusReasonForbidden, "it is being terminated",
			metav1.StatusCause{Type: corev1.NamespaceTerminatingCause}), "it is being terminated"},
		"a webhook": {answer(http.StatusForbidden, metav1.StatusReasonForbidden,
			`admission webhook "x" denied the request: a volume rebuilds`),
			`admission webhook "x" denied the request: a volume rebuilds`},
		"an API server with much to do": {answer(busy, metav1.StatusReasonTooManyRequests, "try again later"), ""},
		"no right": {answer(http.StatusForbidden, metav1.StatusReasonForbidden,
			`User "x" cannot create resource "pods/eviction"`), ""},
		"no answer": {errors.New("connection refused"), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := refusal(test.err); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
