package kube

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/lkeplan/lkeplan/kube/kubetest"
)

// lists are the two ways in which lists are read: as fields, and into types.
var lists = map[string]func(ctx context.Context, c *Cluster) (int, error){
	"fields": func(ctx context.Context, c *Cluster) (int, error) {
		found, err := c.List(ctx, "v1", "Pod")
		return len(found), err
	},
	"types": func(ctx context.Context, c *Cluster) (int, error) {
		typed, err := c.Client(scheme.Scheme)
		if err != nil {
			return 0, err
		}
		var found corev1.PodList
		err = typed.List(ctx, &found)
		return len(found.Items), err
	},
}

// faulty is a cluster that answers requests of some paths with a fault.
func faulty(t *testing.T, fault kubetest.Fault, paths ...string) *Cluster {
	t.Helper()
	server := &kubetest.Server{
		Kinds:   map[string]string{"v1/pods": "Pod", "karpenter.sh/v1/nodepools": "NodePool"},
		Objects: map[string][]any{"v1/pods": {map[string]any{"metadata": map[string]any{"name": "a"}}}},
		Fault: func(path string) kubetest.Fault {
			for _, p := range paths {
				if p == path {
					return fault
				}
			}
			return kubetest.Fine
		},
	}
	c, err := NewCluster(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRequestsTimeOut: each request has a timeout, also those of discovery, and the error names
// the one that was not answered.
func TestRequestsTimeOut(t *testing.T) {
	for path, want := range map[string]string{
		"api/v1/pods": "GET /api/v1/pods", "api": "GET /api", "apis": "GET /apis", "api/v1": "GET /api/v1",
	} {
		for _, fault := range []kubetest.Fault{kubetest.Hangs, kubetest.Drips} {
			for how, list := range lists {
				t.Run(path+" "+string(fault)+", "+how, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						began := time.Now()
						_, err := list(t.Context(), faulty(t, fault, path))
						if took := time.Since(began); took != RequestTimeout {
							t.Errorf("it took %s", took)
						}
						want := "the API server at https://api.test:6443 did not answer " + want + " within 1m10s"
						if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "kubectl get --raw") {
							t.Errorf("it says: %v", err)
						}
					})
				})
			}
		}
	}
}

// TestDiscoveryTimesOutOnce: clients send requests one after another, and those that have waited
// for the first do not wait again.
func TestDiscoveryTimesOutOnce(t *testing.T) {
	for _, path := range []string{"api", "apis"} {
		synctest.Test(t, func(t *testing.T) {
			c, began := faulty(t, kubetest.Hangs, path), time.Now()
			for range 10 {
				if _, err := c.List(t.Context(), "karpenter.sh/v1", "NodePool"); err == nil {
					t.Error("it goes well")
				}
			}
			if took := time.Since(began); took != RequestTimeout {
				t.Errorf("it took %s", took)
			}
			time.Sleep(time.Second) // in which no client has waited
			if _, err := c.List(t.Context(), "v1", "Pod"); err == nil || time.Since(began) != 2*RequestTimeout+time.Second {
				t.Errorf("after %s: %v", time.Since(began), err)
			}
		})
	}
}

// TestARequestEndsWithItsContext: the request of discovery has none, and the call still ends.
func TestARequestEndsWithItsContext(t *testing.T) {
	for _, path := range []string{"api/v1/pods", "api", "apis", "api/v1"} {
		for how, list := range lists {
			t.Run(path+", "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					time.AfterFunc(time.Second, cancel)
					began := time.Now()
					_, err := list(ctx, faulty(t, kubetest.Hangs, path))
					if took := time.Since(began); took != time.Second || err == nil {
						t.Errorf("it took %s: %v", took, err)
					}
					time.Sleep(RequestTimeout) // until the requests of discovery end, too
				})
			})
		}
	}
}

// TestWatchOutlivesTheTimeout of requests once it is answered.
func TestWatchOutlivesTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		typed, err := faulty(t, kubetest.Drips, "api/v1/pods").Client(scheme.Scheme)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		w, err := typed.Watch(ctx, &corev1.PodList{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		select {
		case event := <-w.ResultChan():
			t.Errorf("it ends: %v", event)
		case <-time.After(time.Hour):
		}
		cancel()
		<-w.ResultChan()
	})
	synctest.Test(t, func(t *testing.T) {
		typed, err := faulty(t, kubetest.Hangs, "api/v1/pods").Client(scheme.Scheme)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = typed.Watch(t.Context(), &corev1.PodList{}); err == nil || !strings.Contains(err.Error(), "within 1m10s") {
			t.Errorf("it says: %v", err)
		}
	})
}

// TestAnswerOfAnotherKindIsAnError: it would be an empty list.
func TestAnswerOfAnotherKindIsAnError(t *testing.T) {
	for path, fault := range map[string]map[kubetest.Fault]string{
		"api/v1/pods": {
			kubetest.Success: "answered GET /api/v1/pods with a Status instead of a PodList",
			kubetest.Other:   "answered GET /api/v1/pods with a ConfigMapList instead of a PodList",
		},
		"api":    {kubetest.Success: "answered GET /api with a Status", kubetest.Other: "answered GET /api with a ConfigMapList"},
		"apis":   {kubetest.Success: "answered GET /apis with a Status"},
		"api/v1": {kubetest.Success: "answered GET /api/v1 with a Status"},
	} {
		for fault, want := range fault {
			for how, list := range lists {
				t.Run(path+" "+string(fault)+", "+how, func(t *testing.T) {
					n, err := list(t.Context(), faulty(t, fault, path))
					if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "https://api.test:6443") {
						t.Errorf("%d pods, and it says: %v", n, err)
					}
				})
			}
		}
	}
	for how, list := range lists {
		if n, err := list(t.Context(), faulty(t, kubetest.Fine)); n != 1 || err != nil {
			t.Errorf("%s: %d pods, %v", how, n, err)
		}
	}
}

// TestRequestIsNotRetriedInAnHour: an overloaded API server can ask for that.
func TestRequestIsNotRetriedInAnHour(t *testing.T) {
	for how, list := range lists {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			_, err := list(t.Context(), faulty(t, kubetest.Later, "api/v1/pods"))
			if err == nil || time.Since(began) > RequestTimeout {
				t.Errorf("%s: after %s: %v", how, time.Since(began), err)
			}
		})
	}
}

// TestSlowRequestIsReported after three seconds, in one line.
func TestSlowRequestIsReported(t *testing.T) {
	for _, tt := range []struct {
		timeouts Timeouts
		after    time.Duration
		says     string
	}{
		{Timeouts{}, ReadTimeout, "waiting for at most 30s (--request-timeout) for the API server at https://api.test:6443 to answer GET /api"},
		{Timeouts{Timeout: 5 * time.Second}, 5 * time.Second, "waiting for at most 5s (--request-timeout) for the API server"},
		{Timeouts{Timeout: time.Second}, time.Second, ""},
		{Timeouts{Timeout: 2 * time.Hour}, 2 * time.Hour, "waiting for at most 2h0m0s"},
		{Timeouts{Forever: true}, 24 * time.Hour, "waiting without limit for the API server"},
	} {
		for _, path := range []string{"api", "api/v1", "api/v1/pods"} {
			for _, fault := range []kubetest.Fault{kubetest.Hangs, kubetest.Drips} {
				if tt.timeouts.Forever && path != "api/v1/pods" {
					continue // discovery has no context, and would continue
				}
				synctest.Test(t, func(t *testing.T) {
					began := time.Now()
					var said []string
					tt.timeouts.Say = func(what string) {
						said = append(said, what)
						if took := time.Since(began); took != saysAfter {
							t.Errorf("it is reported after %s", took)
						}
					}
					server := kubetest.Failing(map[string]string{"v1/pods": "Pod"}, path, fault)
					server.Fault = func(of string) kubetest.Fault {
						if of == path {
							return fault
						}
						return kubetest.Fine
					}
					c, err := newCluster(server.Config(), tt.timeouts)
					if err != nil {
						t.Fatal(err)
					}
					ctx, end := context.WithTimeout(t.Context(), 24*time.Hour)
					defer end()
					_, err = c.List(ctx, "v1", "Pod")
					synctest.Wait()
					if took := time.Since(began); err == nil || took != tt.after {
						t.Errorf("%+v, %s %s: it ends after %s: %v", tt.timeouts, path, fault, took, err)
					}
					if !tt.timeouts.Forever && !strings.Contains(err.Error(), "or wait longer with --request-timeout") {
						t.Errorf("the error does not have what to do: %v", err)
					}
					if tt.says == "" && len(said) > 0 || tt.says != "" && (len(said) != 1 || !strings.HasPrefix(said[0], tt.says)) {
						t.Errorf("it says %q", said)
					}
				})
			}
		}
	}
}
