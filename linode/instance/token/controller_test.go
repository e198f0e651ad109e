package token

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

func TestTokenOfRegisteredClaimIsRevoked(t *testing.T) {
	again := claim()
	again.UID = "another"
	foreign := registered()
	foreign.Spec.NodeClassRef.Kind = "EC2NodeClass"
	for name, c := range map[string]struct {
		was, is *karpv1.NodeClaim // is is nil: gone
		want    bool
	}{
		"nothing happens":          {claim(), claim(), false},
		"it registers":             {claim(), registered(), true},
		"it has registered before": {registered(), registered(), false},
		"it begins to go":          {claim(), going(), true},
		"it is gone":               {going(), nil, true},
		"it is gone at once":       {claim(), nil, true},
		"it was made again":        {claim(), again, true},
		"it is another provider's": {claim(), foreign, false},
	} {
		t.Run(name, func(t *testing.T) {
			q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			defer q.ShutDown()
			if c.is == nil {
				revocationEvents().Delete(t.Context(), event.DeleteEvent{Object: c.was}, q)
			} else {
				revocationEvents().Update(t.Context(), event.UpdateEvent{ObjectOld: c.was, ObjectNew: c.is}, q)
			}
			if got := q.Len() == 1; got != c.want {
				t.Fatalf("asked to revoke: %v", got)
			}
			if !c.want {
				return
			}
			api := cluster(interceptor.Funcs{})
			ensured(t, api, start)
			req, _ := q.Get()
			if _, err := NewController(New(api, api), api).Reconcile(t.Context(), req); err != nil || len(secrets(t, api)) > 0 {
				t.Errorf("%v, left %v", err, secrets(t, api))
			}
		})
	}
}

// TestSweepDeletesUnusedTokens: of claims that are gone, are going and have registered.
func TestSweepDeletesUnusedTokens(t *testing.T) {
	var objects []client.Object
	left := map[string]bool{}
	for name, stays := range map[string]bool{"waits": true, "registered": false, "going": false, "gone": false} {
		nc := map[string]func() *karpv1.NodeClaim{
			"waits": claim, "registered": registered, "going": going, "gone": claim,
		}[name]()
		nc.Name, nc.UID = name, types.UID(name)
		s := wantedSecret(nc, IDs(name)[0], "0123456789abcdef", start)
		objects = append(objects, s)
		if name != "gone" {
			objects = append(objects, nc)
		}
		if stays {
			left[s.Name] = true
		}
	}
	strange := foreign(0) // has our label, and not a name that we would give it
	strange.Name, strange.Labels = "bootstrap-token-aaaaaa", map[string]string{Label: "gone"}
	elsewhere := wantedSecret(claim(), IDs(uid)[0], "0123456789abcdef", start)
	elsewhere.Namespace = "default"
	c := cluster(interceptor.Funcs{}, append(objects, strange, elsewhere, foreign(1))...)
	for _, s := range []*corev1.Secret{strange, elsewhere, foreign(1)} {
		left[s.Name] = true
	}

	controller := NewController(New(c, c), c)
	deleted, err := controller.tokens.Sweep(t.Context(), controller.living)
	if err != nil || len(deleted) != 3 {
		t.Errorf("deleted %v, %v", deleted, err)
	}
	got := map[string]bool{}
	for name := range secrets(t, c) {
		got[name] = true
	}
	if d := cmp.Diff(left, got); d != "" {
		t.Errorf("left are -want +got\n%s", d)
	}
}

// TestSweepKeepsTokensOfNewClaims: NodeClaims are listed after the Secrets.
func TestSweepKeepsTokensOfNewClaims(t *testing.T) {
	c := cluster(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			if _, isSecrets := list.(*metav1.PartialObjectMetadataList); isSecrets {
				return errors.Join(err, c.Create(ctx, claim()))
			}
			return err
		},
	})
	token := ensured(t, c, start)
	controller := NewController(New(c, c), c)
	if deleted, err := controller.tokens.Sweep(t.Context(), controller.living); err != nil || len(deleted) > 0 {
		t.Errorf("deleted %v, %v", deleted, err)
	}
	if again := ensured(t, c, start); again != token {
		t.Errorf("token %s, before %s", again, token)
	}
}

// TestSweepDeletesNothingIfClaimsAreUnknown: nor does one that sees another Secret than is there.
func TestSweepDeletesNothingIfClaimsAreUnknown(t *testing.T) {
	c := cluster(interceptor.Funcs{})
	ensured(t, c, start)
	unknown := func(context.Context) (map[string]bool, error) { return nil, errors.New("no list") }
	_, err := New(c, c).Sweep(t.Context(), unknown)
	if err == nil || len(secrets(t, c)) != 1 {
		t.Errorf("%v, left %v", err, secrets(t, c))
	}
	deleted, err := New(c, c).Sweep(t.Context(), func(ctx context.Context) (map[string]bool, error) {
		s := secrets(t, c)[prefix+IDs(uid)[0]]
		return nil, c.Update(ctx, &s)
	})
	if err == nil || len(deleted) > 0 || len(secrets(t, c)) != 1 {
		t.Errorf("deleted %v, %v", deleted, err)
	}
}

func TestSweepsAtStartAndEveryTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var swept []time.Duration
		began, fails := time.Now(), 1
		c := cluster(interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
				swept = append(swept, time.Since(began))
				if fails--; fails >= 0 {
					return errors.New("no answer")
				}
				return nil
			},
		})
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Minute)
		defer cancel()
		NewController(New(c, c), c).run(ctx)
		if d := cmp.Diff([]time.Duration{0, time.Minute, 11 * time.Minute}, swept); d != "" {
			t.Errorf("-want +got\n%s", d)
		}
	})
}
