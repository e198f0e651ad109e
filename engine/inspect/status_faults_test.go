package inspect_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/kubernetes/scheme"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/inspect"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/kube/kubetest"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// TestFailedListsAreReported: what cannot be listed is noted, with the resource that the right is
// missing for, and does not count as empty; without a kind that is needed there is no report. Another answer,
// or none, is an error.
func TestFailedListsAreReported(t *testing.T) {
	for _, k := range cluster.AllKinds() {
		resource := resourceOf(t, k)
		for _, fault := range []kubetest.Fault{kubetest.Refused, kubetest.Success, kubetest.Other, kubetest.Hangs} {
			t.Run(k.Name+" "+string(fault), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					lists, err := failing(t, resource, fault)
					switch {
					case fault == kubetest.Refused && !k.Needed:
						refused(t, k, lists, err)
					case fault == kubetest.Refused:
						if err == nil || !strings.Contains(err.Error(), "cannot list resource") || !strings.Contains(err.Error(), "list the "+k.Name) {
							t.Errorf("it says: %v", err)
						}
					case fault == kubetest.Hangs:
						silence, ok := errors.AsType[kube.NoResponseError](err)
						if want := "list the " + k.Name; !ok || !strings.HasSuffix(silence.Request, resource) ||
							!strings.HasPrefix(err.Error(), want) {
							t.Errorf("it says: %v", err)
						}
					default:
						wrong, ok := errors.AsType[kube.KindError](err)
						want := map[kubetest.Fault]string{kubetest.Success: "a Status", kubetest.Other: "a ConfigMapList"}[fault]
						if !ok || wrong.Kind != want || !strings.HasSuffix(wrong.Request, resource) {
							t.Errorf("it says: %v", err)
						}
					}
				})
			})
		}
	}
}

// resourceOf is the path of a kind, such as karpenter.sh/v1/nodepools.
func resourceOf(t *testing.T, k cluster.Kind) string {
	t.Helper()
	for resource := range served {
		if strings.HasSuffix(resource, "/"+strings.ToLower(k.Name)) {
			return resource
		}
	}
	t.Fatalf("no resource of %s", k.Name)
	return ""
}

// failing is what is read from a cluster that answers the list of a resource with a fault.
func failing(t *testing.T, resource string, fault kubetest.Fault) (cluster.Snapshot, error) {
	t.Helper()
	server, err := kube.NewCluster(kubetest.Failing(served, resource, fault).Config())
	if err != nil {
		t.Fatal(err)
	}
	c, err := server.Client(scheme.Scheme)
	if err != nil {
		t.Fatal(err)
	}
	lists, err := cluster.Read(t.Context(), c, cluster.AllKinds()...)
	return lists, server.Explain(err)
}

// refused checks what is reported about a refused list, and that what depends on it is null.
func refused(t *testing.T, k cluster.Kind, lists cluster.Snapshot, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	group := ""
	if k.Group != "" {
		group = "." + k.Group
	}
	note := k.Name + " cannot be shown: the user may not list " + strings.ToLower(k.Name) + group + "."
	if !slices.Contains(lists.Notes, note) || !slices.Equal(lists.Unlisted, []string{k.Name}) {
		t.Errorf("notes %q, not listed %q", lists.Notes, lists.Unlisted)
	}
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	s, err := inspect.NewStatus(lists, inspect.Given{Catalog: prices, Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"CapacityLimits": s.Limits != nil, "NodePlans": s.NodePlans != nil}
	if known[k.Name] || !slices.Contains(s.Notes, note) || !strings.Contains(s.Text(inspect.StatusView{Width: 200}), note) {
		t.Errorf("without %s it says:\n%s", k.Name, s.Text(inspect.StatusView{Width: 200}))
	}
}
