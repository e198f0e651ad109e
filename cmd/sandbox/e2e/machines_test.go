package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"

	"github.com/lkeplan/lkeplan/linode/sim"
)

func pin(t testing.TB, authority []byte) string {
	t.Helper()
	all, err := cert.ParseCertsPEM(authority)
	if err != nil {
		t.Fatal(err)
	}
	return sim.CertificatePin(all[0])
}

func tokenSecret(token sim.JoinToken) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "bootstrap-token-" + token.ID},
		Type:       corev1.SecretTypeBootstrapToken,
	}
}
