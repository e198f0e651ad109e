package linodetest

import (
	_ "embed" // the cases
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/linode/instance/bootstrap"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

//go:embed badjoin.yaml
var badJoins []byte

// BadJoin is a case of badjoin.yaml, which describes the fields: what kubeadm and the kubelet do with invalid user
// data. It tests the simulated machine here, and the real programs in the module of the sandbox.
type BadJoin struct {
	Name    string                            `json:"name"`
	Swap    int                               `json:"swap"`
	Replace []struct{ Path, Old, New string } `json:"replace"`
	Step    string                            `json:"step"`
	Want    string                            `json:"want"`
	OK      bool                              `json:"ok"`
}

// BadJoins returns all cases.
func BadJoins() (all []BadJoin, err error) {
	return all, yaml.UnmarshalStrict(badJoins, &all)
}

// JoinedCluster is the cluster that a machine joins: an API server at https://Endpoint, a CA as a PEM bundle, whose
// key has the hash Pin, and a bootstrap token.
type JoinedCluster struct {
	Endpoint, Token, Pin string
	CA                   []byte
}

// Files returns the files, by path, with which a machine joins a cluster as a Node, with the changes of the case.
func (c BadJoin) Files(to JoinedCluster, node string) (map[string]string, error) {
	good, err := bootstrap.Kubeadm(bootstrap.Join{
		Node: node, Region: "us-ord", PlanType: "g6-standard-2", Server: "https://" + to.Endpoint,
		Labels: map[string]string{"karpenter.sh/nodepool": "general"}, Token: to.Token, CA: to.CA,
		Taints:  []corev1.Taint{{Key: "karpenter.sh/unregistered", Effect: corev1.TaintEffectNoExecute}},
		Kubelet: &linodev1alpha1.KubeletConfiguration{CPUCFSQuota: new(true)},
	})
	if err != nil {
		return nil, err
	}
	var config struct {
		WriteFiles []struct{ Path, Content string } `json:"write_files"`
	}
	if err := yaml.Unmarshal(good, &config); err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, f := range config.WriteFiles {
		files[f.Path] = f.Content
	}
	id, _, _ := strings.Cut(to.Token, ".")
	fill := strings.NewReplacer("{name}", node, "{token}", to.Token, "{token-id}", id, "{pin}", to.Pin,
		"{endpoint}", to.Endpoint)
	for _, change := range c.Replace {
		text, old := files[change.Path], fill.Replace(change.Old)
		if n := strings.Count(text, old); n != 1 {
			return nil, fmt.Errorf("%s: %s has %q %d times", c.Name, change.Path, old, n)
		}
		files[change.Path] = strings.Replace(text, old, fill.Replace(change.New), 1)
	}
	return files, nil
}
