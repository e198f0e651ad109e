package sim

import (
	"encoding/pem"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/linode/linodetest"
)

// TestAMachineRefusesWhatRealProgramsRefuse, and takes what they take.
func TestAMachineRefusesWhatRealProgramsRefuse(t *testing.T) {
	cases, err := linodetest.BadJoins()
	if err != nil {
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
func (w *world) bootsFor(tc linodetest.BadJoin) {
	w.Helper()
	authority := newAuthority(w.T)
	w.publish(authority, "0123456789abcdef")
	files, err := tc.Files(linodetest.JoinedCluster{
		Endpoint: "127.0.0.1:40001", Token: "abcdef.0123456789abcdef", Pin: CertificatePin(authority),
		CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Raw}),
	}, "prod-0123456789abcdef0123")
	if err != nil {
		w.Fatal(err)
	}
	var write []map[string]string
	for path, content := range files {
		write = append(write, map[string]string{"path": path, "content": content})
	}
	bad, err := yaml.Marshal(map[string]any{"write_files": write, "runcmd": []string{"true"}})
	if err != nil {
		w.Fatal(err)
	}
	w.machine.Swap, w.machine.UserData = tc.Swap, append([]byte("#cloud-config\n"), bad...)
}
