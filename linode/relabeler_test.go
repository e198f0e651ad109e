package linode

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"

	"github.com/lkeplan/lkeplan/linode/inplace"
	"github.com/lkeplan/lkeplan/schemas"
)

const team = "example.com/team"

// TestEachWriteCanBeTheLast changes a label of fifty nodes twenty times. After each number of writes the process ends,
// and another continues. No claim may ever seem to have drifted.
func TestEachWriteCanBeTheLast(t *testing.T) {
	pool := &karpv1.NodePool{}
	pool.Name, pool.Annotations = "web", map[string]string{schemas.AnnotationInPlace: team}
	pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: "karpenter.k8s.linode",
		Kind: "LinodeNodeClass", Name: "default"}
	pool.Spec.Template.Labels = map[string]string{team: "v0"}
	objects := []client.Object{pool}
	for i := range 50 {
		nc := scheduling.NewNodeClaimTemplate(pool).NodeClaim.DeepCopy()
		nc.Name, nc.Status.NodeName, nc.Status.ProviderID = fmt.Sprintf("web-%d", i), fmt.Sprintf("node-%d", i),
			fmt.Sprintf("linode://%d", i+1)
		node := &corev1.Node{}
		node.Name, node.Spec.ProviderID = nc.Status.NodeName, nc.Status.ProviderID
		node.Labels = map[string]string{team: "v0", karpv1.NodeRegisteredLabelKey: "true", karpv1.NodePoolLabelKey: "web"}
		objects = append(objects, nc, node)
	}
	left, killed := 0, errors.New("the process ended")
	var shared, unchanged []any // what was read: the controller must not change objects of the cache
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).
		WithStatusSubresource(&karpv1.NodeClaim{}).
		WithInterceptorFuncs(interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object,
			p client.Patch,
			opts ...client.PatchOption) error {
			if left--; left < 0 {
				return killed
			}
			return c.Patch(ctx, o, p, opts...)
		}, List: func(ctx context.Context, c client.WithWatch, o client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, o, opts...)
			if claims, ok := o.(*karpv1.NodeClaimList); ok {
				shared, unchanged = append(shared, claims.Items), append(unchanged, claims.DeepCopy().Items)
			}
			return err
		}, Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			err := c.Get(ctx, key, o, opts...)
			if node, ok := o.(*corev1.Node); ok {
				shared, unchanged = append(shared, *node), append(unchanged, *node.DeepCopy())
			}
			return err
		}}).Build()
	request := ctrl.Request{NamespacedName: client.ObjectKey{Name: "web"}}
	check := func(wrote bool, want string) {
		t.Helper()
		var claims karpv1.NodeClaimList
		var nodes corev1.NodeList
		var stored karpv1.NodePool
		if err := errors.Join(c.List(t.Context(), &claims), c.List(t.Context(), &nodes), c.Get(t.Context(),
			request.NamespacedName, &stored)); err != nil {
			t.Fatal(err)
		}
		template := inplace.TemplateOf(&stored)
		for _, nc := range claims.Items {
			if template.Drifted(nc.Labels, nc.Annotations) {
				t.Fatalf("%s drifts: %v", nc.Name, nc.Annotations)
			}
		}
		for _, n := range nodes.Items {
			if wrote && n.Labels[team] != want {
				t.Fatalf("%s has %q, not %q", n.Name, n.Labels[team], want)
			}
		}
	}
	for change := 1; change <= 20; change++ {
		var stored karpv1.NodePool
		if err := c.Get(t.Context(), request.NamespacedName, &stored); err != nil {
			t.Fatal(err)
		}
		value := fmt.Sprintf("v%d", change)
		stored.Spec.Template.Labels[team] = value
		if err := c.Update(t.Context(), &stored); err != nil {
			t.Fatal(err)
		}
		check(false, "")
		for _, writes := range []int{change, 7 * change} { // 50 claims and 50 Nodes have to be written
			left = writes
			_, _ = NewRelabeler(c, events.NewFakeRecorder(1)).Reconcile(t.Context(), request)
			check(false, "")
		}
		recorder := events.NewFakeRecorder(10)
		last := NewRelabeler(c, recorder)
		left = 1000
		for range 3 {
			if _, err := last.Reconcile(t.Context(), request); err != nil {
				t.Fatal(err)
			}
		}
		check(true, value)
		if diff := cmp.Diff(unchanged, shared); diff != "" {
			t.Fatalf("objects of the cache were changed:\n%s", diff)
		}
		shared, unchanged = nil, nil
		if n := len(recorder.Events); n > 1 {
			t.Errorf("%d events for one change", n)
		}
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(last.Metrics()...)
		families, err := registry.Gather()
		if err != nil || families[0].GetMetric()[0].GetGauge().GetValue() != 0 {
			t.Errorf("nodes that are not relabeled: %v, %v", families, err)
		}
	}
}

// TestRefusedWriteIsReported: the API server refuses each write of a Node, as an admission policy can.
func TestRefusedWriteIsReported(t *testing.T) {
	pool := nodePool()
	pool.Annotations = map[string]string{schemas.AnnotationInPlace: team}
	pool.Spec.Template.Labels = map[string]string{team: "new"}
	nc := nodeClaim("1")
	nc.Labels[team], nc.Status.NodeName, nc.Status.ProviderID = "new", "node-7", "linode://7"
	nc.Annotations = map[string]string{inplace.AnnotationValues: `{"hash":"1","labels":{"` + team + `":"old"}}`}
	node := &corev1.Node{}
	node.Name, node.Spec.ProviderID = nc.Status.NodeName, nc.Status.ProviderID
	node.Labels = map[string]string{team: "old", karpv1.NodeRegisteredLabelKey: "true"}
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(pool, nc, node).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if _, ok := o.(*corev1.Node); ok {
				return errors.New("a policy denies it")
			}
			return c.Patch(ctx, o, p, opts...)
		}}).Build()
	recorder := events.NewFakeRecorder(10)
	_, err := NewRelabeler(c, recorder).Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(pool)})
	if err == nil || len(recorder.Events) != 1 {
		t.Fatalf("error %v and %d events", err, len(recorder.Events))
	}
	if event := <-recorder.Events; !strings.Contains(event, inplace.ReasonNotRelabeled) || !strings.Contains(event, "a policy denies it") {
		t.Error(event)
	}
}
