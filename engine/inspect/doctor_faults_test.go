package inspect

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/version"

	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/kube/kubetest"
)

// served are the kinds that doctor lists.
var served = map[string]string{
	"apiextensions.k8s.io/v1/customresourcedefinitions": "CustomResourceDefinition",
	"apps/v1/deployments":                               "Deployment",
	"coordination.k8s.io/v1/leases":                     "Lease",
	"karpenter.k8s.linode/v1/linodenodeclasses":         "LinodeNodeClass",
	"karpenter.sh/v1/nodepools":                         "NodePool",
	"lkeplan.dev/v1alpha1/nodeplans":                    "NodePlan",
}

// lister is a cluster that answers only lists.
type lister struct{ *kube.Cluster }

func (lister) Server(context.Context) (version.Info, error) {
	return version.Info{Minor: "36", GitVersion: "v1.36.4"}, nil
}

func (lister) May(context.Context, string, string, authorizationv1.ResourceAttributes) (bool, error) {
	return true, nil
}

// TestFailedListsAreReported as a finding, and not as an empty list.
func TestFailedListsAreReported(t *testing.T) {
	for resource := range served {
		for fault, want := range map[kubetest.Fault]string{
			kubetest.Refused: "cannot list resource", kubetest.Success: "with a Status instead of a",
			kubetest.Other: "with a ConfigMapList instead of a", kubetest.Hangs: "did not answer GET /apis/" + resource,
		} {
			t.Run(resource+" "+string(fault), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					cluster, err := kube.NewCluster(kubetest.Failing(served, resource, fault).Config())
					if err != nil {
						t.Fatal(err)
					}
					found := Examine(t.Context(), Installation{Cluster: lister{cluster}, Now: time.Now})
					if !slices.ContainsFunc(found, func(f Finding) bool {
						return f.Level == LevelWarn && strings.HasPrefix(f.Text, "unknown: ") && strings.Contains(f.Text, want)
					}) {
						t.Errorf("it finds %+v", found)
					}
				})
			})
		}
	}
}
