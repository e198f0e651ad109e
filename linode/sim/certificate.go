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

// usages are the usages of a kubelet's certificate for such a key.
var usages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}

// certify gets a certificate signed for the machine, with only the rights of its token. The key is kept from one
// try to the next, and the name of the request is derived from it, so that a kubelet that starts again finds its
// own request.
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

// starts returns the error with which the kubelet would not start. A real kubelet may have requested its
// certificate by then, because it does both at the same time.
func (k *Kubelet) starts() error {
	if k.join.Refused != nil {
		return k.join.Refused
	}
	if k.Swap > 0 && ptr.Deref(k.join.Settings.FailSwapOn, true) {
		return errors.New("running with swap on is not supported, please disable swap or set --fail-swap-on flag to false")
	}
	return nil
}

// maySetUp returns an error if the token may not read the objects that kubeadm reads before it requests a
// certificate. Their contents are not simulated, so they need not exist.
func (k *Kubelet) maySetUp(ctx context.Context, client kubernetes.Interface) error {
	for _, name := range []string{"kubeadm-config", "kubelet-config", "kube-proxy"} {
		_, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("read the settings of the cluster: %w", err)
		}
	}
	return nil
}

// isFree returns an error if a ready Node with the same name exists, as kubeadm does.
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

// request returns the certificate request for the machine's key, and its name.
func (k *Kubelet) request() (name string, text []byte, err error) {
	public, err := x509.MarshalPKIXPublicKey(k.key.Public())
	if err != nil {
		return "", nil, err
	}
	subject := &pkix.Name{Organization: []string{"system:nodes"}, CommonName: "system:node:" + k.join.Name}
	text, err = cert.MakeCSR(k.key, subject, nil, nil)
	return fmt.Sprintf("node-csr-%x", sha256.Sum256(append(public, k.join.Name...))), text, err
}

// own returns the configuration of a client with only the machine's certificate.
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
