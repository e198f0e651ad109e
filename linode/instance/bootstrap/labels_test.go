package bootstrap

import "testing"

func TestKubeletMaySet(t *testing.T) {
	for key, want := range map[string]bool{
		"team":                              true,
		"example.com/team":                  true,
		"karpenter.sh/nodepool":             true,
		"karpenter.sh/do-not-sync-taints":   true,
		"karpenter.k8s.linode/instance":     true, // not below k8s.io
		"notkubernetes.io/x":                true,
		"kubernetes.io":                     true, // a name without a namespace
		"kubernetes.io/hostname":            true,
		"kubernetes.io/os":                  true,
		"kubernetes.io/arch":                true,
		"beta.kubernetes.io/arch":           true,
		"beta.kubernetes.io/instance-type":  true,
		"node.kubernetes.io/instance-type":  true,
		"node.kubernetes.io/anything":       true,
		"sub.node.kubernetes.io/anything":   true,
		"kubelet.kubernetes.io/anything":    true,
		"topology.kubernetes.io/region":     true,
		"topology.kubernetes.io/zone":       true,
		"topology.kubernetes.io/rack":       false,
		"kubernetes.io/role":                false,
		"node-role.kubernetes.io/worker":    false,
		"notnode.kubernetes.io/x":           false,
		"k8s.io/x":                          false,
		"example.k8s.io/x":                  false,
		"node-restriction.kubernetes.io/x":  false,
		"a.node-restriction.kubernetes.io/": false,
		"node-restriction.kubernetes.io/a":  false,
	} {
		if got := KubeletMaySet(key); got != want {
			t.Errorf("%s: %v", key, got)
		}
	}
}
