package nodeclaim

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/utils/nodepool"
)

// TestBurstIsReconciledOnce: the first event starts the delay, and later events do not extend it. An object that
// moves from one owner to another requests both.
func TestBurstIsReconciledOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		began, got := time.Now(), []string{}
		go func() {
			for {
				request, ended := q.Get()
				if ended {
					return
				}
				got = append(got, request.Name+" "+time.Since(began).String())
				q.Done(request)
			}
		}()
		collect := Collect(time.Second, nodepool.NodeEventHandler())
		node := func(pool string) *corev1.Node {
			return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{karpv1.NodePoolLabelKey: pool}}}
		}
		for range 250 {
			collect.Create(t.Context(), event.CreateEvent{Object: node("a")}, q)
			time.Sleep(7 * time.Millisecond) // never at the same instant as a request
		}
		time.Sleep(10 * time.Second)
		collect.Update(t.Context(), event.UpdateEvent{ObjectOld: node("a"), ObjectNew: node("b")}, q)
		time.Sleep(1500 * time.Millisecond)
		collect.Delete(t.Context(), event.DeleteEvent{Object: node("b")}, q)
		time.Sleep(10 * time.Second)
		q.ShutDown()
		synctest.Wait()
		want := []string{"a 1s", "a 2.001s", "a 12.75s", "b 12.75s", "b 14.25s"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	})
}
