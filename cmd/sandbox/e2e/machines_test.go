package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"

	"github.com/lkeplan/lkeplan/linode/lkesim/kubelet"
)

func pin(t testing.TB, authority []byte) string {
	t.Helper()
	all, err := cert.ParseCertsPEM(authority)
	if err != nil {
		t.Fatal(err)
	}
	return kubelet.Pin(all[0])
}

func tokenSecret(token kubelet.Token) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "bootstrap-token-" + token.ID},
		Type:       corev1.SecretTypeBootstrapToken,
	}
}
