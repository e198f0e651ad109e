package kube

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/kube/kubetest"
)

// TestRefusedDiscoveryHasReason: clients would report that the reason is unknown.
func TestRefusedDiscoveryHasReason(t *testing.T) {
	for _, path := range []string{"api", "apis", "api/v1"} {
		_, err := faulty(t, kubetest.Refused, path).List(t.Context(), "v1", "Pod")
		if err == nil || !strings.Contains(err.Error(), `forbidden: User "x" cannot list`) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestFurtherLinesOfServerHaveMark: a webhook cannot forge a line of a program.
func TestFurtherLinesOfServerHaveMark(t *testing.T) {
	api := faulty(t, kubetest.Fine)
	api.client = Client(rejecting{api.client}, "https://api.test:6443")
	_, err := api.List(t.Context(), "v1", "Pod")
	if err == nil || !strings.Contains(err.Error(), "no\n| fail  Linode API: forged") {
		t.Error(err)
	}
}

// rejecting is a client whose requests a webhook rejects.
type rejecting struct{ client.WithWatch }

// List implements client.Reader.
func (rejecting) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no\nfail  Linode API: forged"))
}
