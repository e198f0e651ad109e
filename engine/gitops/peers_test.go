package gitops

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// kubeconfigOf is a kubeconfig for a server, with a token.
func kubeconfigOf(s *httptest.Server) string {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: a, user: {token: secret-token}}]
`, s.URL, base64.StdEncoding.EncodeToString(ca))
}

func TestKubeconfigsThatRunProgramsOrReadFilesAreRefused(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	good := kubeconfigOf(s)
	if cfg, err := peerConfig([]byte(good)); err != nil || cfg.BearerToken != "secret-token" || cfg.Host != s.URL {
		t.Fatalf("a kubeconfig with a token: %v, %v", cfg, err)
	}
	for name, tt := range map[string]struct{ old, new, want string }{
		"exec": {"token: secret-token",
			"exec: {apiVersion: client.authentication.k8s.io/v1, command: sh}", "exec runs a program"},
		"exec and token": {"{token",
			"{exec: {apiVersion: client.authentication.k8s.io/v1, command: sh}, token", "exec runs a program"},
		"auth provider": {"{token", "{auth-provider: {name: gcp}, token", "auth-provider is not allowed"},
		"token file": {"{token",
			"{tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token, token", "tokenFile is a file"},
		"password":        {"{token", "{username: a, password: b, token", "username and password"},
		"client key file": {"{token", "{client-key: /etc/key, token", "client-certificate and client-key are files"},
		"impersonation":   {"{token", "{as: admin, token", "impersonation"},
		"groups":          {"{token", "{as-groups: [a], token", "impersonation"},
		"insecure":        {"{server", "{insecure-skip-tls-verify: true, server", "insecure-skip-tls-verify"},
		"CA file":         {"{server", "{certificate-authority: /etc/ca, server", "certificate-authority is a file"},
		"proxy":           {"{server", "{proxy-url: http://evil, server", "proxy-url"},
		"http":            {"https://", "http://", "server must be an https URL"},
		"user in the URL": {"https://", "https://a:b@", "server must be an https URL"},
		"query":           {s.URL, s.URL + "/?a=", "without a query"},
		"no token":        {"token: secret-token", "", "neither a token nor"},
		"no context":      {"current-context: a", "current-context: b", "current-context does not exist"},
		"no user":         {"user: a}", "user: b}", "the user of its current-context"},
		"null context":    {"context: {cluster: a, user: a}", "context: null", "does not exist"},
		"not YAML":        {"apiVersion", "secret-token: {", "it is not a kubeconfig"},
		"large":           {"apiVersion", strings.Repeat("#", 65<<10) + "\napiVersion", "64 KiB"},
		"aliases":         {"apiVersion: v1", "a: &a [1]\nb: &b [*a,*a]\napiVersion: v2", "it is not a kubeconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(good, tt.old, tt.new, 1)
			cfg, err := peerConfig([]byte(text))
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret-token") {
				t.Errorf("got %v, %v, want %q", cfg, err, tt.want)
			}
		})
	}
}

// TestPeersAreReadWithinLimits: a server that does not answer, redirects, or sends too much, and
// one that sends another object, leave their cluster unknown; the others are read.
func TestPeersAreReadWithinLimits(t *testing.T) {
	np := nodePlan("fleet", "prod")
	np.Spec.Rings = &lkeplanv1alpha1.RingsSpec{SecretRef: lkeplanv1alpha1.LocalReference{Name: "clusters"}}
	answer := func(name string) []byte {
		other := &lkeplanv1alpha1.NodePlan{
			TypeMeta:   metav1.TypeMeta{Kind: "NodePlan", APIVersion: lkeplanv1alpha1.GroupVersion.String()},
			ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: name},
		}
		other.Status.LastAppliedRevision = "main@sha1:1"
		raw, err := json.Marshal(other)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	var stolen atomic.Int32
	thief := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { stolen.Add(1) }))
	defer thief.Close()
	ended := make(chan struct{})
	defer close(ended)
	servers := map[string]http.HandlerFunc{
		"good": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/apis/lkeplan.dev/v1alpha1/namespaces/fleet/nodeplans/prod" || r.Method != "GET" ||
				r.Header.Get("Authorization") != "Bearer secret-token" {
				t.Errorf("%s %s with %q", r.Method, r.URL, r.Header.Get("Authorization"))
			}
			w.Write(answer("prod"))
		},
		"silent":    func(w http.ResponseWriter, r *http.Request) { <-ended },
		"endless":   func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("{")); w.(http.Flusher).Flush(); <-ended },
		"large":     func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, maxPeerMessage+1)) },
		"other":     func(w http.ResponseWriter, r *http.Request) { w.Write(answer("other")) },
		"text":      func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("hello")) },
		"null":      func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("null")) },
		"missing":   func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(404) },
		"forbidden": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(403) },
		"broken":    func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) },
		"redirects": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, thief.URL, http.StatusFound) },
	}
	want := map[string]string{
		"good": "", "silent": "it is not reachable", "endless": "read its NodePlan", "large": "more than 4 MiB",
		"other": "another object", "text": "read its NodePlan", "null": "another object",
		"missing":   "it has no NodePlan fleet/prod",
		"forbidden": "may not get NodePlan", "broken": "HTTP status 500", "redirects": "HTTP status 302",
		"stranger": "it is not reachable",
		"none":     "its kubeconfig is missing: add the key none to Secret fleet/clusters",
		"exec":     "its kubeconfig is refused: exec",
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "clusters"}, Data: map[string][]byte{},
	}
	var clusters []string
	for name := range want {
		clusters = append(clusters, name)
		if serve := servers[name]; serve != nil {
			s := httptest.NewTLSServer(serve)
			t.Cleanup(s.CloseClientConnections)
			secret.Data[name] = []byte(kubeconfigOf(s))
		}
	}
	plain := httptest.NewTLSServer(servers["good"])
	defer plain.Close()
	secret.Data["stranger"] = []byte(strings.Replace(kubeconfigOf(plain),
		"{server", "{tls-server-name: elsewhere, server", 1))
	secret.Data["exec"] = []byte(strings.Replace(kubeconfigOf(plain), "{token",
		"{exec: {apiVersion: client.authentication.k8s.io/v1, command: sh}, token", 1))
	reader := peerReader{Reader: fake.NewClientBuilder().WithObjects(secret).Build(), Timeout: 2 * time.Second}
	peers := reader.Read(t.Context(), np, clusters)
	for name, text := range want {
		got := peers[name]
		if (got.NodePlan != nil) != (text == "") || !strings.Contains(got.Unknown, text) ||
			strings.Contains(got.Unknown, "secret-token") {
			t.Errorf("%s: got %v, %q, want %q", name, got.NodePlan != nil, got.Unknown, text)
		}
	}
	if stolen.Load() > 0 {
		t.Error("it follows a redirect")
	}
	np.Spec.Rings = nil
	got := reader.Read(t.Context(), np, []string{"good"})["good"]
	if !strings.Contains(got.Unknown, "set spec.rings.secretRef") {
		t.Errorf("without a Secret: %+v", got)
	}
	np.Spec.Rings = &lkeplanv1alpha1.RingsSpec{SecretRef: lkeplanv1alpha1.LocalReference{Name: "other"}}
	got = reader.Read(t.Context(), np, []string{"good"})["good"]
	if !strings.Contains(got.Unknown, "get Secret fleet/other") {
		t.Errorf("with a Secret that does not exist: %+v", got)
	}
}

// TestTwoHundredPeersAreRead: with the deadline of each, in parallel.
func TestTwoHundredPeersAreRead(t *testing.T) {
	np := nodePlan("fleet", "prod")
	np.Spec.Rings = &lkeplanv1alpha1.RingsSpec{SecretRef: lkeplanv1alpha1.LocalReference{Name: "clusters"}}
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"kind": "NodePlan", "metadata": {"namespace": "fleet", "name": "prod"}}`)
	}))
	defer s.Close()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "clusters"}, Data: map[string][]byte{},
	}
	var clusters []string
	for i := range 200 {
		clusters = append(clusters, fmt.Sprint("c", i))
		secret.Data[clusters[i]] = []byte(kubeconfigOf(s))
	}
	peers := peerReader{Reader: fake.NewClientBuilder().WithObjects(secret).Build()}.Read(t.Context(), np, clusters)
	for _, name := range clusters {
		if peers[name].NodePlan == nil {
			t.Fatalf("%s: %s", name, peers[name].Unknown)
		}
	}
}

// TestPeersThatDoNotAnswerTakeNoLongerTogether: they are unknown, as are those that were not asked.
func TestPeersThatDoNotAnswerTakeNoLongerTogether(t *testing.T) {
	np := nodePlan("fleet", "prod")
	np.Spec.Rings = &lkeplanv1alpha1.RingsSpec{SecretRef: lkeplanv1alpha1.LocalReference{Name: "clusters"}}
	ended := make(chan struct{})
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-ended }))
	defer s.Close()
	defer close(ended)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "clusters"}, Data: map[string][]byte{},
	}
	var clusters []string
	for i := range 10 * peersAtOnce {
		clusters = append(clusters, fmt.Sprint("c", i))
		secret.Data[clusters[i]] = []byte(kubeconfigOf(s))
	}
	reader := peerReader{Reader: fake.NewClientBuilder().WithObjects(secret).Build(), All: time.Second}
	started := time.Now()
	peers := reader.Read(t.Context(), np, clusters)
	if took := time.Since(started); took > peerTimeout {
		t.Errorf("they took %s", took)
	}
	notRead := 0
	for _, name := range clusters {
		if peers[name].NodePlan != nil || peers[name].Unknown == "" {
			t.Errorf("%s: %+v", name, peers[name])
		}
		if strings.Contains(peers[name].Unknown, "all clusters together were not read within 1s") {
			notRead++
		}
	}
	if want := 9 * peersAtOnce; notRead < want {
		t.Errorf("%d clusters were not read, want %d", notRead, want)
	}
}
