package cluster

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// memoryCluster is a cluster in memory, in which a user may or may not do what a test says.
type memoryCluster struct {
	client.WithWatch
	lists, watches atomic.Int32
}

// newCluster has one node. May says whether the user may use a verb on a kind of lists.
func newCluster(may func(verb string, list client.ObjectList) bool) *memoryCluster {
	c := &memoryCluster{}
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", nil)
	c.WithWatch = fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(named("a")).
		WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, w client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
				c.lists.Add(1)
				if !may("list", list) {
					return refused
				}
				return w.List(ctx, list) // the one in memory has no fields to select by
			},
			Watch: func(
				ctx context.Context, w client.WithWatch, list client.ObjectList, _ ...client.ListOption,
			) (watch.Interface, error) {
				c.watches.Add(1)
				if !may("watch", list) {
					return nil, refused
				}
				return w.Watch(ctx, list)
			},
		}).Build()
	return c
}

func named(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid of " + name)}}
}

// nodes are the names of the nodes that are known.
func nodes(f *Follower) (names []string) {
	known, _ := f.Snapshot()
	for _, n := range known.Nodes {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	return names
}

// TestItFollows what is made and deleted, with the right to watch and without it.
func TestItFollows(t *testing.T) {
	for name, watched := range map[string]bool{"by watching": true, "by listing": false} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(func(verb string, _ client.ObjectList) bool { return verb == "list" || watched })
			f := NewFollower(c, 20*time.Millisecond, TopKinds()...)
			if err := f.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := nodes(f); !slices.Equal(got, []string{"a"}) {
				t.Fatalf("nodes %v", got)
			}
			if _, changed := f.Snapshot(); changed {
				t.Error("nothing has changed")
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan struct{})
			go func() { defer close(ended); f.Follow(ctx) }()
			until(t, "it watches", func() bool { return c.watches.Load() >= 4 })
			if err := c.Create(ctx, named("b")); err != nil {
				t.Fatal(err)
			}
			until(t, "the second node is there", func() bool { return slices.Equal(nodes(f), []string{"a", "b"}) })
			if err := c.Delete(ctx, named("a")); err != nil {
				t.Fatal(err)
			}
			until(t, "the first node is gone", func() bool { return slices.Equal(nodes(f), []string{"b"}) })
			if lists := c.lists.Load(); watched && lists > 8 {
				t.Errorf("%d lists, with the right to watch", lists)
			}
			cancel()
			<-ended
		})
	}
}

// TestWhatMayNotBeListedIsNoted: but without nodes there is nothing to show.
func TestWhatMayNotBeListedIsNoted(t *testing.T) {
	f := NewFollower(newCluster(func(_ string, list client.ObjectList) bool {
		_, claims := list.(*karpv1.NodeClaimList)
		return !claims
	}), time.Second, TopKinds()...)
	if err := f.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	known, _ := f.Snapshot()
	want := []string{"NodeClaims cannot be shown: the user may not list nodeclaims.karpenter.sh."}
	if len(known.Nodes) != 1 || !slices.Equal(known.Notes, want) {
		t.Errorf("%d nodes, notes %q", len(known.Nodes), known.Notes)
	}
	none := NewFollower(newCluster(func(string, client.ObjectList) bool { return false }), time.Second, TopKinds()...)
	if err := none.Read(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "list the Nodes: ") {
		t.Errorf("without any right: %v", err)
	}
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("timed out waiting until %s", what)
}
