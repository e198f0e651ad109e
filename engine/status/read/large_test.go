package read

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/lkeplan/lkeplan/config/configtest"
	"github.com/lkeplan/lkeplan/engine/status"
	"github.com/lkeplan/lkeplan/engine/status/statustest"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// served are the kinds of a cluster, by group and version.
var served = map[string]map[string]string{
	"v1":                            {"nodes": "Node", "pods": "Pod", "events": "Event"},
	"policy/v1":                     {"poddisruptionbudgets": "PodDisruptionBudget"},
	"karpenter.sh/v1":               {"nodeclaims": "NodeClaim", "nodepools": "NodePool"},
	"karpenter.k8s.linode/v1alpha1": {"linodenodeclasses": "LinodeNodeClass"},
	"lkeplan.dev/v1alpha1":          {"capacitylimits": "CapacityLimit", "nodeplans": "NodePlan"},
}

// server is an API server that knows discovery and lists.
func server(t *testing.T, lists map[string][]byte) *rest.Config {
	t.Helper()
	answer := func(path string) any {
		if path == "/api" {
			return metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
		}
		groups := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
		for version, kinds := range served {
			group, v, named := strings.Cut(version, "/")
			one := metav1.GroupVersionForDiscovery{GroupVersion: version, Version: v}
			g := metav1.APIGroup{
				TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: group,
				Versions: []metav1.GroupVersionForDiscovery{one}, PreferredVersion: one,
			}
			if named {
				groups.Groups = append(groups.Groups, g)
			}
			resources := metav1.APIResourceList{
				TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version,
			}
			for name, kind := range kinds {
				namespaced := name == "pods" || name == "events" || name == "poddisruptionbudgets" || name == "nodeplans"
				resources.APIResources = append(resources.APIResources,
					metav1.APIResource{Name: name, Kind: kind, Namespaced: namespaced, Verbs: metav1.Verbs{"list"}})
			}
			switch path {
			case "/apis/" + group:
				return g
			case "/apis/" + version, "/api/" + version:
				return resources
			}
		}
		if path == "/apis" {
			return groups
		}
		return nil
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if list, ok := lists[r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]]; ok {
			_, _ = w.Write(list)
			return
		}
		found := answer(r.URL.Path)
		if found == nil {
			w.WriteHeader(http.StatusNotFound)
		}
		_ = json.NewEncoder(w).Encode(found)
	}))
	t.Cleanup(srv.Close)
	return &rest.Config{Host: srv.URL, QPS: -1}
}

// TestALargeClusterIsReadAndToldOf from the lists of an API server to the text, in less than
// a second of processor time.
func TestALargeClusterIsReadAndToldOf(t *testing.T) {
	linode.Register()
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	by := map[string][]map[string]any{}
	for _, obj := range statustest.Large(t) {
		gvk, err := apiutil.GVKForObject(obj, scheme.Scheme)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if err := json.Unmarshal(raw, &object); err != nil {
			t.Fatal(err)
		}
		by[gvk.Kind] = append(by[gvk.Kind], object)
	}
	lists := map[string][]byte{}
	for version, kinds := range served {
		for name, kind := range kinds {
			lists[name], err = json.Marshal(map[string]any{
				"kind": kind + "List", "apiVersion": version, "metadata": map[string]any{"resourceVersion": "1"},
				"items": append([]map[string]any{}, by[kind]...),
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	cfg := server(t, lists)
	var text string
	began := time.Now()
	took := configtest.CPU(func() {
		var r *Reader
		if r, err = New(cfg, time.Second); err != nil {
			return
		}
		if err = r.Read(t.Context()); err != nil {
			return
		}
		found, _ := r.Lists()
		var told status.Status
		told, err = status.Of(found, status.Given{Catalog: prices, Now: time.Now()})
		text = told.Text(status.View{Width: 120})
	})
	t.Logf("%s of processor time, %s in all", took, time.Since(began))
	if err != nil || !strings.Contains(text, "500 pods wait") || took > time.Second {
		t.Errorf("it takes %s and says %v\n%.2000s", took, err, text)
	}
}
