package bootstrap

import (
	"crypto/sha256"
	"crypto/x509"
	_ "embed" // the script
	"encoding/hex"
	"slices"
)

//go:embed k3s.sh
var k3sScript string

// k3sConfig is the configuration file of a k3s agent.
type k3sConfig struct {
	Server     string   `json:"server"`
	Token      string   `json:"token"`
	NodeName   string   `json:"node-name"`
	NodeTaint  []string `json:"node-taint,omitempty"`
	NodeLabel  []string `json:"node-label,omitempty"`
	KubeletArg []string `json:"kubelet-arg"`
}

// K3s returns the user data of a machine whose image has k3s, with a unit k3s-agent that is not
// enabled: it would start before its file is complete. For equal input it is the same, byte
// for byte.
//
// Unverified: that an agent joins with a bootstrap token made as for kubeadm. k3s has
// taken such tokens from agents since 1.23.17, 1.24.11, 1.25.7 and 1.26.2, of the group that all
// of them have, and lets an agent start again later by its kubelet's certificate.
func K3s(j Join) ([]byte, error) {
	c, err := j.check()
	if err != nil {
		return nil, err
	}
	return c.cloudConfig(c.k3sFiles())
}

func (j checked) k3sFiles() []file {
	return []file{{k3sFile, "0600", j.k3sConfig()}, {scriptFile, "0700", machineScriptWith(k3sScript)}}
}

func (j checked) k3sConfig() string {
	return asYAML(k3sConfig{
		Server: "https://" + j.endpoint, Token: j.k3sToken(), NodeName: j.Node,
		NodeTaint: j.taintFlags(), NodeLabel: j.registers(),
		KubeletArg: append([]string{"cloud-provider=external", "provider-id=" + placed}, kubeletFlags(j.Kubelet)...),
	})
}

func (j checked) k3sToken() string { return "K10" + bundleHash(j.CA, j.cas) + "::" + j.Token }

// bundleHash returns the hash by which a k3s agent identifies the CA: the SHA-256 of the file that its server
// sends, byte for byte. If the file has several certificates, it is the hash of the root of the first one, as DER,
// so that the others can be renewed.
func bundleHash(bundle []byte, cas []*x509.Certificate) string {
	hashed := bundle
	if len(cas) > 1 {
		roots, between := x509.NewCertPool(), x509.NewCertPool()
		for _, ca := range cas[1:] {
			if len(ca.AuthorityKeyId) == 0 || string(ca.AuthorityKeyId) == string(ca.SubjectKeyId) {
				roots.AddCert(ca)
			} else {
				between.AddCert(ca)
			}
		}
		latest := slices.MaxFunc(cas, func(a, b *x509.Certificate) int { return a.NotBefore.Compare(b.NotBefore) })
		chains, err := cas[0].Verify(x509.VerifyOptions{
			Roots: roots, Intermediates: between, CurrentTime: latest.NotBefore, // its current value does not matter
		})
		if err == nil {
			hashed = chains[0][len(chains[0])-1].Raw
		}
	}
	sum := sha256.Sum256(hashed)
	return hex.EncodeToString(sum[:])
}
