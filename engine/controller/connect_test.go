package controller

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/lkeplan/lkeplan/linode/api"
)

// TestRestartWorksWithoutLinode: a temporary error does not end a controller that
// has run before; what is wrong with its settings does.
func TestRestartWorksWithoutLinode(t *testing.T) {
	const found = `{"id":77,"label":"prod","region":"us-ord","tier":"standard","k8s_version":"1.34"}`
	tests := map[string]struct {
		status int // 0 for no answer
		body   string
		known  bool   // an earlier start has recorded the cluster
		want   string // in the error; "" if the controller starts
	}{
		"the first start":                  {200, found, false, ""},
		"a later start":                    {200, found, true, ""},
		"Linode is down at the first":      {503, "<html>no</html>", false, "does not respond correctly"},
		"Linode is down at a later one":    {503, "<html>no</html>", true, ""},
		"Linode limits requests":           {429, `{"errors":[{"reason":"Too many requests"}]}`, true, ""},
		"a wrong token at the first start": {401, `{"errors":[{"reason":"Invalid Token"}]}`, false, "check LINODE_TOKEN"},
		"the token is revoked later":       {401, `{"errors":[{"reason":"Invalid Token"}]}`, true, ""},
		"no answer to a later start":       {0, "", true, ""},
		"the cluster is gone":              {404, `{"errors":[{"reason":"Not found"}]}`, true, "no LKE cluster 77"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answerAll(t, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					if !strings.Contains(r.URL.Path, "/lke/clusters/77") {
						w.WriteHeader(http.StatusServiceUnavailable) // the price list: the built-in one is used
						return
					}
					if tt.status == 0 {
						<-r.Context().Done()
						return
					}
					w.WriteHeader(tt.status)
					io.WriteString(w, tt.body)
				})
				began := time.Now()
				cfg := Config{
					LinodeURL: "http://linode.test", LinodeToken: "token", ClusterID: 77, Log: slog.New(slog.DiscardHandler),
				}
				kept := record{client: fake.NewClientBuilder().WithScheme(scheme.Scheme).Build(), namespace: "lkeplan-system"}
				if tt.known {
					kept.keep(t.Context(), cfg, api.Cluster{ID: 77, Label: "prod", Region: "us-ord", Tier: "standard"}, "")
				}
				got, err := connectToLinode(t.Context(), cfg, kept)
				if took := time.Since(began); tt.known && took > 10*time.Second {
					t.Errorf("a controller that knows its cluster starts after %s", took)
				}
				switch {
				case tt.want != "":
					if err == nil || !strings.Contains(err.Error(), tt.want) || tt.status == 404 &&
						strings.Contains(err.Error(), "does not answer") {
						t.Errorf("err = %v, want %q", err, tt.want)
					}
				case err != nil:
					t.Error(err)
				case got.cluster.Region != "us-ord" || got.cluster.Label != "prod" || got.prices == nil || got.fresh:
					t.Errorf("the cluster is %+v", got.cluster)
				default:
					got.lease.Interface = &lock{}
					if err := got.api.DeletePool(t.Context(), 77, 1); err == nil ||
						!strings.Contains(err.Error(), "this process does not lead") {
						t.Errorf("a process that does not lead sends: %v", err)
					}
					if _, known := kept.cluster(t.Context(), cfg); !known {
						t.Error("the cluster is not recorded")
					}
				}
			})
		})
	}
}

// answerAll lets a handler answer all requests of the process during a test, without a
// network: fake time does not wait for one.
func answerAll(t *testing.T, handler http.HandlerFunc) {
	before := http.DefaultTransport
	http.DefaultTransport = roundTrip(func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		handler(w, r)
		return w.Result(), r.Context().Err()
	})
	t.Cleanup(func() { http.DefaultTransport = before })
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestOtherClusterIsRefused: by the settings of another cluster every node would seem
// to have lost its machine.
func TestOtherClusterIsRefused(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"id":78,"label":"staging","region":"us-ord","tier":"standard","k8s_version":"1.34"}`)
	}))
	defer server.Close()
	cfg := Config{LinodeURL: server.URL, LinodeToken: "token", ClusterID: 78, Log: slog.New(slog.DiscardHandler)}
	kept := record{client: fake.NewClientBuilder().WithScheme(scheme.Scheme).Build(), namespace: "lkeplan-system"}
	kept.keep(t.Context(), cfg, api.Cluster{ID: 77, Label: "prod", Region: "us-ord", Tier: "standard"}, "")
	_, err := connectToLinode(t.Context(), cfg, kept)
	if err == nil || !strings.Contains(err.Error(), "this is LKE cluster 77, according to ConfigMap lkeplan-cluster") {
		t.Errorf("by the note: %v", err)
	}

	for names, want := range map[string]string{
		"lke77-1-0a": "this is LKE cluster 77, according to its Node lke77-1-0a", "lke78-1-0a": "", "worker-1": "", "lke7x-1": "",
		"lke77-1-0a lke78-1-0a": "", "": "",
	} {
		c := fake.NewClientBuilder().WithScheme(scheme.Scheme).Build()
		for _, name := range strings.Fields(names) {
			if err := c.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
				t.Fatal(err)
			}
		}
		err := requireOwnNodes(t.Context(), c, api.Cluster{ID: 78, Label: "staging"})
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("with Nodes %q: %v", names, err)
		}
	}
}
