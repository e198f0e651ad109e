package inspect_test

import (
	"encoding/json"
	"errors"
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

// TestEachListOfTopThatFails is reported: what the user may not list by the resource that the right
// is missing for, and what follows from it is null and ?. What is answered otherwise, or not at all,
// is an error.
func TestEachListOfTopThatFails(t *testing.T) {
	served := map[string]string{
		"v1/nodes": "Node", "v1/pods": "Pod", "karpenter.sh/v1/nodeclaims": "NodeClaim",
		"karpenter.sh/v1/nodepools": "NodePool",
	}
	said := map[string][]string{ // where it is refused
		"v1/pods":                    {"may not list pods.", `"pods":null`, `"requested":null`, `"pods_waiting":null`},
		"karpenter.sh/v1/nodeclaims": {"may not list nodeclaims.karpenter.sh.", `"coming":null`, `"rolling":null`},
		"karpenter.sh/v1/nodepools":  {"may not list nodepools.karpenter.sh.", `"not_listed":["NodePools"]`},
	}
	for resource := range served {
		for _, fault := range []kubetest.Fault{kubetest.Refused, kubetest.Success, kubetest.Other, kubetest.Hangs} {
			t.Run(resource+" "+string(fault), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					text, err := screen(t, kubetest.Failing(served, resource, fault))
					silence, silent := errors.AsType[kube.NoResponseError](err)
					wrong, other := errors.AsType[kube.KindError](err)
					switch {
					case fault == kubetest.Hangs && silent && strings.HasSuffix(silence.Request, resource):
					case fault == kubetest.Success && other && wrong.Kind == "a Status":
					case fault == kubetest.Other && other && wrong.Kind == "a ConfigMapList":
					case fault == kubetest.Refused && err != nil && resource == "v1/nodes": // without them there is nothing to show
					case fault == kubetest.Refused && err == nil && containsAll(text, said[resource]):
					default:
						t.Errorf("%v: %s", err, text)
					}
				})
			})
		}
	}
}

// screen is what is shown of a cluster, as JSON and text.
func screen(t *testing.T, server *kubetest.Server) (string, error) {
	t.Helper()
	api, err := kube.NewCluster(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	c, err := api.Client(scheme.Scheme)
	if err != nil {
		t.Fatal(err)
	}
	f := cluster.NewFollower(c, time.Second, cluster.TopKinds()...)
	if err := f.Read(t.Context()); err != nil {
		return "", err
	}
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	known, _ := f.Snapshot()
	shown := inspect.NewScreen(known, prices.Price)
	raw, err := json.Marshal(shown)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw) + shown.Draw(inspect.ScreenView{At: -1}), nil
}

func containsAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return len(parts) > 0
}
