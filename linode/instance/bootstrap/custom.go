package bootstrap

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"text/template"
)

// Values are the fields of a template, as in {{.Node}}. Only CA, the configurations and the scripts contain
// spaces, quotes or line breaks.
type Values struct {
	Node     string            // the Node's name, which is the Linode's label
	Region   string            // such as us-ord
	PlanType string            // such as g6-standard-2
	Labels   map[string]string // of the Node; {{index .Labels "karpenter.sh/nodepool"}}, "" where it has none
	Taints   []Taint           // {{range .Taints}}{{.Key}} {{.Value}} {{.Effect}}{{end}}

	NodeLabels string // those of Labels that a kubelet may set, for its flag --node-labels
	NodeTaints string // for its flag --register-with-taints
	ProviderID string // for its flag --provider-id; @LINODE_ID@ is to be replaced in it

	Server   string   // https://host:port of the API server
	Endpoint string   // host:port of it
	CA       string   // PEM
	CAHashes []string // sha256:..., as kubeadm takes them
	Token    string   // a bootstrap token that ends soon
	K3sToken string   // the same with the hash of the CA, as a k3s agent takes it

	KubeletConfig string // the KubeletConfiguration of the class, as YAML; "" where it says nothing
	JoinConfig    string // the JoinConfiguration of kubeadm, as YAML
	K3sConfig     string // the config.yaml of a k3s agent

	// The scripts belong in a file of /var/lib/cloud/scripts/per-boot with the mode 0700, or a machine whose
	// power is cut before it has joined does not join at its next boot. With CA in /etc/lkeplan/ca.crt they
	// report what keeps the machine from joining. They overwrite the token in cloud-init's copies of the user
	// data unless it is in base64.

	KubeadmScript string // fills /etc/lkeplan/join.yaml in, which has to be there, and runs kubeadm join
	K3sScript     string // fills /etc/rancher/k3s/config.yaml in, and starts k3s-agent
}

// Custom is the user data that a template of package text/template renders from Values. In addition to
// if, range, with, define and template it may use and, or, not, eq, ne, len, index, and
//
//	json    any value as JSON, which is YAML as well: content: {{.KubeletConfig | json}}
//	base64  a text in base64
//	sh      a text as one word of a shell
//
// An error names the line of the template.
func Custom(text string, j Join) ([]byte, error) {
	c, err := j.check()
	if err != nil {
		return nil, err
	}
	if len(text) > maxTemplate {
		return nil, fmt.Errorf("template of user data: it has %d bytes, and at most %d are allowed", len(text), maxTemplate)
	}
	var b budget
	t, err := template.New(templateName).Option("missingkey=error").Funcs(b.functions()).Parse(text)
	if err != nil {
		return nil, lineOf(err)
	}
	if err := bound(t); err != nil {
		return nil, lineOf(err)
	}
	var out limited
	switch err := t.Execute(&out, c.values()); {
	case errors.Is(err, errTooLarge):
		return nil, j.tooLarge("too many", []file{{"template", "", text}})
	case err != nil:
		return nil, lineOf(err)
	case strings.TrimSpace(string(out)) == "":
		return nil, errors.New("template of user data: its output is empty, so no machine would join")
	}
	return out, nil
}

func (j checked) values() Values {
	return Values{
		Node: j.Node, Region: j.Region, PlanType: j.PlanType, Labels: maps.Clone(j.Labels), Taints: j.tainted(),
		NodeLabels: strings.Join(j.registers(), ","), NodeTaints: strings.Join(j.taintFlags(), ","), ProviderID: placed,
		Server: "https://" + j.endpoint, Endpoint: j.endpoint, CA: string(j.CA), CAHashes: keyHashes(j.cas),
		Token: j.Token, K3sToken: j.k3sToken(),
		KubeletConfig: j.kubelet, JoinConfig: j.kubeadmConfig(), K3sConfig: j.k3sConfig(),
		KubeadmScript: script(kubeadmScript), K3sScript: script(k3sScript),
	}
}

const templateName = "user data"

// lineOf rewrites an error of package text/template, which has the form "template: user data:3:12: ...".
func lineOf(err error) error {
	line, rest, ok := strings.Cut(strings.TrimPrefix(err.Error(), "template: "+templateName+":"), ":")
	if !ok || !isNumber(line) {
		return fmt.Errorf("template of user data: %w", err)
	}
	if column, after, ok := strings.Cut(rest, ": "); ok && isNumber(column) {
		rest = after
	}
	if errors.Is(err, errTooMuch) {
		rest = errTooMuch.Error()
	}
	return fmt.Errorf("template of user data: line %s: %s", line, strings.TrimSpace(rest))
}

func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }
