package instance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/instance/bootstrap"
	"github.com/lkeplan/lkeplan/linode/instance/token"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Joins creates the user data with which machines join the cluster.
type Joins struct {
	Live      client.Reader // reads from the API server, without a cache
	Tokens    *token.Tokens
	Endpoint  string // https://host:port of the API server; "" means the one in kube-public/cluster-info
	Namespace string // of the Secrets with templates of user data
}

// userData returns what the machine of a claim reads when it boots. Its token is valid for at least 20 minutes, and
// is the same whenever it is requested.
func (j Joins) userData(ctx context.Context, nc *karpv1.NodeClaim, node string, o Order) ([]byte, error) {
	server, ca, err := j.apiServer(ctx, o.Bootstrap.Kind)
	if err != nil {
		return nil, err
	}
	template, err := j.template(ctx, o.Bootstrap)
	if err != nil {
		return nil, err
	}
	secret, err := j.Tokens.Ensure(ctx, nc, time.Now())
	if err != nil {
		return nil, err
	}
	labels := map[string]string{}
	maps.Copy(labels, nc.Labels)
	labels[karpv1.NodeDoNotSyncTaintsLabelKey] = "true" // a startup taint that an agent has removed must not come back
	join := bootstrap.Join{
		Node: node, Region: nc.Labels[corev1.LabelTopologyRegion], PlanType: o.Plan, Labels: labels, Kubelet: o.Kubelet,
		Taints: slices.Concat([]corev1.Taint{karpv1.UnregisteredNoExecuteTaint}, nc.Spec.Taints, nc.Spec.StartupTaints),
		Server: server, CA: ca, Token: secret,
	}
	switch o.Bootstrap.Kind {
	case linodev1alpha1.BootstrapK3s:
		return bootstrap.K3s(join)
	case linodev1alpha1.BootstrapCustom:
		return bootstrap.Custom(template, join)
	}
	return bootstrap.Kubeadm(join)
}

// template returns the user data template of a class; "" if it has none.
func (j Joins) template(ctx context.Context, b linodev1alpha1.Bootstrap) (string, error) {
	if b.Kind != linodev1alpha1.BootstrapCustom {
		return "", nil
	}
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: j.Namespace, Name: b.UserDataSecret}
	err := j.Live.Get(ctx, key, &secret)
	text := bytes.TrimSpace(secret.Data["userData"])
	switch {
	case apierrors.IsNotFound(err):
		return "", missingError("bootstrap.userDataSecret", "Secret %s does not exist; create it with the template under "+
			"userData", key)
	case err != nil:
		return "", fmt.Errorf("read the template of the user data: %w", err)
	case len(text) == 0:
		return "", missingError("bootstrap.userDataSecret", "Secret %s has nothing under userData; put the template there", key)
	}
	return string(text) + "\n", nil
}

// apiServer returns the address and the CA certificates of the API server. kubeadm writes both to cluster-info and
// can only join with it; clusters without it have the certificates in each namespace.
func (j Joins) apiServer(ctx context.Context, kind string) (server string, ca []byte, err error) {
	var info corev1.ConfigMap
	err = j.Live.Get(ctx, client.ObjectKey{Namespace: "kube-public", Name: "cluster-info"}, &info)
	switch {
	case err == nil:
		server, ca, err = readInfo(info.Data["kubeconfig"])
	case apierrors.IsNotFound(err) && kind == linodev1alpha1.BootstrapKubeadm:
		return "", nil, errors.New("find the API server: ConfigMap kube-public/cluster-info, which kubeadm needs to join, " +
			"does not exist; create it: kubeadm init phase bootstrap-token")
	case apierrors.IsNotFound(err) && j.Endpoint != "":
		err = j.Live.Get(ctx, client.ObjectKey{Namespace: "kube-system", Name: "kube-root-ca.crt"}, &info)
		ca = []byte(info.Data["ca.crt"])
	case apierrors.IsNotFound(err):
		return "", nil, errors.New("find the API server: ConfigMap kube-public/cluster-info does not exist; set " +
			"CLUSTER_ENDPOINT to the address, such as https://10.0.0.2:6443")
	}
	if err != nil {
		return "", nil, fmt.Errorf("find the API server: %w", err)
	}
	if j.Endpoint != "" {
		server = j.Endpoint
	}
	return server, ca, nil
}

func readInfo(text string) (server string, ca []byte, err error) {
	config, err := clientcmd.Load([]byte(text))
	if err != nil {
		return "", nil, fmt.Errorf("read ConfigMap kube-public/cluster-info: %w", err)
	}
	for _, c := range config.Clusters { // there is only one, without a name
		return c.Server, c.CertificateAuthorityData, nil
	}
	return "", nil, fmt.Errorf("read ConfigMap kube-public/cluster-info: its kubeconfig names no cluster")
}
