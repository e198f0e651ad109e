package stack

import (
	"context"
	"errors"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// What kubeadm calls the groups of machines that join.
const (
	bootstrappers = "system:bootstrappers:kubeadm:default-node-token"
	nodes         = "system:nodes"
)

// letJoin returns nil when the cluster has all that kubeadm makes for machines that join
// it with a bootstrap token: it says of itself where it is and which authority it has,
// lets anybody read that, takes requests for certificates, and approves them.
func (c *checker) letJoin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	info, err := c.clusterInfo()
	if err != nil {
		return err
	}
	core, rbac := c.client.CoreV1(), c.client.RbacV1()
	_, err = core.ConfigMaps(metav1.NamespacePublic).Create(ctx, info, metav1.CreateOptions{})
	errs := []error{unlessThere(err)}
	for _, role := range clusterRoles() {
		_, err := rbac.ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
		errs = append(errs, unlessThere(err))
	}
	for _, binding := range clusterBindings() {
		_, err := rbac.ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
		errs = append(errs, unlessThere(err))
	}
	for _, r := range readers() {
		_, err = rbac.Roles(r.role.Namespace).Create(ctx, r.role, metav1.CreateOptions{})
		errs = append(errs, unlessThere(err))
		_, err = rbac.RoleBindings(r.role.Namespace).Create(ctx, r.binding, metav1.CreateOptions{})
		errs = append(errs, unlessThere(err))
	}
	return errors.Join(errs...)
}

// unlessThere is nil for what is there: the last try made it.
func unlessThere(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// clusterInfo is the ConfigMap that kube-controller-manager signs with each token.
func (c *checker) clusterInfo() (*corev1.ConfigMap, error) {
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

func clusterRoles() []*rbacv1.ClusterRole {
	return []*rbacv1.ClusterRole{{
		ObjectMeta: metav1.ObjectMeta{Name: "kubeadm:get-nodes"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get"}}},
	}}
}

// clusterBindings are those that let machines ask for certificates, and have the requests
// approved.
func clusterBindings() []*rbacv1.ClusterRoleBinding {
	const approved = "system:certificates.k8s.io:certificatesigningrequests:"
	var all []*rbacv1.ClusterRoleBinding
	for _, b := range []struct{ name, role, group string }{
		{"kubeadm:get-nodes", "kubeadm:get-nodes", bootstrappers},
		{"kubeadm:kubelet-bootstrap", "system:node-bootstrapper", bootstrappers},
		{"kubeadm:node-autoapprove-bootstrap", approved + "nodeclient", bootstrappers},
		{"kubeadm:node-autoapprove-certificate-rotation", approved + "selfnodeclient", nodes},
	} {
		all = append(all, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: b.name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: b.role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: b.group}},
		})
	}
	return all
}

// reader lets somebody read ConfigMaps of a namespace.
type reader struct {
	role    *rbacv1.Role
	binding *rbacv1.RoleBinding
}

// readers let anybody read cluster-info, and machines the settings of the cluster.
func readers() []reader {
	of := func(namespace, name string, who rbacv1.Subject, maps ...string) reader {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
		who.APIGroup = rbacv1.GroupName
		return reader{
			&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
				APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: maps, Verbs: []string{"get"},
			}}},
			&rbacv1.RoleBinding{
				ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
				Subjects: []rbacv1.Subject{who},
			},
		}
	}
	anybody := rbacv1.Subject{Kind: rbacv1.UserKind, Name: "system:anonymous"}
	machines := rbacv1.Subject{Kind: rbacv1.GroupKind, Name: bootstrappers}
	return []reader{
		of(metav1.NamespacePublic, "kubeadm:bootstrap-signer-clusterinfo", anybody, "cluster-info"),
		of(metav1.NamespaceSystem, "kubeadm:nodes-kubeadm-config", machines, "kubeadm-config"),
		of(metav1.NamespaceSystem, "kubeadm:kubelet-config", machines, "kubelet-config"),
		of(metav1.NamespaceSystem, "kube-proxy", machines, "kube-proxy"),
	}
}
