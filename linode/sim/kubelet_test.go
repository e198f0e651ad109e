package sim

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
)

// world is one machine and a fake API server. What a real one refuses is tried in the sandbox.
type world struct {
	*testing.T
	client *fake.Clientset
	answer certificatesv1.CertificateSigningRequestStatus
	kubelet
}

type kubelet struct {
	machine Kubelet
	restart func() // ends it and starts it again

	mu     sync.Mutex
	status JoinStatus
	dialed []rest.Config
}

// play runs a test with a machine that has booted. change is what is different from a good join.
func playKubelet(t *testing.T, change func(w *world), test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		//nolint:staticcheck // managed fields do not matter here
		w := &world{T: t, client: fake.NewSimpleClientset(), answer: answered(certificatesv1.CertificateApproved, "signed")}
		authority := newAuthority(t)
		w.publish(authority, "0123456789abcdef")
		w.signs()
		text := strings.ReplaceAll(userData(t, "kubeadm"), "sha256:00", CertificatePin(authority))
		w.machine = Kubelet{
			Linode: 77, Has: has(t).Capacity, Address: "203.0.113.7", MachineID: "c0ffee", Version: "v1.36.0",
			UserData: []byte(text), Dial: w.dial, Report: w.report,
		}
		change(w)
		var done sync.WaitGroup
		stop := func() {}
		w.restart = func() {
			stop()
			done.Wait()
			ctx, cancel := context.WithCancel(t.Context())
			stop = cancel
			done.Go(func() { w.machine.Run(ctx) })
		}
		w.restart()
		defer func() {
			stop()
			done.Wait()
		}()
		synctest.Wait()
		test(w)
	})
}

func same(*world) {}

func (w *world) dial(config *rest.Config) (kubernetes.Interface, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dialed = append(w.dialed, *config)
	return w.client, nil
}

func (w *world) report(s JoinStatus) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status = s
}

func (w *world) is() JoinStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status
}

func newAuthority(t *testing.T) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// publish writes cluster-info as a cluster does, signed with a secret.
func (w *world) publish(authority *x509.Certificate, secret string) {
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Raw})
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","clusters":[{"name":"","cluster":{`+
		`"server":"https://cluster.test:6443","certificate-authority-data":%q}}]}`, base64.StdEncoding.EncodeToString(bundle))
	header := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","kid":"abcdef"}`))
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(header + "." + base64.RawURLEncoding.EncodeToString([]byte(text))))
	info := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-public", Name: "cluster-info"},
		Data: map[string]string{
			"kubeconfig":            text,
			"jws-kubeconfig-abcdef": header + ".." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)),
		},
	}
	if _, err := w.client.CoreV1().ConfigMaps(info.Namespace).Update(w.Context(), info, metav1.UpdateOptions{}); err != nil {
		if err = w.client.Tracker().Add(info); err != nil {
			w.Fatal(err)
		}
	}
}

// signs answers requests for certificates at once.
func (w *world) signs() {
	w.before("create", "certificatesigningrequests", func(object runtime.Object) error {
		object.(*certificatesv1.CertificateSigningRequest).Status = w.answer
		return nil
	})
}

// answered is the result of a request.
func answered(with certificatesv1.RequestConditionType, certificate string) certificatesv1.CertificateSigningRequestStatus {
	return certificatesv1.CertificateSigningRequestStatus{
		Certificate: []byte(certificate),
		Conditions: []certificatesv1.CertificateSigningRequestCondition{
			{Type: with, Status: corev1.ConditionTrue, Reason: "Test", Message: "not you"},
		},
	}
}

// before has something done with each object that is made.
func (w *world) before(verb, resource string, do func(runtime.Object) error) {
	w.client.PrependReactor(verb, resource, func(action clienttesting.Action) (bool, runtime.Object, error) {
		var object runtime.Object
		if create, ok := action.(clienttesting.CreateAction); ok {
			object = create.GetObject()
		}
		err := do(object)
		return err != nil, object, err
	})
}

func (w *world) node() *corev1.Node {
	w.Helper()
	node, err := w.client.CoreV1().Nodes().Get(w.Context(), "prod-0123456789abcdef0123", metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return node
}

func (w *world) requests() []certificatesv1.CertificateSigningRequest {
	w.Helper()
	list, err := w.client.CertificatesV1().CertificateSigningRequests().List(w.Context(), metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return list.Items
}

// TestAMachineJoins: with each step it shows what it has, and no more.
func TestAMachineJoins(t *testing.T) {
	playKubelet(t, same, func(w *world) {
		if s := w.is(); s != (JoinStatus{Step: Joined, Node: "prod-0123456789abcdef0123", Joins: 1}) {
			t.Fatalf("%+v", s)
		}
		var shown []string
		for _, c := range w.dialed {
			shown = append(shown, fmt.Sprintf("%s insecure %v authority %v token %q certificate %q", c.Host, c.Insecure,
				len(c.CAData) > 0, c.BearerToken, c.CertData))
		}
		want := []string{
			`https://127.0.0.1:40001 insecure true authority false token "" certificate ""`,
			`https://127.0.0.1:40001 insecure false authority true token "" certificate ""`,
			`https://cluster.test:6443 insecure false authority true token "abcdef.0123456789abcdef" certificate ""`,
			`https://cluster.test:6443 insecure false authority true token "" certificate "signed"`,
		}
		if strings.Join(shown, "\n") != strings.Join(want, "\n") {
			t.Errorf("it showed\n%s\nwant\n%s", strings.Join(shown, "\n"), strings.Join(want, "\n"))
		}
		spec := w.requests()[0].Spec
		block, _ := pem.Decode(spec.Request)
		request, err := x509.ParseCertificateRequest(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if got := request.Subject.String(); got != "CN=system:node:prod-0123456789abcdef0123,O=system:nodes" ||
			spec.SignerName != "kubernetes.io/kube-apiserver-client-kubelet" {
			t.Errorf("it asked %s for %s", spec.SignerName, got)
		}
	})
}

func TestTheNodeOfAMachine(t *testing.T) {
	playKubelet(t, same, func(w *world) {
		node := w.node()
		var taints []string
		for _, taint := range node.Spec.Taints {
			taints = append(taints, taint.ToString())
		}
		want := "karpenter.sh/unregistered:NoExecute example.com/startup=1:NoSchedule " +
			"node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule"
		if got := strings.Join(taints, " "); got != want {
			t.Errorf("taints %s", got)
		}
		if node.Spec.ProviderID != "linode://77" || node.Labels["karpenter.sh/nodepool"] != "general" ||
			node.Labels["kubernetes.io/hostname"] != node.Name || node.Status.NodeInfo.SystemUUID != "c0ffee" {
			t.Errorf("%s %v %+v", node.Spec.ProviderID, node.Labels, node.Status.NodeInfo)
		}
		kept := node.Status.Capacity.Memory().Value() - node.Status.Allocatable.Memory().Value()
		if node.Status.Allocatable.Pods().Value() != 50 || kept != (500+100)<<20 {
			t.Errorf("it offers %v of %v", node.Status.Allocatable, node.Status.Capacity)
		}
	})
}

// TestReasonsWhyAMachineDoesNotJoin: it reports the reason and tries again.
func TestReasonsWhyAMachineDoesNotJoin(t *testing.T) {
	edit := func(old, new string) func(w *world) {
		return func(w *world) {
			w.machine.UserData = []byte(strings.ReplaceAll(string(w.machine.UserData), old, new))
		}
	}
	refused := errors.New("refused")
	for _, tc := range []struct {
		name, step, problem string
		change              func(w *world)
	}{
		{"no user data", Boot, "nothing in its user data joins", func(w *world) { w.machine.UserData = nil }},
		{"a bad file", Boot, "no JoinConfiguration found in the supplied config", edit("kind: "+
			"JoinConfiguration", "kind: Pod")},
		{
			"no cluster-info", Discovery, `failed to request the cluster-info ConfigMap: configmaps "cluster-info" not found`, func(w *world) {
				_ = w.client.CoreV1().ConfigMaps("kube-public").Delete(w.Context(), "cluster-info", metav1.DeleteOptions{})
			},
		},
		{
			"a token of another cluster", Discovery, `could not find a JWS signature in the cluster-info ConfigMap for token ID "fedcba"`,
			edit("abcdef.0123456789abcdef", "fedcba.0123456789abcdef"),
		},
		{
			"a wrong secret", Discovery, "failed to verify JWS signature of received cluster info object",
			edit("abcdef.0123456789abcdef", "abcdef.fedcba9876543210"),
		},
		{
			"a wrong authority", Discovery, "cluster CA found in cluster-info ConfigMap is invalid", func(w *world) {
				w.publish(newAuthority(w.T), "0123456789abcdef")
			},
		},
		{
			"the token refused", Certificate, "cannot create certificate signing request: refused", func(w *world) {
				w.before("create", "certificatesigningrequests", func(runtime.Object) error { return refused })
			},
		},
		{"denied", Certificate, "is denied, reason: Test, message: not you", func(w *world) {
			w.answer = answered(certificatesv1.CertificateDenied, "")
		}},
		{
			"not approved", Certificate, "to be approved and signed",
			func(w *world) { w.answer = certificatesv1.CertificateSigningRequestStatus{} },
		},
		{
			"its name is taken", Certificate, `a Node with name "prod-0123456789abcdef0123" and status "Ready" already exists`, func(w *world) {
				node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "prod-0123456789abcdef0123"}}
				node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
				_ = w.client.Tracker().Add(node)
			},
		},
		{
			"the Node refused", Registration, "refused", func(w *world) {
				w.before("create", "nodes", func(runtime.Object) error { return refused })
			},
		},
		{"no kubelet starts", Certificate, "the kubelet does not start: --kube-reserved", edit("memory: "+
			"500Mi", "memory: much")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			playKubelet(t, tc.change, func(w *world) {
				s := w.is()
				if s.Step != tc.step || !strings.Contains(s.Problem, tc.problem) || s.Node != "" {
					t.Errorf("%+v; want %s: %s", s, tc.step, tc.problem)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				again := w.is()
				goesOn := tc.step != Boot && tc.name != "not approved"
				if again.Step != tc.step || (again.Tries > s.Tries) != goesOn {
					t.Errorf("a minute later: %+v", again)
				}
			})
		})
	}
}

// TestK3sChecksTheBundle: and no signature, which it does not know.
func TestK3sChecksTheBundle(t *testing.T) {
	for want, edit := range map[string]string{Joined: "", Discovery: "0"} {
		playKubelet(t, func(w *world) {
			w.machine.Swap = 512 // which k3s allows
			authority := newAuthority(t)
			w.publish(authority, "another secret")
			sum := sha256.Sum256(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Raw}))
			text := strings.ReplaceAll(userData(t, "k3s"), "K1000", fmt.Sprintf("K10%s%x", edit, sum))
			w.machine.UserData = []byte(text)
		}, func(w *world) {
			if s := w.is(); s.Step != want {
				t.Errorf("%+v; want %s", s, want)
			}
		})
	}
}

// TestK3sRefusesSwapByAFlag only.
func TestK3sRefusesSwapByAFlag(t *testing.T) {
	playKubelet(t, func(w *world) {
		authority := newAuthority(t)
		w.publish(authority, "another secret")
		sum := sha256.Sum256(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Raw}))
		text := strings.ReplaceAll(userData(t, "k3s"), "K1000", fmt.Sprintf("K10%x", sum))
		w.machine.Swap = 512
		w.machine.UserData = []byte(strings.ReplaceAll(text, `"max-pods=50"`, `"fail-swap-on=true"`))
	}, func(w *world) {
		if s := w.is(); s.Step != Certificate || !strings.Contains(s.Problem, "running with swap on is not supported") {
			t.Errorf("%+v", s)
		}
	})
}

// TestAKubeletRegistersWhenItStarts: and at no other time.
func TestAKubeletRegistersWhenItStarts(t *testing.T) {
	playKubelet(t, same, func(w *world) {
		name := w.node().Name
		w.change(func(n *corev1.Node) { n.Spec.Taints, n.Labels["karpenter.sh/nodepool"] = nil, "other" })
		w.restart()
		synctest.Wait()
		if n := w.node(); len(n.Spec.Taints) != 0 || n.Labels["karpenter.sh/nodepool"] != "other" || w.is().Joins != 2 {
			t.Errorf("a kubelet that starts again changes the Node that is there: %v, %v; %+v", n.Spec.Taints, n.Labels, w.is())
		}
		if err := w.client.CoreV1().Nodes().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if s := w.is(); s.Joins != 2 {
			t.Errorf("it came back on its own: %+v", s)
		}
		dialed := len(w.dialed)
		w.restart()
		synctest.Wait()
		if n := w.node(); len(n.Spec.Taints) != 3 || w.is().Joins != 3 || len(w.requests()) != 1 || len(w.dialed) != dialed+1 {
			t.Errorf("it came back with %v and %d requests", n.Spec.Taints, len(w.requests()))
		}
	})
}

func (w *world) change(change func(*corev1.Node)) {
	w.Helper()
	node := w.node()
	change(node)
	if _, err := w.client.CoreV1().Nodes().Update(w.Context(), node, metav1.UpdateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// TestAKubeletThatStartsAgainFindsItsRequest: it has kept the key.
func TestAKubeletThatStartsAgainFindsItsRequest(t *testing.T) {
	playKubelet(t, func(w *world) { w.answer = certificatesv1.CertificateSigningRequestStatus{} }, func(w *world) {
		w.restart()
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(w.requests()); n != 1 || w.is().Step != Certificate {
			t.Fatalf("%d requests, %+v", n, w.is())
		}
		request := w.requests()[0]
		request.Status = answered(certificatesv1.CertificateApproved, "signed")
		if _, err := w.client.CertificatesV1().CertificateSigningRequests().UpdateStatus(t.Context(), &request,
			metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := w.is(); s.Step != Joined {
			t.Errorf("%+v", s)
		}
	})
}
