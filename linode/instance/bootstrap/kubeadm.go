package bootstrap

import (
	_ "embed" // the scripts
	"strings"
)

// What all machines do, and what those with kubeadm do after that.
//
// Unverified: that the Metadata service answers a Linode that asks who it is with a line "id: 123",
// and that cloud-init runs the scripts of scripts/per-boot in images that are made from Linode's.
var (
	//go:embed machine.sh
	machineScript string
	//go:embed kubeadm.sh
	kubeadmScript string
)

// joinConfiguration is the part of kubeadm's JoinConfiguration that is needed here. Kubernetes has had this version
// since 1.31.
type joinConfiguration struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Discovery  struct {
		BootstrapToken struct {
			APIServerEndpoint string   `json:"apiServerEndpoint"`
			Token             string   `json:"token"`
			CACertHashes      []string `json:"caCertHashes"`
		} `json:"bootstrapToken"`
	} `json:"discovery"`
	NodeRegistration struct {
		Name             string     `json:"name"`
		Taints           []Taint    `json:"taints"`
		KubeletExtraArgs []argument `json:"kubeletExtraArgs"`
	} `json:"nodeRegistration"`
	Patches  *patches `json:"patches,omitempty"`
	Timeouts timeouts `json:"timeouts"`
}

// timeouts are how long kubeadm waits. tlsBootstrap keeps its default, five minutes.
type timeouts struct {
	Discovery          string `json:"discovery"`
	KubeletHealthCheck string `json:"kubeletHealthCheck"`
}

type argument struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type patches struct {
	Directory string `json:"directory"`
}

// Kubeadm returns the user data of a machine whose image has kubeadm, a kubelet and a container runtime. Equal
// input has the same output, byte for byte.
func Kubeadm(j Join) ([]byte, error) {
	c, err := j.check()
	if err != nil {
		return nil, err
	}
	return c.cloudConfig(c.kubeadmFiles())
}

func (j checked) kubeadmFiles() []file {
	files := []file{{joinFile, "0600", j.kubeadmConfig()}}
	if j.kubelet != "" {
		files = append(files, file{patchFile, "0600", j.kubelet})
	}
	return append(files, file{scriptFile, "0700", machineScriptWith(kubeadmScript)})
}

func (j checked) kubeadmConfig() string {
	c := joinConfiguration{
		APIVersion: "kubeadm.k8s.io/v1beta4", Kind: "JoinConfiguration",
		Timeouts: timeouts{Discovery: "40s", KubeletHealthCheck: "40s"}, // a failure is reported within a minute
	}
	found := &c.Discovery.BootstrapToken
	found.APIServerEndpoint, found.Token, found.CACertHashes = j.endpoint, j.Token, keyHashes(j.cas)
	node := &c.NodeRegistration
	node.Name, node.Taints = j.Node, j.tainted()
	node.KubeletExtraArgs = []argument{{"cloud-provider", "external"}}
	if labels := j.registers(); len(labels) > 0 {
		node.KubeletExtraArgs = append(node.KubeletExtraArgs, argument{"node-labels", strings.Join(labels, ",")})
	}
	node.KubeletExtraArgs = append(node.KubeletExtraArgs, argument{"provider-id", placed})
	if j.kubelet != "" { // kubeadm rejects a directory that does not exist
		c.Patches = &patches{patchDir}
	}
	return asYAML(c)
}
