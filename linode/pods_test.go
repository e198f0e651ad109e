package linode

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// TestPodsGetEventsAboutTheirClass in the words of the class: its NodePools only say
// that a condition of it is false.
func TestPodsGetEventsAboutTheirClass(t *testing.T) {
	const why = "spec.firewallID: the account has no firewall 7"
	pool := nodePool()
	pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{
		Group: linodev1alpha1.Group, Kind: "LinodeNodeClass", Name: "default",
	}
	conditions := pool.StatusConditions()
	conditions.SetTrue(karpv1.ConditionTypeValidationSucceeded)
	conditions.SetFalse(karpv1.ConditionTypeNodeClassReady, "UnhealthyDependents", "ValidationSucceeded=False")
	class := &linodev1alpha1.LinodeNodeClass{}
	class.Name = "default"
	pod := pendingPod("web")
	class.StatusConditions().SetFalse(linodev1alpha1.ConditionValidationSucceeded, "Invalid", why)
	if !class.StatusConditions(status.WithObservedOnly()).Root().IsFalse() {
		t.Fatal("the class is ready")
	}
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(pool, class, pod).Build()
	recorder := events.NewFakeRecorder(5)
	if _, err := NewPods(c, provider(t).chooser.Types, nil, recorder).Reconcile(t.Context(), ctrl.Request{}); err != nil {
		t.Fatal(err)
	}
	select {
	case said := <-recorder.Events:
		if !strings.Contains(said, why) || strings.Contains(said, "ValidationSucceeded=False") {
			t.Errorf("the event says %q", said)
		}
	default:
		t.Error("there is no event")
	}
}

// TestPodsGetEventsAboutStock and of a Linode API that does not answer, again only after a while,
// or when there is something else to tell.
func TestPodsGetEventsAboutStock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plans := provider(t).chooser.Types
		pool := func(name string, weight int32, plans ...string) *karpv1.NodePool {
			p := nodePool()
			p.Name, p.Spec.Weight = name, &weight
			p.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{
				Group: linodev1alpha1.Group, Kind: "LinodeNodeClass", Name: "default",
			}
			p.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{
				in(corev1.LabelInstanceTypeStable, plans...),
			}
			p.StatusConditions().SetTrue(karpv1.ConditionTypeValidationSucceeded)
			p.StatusConditions().SetTrue(karpv1.ConditionTypeNodeClassReady)
			p.StatusConditions().SetTrue(karpv1.ConditionTypeNodeRegistrationHealthy)
			return p
		}
		class := &linodev1alpha1.LinodeNodeClass{}
		class.Name = "default"
		pod := pendingPod("web")
		c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithStatusSubresource(class).WithObjects(class, pod,
			pool("first", 9, "g6-standard-4", "g6-standard-6"), pool("second", 1, "g6-standard-8")).Build()
		recorder := events.NewFakeRecorder(5)
		full := map[string]string{}
		pods := NewPods(c, plans, func(_ context.Context, _ *linodev1alpha1.LinodeNodeClass, pool *karpv1.NodePool) (
			string, error) {
			return full[pool.Name], nil
		}, recorder)
		hears := func(want string) {
			t.Helper()
			if _, err := pods.Reconcile(t.Context(), ctrl.Request{}); err != nil {
				t.Fatal(err)
			}
			said := ""
			select {
			case said = <-recorder.Events:
			default:
			}
			if want == "" && said != "" || !strings.Contains(said, want) {
				t.Errorf("the pod hears %q, want %q", said, want)
			}
		}
		hears("")
		full["first"] = "group 3 is full"
		hears("") // second has room
		full["second"] = "group 4 is full"
		hears("NodePool first: group 3 is full; the pod waits until one of them is removed")
		clear(full)
		time.Sleep(time.Hour - 2*warnEvery)
		hears("")
		plans.Block("g6-standard-6", time.Now().Add(time.Hour)) // dearer than what is tried anyway
		hears("")
		plans.Block("g6-standard-4", time.Now().Add(time.Hour))
		hears("for g6-standard-4 (next attempt at 01:56:00 UTC), g6-standard-6 (next attempt at 01:56:00 UTC); " +
			"g6-standard-8 of NodePool second is tried next")
		time.Sleep(warnEvery / 2)
		hears("")
		time.Sleep(warnEvery / 2)
		hears("g6-standard-8 of NodePool second is tried next")
		plans.Block("g6-standard-8", time.Now().Add(time.Hour))
		time.Sleep(warnEvery)
		hears("no other plan type of its NodePools fits")
		class.StatusConditions().SetFalse(linodev1alpha1.ConditionLinodeAnswers, api.ReasonNoAnswer, "Linode is silent")
		if err := c.Status().Update(t.Context(), class); err != nil {
			t.Fatal(err)
		}
		hears("Linode is silent; a node is created when it answers again")
		hears("")
	})
}

func pendingPod(name string) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name, pod.UID = "shop", name, types.UID(name)
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
	return pod
}
