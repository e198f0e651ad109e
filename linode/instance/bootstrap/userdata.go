package bootstrap

import (
	"encoding/pem"
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/linode/api"
)

// file is a file that cloud-init writes on a machine.
type file struct {
	Path        string `json:"path"`
	Permissions string `json:"permissions"`
	Content     string `json:"content"`
}

// The files of a machine. Files with a token can be read only by root. cloud-init writes the files at the first
// boot, and runs the scripts in the directory of scriptFile at each boot.
const (
	joinFile   = "/etc/lkeplan/join.yaml"
	caFile     = "/etc/lkeplan/ca.crt"
	patchDir   = "/etc/lkeplan/patches"
	patchFile  = patchDir + "/kubeletconfiguration+merge.yaml"
	k3sFile    = "/etc/rancher/k3s/config.yaml"
	scriptFile = "/var/lib/cloud/scripts/per-boot/lkeplan-join"
)

// cloudConfig returns a document that writes the files, and the cluster's CA. A machine joins without the file of
// the CA, but cannot report what keeps it from joining, so the CA is left out only if there is no room for it.
func (j checked) cloudConfig(files []file) ([]byte, error) {
	var bundle strings.Builder
	for _, ca := range j.cas {
		bundle.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw}))
	}
	var text string
	for _, files := range [][]file{append([]file{{caFile, "0644", bundle.String()}}, files...), files} {
		text = "#cloud-config\n" + asYAML(map[string]any{"write_files": files})
		if len(text) <= api.MaxUserData {
			return []byte(text), nil
		}
	}
	return nil, j.tooLarge(fmt.Sprint(len(text)), files)
}

// notRun matches comments, empty lines and indentation of scripts, for which user data has no room.
var notRun = regexp.MustCompile(`(?m)^[ \t]*(#[^!].*)?\n|^[ \t]+`)

// machineScriptWith returns the script that a machine runs, with the part for its kind at the end.
func machineScriptWith(last string) string { return notRun.ReplaceAllString(machineScript+last, "") }

// tooLarge lists the size of each part, so that users know what to shorten.
func (j Join) tooLarge(size string, files []file) error {
	parts := []string{
		fmt.Sprintf("labels of the Node %d bytes", len(strings.Join(j.registers(), ","))),
		fmt.Sprintf("taints %d", len(strings.Join(j.taintFlags(), ","))),
		fmt.Sprintf("CA bundle %d", len(j.CA)),
	}
	for _, f := range files {
		parts = append(parts, fmt.Sprintf("%s %d", f.Path, len(f.Content)))
	}
	return fmt.Errorf("user data of node %s: %s bytes, and Linode allows %d (%s): shorten the settings of the pool or "+
		"its class",
		j.Node, size, api.MaxUserData, strings.Join(parts, ", "))
}

// asYAML writes a value with sorted keys.
func asYAML(value any) string {
	text, err := yaml.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("write YAML: %v", err)) // all of it can be written as JSON
	}
	return string(text)
}
