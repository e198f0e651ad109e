package sim

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/certificate/csr"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/utils/ptr"
)

// usages are those of the certificate of a kubelet with such a key.
var usages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}

// certify has a certificate signed for the machine, with no other right than the bearer of the token has. The key is kept from one try
// to the next, and the request is called after it, so that a kubelet that starts again finds its own.
func (k *Kubelet) certify(ctx context.Context) error {
	client, err := k.dial(k.cluster.config(rest.Config{BearerToken: k.join.Token.String()}))
	if err != nil {
		return err
	}
	if k.join.Unready {
		if err := errors.Join(k.maySetUp(ctx, client), k.isFree(ctx, client)); err != nil {
			return err
		}
	}
	if err := k.starts(); err != nil {
		return fmt.Errorf("the kubelet does not start: %w", err)
	}
	if k.key == nil {
		if k.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			return err
		}
	}
	name, request, err := k.request()
	if err != nil {
		return err
	}
	name, uid, err := csr.RequestCertificateWithContext(ctx, client, request, name,
		certificatesv1.KubeAPIServerClientKubeletSignerName, nil, usages, k.key)
	if err != nil {
		return err
	}
	k.say(Certificate, "waits for "+name+" to be approved and signed")
	k.certificate, err = csr.WaitForCertificate(ctx, client, name, uid)
	return err
}

// starts refuses what the kubelet refuses when it starts. The real one may have asked for its certificate by then: it
// does so at the side.
func (k *Kubelet) starts() error {
	if k.join.Refused != nil {
		return k.join.Refused
	}
	if k.Swap > 0 && ptr.Deref(k.join.Settings.FailSwapOn, true) {
		return errors.New("running with swap on is not supported, please disable swap or set --fail-swap-on flag to false")
	}
	return nil
}

// maySetUp refuses to join where the token may not read what kubeadm reads of a cluster before
// it asks for a certificate. What it says is not played, so it need not be there.
func (k *Kubelet) maySetUp(ctx context.Context, client kubernetes.Interface) error {
	for _, name := range []string{"kubeadm-config", "kubelet-config", "kube-proxy"} {
		_, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("read the settings of the cluster: %w", err)
		}
	}
	return nil
}

// isFree refuses to join under the name of a Node that is ready, as kubeadm does.
func (k *Kubelet) isFree(ctx context.Context, client kubernetes.Interface) error {
	node, err := client.CoreV1().Nodes().Get(ctx, k.join.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for a Node of the name: %w", err)
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			return fmt.Errorf("a Node with name %q and status %q already exists in the cluster", k.join.Name, corev1.NodeReady)
		}
	}
	return nil
}

// request is the request for the machine's key, and what it is called.
func (k *Kubelet) request() (name string, text []byte, err error) {
	public, err := x509.MarshalPKIXPublicKey(k.key.Public())
	if err != nil {
		return "", nil, err
	}
	subject := &pkix.Name{Organization: []string{"system:nodes"}, CommonName: "system:node:" + k.join.Name}
	text, err = cert.MakeCSR(k.key, subject, nil, nil)
	return fmt.Sprintf("node-csr-%x", sha256.Sum256(append(public, k.join.Name...))), text, err
}

// own is the configuration of the client that has the machine's certificate, and no other right.
func (k *Kubelet) own() (*rest.Config, error) {
	key, err := keyutil.MarshalPrivateKeyToPEM(k.key)
	if err != nil {
		return nil, err
	}
	tls := rest.TLSClientConfig{CertData: k.certificate, KeyData: key}
	return k.cluster.config(rest.Config{TLSClientConfig: tls}), nil
}

func (c *kubeletCluster) config(credentials rest.Config) *rest.Config {
	credentials.Host, credentials.CAData = c.server, c.authority
	return &credentials
}
