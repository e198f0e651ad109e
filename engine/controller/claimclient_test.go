package controller

import (
	"context"
	"slices"
	"testing"

	"github.com/awslabs/operatorpkg/controller"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
	k8sevents "k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/node/termination"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/lifecycle"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	karpcontroller "sigs.k8s.io/karpenter/pkg/utils/controller"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/linode/instancetype"
)

// TestNodeClaimsAreCreatedWithFinalizer: and nothing else is.
func TestNodeClaimsAreCreatedWithFinalizer(t *testing.T) {
	instancetype.Register()
	c := claimClient{Client: fake.NewClientBuilder().WithScheme(scheme.Scheme).Build(), region: "us-ord"}
	for _, o := range []client.Object{
		&karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
		&karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "b", Finalizers: []string{karpv1.TerminationFinalizer}}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
	} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
		var want []string
		if _, claim := o.(*karpv1.NodeClaim); claim {
			want = []string{karpv1.TerminationFinalizer}
		}
		if got := o.GetFinalizers(); !slices.Equal(got, want) {
			t.Errorf("%T %s has finalizers %v, want %v", o, o.GetName(), got, want)
		}
	}
}

// TestRefusedNodeClaimIsReported: on its NodePool, and the error is returned.
func TestRefusedNodeClaimIsReported(t *testing.T) {
	instancetype.Register()
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	refused := apierrors.NewInvalid(schema.GroupKind{Kind: "NodeClaim"}, "web-x7kqz",
		field.ErrorList{field.TooMany(field.NewPath("spec", "requirements"), 103, 100)})
	stored := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(pool).Build(), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return refused },
	})
	recorder := k8sevents.NewFakeRecorder(1)
	c := claimClient{stored, "us-ord", &staticPools{events: recorder}}
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{GenerateName: "web-", Labels: map[string]string{karpv1.NodePoolLabelKey: "web"}}}
	if err := c.Create(t.Context(), claim); !apierrors.IsInvalid(err) {
		t.Error(err)
	}
	const want = "Warning NodeClaimRefused the API server refuses the NodeClaims of the pool, so it gets no nodes: spec.requirements: Too many: 103: must have at most 100 items"
	if got := <-recorder.Events; got != want {
		t.Error(got)
	}
}

// TestKarpenterSeesExistingZones: others stay in the NodePool that is stored.
func TestKarpenterSeesExistingZones(t *testing.T) {
	instancetype.Register()
	tests := map[string]struct {
		key          string
		operator     corev1.NodeSelectorOperator
		values, want []string
	}{
		"one zone of several":   {corev1.LabelTopologyZone, "In", []string{"eu-west", "us-ord"}, []string{"us-ord"}},
		"one region of several": {corev1.LabelTopologyRegion, "In", []string{"us-ord", "eu-west"}, []string{"us-ord"}},
		"the existing zone":     {corev1.LabelTopologyZone, "In", []string{"us-ord"}, []string{"us-ord"}},
		"only others":           {corev1.LabelTopologyZone, "In", []string{"a", "b"}, []string{"a", "b"}},
		"all but one":           {corev1.LabelTopologyZone, "NotIn", []string{"us-ord", "a"}, []string{"us-ord", "a"}},
		"another label":         {"example.com/zone", "In", []string{"us-ord", "a"}, []string{"us-ord", "a"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
			pool.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{
				{Key: tt.key, Operator: tt.operator, Values: tt.values},
			}
			c := claimClient{Client: fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(pool).Build(), region: "us-ord"}
			var list karpv1.NodePoolList
			if err := c.List(t.Context(), &list); err != nil {
				t.Fatal(err)
			}
			if got := list.Items[0].Spec.Template.Spec.Requirements[0].Values; !slices.Equal(got, tt.want) {
				t.Errorf("Karpenter sees %v, want %v", got, tt.want)
			}
			if list.Items[0].Hash() != pool.Hash() {
				t.Error("the nodes of the NodePool would drift")
			}
		})
	}
}

// TestKarpenterSeesRequestsOfTemplates, as the API server defaults it in pods and not in templates.
func TestKarpenterSeesRequestsOfTemplates(t *testing.T) {
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Resources: &corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1500m")}},
		Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}}}},
	}}
	name := metav1.ObjectMeta{Namespace: "shop", Name: "web"}
	objects := []client.Object{
		&appsv1.DaemonSet{ObjectMeta: name, Spec: appsv1.DaemonSetSpec{Template: template}},
		&appsv1.Deployment{ObjectMeta: name, Spec: appsv1.DeploymentSpec{Template: template}},
		&appsv1.StatefulSet{ObjectMeta: name, Spec: appsv1.StatefulSetSpec{Template: template}},
		&appsv1.ReplicaSet{ObjectMeta: name, Spec: appsv1.ReplicaSetSpec{Template: template}},
		&corev1.PodTemplate{ObjectMeta: name, Template: template},
	}
	c := claimClient{Client: fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).Build(), region: "us-ord"}
	var daemons appsv1.DaemonSetList
	if err := c.List(t.Context(), &daemons); err != nil {
		t.Fatal(err)
	}
	got := map[string]corev1.PodSpec{"DaemonSet": daemons.Items[0].Spec.Template.Spec}
	for kind, o := range map[string]client.Object{"Deployment": &appsv1.Deployment{}, "StatefulSet": &appsv1.StatefulSet{},
		"ReplicaSet": &appsv1.ReplicaSet{}, "PodTemplate": &corev1.PodTemplate{}} {
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, o); err != nil {
			t.Fatal(err)
		}
		switch o := o.(type) {
		case *appsv1.Deployment:
			got[kind] = o.Spec.Template.Spec
		case *appsv1.StatefulSet:
			got[kind] = o.Spec.Template.Spec
		case *appsv1.ReplicaSet:
			got[kind] = o.Spec.Template.Spec
		case *corev1.PodTemplate:
			got[kind] = o.Template.Spec
		}
	}
	for kind, spec := range got {
		asks := resources.RequestsForSpec(&spec)
		if cpu, gpus := asks.Cpu().String(), asks["nvidia.com/gpu"]; cpu != "1500m" || gpus.String() != "1" {
			t.Errorf("of a %s Karpenter sees %v", kind, asks)
		}
	}
}

// TestBurstsAreRetriedInTime: NodeClaims of 500 nodes at once, and 50 a second more.
func TestBurstsAreRetriedInTime(t *testing.T) {
	ctx := options.ToContext(t.Context(), Karpenter{}.options())
	for name, tt := range map[string]struct {
		controller controller.Controller
		workers    int // at one CPU, in Karpenter
		want       int // tries a second
	}{
		"NodeClaims":        {&lifecycle.Controller{}, 1000, 50},
		"terminating Nodes": {&termination.Controller{}, 100, 69},
	} {
		cpus := karpcontroller.CPUCount(withMoreWorkers(ctx, tt.controller))
		workers := karpcontroller.LinearScaleReconciles(cpus, tt.workers, 5000)
		tries, burst := karpcontroller.GetTypedBucketConfigs(10, tt.workers, workers)
		if tries != tt.want || burst != 10*tries {
			t.Errorf("%s: %d tries a second after the first %d, want %d", name, tries, burst, tt.want)
		}
	}
	if cpus := karpcontroller.CPUCount(withMoreWorkers(ctx, &provisioning.PodController{})); cpus != 1 {
		t.Errorf("others have %v CPUs", cpus)
	}
	if options.FromContext(ctx).CPURequests != 1000 {
		t.Error("the options of all were changed")
	}
}
