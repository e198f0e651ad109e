package sim

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"
)

const (
	// clusterInfo is the ConfigMap in which a cluster publishes its address and its certificate authority.
	clusterInfo = "cluster-info"
	// callTimeout limits one call.
	callTimeout = 10 * time.Second
)

// kubeletCluster is an API server that is trusted.
type kubeletCluster struct {
	server    string
	authority []byte // PEM
}

// discover checks that the API server is the right one, as kubeadm's discovery by token does: it reads cluster-info
// without trust, checks the signature and the hash of the certificate authority, and reads it again over TLS with
// that authority. k3s reads the authority from its own server, which is not simulated; for k3s only the hash is
// checked.
func (k *Kubelet) discover(ctx context.Context) error {
	said, err := k.ask(ctx, rest.TLSClientConfig{Insecure: true})
	if err != nil {
		return err
	}
	if err := k.join.checkPins(); err != nil {
		return fmt.Errorf("invalid discovery token CA certificate hash: %w", err)
	}
	text := said.Data["kubeconfig"]
	if k.join.Signed {
		if err := checkSignature(said.Data["jws-kubeconfig-"+k.join.Token.ID], text, k.join.Token); err != nil {
			return err
		}
	}
	found, err := readCluster(text)
	if err != nil {
		return err
	}
	if err := k.join.trusts(found.authority); err != nil {
		return err
	}
	again, err := k.ask(ctx, rest.TLSClientConfig{CAData: found.authority})
	if err != nil {
		return fmt.Errorf("with the authority that %s names: %w", clusterInfo, err)
	}
	if again.Data["kubeconfig"] != text {
		return fmt.Errorf("the second kubeconfig from the %s ConfigMap (using validated TLS) was different from the first",
			clusterInfo)
	}
	k.cluster = &found
	return nil
}

// ask reads cluster-info, without credentials.
func (k *Kubelet) ask(ctx context.Context, tls rest.TLSClientConfig) (*corev1.ConfigMap, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	client, err := k.dial(&rest.Config{Host: k.join.Server, TLSClientConfig: tls})
	if err != nil {
		return nil, err
	}
	said, err := client.CoreV1().ConfigMaps(metav1.NamespacePublic).Get(ctx, clusterInfo, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("failed to request the %s ConfigMap: %w", clusterInfo, err)
	}
	return said, nil
}

// checkSignature checks a detached JWS with the one algorithm that clusters sign with, HMAC with SHA-256.
func checkSignature(jws, text string, token JoinToken) error {
	if jws == "" {
		return fmt.Errorf("could not find a JWS signature in the %s ConfigMap for token ID %q", clusterInfo, token.ID)
	}
	header, signature, _ := strings.Cut(jws, "..")
	var says struct {
		Algorithm string `json:"alg"`
		Key       string `json:"kid"`
	}
	plain, err := base64.RawURLEncoding.DecodeString(header)
	if err == nil {
		err = json.Unmarshal(plain, &says)
	}
	if err != nil || says.Algorithm != "HS256" || says.Key != token.ID {
		return fmt.Errorf("the signature of %s for token %s is none: %q", clusterInfo, token.ID, plain)
	}
	mac := hmac.New(sha256.New, []byte(token.Secret))
	mac.Write([]byte(header + "." + base64.RawURLEncoding.EncodeToString([]byte(text))))
	if !hmac.Equal([]byte(base64.RawURLEncoding.EncodeToString(mac.Sum(nil))), []byte(signature)) {
		return errors.New("failed to verify JWS signature of received cluster info object, can't trust this API Server")
	}
	return nil
}

// readCluster reads the only cluster of the kubeconfig in cluster-info.
func readCluster(text string) (kubeletCluster, error) {
	config, err := clientcmd.Load([]byte(text))
	if err != nil {
		return kubeletCluster{}, fmt.Errorf("%s: %w", clusterInfo, err)
	}
	for _, c := range config.Clusters {
		if len(c.CertificateAuthorityData) > 0 {
			return kubeletCluster{server: c.Server, authority: c.CertificateAuthorityData}, nil
		}
	}
	return kubeletCluster{}, fmt.Errorf("%s names no authority", clusterInfo)
}

// checkPins rejects invalid hashes of authorities.
func (j *Join) checkPins() error {
	for _, pin := range j.Pins {
		kind, value, ok := strings.Cut(pin, ":")
		if hash, err := hex.DecodeString(value); !ok || !strings.EqualFold(kind, "sha256") || err != nil || len(hash) != sha256.Size {
			return fmt.Errorf("invalid hash %q, expected a %d byte SHA-256 hash", pin, sha256.Size)
		}
	}
	return nil
}

// trusts returns an error if an authority is not the one in the user data.
func (j *Join) trusts(authority []byte) error {
	if j.Bundle != "" {
		if sum := sha256.Sum256(authority); !strings.EqualFold(j.Bundle, hex.EncodeToString(sum[:])) {
			return fmt.Errorf("wrong authority: the hash of its certificates is %x", sum)
		}
		return nil
	}
	all, err := cert.ParseCertsPEM(authority)
	if err != nil {
		return fmt.Errorf("authority: %w", err)
	}
	if !slices.ContainsFunc(all, func(c *x509.Certificate) bool {
		return slices.ContainsFunc(j.Pins, func(pin string) bool { return strings.EqualFold(pin, CertificatePin(c)) })
	}) {
		return fmt.Errorf("cluster CA found in %s ConfigMap is invalid: none of the public keys %q are pinned", clusterInfo,
			CertificatePin(all[0]))
	}
	return nil
}

// CertificatePin returns the hash of an authority's public key in kubeadm's form.
func CertificatePin(authority *x509.Certificate) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256(authority.RawSubjectPublicKeyInfo))
}
