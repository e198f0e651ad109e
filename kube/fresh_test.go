package kube_test

import (
	"context"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/lkeplan/lkeplan/kube"
)

// counting is a client of a server with one Node that counts its writes.
func counting(t *testing.T) (fresh, server client.Client, sent func() int) {
	t.Helper()
	var mu sync.Mutex
	n := 0
	count := func() {
		mu.Lock()
		defer mu.Unlock()
		n++
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "one"}}
	server = fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(node).WithStatusSubresource(node).Build()
	counted := interceptor.NewClient(server.(client.WithWatch), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch,
			opts ...client.PatchOption) error {
			count()
			return c.Patch(ctx, obj, patch, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			count()
			return c.Update(ctx, obj, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, obj client.Object, patch client.Patch,
			opts ...client.SubResourcePatchOption) error {
			count()
			return c.SubResource(name).Patch(ctx, obj, patch, opts...)
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, name string, obj client.Object,
			opts ...client.SubResourceUpdateOption) error {
			count()
			return c.SubResource(name).Update(ctx, obj, opts...)
		},
	})
	return kube.Fresh(counted), server, func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

func read(t *testing.T, c client.Client) *corev1.Node {
	t.Helper()
	var node corev1.Node
	if err := c.Get(t.Context(), client.ObjectKey{Name: "one"}, &node); err != nil {
		t.Fatal(err)
	}
	return &node
}

// writes are the ways to write a Node as it was read.
var writes = map[string]func(context.Context, client.Client, *corev1.Node) error{
	"update": func(ctx context.Context, c client.Client, n *corev1.Node) error {
		n.Labels = map[string]string{"by": "update"}
		return c.Update(ctx, n)
	},
	"patch": func(ctx context.Context, c client.Client, n *corev1.Node) error {
		stored := n.DeepCopy()
		n.Labels = map[string]string{"by": "patch"}
		return c.Patch(ctx, n, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{}))
	},
	"status update": func(ctx context.Context, c client.Client, n *corev1.Node) error {
		n.Status.Phase = corev1.NodeRunning
		return c.Status().Update(ctx, n)
	},
	"status patch": func(ctx context.Context, c client.Client, n *corev1.Node) error {
		stored := n.DeepCopy()
		n.Status.Phase = corev1.NodeTerminated
		return c.Status().Patch(ctx, n, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{}))
	},
}

func TestOutdatedWriteIsNotSent(t *testing.T) {
	for first, overtake := range writes {
		for second, write := range writes {
			t.Run(second+" after "+first, func(t *testing.T) {
				c, _, sent := counting(t)
				old, late := read(t, c), read(t, c)
				if err := overtake(t.Context(), c, old); err != nil {
					t.Fatal(err)
				}
				if err := write(t.Context(), c, late); !apierrors.IsConflict(err) || sent() != 1 {
					t.Errorf("%v after %d writes were sent, want a conflict after 1", err, sent())
				}
				if err := write(t.Context(), c, read(t, c)); err != nil || sent() != 2 {
					t.Errorf("%v after %d writes were sent; the write after a new read must succeed", err, sent())
				}
			})
		}
	}
}

func TestWriteOfAnyVersionIsSent(t *testing.T) {
	c, _, sent := counting(t)
	old, late := read(t, c), read(t, c)
	if err := writes["update"](t.Context(), c, old); err != nil {
		t.Fatal(err)
	}
	stored := late.DeepCopy()
	late.Labels = map[string]string{"by": "anybody"}
	if err := c.Patch(t.Context(), late, client.MergeFrom(stored)); err != nil || sent() != 2 {
		t.Errorf("%v after %d writes were sent", err, sent())
	}
	if err := c.Patch(t.Context(), late,
		client.RawPatch("application/json-patch+json",
			[]byte(`[{"op": "remove", "path": "/metadata/labels/by"}]`))); err != nil || sent() != 3 {
		t.Errorf("%v after %d writes were sent", err, sent())
	}
}

func TestServerDetectsWritesOfOthers(t *testing.T) {
	c, server, sent := counting(t)
	old := read(t, c)
	if err := writes["update"](t.Context(), server, read(t, server)); err != nil {
		t.Fatal(err)
	}
	if err := writes["update"](t.Context(), c, old); !apierrors.IsConflict(err) || sent() != 1 {
		t.Errorf("%v after %d writes were sent, want the server's conflict", err, sent())
	}
}

func TestOneOfConcurrentWritesIsSent(t *testing.T) {
	c, _, sent := counting(t)
	nodes := make([]*corev1.Node, 20)
	for i := range nodes {
		nodes[i] = read(t, c)
	}
	var wg sync.WaitGroup
	for i, node := range nodes {
		wg.Go(func() {
			node.Labels = map[string]string{"by": strconv.Itoa(i)}
			if err := c.Update(t.Context(), node); err != nil && !apierrors.IsConflict(err) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if sent() != 1 {
		t.Errorf("%d writes were sent of one version, want 1", sent())
	}
}
