package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/linode/instance/token"
	"github.com/lkeplan/lkeplan/linode/sim"
)

// TestTokenIsValidForOneNode: a client with the token of a booting machine cannot get the certificate of
// another Node, however it joins, and a report with the token is denied and shown on its NodeClaim. The
// machine itself joins.
func TestTokenIsValidForOneNode(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, "--mode", "instance", "--join-delay", "20s")
	s.installCRDs()
	s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/instances")
	s.applyAll(file(t, "inflate.yaml"))
	s.scale(4)
	var secret corev1.Secret
	s.eventually("there is a token", time.Minute, func() error {
		var secrets corev1.SecretList
		err := s.client.List(t.Context(), &secrets, client.InNamespace("kube-system"), client.HasLabels{token.Label})
		if err == nil && len(secrets.Items) != 1 {
			err = fmt.Errorf("%d tokens", len(secrets.Items))
		}
		if err == nil {
			secret = secrets.Items[0]
		}
		return err
	})
	j := &joining{sandbox: s, api: s.apiServer(), good: sim.JoinToken{
		ID: string(secret.Data["token-id"]), Secret: string(secret.Data["token-secret"]),
	}}
	s.signs(j.good, true)
	other := j.join("another")
	for how, userData := range map[string][]byte{"kubeadm": kubeadm(t, other), "k3s": k3s(t, other)} {
		got := s.refusedTo(userData)
		if got.Step != sim.Certificate || !strings.Contains(got.Problem, "denied") {
			t.Errorf("a client that impersonates another Node with %s: %+v", how, got)
		}
	}
	s.eventually("an event reports that another client has the NodeClaim's token", time.Minute, func() error {
		if !s.told("NodeClaim", "CertificateDenied", `: it requests a certificate for "system:node:another"`) {
			return fmt.Errorf("there is no such event")
		}
		return nil
	})
	j.reports("kubelet: running with swap on is not supported")
	s.until("the machine itself joins", time.Minute, func(now state) bool { return now.running == 4 && now.joined() })
	s.deleteDeployments("inflate")
	s.until("nothing is left", 2*time.Minute, state.empty)
}

// reports has the machine of a NodeClaim report that it cannot join, with the token alone, by a request that would be
// approved if it were none.
func (j *joining) reports(text string) {
	j.t.Helper()
	config := rest.CopyConfig(j.api)
	config.BearerToken = j.good.String()
	machine, err := client.New(config, client.Options{})
	if err != nil {
		j.t.Fatal(err)
	}
	var name string
	for label := range j.linodes() {
		name = label
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		j.t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "system:node:" + name, Organization: []string{"system:nodes"}},
	}, key)
	if err != nil {
		j.t.Fatal(err)
	}
	report := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "lkeplan-report-", Annotations: map[string]string{token.AnnotationJoinFailure: text}},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		},
	}
	if err := machine.Create(j.t.Context(), report); err != nil {
		j.t.Fatalf("report: %v", err)
	}
	j.eventually("the NodeClaim says what its machine reports", time.Minute, func() error {
		if !j.told("NodeClaim", "MachineCannotJoin", `cannot join: "`+text+`"`) {
			return fmt.Errorf("there is no such event")
		}
		return nil
	})
	if err := machine.Get(j.t.Context(), client.ObjectKeyFromObject(report), report); err != nil {
		j.t.Fatal(err)
	}
	if c := report.Status.Conditions; len(c) != 1 || c[0].Type != certificatesv1.CertificateDenied || c[0].Reason != "JoinReport" ||
		len(report.Status.Certificate) > 0 {
		j.t.Errorf("the report has the answer %+v", report.Status)
	}
}

// refusedTo is the refusal for a machine elsewhere that joins with this user data.
func (s *sandbox) refusedTo(userData []byte) sim.JoinStatus {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), slowdown*30*time.Second)
	defer cancel()
	told := make(chan sim.JoinStatus, 1)
	thief := sim.Kubelet{Linode: 1, Version: "v1.36.0", UserData: userData}
	thief.Report = func(now sim.JoinStatus) {
		if now.Tries > 0 || now.Joins > 0 {
			select {
			case told <- now:
			default:
			}
		}
	}
	go thief.Run(ctx)
	select {
	case got := <-told:
		return got
	case <-ctx.Done():
		s.t.Fatal("the request with a token was not answered")
		return sim.JoinStatus{}
	}
}
