package token

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net/url"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// accountOf is the one of the tokens of a claim's UID, as Kubernetes names it.
func accountOf(t *testing.T, uid string) string {
	t.Helper()
	for _, id := range IDs(uid) {
		return "system:bootstrap:" + id
	}
	t.Fatal("a claim has no token")
	return ""
}

// asks is a request of that subject.
func asks(t *testing.T, subject pkix.Name, change func(*x509.CertificateRequest)) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	request := &x509.CertificateRequest{Subject: subject}
	if change != nil {
		change(request)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, request, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// TestOnlyTheOwnNodeIsApproved: all other requests with a machine's token are denied.
func TestOnlyTheOwnNodeIsApproved(t *testing.T) {
	good := pkix.Name{CommonName: "system:node:prod-1", Organization: []string{"system:nodes"}}
	type csr = certificatesv1.CertificateSigningRequest
	subject := func(name string, groups ...string) func(*csr) {
		return func(r *csr) { r.Spec.Request = asks(t, pkix.Name{CommonName: name, Organization: groups}, nil) }
	}
	besides := func(change func(*x509.CertificateRequest)) func(*csr) {
		return func(r *csr) { r.Spec.Request = asks(t, good, change) }
	}
	text := func(change func(good []byte) []byte) func(*csr) {
		return func(r *csr) { r.Spec.Request = change(r.Spec.Request) }
	}
	uses := func(usages ...certificatesv1.KeyUsage) func(*csr) { return func(r *csr) { r.Spec.Usages = usages } }
	bearer := func(account string) func(*csr) { return func(r *csr) { r.Spec.Username = account } }
	tests := map[string]struct {
		request func(*csr)
		claim   func(*karpv1.NodeClaim)
		want    string // "" where it is approved
	}{
		"the machine asks for its own": {},
		"with the usages of an RSA key": {request: uses(certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth,
			certificatesv1.UsageKeyEncipherment)},
		"another Node": {request: subject("system:node:prod-2", "system:nodes"),
			want: `token of NodeClaim a is only for the certificate of Node prod-1: it requests a certificate for "system:node:prod-2"`},
		"an administrator": {request: subject("system:node:prod-1", "system:nodes", "system:masters"),
			want: `it requests the groups "system:nodes, system:masters"`},
		"no group": {request: subject("system:node:prod-1"), want: `it requests the groups ""`},
		"a name that fits no event": {request: subject("system:node:"+strings.Repeat("é", 500), "system:nodes"),
			want: `..."`},
		"a large request": {request: subject("system:node:"+strings.Repeat("a", largest), "system:nodes"),
			want: "it is larger than 4096 bytes"},
		"an additional DNS name": {
			request: besides(func(c *x509.CertificateRequest) { c.DNSNames = []string{"kubernetes"} }),
			want:    "it requests other names",
		},
		"an additional URI": {
			request: besides(func(c *x509.CertificateRequest) { c.URIs = []*url.URL{{Scheme: "spiffe", Host: "a"}} }),
			want:    "it requests other names",
		},
		"of another signer": {
			request: func(r *csr) { r.Spec.SignerName = certificatesv1.KubeAPIServerClientSignerName },
			want:    "not for kubernetes.io/kube-apiserver-client",
		},
		"to serve": {request: uses(certificatesv1.UsageClientAuth, certificatesv1.UsageServerAuth),
			want: `it requests the usage "server auth"`},
		"for no usage": {request: uses(), want: "it requests the usages []"},
		"no request": {request: text(func([]byte) []byte { return []byte("none") }), want: "it does not contain exactly " +
			"one request"},
		"two requests": {request: text(func(good []byte) []byte { return append(good, good...) }),
			want: "it does not contain exactly one request"},
		"a broken one": {
			request: text(func([]byte) []byte { return pem.EncodeToMemory(&pem.Block{Bytes: []byte("x")}) }),
			want:    "read the request",
		},
		"another's token": {request: bearer(accountOf(t, "other")), want: "is not the token of a NodeClaim"},
		"no token":        {request: bearer("system:node:prod-1"), want: "is not the token of a NodeClaim"},
		"the claim is going": {
			claim: func(nc *karpv1.NodeClaim) { nc.DeletionTimestamp = ptr.To(metav1.Now()) },
			want:  "NodeClaim a needs no certificate",
		},
		"its Node has registered": {
			claim: func(nc *karpv1.NodeClaim) { nc.StatusConditions().SetTrue(karpv1.ConditionTypeRegistered) },
			want:  "NodeClaim a needs no certificate",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			claim := karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: types.UID("uid-a")}}
			r := &csr{Spec: certificatesv1.CertificateSigningRequestSpec{
				Username: accountOf(t, "uid-a"), Request: asks(t, good, nil),
				SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
				Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
			}}
			if tt.request != nil {
				tt.request(r)
			}
			if tt.claim != nil {
				tt.claim(&claim)
			}
			err := refusalOf(r, claimOfRequest(r, []karpv1.NodeClaim{{ObjectMeta: metav1.ObjectMeta{UID: "uid-b"}}, claim}), "prod-1")
			if said := ""; err != nil {
				if said = err.Error(); len(said) > 1000 {
					t.Errorf("no event takes %d bytes", len(said))
				}
				if tt.want == "" || !strings.Contains(said, tt.want) {
					t.Errorf("refused: %s; want %q", said, tt.want)
				}
			} else if tt.want != "" {
				t.Errorf("approved; want %q", tt.want)
			}
		})
	}
}

// TestOthersRequestsAreLeftAlone: those of other tokens, and those that have an answer.
func TestOthersRequestsAreLeftAlone(t *testing.T) {
	r := &certificatesv1.CertificateSigningRequest{}
	r.Spec.Groups = []string{"system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token"}
	if needsAnswer(r) {
		t.Error("a request with a token of kubeadm's is taken for one of ours")
	}
	if r.Spec.Groups = append(r.Spec.Groups, Group); !needsAnswer(r) {
		t.Error("a request with a token of ours is left alone")
	}
	r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateDenied}}
	if needsAnswer(r) {
		t.Error("a request that has an answer gets another")
	}
}

// TestCacheKeepsFieldsThatApprovalNeeds, and of requests that are not for lkeplan next to nothing.
func TestCacheKeepsFieldsThatApprovalNeeds(t *testing.T) {
	tests := map[string]struct {
		groups []string
		size   int
		want   int // bytes of the request
	}{
		"of a machine":                {[]string{Group}, 400, 400},
		"of a machine, and too large": {[]string{Group}, 1 << 20, largest + 1},
		"of another user":             {[]string{"system:nodes"}, 400, 0},
	}
	for name, tt := range tests {
		r := &certificatesv1.CertificateSigningRequest{}
		r.Spec.Groups, r.Spec.Request, r.Status.Certificate = tt.groups, make([]byte, tt.size), []byte("signed")
		kept, err := Lean(r)
		if err != nil || len(r.Spec.Request) != tt.want || r.Status.Certificate != nil ||
			kept != any(r) {
			t.Errorf("%s: %d bytes of the request, %q, %v", name, len(r.Spec.Request), r.Status.Certificate, err)
		}
	}
}
