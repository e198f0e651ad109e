package bootstrap

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/linode/api"
)

// file is one that cloud-init writes on a machine.
type file struct {
	Path        string `json:"path"`
	Permissions string `json:"permissions"`
	Content     string `json:"content"`
}

// The files of a machine. Only root reads them: a token is in one.
const (
	joinFile   = "/etc/lkeplan/join.yaml"
	patchDir   = "/etc/lkeplan/patches"
	patchFile  = patchDir + "/kubeletconfiguration+merge.yaml"
	k3sFile    = "/etc/rancher/k3s/config.yaml"
	scriptFile = "/etc/lkeplan/join.sh"
)

// cloudConfig is a document that writes files and then runs the script among them.
func (j Join) cloudConfig(files []file) ([]byte, error) {
	text, err := yaml.Marshal(map[string]any{
		"write_files": files,
		"runcmd":      [][]string{{"/bin/sh", scriptFile}},
	})
	if err != nil {
		return nil, fmt.Errorf("write user data: %w", err)
	}
	text = append([]byte("#cloud-config\n"), text...)
	if len(text) <= api.MaxUserData {
		return text, nil
	}
	return nil, j.tooLarge(fmt.Sprint(len(text)), files)
}

// tooLarge says how large which part is, so that one can tell what to make smaller.
func (j Join) tooLarge(size string, files []file) error {
	var taints []string
	for _, t := range j.tainted() {
		taints = append(taints, t.flag())
	}
	parts := []string{
		fmt.Sprintf("labels of the Node %d bytes", len(strings.Join(j.registers(), ","))),
		fmt.Sprintf("taints %d", len(strings.Join(taints, ","))),
		fmt.Sprintf("CA bundle %d", len(j.CA)),
	}
	for _, f := range files {
		parts = append(parts, fmt.Sprintf("%s %d", f.Path, len(f.Content)))
	}
	return fmt.Errorf("user data of node %s: %s bytes, and Linode takes %d (%s): say less in the pool or its class",
		j.Node, size, api.MaxUserData, strings.Join(parts, ", "))
}

// asYAML writes a value with sorted keys.
func asYAML(value any) (string, error) {
	text, err := yaml.Marshal(value)
	return string(text), err
}
