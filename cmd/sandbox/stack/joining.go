package stack

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"
)

//go:embed joining.yaml
var joining string

// letJoin returns nil once the cluster has everything that kubeadm creates for machines that join with a bootstrap
// token: cluster-info with its address and certificate authority, which everyone may read, and the permission to
// request certificates, which are approved.
func (c *componentChecker) letJoin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	info, err := c.clusterInfo()
	if err != nil {
		return err
	}
	_, err = c.client.CoreV1().ConfigMaps(metav1.NamespacePublic).Create(ctx, info, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return c.create(ctx, joining)
}

// create creates the objects of a file, which kubeadm would create, unless they exist. It assumes that the plural
// of a kind is its name with an s.
func (c *componentChecker) create(ctx context.Context, objects string) error {
	for text := range strings.SplitSeq(objects, "\n---\n") {
		var object metav1.PartialObjectMetadata
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			return err
		}
		where := path.Join("/apis", object.APIVersion)
		if object.Namespace != "" {
			where = path.Join(where, "namespaces", object.Namespace)
		}
		where = path.Join(where, strings.ToLower(object.Kind)+"s")
		err := c.client.Discovery().RESTClient().Post().AbsPath(where).SetHeader("Content-Type", "application/yaml").
			Body([]byte(text)).Do(ctx).Error()
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create %s %s: %w", object.Kind, object.Name, err)
		}
	}
	return nil
}

// clusterInfo returns the ConfigMap that kube-controller-manager signs with each token.
func (c *componentChecker) clusterInfo() (*corev1.ConfigMap, error) {
	ca, err := os.ReadFile(c.dir.caCert())
	if err != nil {
		return nil, err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[""] = &clientcmdapi.Cluster{
		Server: "https://" + address(c.port(apiServer, "api")), CertificateAuthorityData: ca,
	}
	text, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("write cluster-info: %w", err)
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespacePublic, Name: "cluster-info"},
		Data:       map[string]string{"kubeconfig": string(text)},
	}, nil
}
