package bootstrap

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

// sampleCA is a CA certificate.
const sampleCA = `-----BEGIN CERTIFICATE-----
MIIBhTCCASugAwIBAgIUeeEJEKJ2amAuVdqYkERNAmFyVrEwCgYIKoZIzj0EAwIw
FzEVMBMGA1UEAwwMa3ViZXJuZXRlcy1hMCAXDTI2MTEyNDA5MTIzOFoYDzIxMjYx
MDMxMDkxMjM4WjAXMRUwEwYDVQQDDAxrdWJlcm5ldGVzLWEwWTATBgcqhkjOPQIB
BggqhkjOPQMBBwNCAAS9X/gitnhWYyiEyYdokev1v9edZmw/aZaHfWLm8Vt7jyIY
tWAzt1Zn8hVIOuug01u5FreiSFT22bvuzFWwX+Rro1MwUTAdBgNVHQ4EFgQU2+dg
uecN2/CznKZdkTkI/GZSMR4wHwYDVR0jBBgwFoAU2+dguecN2/CznKZdkTkI/GZS
MR4wDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEA/Vj32Ju+iYeZ
Ips6nr6KaQ0pIsGgyfkxZm6o06mpdTwCIFSmOEX6dKDNK95Jic+5mg5KMu9Z5DLq
zDoE3wjJkMN5
-----END CERTIFICATE-----
`

// TestBundleOfAChainIsKnownByItsRoot: the root stays when what is below it is renewed.
func TestBundleOfAChainIsKnownByItsRoot(t *testing.T) {
	root := signed(t, "root", nil)
	between := signed(t, "between", root)
	ca := signed(t, "ca", between)
	var bundle []byte
	for _, c := range []*issuer{ca, between, root} {
		bundle = append(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.cert.Raw})...)
	}
	cas, err := parseCertificates(bundle)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(root.cert.Raw)
	if got := bundleHash(bundle, cas); got != hex.EncodeToString(sum[:]) {
		t.Errorf("got %s, want %x", got, sum)
	}
}

type issuer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func signed(t *testing.T, name string, by *issuer) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Unix(1_700_000_000, 0), NotAfter: time.Unix(4_000_000_000, 0),
	}
	made := &issuer{cert, key}
	if by == nil {
		by = made
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, by.cert, &key.PublicKey, by.key)
	if err == nil {
		made.cert, err = x509.ParseCertificate(der)
	}
	if err != nil {
		t.Fatal(err)
	}
	return made
}
