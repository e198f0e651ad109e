package instance

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/instance/token"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

func configMap(namespace, name, key, value string) *corev1.ConfigMap {
	m := &corev1.ConfigMap{Data: map[string]string{key: value}}
	m.Namespace, m.Name = namespace, name
	return m
}

// TestAddressOfTheAPIServer: kubeadm joins by cluster-info alone, and is refused without it
// before a machine is bought.
func TestAddressOfTheAPIServer(t *testing.T) {
	info := configMap("kube-public", "cluster-info", "kubeconfig",
		`{clusters: [{name: "", cluster: {server: "https://10.0.0.1:6443", certificate-authority-data: YQ==}}]}`)
	root := configMap("kube-system", "kube-root-ca.crt", "ca.crt", "b")
	kubeadm, k3s := linodev1alpha1.BootstrapKubeadm, linodev1alpha1.BootstrapK3s
	for name, tc := range map[string]struct {
		there    []client.Object
		kind     string
		endpoint string
		want     string // server and certificates, or a part of the error
	}{
		"as kubeadm writes it": {[]client.Object{info, root}, kubeadm, "", "https://10.0.0.1:6443 a"},
		"another address":      {[]client.Object{info, root}, kubeadm, "https://lb:6443", "https://lb:6443 a"},
		"kubeadm without it": {[]client.Object{root}, kubeadm, "https://lb:6443", "which kubeadm needs to join, " +
			"does not exist; create it"},
		"k3s without it":              {[]client.Object{root}, k3s, "https://lb:6443", "https://lb:6443 b"},
		"k3s without it and address":  {[]client.Object{root}, k3s, "", "set CLUSTER_ENDPOINT to the address"},
		"k3s without any certificate": {nil, k3s, "https://lb:6443", "kube-root-ca.crt"},
		"it names no cluster": {
			[]client.Object{configMap("kube-public", "cluster-info", "kubeconfig", `{}`)}, kubeadm, "", "names no cluster",
		},
	} {
		j := Joins{Live: clientWith(tc.there...), Endpoint: tc.endpoint}
		server, ca, err := j.apiServer(t.Context(), tc.kind)
		got := server + " " + string(ca)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tc.want) || err == nil && got != tc.want {
			t.Errorf("%s: %s; want %s", name, got, tc.want)
		}
	}
}

// TestAClaimWithoutLabelsGetsUserData: a person can take all of them off, and what is made for one
// claim must not end the process.
func TestAClaimWithoutLabelsGetsUserData(t *testing.T) {
	info := configMap("kube-public", "cluster-info", "kubeconfig",
		`{clusters: [{name: "", cluster: {server: "https://10.0.0.1:6443", certificate-authority-data: YQ==}}]}`)
	c := clientWith(info)
	j := Joins{Live: c, Tokens: token.New(c, c)}
	nc := &karpv1.NodeClaim{}
	nc.Name, nc.UID = "a", "uid-a"
	o := Order{Plan: "g6-standard-2", Image: "linode/debian12"}
	o.Bootstrap.Kind = linodev1alpha1.BootstrapKubeadm
	_, err := j.userData(t.Context(), nc, "prod-1", o)
	if err == nil || !strings.Contains(err.Error(), "it contains no certificate") { // which comes after the labels
		t.Error(err)
	}
}
