package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/linode/lkesim/kubelet"
	"github.com/lkeplan/lkeplan/linode/lkesim/linodes"
)

// eventually polls until there is no error, and fails the test with the last one when the
// time is up: within, on a machine of its own.
func (s *sandbox) eventually(what string, within time.Duration, holds func() error) {
	s.t.Helper()
	deadline := time.Now().Add(patience * within)
	for err := holds(); err != nil; err = holds() {
		if time.Now().After(deadline) {
			s.t.Fatalf("timed out after %s waiting until %s: %v", patience*within, what, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// apiServer is where the API server is and which authority it has, and no credentials.
func (s *sandbox) apiServer() *rest.Config {
	s.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", s.env["KUBECONFIG"])
	if err != nil {
		s.t.Fatal(err)
	}
	return &rest.Config{Host: config.Host, TLSClientConfig: rest.TLSClientConfig{CAData: config.CAData}}
}

func pin(t testing.TB, authority []byte) string {
	t.Helper()
	all, err := cert.ParseCertsPEM(authority)
	if err != nil {
		t.Fatal(err)
	}
	return kubelet.Pin(all[0])
}

// bootstrapToken makes a token that is good for so long.
func (s *sandbox) bootstrapToken(id string, good time.Duration) kubelet.Token {
	s.t.Helper()
	token := kubelet.Token{ID: id, Secret: "0123456789abcdef"}
	secret := tokenSecret(token)
	secret.StringData = map[string]string{
		"token-id": id, "token-secret": token.Secret, "expiration": time.Now().Add(good).UTC().Format(time.RFC3339),
		"usage-bootstrap-signing": "true", "usage-bootstrap-authentication": "true",
		"auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
	}
	if err := s.client.Create(s.t.Context(), secret); err != nil {
		s.t.Fatal(err)
	}
	return token
}

func tokenSecret(token kubelet.Token) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "bootstrap-token-" + token.ID},
		Type:       corev1.SecretTypeBootstrapToken,
	}
}

// signs waits until cluster-info is signed with a token, or is not any more.
func (s *sandbox) signs(token kubelet.Token, want bool) {
	s.t.Helper()
	s.eventually("cluster-info is signed with the tokens that there are", 10*time.Second, func() error {
		var info corev1.ConfigMap
		key := client.ObjectKey{Namespace: metav1.NamespacePublic, Name: "cluster-info"}
		err := s.client.Get(s.t.Context(), key, &info)
		if signed := info.Data["jws-kubeconfig-"+token.ID] != ""; err == nil && signed != want {
			err = fmt.Errorf("with %s: %v", token.ID, signed)
		}
		return err
	})
}

// makeLinode makes a Linode that reads user data, and returns its id.
func (s *sandbox) makeLinode(label string, userData []byte) int {
	s.t.Helper()
	var made struct{ ID int }
	s.linodeCall(http.MethodPost, "/v4/linode/instances", map[string]any{
		"label": label, "type": "g6-standard-2", "region": "us-ord", "image": "linode/debian12", "root_pass": "not-used-1A",
		"metadata": map[string]string{"user_data": base64.StdEncoding.EncodeToString(userData)},
	}, &made)
	return made.ID
}

// linodes are those of the account, with how far they have come on their way into the
// cluster.
func (s *sandbox) linodes() map[string]linodes.Linode {
	s.t.Helper()
	var list []linodes.Linode
	s.linodeCall(http.MethodGet, "/simulator/linodes", nil, &list)
	all := map[string]linodes.Linode{}
	for _, l := range list {
		all[l.Label] = l
	}
	return all
}

// linodeCall makes a call to the simulator that must succeed.
func (s *sandbox) linodeCall(method, path string, request, answer any) {
	s.t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		s.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.env["LINODE_URL"]+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.env["LINODE_TOKEN"])
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	var said bytes.Buffer
	if _, err := said.ReadFrom(res.Body); err != nil || res.StatusCode != http.StatusOK {
		s.t.Fatalf("%s %s: %s: %s, %v", method, path, res.Status, &said, err)
	}
	if answer != nil {
		if err := json.Unmarshal(said.Bytes(), answer); err != nil {
			s.t.Fatalf("%s %s: %v", method, path, err)
		}
	}
}
