package inspect_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/lkeplan/lkeplan/config/configtest"
	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/inspect"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/kube/kubetest"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
)

// served are the kinds of a cluster, by their resources.
var served = map[string]string{
	"v1/nodes": "Node", "v1/pods": "Pod", "v1/events": "Event", "v1/persistentvolumes": "PersistentVolume",
	"v1/persistentvolumeclaims": "PersistentVolumeClaim", "apps/v1/daemonsets": "DaemonSet",
	"policy/v1/poddisruptionbudgets": "PodDisruptionBudget", "storage.k8s.io/v1/storageclasses": "StorageClass",
	"karpenter.sh/v1/nodeclaims": "NodeClaim", "karpenter.sh/v1/nodepools": "NodePool",
	"karpenter.k8s.linode/v1alpha1/linodenodeclasses": "LinodeNodeClass",
	"lkeplan.dev/v1alpha1/capacitylimits":             "CapacityLimit",
	"lkeplan.dev/v1alpha1/nodeplans":                  "NodePlan",
	"lkeplan.dev/v1alpha1/disruptionstops":            "DisruptionStop",
}

// TestLargeClusterStatusIsFast: from the lists of an API server to the text in less than
// a second of processor time, including that of the API server.
func TestLargeClusterStatusIsFast(t *testing.T) {
	instancetype.Register()
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	server := kubetest.Server{Kinds: served, Objects: map[string][]any{}}
	for _, obj := range largeCluster(t) {
		gvk, err := apiutil.GVKForObject(obj, scheme.Scheme)
		if err != nil {
			t.Fatal(err)
		}
		for resource, kind := range served {
			if kind == gvk.Kind {
				raw, err := json.Marshal(obj)
				if err != nil {
					t.Fatal(err)
				}
				server.Objects[resource] = append(server.Objects[resource], json.RawMessage(raw))
			}
		}
	}
	api, err := kube.NewCluster(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	var text string
	began := time.Now()
	took := configtest.ProcessCPU(func() {
		c, failed := api.Client(scheme.Scheme)
		if err = failed; err != nil {
			return
		}
		var found cluster.Snapshot
		if found, err = cluster.Read(t.Context(), c, cluster.StatusKinds()...); err != nil {
			return
		}
		var told inspect.Status
		told, err = inspect.NewStatus(found, inspect.Given{Catalog: prices, Now: time.Now()})
		text = told.Text(inspect.StatusView{Width: 120})
	})
	t.Logf("%s of processor time, %s in all", took, time.Since(began))
	if err != nil || !strings.Contains(text, "500 pods are waiting") || took > slower*time.Second {
		t.Errorf("it takes %s and says %v\n%.2000s", took, err, text)
	}
}
