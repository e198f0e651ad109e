package stack

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/keyutil"
)

// validFor is how long the certificates last: longer than any sandbox.
const validFor = 365 * 24 * time.Hour

// writePKI writes a certificate authority of the sandbox's own, with the key that signs
// for machines that join, one serving certificate for all components, and the key that
// signs service account tokens.
func writePKI(l layout) error {
	caKey, err := newKey()
	if err != nil {
		return err
	}
	ca := certificate("lkeplan sandbox", 1)
	ca.IsCA, ca.BasicConstraintsValid = true, true
	ca.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	if err := writeCert(l.caCert(), ca, ca, caKey.Public(), caKey); err != nil {
		return fmt.Errorf("make the certificate authority: %w", err)
	}
	if err := writeKey(l.caKey(), caKey); err != nil {
		return fmt.Errorf("write the key of the certificate authority: %w", err)
	}
	key, err := newKey()
	if err != nil {
		return err
	}
	serving := certificate("127.0.0.1", 2)
	serving.KeyUsage = x509.KeyUsageDigitalSignature
	// etcd's clients show it too.
	serving.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	serving.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	serving.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	if err := writeCert(l.servingCert(), serving, ca, key.Public(), caKey); err != nil {
		return fmt.Errorf("make the serving certificate: %w", err)
	}
	if err := writeKey(l.servingKey(), key); err != nil {
		return fmt.Errorf("write the serving key: %w", err)
	}
	accounts, err := newKey()
	if err != nil {
		return err
	}
	if err := writeKey(l.accountKey(), accounts); err != nil {
		return fmt.Errorf("write the service account key: %w", err)
	}
	return nil
}

// trust returns what a client of etcd needs.
func trust(l layout) (*tls.Config, error) {
	return rest.TLSConfigFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{
		CAFile: l.caCert(), CertFile: l.servingCert(), KeyFile: l.servingKey(),
	}})
}

func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

func certificate(name string, serial int64) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(validFor),
	}
}

func writeCert(path string, cert, parent *x509.Certificate, public crypto.PublicKey, signer crypto.Signer) error {
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, public, signer)
	if err != nil {
		return err
	}
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	text, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
