package e2e

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/linode/sim"
)

// The files that a machine joins by, as the product writes them, too. It refuses to write most of what these tests try.
const (
	kubeadmFile = "/etc/lkeplan/join.yaml"
	patchFile   = "/etc/lkeplan/patches/kubeletconfiguration+merge.yaml"
	k3sFile     = "/etc/rancher/k3s/config.yaml"
	ownID       = "linode://@LINODE_ID@"
)

// kubeadm is the user data of a machine that joins with kubeadm; a cloud controller completes its Node.
func kubeadm(t testing.TB, j sim.Join) []byte {
	t.Helper()
	arguments := []map[string]string{
		{"name": "cloud-provider", "value": "external"},
		{"name": "provider-id", "value": ownID},
		{"name": "node-labels", "value": strings.Join(labelsOf(j), ",")},
	}
	return cloudConfig(t, "kubeadm join --config "+kubeadmFile, map[string]any{kubeadmFile: map[string]any{
		"apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "JoinConfiguration",
		"discovery": map[string]any{"bootstrapToken": map[string]any{
			"apiServerEndpoint": strings.TrimPrefix(j.Server, "https://"), "token": j.Token.String(), "caCertHashes": j.Pins,
		}},
		"nodeRegistration": map[string]any{"name": j.Name, "taints": j.Taints, "kubeletExtraArgs": arguments},
		"patches":          map[string]any{"directory": "/etc/lkeplan/patches"},
	}, patchFile: j.Settings})
}

// k3s is the same with k3s; of the settings it has MaxPods.
func k3s(t testing.TB, j sim.Join) []byte {
	t.Helper()
	var taints []string
	for _, taint := range j.Taints {
		taints = append(taints, fmt.Sprintf("%s=%s:%s", taint.Key, taint.Value, taint.Effect))
	}
	arguments := []string{"cloud-provider=external", "provider-id=" + ownID, fmt.Sprintf("max-pods=%d", j.Settings.MaxPods)}
	return cloudConfig(t, "k3s agent", map[string]any{k3sFile: map[string]any{
		"server": j.Server, "token": "K10" + j.Bundle + "::" + j.Token.String(),
		"node-name": j.Name, "node-taint": taints, "node-label": labelsOf(j), "kubelet-arg": arguments,
	}})
}

func labelsOf(j sim.Join) (all []string) {
	for _, key := range slices.Sorted(maps.Keys(j.Labels)) {
		all = append(all, key+"="+j.Labels[key])
	}
	return all
}

func cloudConfig(t testing.TB, run string, files map[string]any) []byte {
	t.Helper()
	document := func(v any) string {
		text, err := yaml.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var written []map[string]string
	for path, v := range files {
		written = append(written, map[string]string{"path": path, "content": document(v)})
	}
	return []byte("#cloud-config\n" + document(map[string]any{"write_files": written, "runcmd": []string{run}}))
}

// TestWrittenUserDataIsReadBack: what these tests write says what the user data of the product says.
func TestWrittenUserDataIsReadBack(t *testing.T) {
	for name, write := range map[string]func(testing.TB, sim.Join) []byte{"kubeadm": kubeadm, "k3s": k3s} {
		text, err := os.ReadFile("../../../linode/sim/testdata/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		want, err := sim.ReadUserData(text, 77)
		if err != nil {
			t.Fatal(err)
		}
		got, err := sim.ReadUserData(write(t, *want), 77)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, diff)
		}
	}
}
