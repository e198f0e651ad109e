// Package bootstrap writes the user data that a Linode reads when it boots to join a cluster: a #cloud-config
// document for machines with kubeadm or k3s, or the output of a template. It is pure. The caller provides the
// token and uses the text. Everything that would prevent a machine from joining is an error here, before
// anything is bought.
package bootstrap

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Join is what a machine needs to join a cluster.
type Join struct {
	Node     string // the Node's name, which is the Linode's label
	Region   string
	PlanType string
	Labels   map[string]string                    // of the Node; those that a kubelet may not set are left out
	Taints   []corev1.Taint                       // with which its kubelet registers
	Server   string                               // https://host:port of the API server
	CA       []byte                               // PEM bundle, byte for byte as in the cluster
	Token    string                               // <id>.<secret>, a bootstrap token
	Kubelet  *linodev1alpha1.KubeletConfiguration // nil means no settings
}

// LinodeID is a placeholder for the id of a machine's Linode, which is unknown until the Linode exists.
const LinodeID = "@LINODE_ID@"

// placed is the provider id that the kubelet sets, in the form of the cloud controller.
const placed = "linode://" + LinodeID

var (
	tokenForm = regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}$`)
	nameForm  = regexp.MustCompile(`^[A-Za-z0-9-]*$`)
)

// checked is a valid Join, with values that are derived from it.
type checked struct {
	Join
	cas      []*x509.Certificate
	endpoint string // host and port of the API server
	kubelet  string // the KubeletConfiguration; "" without settings
}

// check reports what would prevent a machine from joining. kubeadm passes labels and taints to the kubelet on a
// line that is split at spaces, so they may only contain what a Node allows.
func (j Join) check() (checked, error) {
	cas, caErr := parseCertificates(j.CA)
	endpoint, endpointErr := endpointOf(j.Server)
	wrong := []error{
		validError("node", j.Node, validation.IsDNS1123Subdomain(j.Node)),
		checkForm("region", j.Region, nameForm), checkForm("plan type", j.PlanType, nameForm),
		checkTaints(j.Taints), CheckKubelet(j.Kubelet),
	}
	if !tokenForm.MatchString(j.Token) { // a secret, which the error must not show
		wrong = append(wrong, errors.New("the token is not <6 characters>.<16 characters> of a-z and 0-9"))
	}
	for _, key := range slices.Sorted(maps.Keys(j.Labels)) {
		wrong = append(wrong, validError("label", key, validation.IsQualifiedName(key)),
			validError("value of label "+strconv.Quote(key), j.Labels[key], validation.IsValidLabelValue(j.Labels[key])))
	}
	return checked{j, cas, endpoint, kubeletConfig(j.Kubelet)}, errors.Join(append(wrong, endpointErr, caErr)...)
}

func validError(what, text string, problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	for i, p := range problems {
		problems[i], _, _ = strings.Cut(p, " (e.g.") // without the regular expression that follows, which does not help
	}
	return fmt.Errorf("%s %q: %s", what, text, strings.Join(problems, "; "))
}

func checkForm(what, text string, want *regexp.Regexp) error {
	if want.MatchString(text) {
		return nil
	}
	return fmt.Errorf("%s %q: only letters, digits and - are allowed", what, text)
}

// effects are the effects of taints with which a kubelet registers.
var effects = []corev1.TaintEffect{
	corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute,
}

// checkTaints returns an error for taints with which a kubelet does not start: unknown effects, and duplicates.
func checkTaints(taints []corev1.Taint) error {
	var wrong []error
	for i, t := range taints {
		wrong = append(wrong, validError("taint", t.Key, validation.IsQualifiedName(t.Key)),
			validError("value of taint "+strconv.Quote(t.Key), t.Value, validation.IsValidLabelValue(t.Value)))
		if !slices.Contains(effects, t.Effect) {
			wrong = append(wrong, fmt.Errorf("taint %q: the effect %q is not one of %v", t.Key, t.Effect, effects))
		}
		if slices.ContainsFunc(taints[:i], func(o corev1.Taint) bool { return o.MatchTaint(&t) }) {
			wrong = append(wrong, fmt.Errorf("taint %q: it is listed twice with the effect %s", t.Key, t.Effect))
		}
	}
	return errors.Join(wrong...)
}

// endpointOf returns the host and port of a server.
func endpointOf(server string) (string, error) {
	u, err := url.Parse(server)
	bad := fmt.Errorf("server %q: must be https://host:port", server)
	if err != nil || u.Scheme != "https" || u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery+u.Fragment != "" {
		return "", bad
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	number, err := strconv.ParseUint(port, 10, 16)
	host := u.Hostname()
	if err != nil || number == 0 || net.ParseIP(host) == nil && len(validation.IsDNS1123Subdomain(host)) > 0 {
		return "", bad
	}
	return net.JoinHostPort(host, port), nil
}

// registers returns the labels with which the kubelet registers, in the form of its flag.
func (j Join) registers() []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(j.Labels)) {
		if KubeletMaySet(key) {
			all = append(all, key+"="+j.Labels[key])
		}
	}
	return all
}

// tainted returns the taints in a fixed order.
func (j Join) tainted() []Taint {
	all := []Taint{}
	for _, t := range j.Taints {
		all = append(all, Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
	}
	slices.SortFunc(all, func(a, b Taint) int { return strings.Compare(a.flag(), b.flag()) })
	return all
}

// Taint is a taint with which a kubelet registers.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

func (t Taint) flag() string { return t.Key + "=" + t.Value + ":" + t.Effect }

// taintFlags returns the taints in the form of the kubelet's flag.
func (j Join) taintFlags() (all []string) {
	for _, t := range j.tainted() {
		all = append(all, t.flag())
	}
	return all
}

// parseCertificates returns the CA certificates of a bundle.
func parseCertificates(bundle []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for rest := bundle; ; {
		block, after := pem.Decode(rest)
		if block == nil {
			break
		}
		rest = after
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("CA bundle: certificate %d: %w", len(all)+1, err)
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, errors.New("CA bundle: it contains no certificate")
	}
	return all, nil
}

// keyHashes returns the hashes by which kubeadm identifies a CA: the SHA-256 of each public key, as DER.
func keyHashes(cas []*x509.Certificate) []string {
	var all []string
	for _, ca := range cas {
		sum := sha256.Sum256(ca.RawSubjectPublicKeyInfo)
		all = append(all, "sha256:"+hex.EncodeToString(sum[:]))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
