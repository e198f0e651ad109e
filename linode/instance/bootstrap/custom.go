package bootstrap

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/linode/api"
)

// values returns the values that a template may use, as in {{.Node}}. Only CA, the configurations and the scripts
// contain spaces, quotes or line breaks.
func (j checked) values() map[string]string {
	return map[string]string{
		"Node":     j.Node,     // the Node's name, which is the Linode's label
		"Region":   j.Region,   // such as us-ord
		"PlanType": j.PlanType, // such as g6-standard-2

		"NodeLabels": strings.Join(j.registers(), ","),  // for the kubelet's flag --node-labels
		"NodeTaints": strings.Join(j.taintFlags(), ","), // for its flag --register-with-taints
		"ProviderID": placed,                            // for its flag --provider-id; the machine must replace @LINODE_ID@ in it

		"Server":   "https://" + j.endpoint,             // of the API server
		"Endpoint": j.endpoint,                          // host:port of it
		"CA":       string(j.CA),                        // PEM
		"CAHashes": strings.Join(keyHashes(j.cas), ","), // sha256:..., as kubeadm takes them
		"Token":    j.Token,                             // a bootstrap token that expires soon
		"K3sToken": j.k3sToken(),                        // the same with the hash of the CA, as a k3s agent takes it

		"KubeletConfig": j.kubelet,         // the KubeletConfiguration of the class, as YAML; "" if it sets nothing
		"JoinConfig":    j.kubeadmConfig(), // the JoinConfiguration of kubeadm, as YAML
		"K3sConfig":     j.k3sConfig(),     // of kubeadm, a JoinConfiguration as YAML

		// The scripts belong in a file of /var/lib/cloud/scripts/per-boot with the mode 0700. Otherwise a machine
		// that loses power before it has joined does not join at its next boot. With CA in /etc/lkeplan/ca.crt they
		// report what keeps the machine from joining. They overwrite the token in cloud-init's copies of the user
		// data.

		"KubeadmScript": machineScriptWith(kubeadmScript), // completes /etc/lkeplan/join.yaml, which must exist, and runs kubeadm join
		"K3sScript":     machineScriptWith(k3sScript),     // completes /etc/rancher/k3s/config.yaml, and starts k3s-agent
	}
}

// valueName matches the use of a value in a template, or text that begins like one, with the indentation before it.
var valueName = regexp.MustCompile(`(?m)(^[ \t]*)?\{\{(?:[ \t]*\.(\w+)[ \t]*\}\}|[^\n]*?\}\}|[^\n]*)`)

// Custom returns the user data of a template: its text with the values filled in. If only indentation is before a
// name, the further lines of its value are indented in the same way:
//
// content: | {{.JoinConfig}}
func Custom(text string, j Join) ([]byte, error) {
	c, err := j.check()
	if err != nil {
		return nil, err
	}
	if len(text) > api.MaxUserData {
		return nil, j.tooLarge(fmt.Sprint(len(text)), []file{{"template", "", text}})
	}
	values := c.values()
	var out strings.Builder
	end := 0
	for _, at := range valueName.FindAllStringSubmatchIndex(text, -1) {
		indent, name := matchGroup(text, at, 1), matchGroup(text, at, 2)
		value, known := values[name]
		if !known {
			return nil, fmt.Errorf("template of user data: line %d: %q names no value; use {{.Name}} with one of the names %s",
				1+strings.Count(text[:at[0]], "\n"), strings.TrimSpace(text[at[0]:at[1]]),
				strings.Join(slices.Sorted(maps.Keys(values)), ", "))
		}
		out.WriteString(text[end:at[0]] + indent)
		out.WriteString(strings.ReplaceAll(strings.TrimSuffix(value, "\n"), "\n", "\n"+indent))
		end = at[1]
	}
	out.WriteString(text[end:])
	switch {
	case strings.TrimSpace(out.String()) == "":
		return nil, errors.New("template of user data: its output is empty, so no machine would join")
	case out.Len() > api.MaxUserData:
		return nil, j.tooLarge(fmt.Sprint(out.Len()), []file{{"template", "", text}})
	}
	return []byte(out.String()), nil
}

// matchGroup returns the text of a group of a match; "" if it has none.
func matchGroup(text string, at []int, n int) string {
	if at[2*n] < 0 {
		return ""
	}
	return text[at[2*n]:at[2*n+1]]
}
