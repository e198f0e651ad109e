package bootstrap

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
)

// TestReportGoesToTheClusterAlone has the real curl and wget report to a server: no other server gets the token.
func TestReportGoesToTheClusterAlone(t *testing.T) {
	ca, other := signed(t, "ca", nil), signed(t, "other", nil)
	local := net.IPv4(127, 0, 0, 1)
	for name, c := range map[string]struct {
		by       *issuer // of the server's certificate
		address  net.IP  // that it is for
		status   int
		reported bool
	}{
		"the cluster":         {ca, local, http.StatusCreated, true},
		"another CA":          {other, local, http.StatusCreated, false},
		"another address":     {ca, net.IPv4(127, 0, 0, 2), http.StatusCreated, false},
		"sent on":             {ca, local, http.StatusTemporaryRedirect, true},
		"sent on, as it were": {ca, local, http.StatusFound, true},
	} {
		for _, program := range []string{"curl", "wget"} {
			t.Run(name+" by "+program, func(t *testing.T) {
				real, err := exec.LookPath(program)
				if err != nil {
					t.Fatal(err)
				}
				elsewhere := serve(t, ca, local, http.StatusCreated, "")
				server := serve(t, c.by, c.address, c.status, elsewhere.url)
				j := sample()
				j.Server = server.url
				j.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.cert.Raw})
				files := append(filesOf(t, j, checked.kubeadmFiles), file{Path: caFile, Content: string(j.CA)})
				fake := metadata
				if program == "wget" {
					fake = asWget(fake)
				}
				m := boots(t, files, map[string]string{
					program:   "case \"$*\" in *127.0.0.1*) exec " + real + ` "$@" ;; esac` + "\n" + fake,
					"kubeadm": `[ "$1" = reset ] || [ -e /world/tried ] || { echo x >/world/tried; echo 'error: "no"'; exit 1; }`,
				})
				if said, failed := m.runs(); failed || !strings.Contains(said, "has joined") {
					t.Fatal(said)
				}
				calls := m.read("/world/calls")
				if strings.Contains(calls, "0123456789abcdef") {
					t.Error("the secret is an argument")
				}
				if !strings.Contains(calls, m.here(" --capath /run/lkeplan/none ")) && !strings.Contains(calls, m.here(" --ca-directory /run/lkeplan/none ")) {
					t.Errorf("trusts what the image trusts as well\n%s", calls)
				}
				if got := elsewhere.all(); len(got) > 0 {
					t.Errorf("elsewhere: %q", got)
				}
				got := server.all()
				if !c.reported {
					if len(got) > 0 {
						t.Errorf("reported to it: %q", got)
					}
					return
				}
				const path = "POST /apis/certificates.k8s.io/v1/certificatesigningrequests Bearer abcdef.0123456789abcdef application/json "
				if len(got) != 1 || !strings.HasPrefix(got[0], path) {
					t.Fatalf("reported %q", got)
				}
				var csr certificatesv1.CertificateSigningRequest
				if err := json.Unmarshal([]byte(strings.TrimPrefix(got[0], path)), &csr); err != nil {
					t.Fatal(err)
				}
				if text := csr.Annotations["lkeplan.dev/join-failure"]; text != `kubeadm join: error: "no"` {
					t.Errorf("reported %q", text)
				}
			})
		}
	}
}

// server writes down what it is asked.
type server struct {
	url string

	lock  sync.Mutex
	asked []string
}

func (s *server) all() []string {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.asked
}

// serve starts a server whose certificate is by a CA, for an address. It answers with a status, and sends on to a place.
func serve(t *testing.T, by *issuer, address net.IP, status int, to string) *server {
	t.Helper()
	s := &server{}
	started := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.lock.Lock()
		s.asked = append(s.asked, strings.Join([]string{
			r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), string(body),
		}, " "))
		s.lock.Unlock()
		w.Header().Set("Location", to)
		w.WriteHeader(status)
	}))
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), IPAddresses: []net.IP{address}, NotBefore: by.cert.NotBefore, NotAfter: by.cert.NotAfter,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, by.cert, &key.PublicKey, by.key)
	if err != nil {
		t.Fatal(err)
	}
	started.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}
	started.Config.ErrorLog = log.New(io.Discard, "", 0)
	started.StartTLS()
	t.Cleanup(started.Close)
	s.url = started.URL
	return s
}
