package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Kubeadm writes the user data of a machine that joins with kubeadm, for tests that make a Linode themselves. The
// provider id is the Linode's where j names none, and a cloud controller completes the Node.
func (j Join) Kubeadm() []byte {
	arguments := []map[string]string{
		{"name": "cloud-provider", "value": "external"},
		{"name": "provider-id", "value": j.provider()},
		{"name": "node-labels", "value": strings.Join(written(j.Labels), ",")},
	}
	files := []map[string]string{{"path": kubeadmFile, "content": document(map[string]any{
		"apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "JoinConfiguration",
		"discovery": map[string]any{"bootstrapToken": map[string]any{
			"apiServerEndpoint": strings.TrimPrefix(j.Server, "https://"), "token": j.Token.String(), "caCertHashes": j.Pins,
		}},
		"nodeRegistration": map[string]any{"name": j.Name, "taints": j.Taints, "kubeletExtraArgs": arguments},
		"patches":          map[string]any{"directory": "/etc/lkeplan/patches"},
	})}, {"path": patchFile, "content": document(j.Settings)}}
	return cloudConfig(files, "kubeadm join --config "+kubeadmFile)
}

// K3s writes the user data of a machine that joins with k3s, as Kubeadm does; of the settings only those that a flag has.
func (j Join) K3s() []byte {
	var taints []string
	for _, taint := range j.Taints {
		taints = append(taints, fmt.Sprintf("%s=%s:%s", taint.Key, taint.Value, taint.Effect))
	}
	arguments := []string{"cloud-provider=external", "provider-id=" + j.provider()}
	if j.Settings.MaxPods > 0 {
		arguments = append(arguments, fmt.Sprintf("max-pods=%d", j.Settings.MaxPods))
	}
	return cloudConfig([]map[string]string{{"path": k3sFile, "content": document(map[string]any{
		"server": j.Server, "token": "K10" + j.Bundle + "::" + j.Token.String(),
		"node-name": j.Name, "node-taint": taints, "node-label": written(j.Labels), "kubelet-arg": arguments,
	})}}, "k3s agent")
}

func (j Join) provider() string {
	if j.ProviderID != "" {
		return j.ProviderID
	}
	return "linode://" + linodeID
}

func written(labels map[string]string) (all []string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, key+"="+labels[key])
	}
	return all
}

func cloudConfig(files []map[string]string, run string) []byte {
	return []byte("#cloud-config\n" + document(map[string]any{"write_files": files, "runcmd": []string{run}}))
}

func document(v any) string {
	text, err := yaml.Marshal(v)
	if err != nil {
		panic(err) // of maps and strings
	}
	return string(text)
}
