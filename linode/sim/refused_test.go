package sim

import (
	"encoding/pem"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/linode/instance/bootstrap"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// refusedCase is one of testdata/refused.yaml, which says what its fields are.
type refusedCase struct {
	Name    string                            `json:"name"`
	Swap    int                               `json:"swap"`
	Replace []struct{ Path, Old, New string } `json:"replace"`
	Step    string                            `json:"step"`
	Want    string                            `json:"want"`
	OK      bool                              `json:"ok"`
}

// TestAMachineRefusesWhatRealProgramsRefuse, and takes what they take.
func TestAMachineRefusesWhatRealProgramsRefuse(t *testing.T) {
	text, err := os.ReadFile("testdata/refused.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []refusedCase
	if err := yaml.UnmarshalStrict(text, &cases); err != nil {
		t.Fatal(err)
	}
	for _, tc := range cases {
		t.Run(tc.Name, func(t *testing.T) {
			playKubelet(t, func(w *world) { w.bootsFor(tc) }, func(w *world) {
				s := w.is()
				switch joined := s.Step == Joined; {
				case tc.OK && (!joined || tc.Step != "" || tc.Want != ""):
					t.Errorf("it does not join: %+v", s)
				case !tc.OK && (s.Step != tc.Step || tc.Want == "" || !strings.Contains(s.Problem, tc.Want)):
					t.Errorf("%+v; want %s: %s", s, tc.Step, tc.Want)
				case !tc.OK && len(w.requests()) > 0:
					t.Errorf("it has asked for a certificate: %+v", s)
				}
			})
		})
	}
}

// bootsFor has the machine boot with the user data of a case.
func (w *world) bootsFor(tc refusedCase) {
	w.Helper()
	authority := newAuthority(w.T)
	w.publish(authority, "0123456789abcdef")
	join := bootstrap.Join{
		Node: "prod-0123456789abcdef0123", Region: "us-ord", PlanType: "g6-standard-2", Server: "https://127.0.0.1:40001",
		Labels: map[string]string{"karpenter.sh/nodepool": "general"}, Token: "abcdef.0123456789abcdef",
		Taints:  []corev1.Taint{{Key: "karpenter.sh/unregistered", Effect: corev1.TaintEffectNoExecute}},
		CA:      pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Raw}),
		Kubelet: &linodev1alpha1.KubeletConfiguration{CPUCFSQuota: new(true)},
	}
	good, err := bootstrap.Kubeadm(join)
	if err != nil {
		w.Fatal(err)
	}
	var config map[string]any
	if err := yaml.Unmarshal(good, &config); err != nil {
		w.Fatal(err)
	}
	fill := strings.NewReplacer("{name}", join.Node, "{token}", join.Token, "{token-id}", "abcdef",
		"{pin}", CertificatePin(authority), "{endpoint}", "127.0.0.1:40001")
	files := map[string]map[string]any{}
	for _, file := range config["write_files"].([]any) {
		files[file.(map[string]any)["path"].(string)] = file.(map[string]any)
	}
	for _, change := range tc.Replace {
		file, old := files[change.Path], fill.Replace(change.Old)
		text, _ := file["content"].(string)
		if strings.Count(text, old) != 1 {
			w.Fatalf("%s has %q %d times:\n%s", change.Path, old, strings.Count(text, old), text)
		}
		file["content"] = strings.Replace(text, old, fill.Replace(change.New), 1)
	}
	bad, err := yaml.Marshal(config)
	if err != nil {
		w.Fatal(err)
	}
	w.machine.Swap, w.machine.UserData = tc.Swap, append([]byte("#cloud-config\n"), bad...)
}
