package stack

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// writePKI writes the sandbox's own certificate authority, with the key that signs certificates for machines that
// join, one serving certificate for all components, and the key that signs service account tokens.
func writePKI(l layout) error {
	keys := map[string]*ecdsa.PrivateKey{}
	for _, path := range []string{l.caKey(), l.servingKey(), l.accountKey()} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return err
		}
		text, err := keyutil.MarshalPrivateKeyToPEM(key)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
		keys[path] = key
	}
	ca, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "lkeplan sandbox"}, keys[l.caKey()])
	if err != nil {
		return fmt.Errorf("make the certificate authority: %w", err)
	}
	serving, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "127.0.0.1"},
		NotBefore:    ca.NotBefore,
		NotAfter:     time.Now().Add(365 * 24 * time.Hour), // longer than any sandbox
		KeyUsage:     x509.KeyUsageDigitalSignature,
		// The clients of etcd use it as well.
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
	}, ca, keys[l.servingKey()].Public(), keys[l.caKey()])
	if err != nil {
		return fmt.Errorf("make the serving certificate: %w", err)
	}
	for path, der := range map[string][]byte{l.caCert(): ca.Raw, l.servingCert(): serving} {
		text := pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der})
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
