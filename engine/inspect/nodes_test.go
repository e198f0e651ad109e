package inspect_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/inspect"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// TestStatusEscapesTextOfKubelets: it cannot control the terminal, and cannot begin a line. Amounts may have any size.
func TestStatusEscapesTextOfKubelets(t *testing.T) {
	const evil = "K\x1b[31mRED\x1b[2J\u009b31m\u202eEVIL\u200b\nlke1-2-b  web  ready\t##[error]x"
	huge := corev1.ResourceList{"cpu": resource.MustParse("1e30"), "memory": resource.MustParse("100000000000Ei")}
	lists := cluster.Snapshot{Notes: []string{evil}}
	for _, name := range []string{"a", "b"} {
		lists.Nodes = append(lists.Nodes, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"karpenter.sh/nodepool": evil,
				"topology.kubernetes.io/region": evil, "node.kubernetes.io/instance-type": evil}},
			Spec: corev1.NodeSpec{ProviderID: evil, Taints: []corev1.Taint{{Key: evil, Value: evil}}},
			Status: corev1.NodeStatus{
				Allocatable: huge, Conditions: []corev1.NodeCondition{{Type: "Ready", Status: "False", Reason: evil}},
			},
		})
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
		pod.Spec.NodeName, pod.Spec.Containers = name, []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: huge}}}
		lists.Pods = append(lists.Pods, pod)
	}
	found, err := inspect.NewStatus(lists, inspect.Given{Catalog: prices(t), Now: now, Place: evil})
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{20, 80, 200} {
		text := found.Text(inspect.StatusView{Width: width})
		if strings.ContainsAny(text, "\x1b\u009b\u202e\u200b\t") || strings.Contains(text, "##[") || strings.Contains(text, "\nlke1-2-b") {
			t.Errorf("%d columns:\n%.3000s", width, text)
		}
	}
	if text := found.Text(inspect.StatusView{Width: 400}); strings.Count(text, " 100% ") < 2 {
		t.Errorf("the use of the nodes is not shown:\n%s", text)
	}
}

// TestManyNodesAreSummedUp by pool and plan type, unless each is asked for.
func TestManyNodesAreSummedUp(t *testing.T) {
	found, err := inspect.NewStatus(cluster.Of(largeCluster(t), nil), inspect.Given{Catalog: prices(t), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	few, all := found.Text(inspect.StatusView{Width: 80}), found.Text(inspect.StatusView{Width: 80, All: true})
	if want := "pool-0    g6-standard-6      5"; !strings.Contains(few, want) || strings.Contains(few, "lke1-0-0") {
		t.Errorf("the nodes are not summed up:\n%s", few)
	}
	if got := strings.Count(all, "lke1-"); got < 1000 {
		t.Errorf("%d nodes are listed", got)
	}
}

func TestAgesHaveTwoUnitsAtMost(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": -time.Hour, "59s": 59*time.Second + time.Second/2, "1m": time.Minute, "1m4s": 64 * time.Second, "9m59s": 10*time.Minute - 1,
		"10m": 10*time.Minute + 9*time.Second, "28m": 28 * time.Minute, "1h": time.Hour + 59*time.Second, "1h30m": 90 * time.Minute,
		"9h59m": 10*time.Hour - 1, "20h": 20*time.Hour + 20*time.Minute, "47h": 48*time.Hour - 1, "2d": 48 * time.Hour, "30d": 30 * 24 * time.Hour,
	} {
		if got := text.Age(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}
