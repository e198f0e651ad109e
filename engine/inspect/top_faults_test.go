package inspect_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/inspect"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/kube/kubetest"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// TestTopReportsFailedLists: what the user cannot list is named by the resource that the right is
// missing for, and what depends on it is null and ?. Another answer, or none, is an error.
func TestTopReportsFailedLists(t *testing.T) {
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
					case fault == kubetest.Refused && err != nil && resource == "v1/nodes": // without them nothing can be shown
					case fault == kubetest.Refused && err == nil && containsAll(text, said[resource]):
					default:
						t.Errorf("%v: %s", err, text)
					}
				})
			})
		}
	}
}

// screen is the screen of a cluster, as JSON and text.
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

// TestTopEscapesTextOfKubelets in the list and in the view of one node, and no amount overflows.
func TestTopEscapesTextOfKubelets(t *testing.T) {
	const evil = "K\x1b[31mRED\x1b[2J\u009b31m\u202eEVIL\u200b\nlke1-2-b  web  ready\t##[error]x"
	huge := corev1.ResourceList{"cpu": resource.MustParse("1e30"), "memory": resource.MustParse("100000000000Ei")}
	node := func(name string) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"karpenter.sh/nodepool": evil, "topology.kubernetes.io/region": evil,
				"node.kubernetes.io/instance-type": evil}},
			Spec: corev1.NodeSpec{ProviderID: evil, Taints: []corev1.Taint{{Key: evil, Value: evil}}},
			Status: corev1.NodeStatus{
				Allocatable: huge, Conditions: []corev1.NodeCondition{{Type: "Ready", Status: "False", Reason: evil}},
				NodeInfo: corev1.NodeSystemInfo{KubeletVersion: evil, OSImage: evil},
			},
		}
	}
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
	claim.Status.NodeName, claim.Status.ProviderID = "a", evil
	claim.Status.Conditions = []status.Condition{{Type: "Launched", Status: "False", Reason: evil, Message: strings.Repeat(evil, 1<<10)}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	pod.Spec.NodeName, pod.Spec.Containers = "a", []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: huge}}}
	found := cluster.Snapshot{Nodes: []*corev1.Node{node("a"), node("b")}, Claims: []*karpv1.NodeClaim{claim}, Pods: []*corev1.Pod{pod},
		Notes: []string{evil}}
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	screen := inspect.NewScreen(found, prices.Price)
	if screen.Total.CPU.Allocatable < 0 || screen.Total.Memory.Allocatable < 0 || screen.Total.CPU.Requested.N < 0 {
		t.Errorf("it overflows: %+v", screen.Total)
	}
	for _, width := range []int{0, 20, 80, 200} {
		view := inspect.ScreenView{Width: width, Now: now, At: 0, Place: evil, Paint: func(_ inspect.Ink, text string) string { return "<" + text + ">" }}
		detail, ok := screen.Detail(found, "a")
		if !ok {
			t.Fatal("there is no node")
		}
		for _, drawn := range []string{screen.Draw(view), detail.DrawDetail(view)} {
			if strings.ContainsAny(drawn, "\x1b\u009b\u202e\u200b\t") || strings.Contains(drawn, "##[") || strings.Contains(drawn, "\nlke1-2-b") {
				t.Errorf("%d columns:\n%.3000s", width, drawn)
			}
		}
	}
}
