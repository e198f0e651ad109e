//go:build linux

package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/cmd/sandbox/machine"
)

// fault is what is wrong with a machine, and what users read about it.
type fault struct {
	name  string
	spoil func(*host, *machine.Machine)
	// reason and text are of the one event that the NodeClaim gets; a machine without joins in spite of
	// the fault.
	reason, text string
}

const (
	cannotJoin = "MachineCannotJoin" // the machine has said why
	notJoined  = "MachineNotJoined"  // it cannot: it does not reach or not trust the API server, or has no token
)

var machineFaults = []fault{
	{"a kubelet that is killed while it joins", func(h *host, m *machine.Machine) {
		go h.when(m, "kubelet/config.yaml", func() { h.kill(m, "kubelet", 3) })
	}, "", ""},
	{"a kubeadm that is killed when the kubelet has its certificate", func(h *host, m *machine.Machine) {
		go h.when(m, "kubelet/pki/kubelet-client-current.pem", func() { h.kill(m, "kubeadm", 1) })
	}, "", ""},
	{"swap on", has(func(s *machine.Spec) { s.SwapMiB = 512 }), cannotJoin, "running with swap on is not supported"},
	{"ip_forward off, and nothing can set it", has(func(s *machine.Spec) { s.NoForwarding = true }), cannotJoin,
		"ip_forward contents are not set to 1"},
	{"no room on the disk", has(func(s *machine.Spec) { s.Small = map[string]int{"/var/lib/kubelet": 4} }), cannotJoin,
		"no space left on device"},
	{"no room beside the files of the join", has(func(s *machine.Spec) { s.Small = map[string]int{"/etc/lkeplan": 12} }), cannotJoin,
		"is the disk full or read-only?"},
	{"the hash of another CA", func(_ *host, m *machine.Machine) {
		m.Linode.UserData = regexp.MustCompile(`sha256:[0-9a-f]{64}`).ReplaceAll(m.Linode.UserData, []byte("sha256:"+strings.Repeat("0", 64)))
	}, cannotJoin, "none of the public keys"},
	{"another API server, whose CA is another", func(h *host, m *machine.Machine) { m.APIServer = h.impostor(nil, time.Now()) }, notJoined, ""},
	{"a clock that is an hour behind", func(h *host, m *machine.Machine) {
		m.APIServer = h.impostor(h.authority(), time.Now().Add(time.Hour))
	}, notJoined, ""},
	{"a token that has expired", (*host).expire, notJoined, ""},
}

// TestMachinesThatCannotJoinReportWhy: for each fault a real machine boots. Those that cannot join end in
// one clear event on their NodeClaim, of those that can say why within a minute of the failure.
func TestMachinesThatCannotJoinReportWhy(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	labels, booted := map[string]string{}, map[string]time.Time{} // by the name of the fault
	h := startHost(t, func(h *host, m *machine.Machine) {
		mu.Lock()
		defer mu.Unlock()
		if len(labels) == len(machineFaults) { // it is for a pod whose machine does not join
			return
		}
		f := machineFaults[len(labels)]
		labels[f.name], booted[f.name] = m.Linode.Label, time.Now()
		f.spoil(h, m)
	})
	h.scaleTo("app", len(machineFaults))
	h.until("all machines have booted", 2*time.Minute, func(state) bool {
		mu.Lock()
		defer mu.Unlock()
		return len(labels) == len(machineFaults)
	})
	claims := map[string]string{} // names, by label
	for _, nc := range h.state().claims {
		claims[h.linodeFor(nc).Label] = nc.Name
	}
	for _, f := range machineFaults { // those that join first: a machine whose pod runs elsewhere is not kept
		t.Run(f.name, func(t *testing.T) {
			label := labels[f.name]
			if f.reason == "" {
				h.until("it joins", 3*time.Minute, func(now state) bool {
					return slices.ContainsFunc(now.claims, func(nc karpv1.NodeClaim) bool {
						return nc.Name == claims[label] && nc.StatusConditions().Get(karpv1.ConditionTypeInitialized).IsTrue()
					})
				})
				h.noTokenOnDisk(h.machine(label))
			} else {
				h.until("its claim says why it does not join", 4*time.Minute, func(state) bool {
					return h.hasEvent("NodeClaim", claims[label], f.reason, f.text)
				})
			}
			said := h.problems(claims[label])
			t.Logf("%s after it was switched on: %q", time.Since(booted[f.name]).Round(time.Second), said)
			if want := min(1, len(f.reason)); len(said) != want {
				t.Errorf("there are %d events, want %d", len(said), want)
			}
		})
	}
}

// problems are the warnings about a claim, each once.
func (h *host) problems(claim string) (all []string) {
	h.t.Helper()
	var events corev1.EventList
	if err := h.client.List(h.t.Context(), &events); err != nil {
		h.t.Fatal(err)
	}
	for _, e := range events.Items {
		if e.InvolvedObject.Kind == "NodeClaim" && e.InvolvedObject.Name == claim && e.Type == corev1.EventTypeWarning {
			all = append(all, e.Reason+": "+e.Message)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func has(change func(*machine.Spec)) func(*host, *machine.Machine) {
	return func(_ *host, m *machine.Machine) { change(&m.Has) }
}

// when does something as soon as a machine has written a file.
func (h *host) when(m *machine.Machine, file string, do func()) {
	for h.t.Context().Err() == nil {
		if _, err := os.Lstat(filepath.Join(m.Has.Dir, file)); err == nil {
			do()
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// kill kills a program of a machine so many times, as it is started again.
func (h *host) kill(m *machine.Machine, program string, times int) {
	for ctx := h.t.Context(); times > 0 && ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		if _, err := m.Run(ctx, "pkill", "-KILL", "-x", program); err == nil {
			times--
		}
	}
}

// expire has the token of a machine expire before it boots.
func (h *host) expire(m *machine.Machine) {
	id := regexp.MustCompile(`token: ([a-z0-9]{6})\.`).FindSubmatch(m.Linode.UserData)
	if id == nil {
		h.t.Errorf("there is no token in the user data of %s", m.Linode.Label)
		return
	}
	ctx, key := h.t.Context(), client.ObjectKey{Namespace: "kube-system", Name: "bootstrap-token-" + string(id[1])}
	var secret corev1.Secret
	err := h.client.Get(ctx, key, &secret)
	if err == nil {
		secret.Data["expiration"] = []byte(time.Now().Add(-time.Minute).UTC().Format(time.RFC3339))
		err = h.client.Update(ctx, &secret)
	}
	if err != nil {
		h.t.Error(err)
	}
}

// authority is the CA of the sandbox.
func (h *host) authority() *tls.Certificate {
	dir := filepath.Join(h.dir, "pki")
	ca, err := tls.LoadX509KeyPair(filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key"))
	if err != nil {
		h.t.Error(err)
		return nil
	}
	return &ca
}

// impostor stands in the place of the API server, whose certificate is of another CA, or is good only from a time on:
// a machine whose clock is an hour behind sees a certificate that was just made as one that is not good for an hour.
func (h *host) impostor(ca *tls.Certificate, from time.Time) func(net.Listener) error {
	return func(l net.Listener) error {
		certificate, err := signedBy(ca, from)
		if err != nil {
			return err
		}
		server, err := url.Parse(h.apiServer().Host)
		if err != nil {
			return err
		}
		proxy := httputil.NewSingleHostReverseProxy(server)
		proxy.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		return http.Serve(tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{certificate}}), proxy)
	}
}

// signedBy creates a certificate of a server, signed by a CA or self-signed.
func signedBy(ca *tls.Certificate, from time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(from.UnixNano()), Subject: pkix.Name{CommonName: "kube-apiserver"},
		NotBefore: from, NotAfter: from.Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	parent, signer := template, any(key)
	if ca != nil {
		parent, signer = ca.Leaf, ca.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// TestAMachineWhosePowerIsCutJoins: power is cut at five moments of the way into the cluster. Each machine
// joins when it boots again, and leaves no token on its disk.
func TestAMachineWhosePowerIsCutJoins(t *testing.T) {
	t.Parallel()
	moments := []struct{ name, file string }{
		{"systemd has begun", "upper/var/log/journal"},
		{"cloud-init has the user data", "upper/var/lib/cloud/instances"},
		{"the script is there", "upper/var/lib/cloud/scripts/per-boot/lkeplan-join"},
		{"kubeadm has written the settings of the kubelet", "kubelet/config.yaml"},
		{"the kubelet has its certificate", "kubelet/pki/kubelet-client-current.pem"},
	}
	var mu sync.Mutex
	cut := map[string]string{} // by label
	taken := 0
	h := startHost(t, func(h *host, m *machine.Machine) {
		moment := moments[taken]
		taken++
		go h.when(m, moment.file, func() {
			m.PowerOff()
			console := m.Console()
			time.Sleep(time.Second)
			if err := m.PowerOn(); err != nil {
				t.Errorf("%s: %v", moment.name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			cut[m.Linode.Label] = moment.name
			if strings.Contains(console, "this machine has joined") {
				t.Errorf("%s: the power was cut too late", moment.name)
			}
		})
	})
	h.scaleTo("app", len(moments))
	for _, nc := range h.joinedNodes(len(moments), 4*time.Minute) {
		m := h.machine(nc.Status.NodeName)
		h.eventually("the token is gone", time.Minute, func() error {
			if !strings.Contains(m.Console(), "this machine has joined") {
				return fmt.Errorf("the script has not ended: %s", tail(m.Console(), 3))
			}
			return nil
		})
		h.noTokenOnDisk(m)
		if out := h.on(m, "sh", "-c", "ls /etc/lkeplan/join.yaml /etc/kubernetes/bootstrap-kubelet.conf 2>/dev/null || "+
			"true"); out != "" {
			t.Errorf("these are left: %s", out)
		}
	}
	if len(cut) != len(moments) {
		t.Errorf("the power was cut at %v alone", cut)
	}
}

// TestTenMachinesAtOnce join, run a pod each, and go.
func TestTenMachinesAtOnce(t *testing.T) {
	t.Parallel()
	h := startHost(t, nil)
	h.scaleTo("app", 10)
	h.joinedNodes(10, 4*time.Minute)
	h.scaleTo("app", 0)
	h.until("all ten are gone", 4*time.Minute, state.empty)
	h.eventually("no token is left", time.Minute, h.noTokens)
	h.nothingForbidden()
}
