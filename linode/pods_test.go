package linode

import (
	"strings"
	"testing"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// TestPodsAreToldWhatIsWrongWithAClass in the words of the class: its NodePools only say
// that a condition of it is false.
func TestPodsAreToldWhatIsWrongWithAClass(t *testing.T) {
	Register()
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
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name, pod.UID = "shop", "web", "web"
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
	class.StatusConditions().SetFalse(linodev1alpha1.ConditionValidationSucceeded, "Invalid", why)
	if !class.StatusConditions(status.WithObservedOnly()).Root().IsFalse() {
		t.Fatal("the class is ready")
	}
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(pool, class, pod).Build()
	recorder := events.NewFakeRecorder(5)
	if _, err := NewPods(c, recorder).Reconcile(t.Context(), ctrl.Request{}); err != nil {
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
