package sim

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func userData(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestUserDataThatJoins(t *testing.T) {
	unregistered := corev1.Taint{Key: "karpenter.sh/unregistered", Effect: corev1.TaintEffectNoExecute}
	kubeadm := &Join{
		Server: "https://127.0.0.1:40001", Token: JoinToken{"abcdef", "0123456789abcdef"},
		Pins: []string{"sha256:00"}, Signed: true, Unready: true,
		Name: "prod-0123456789abcdef0123", ProviderID: "linode://77", External: true,
		Taints:   []corev1.Taint{unregistered, {Key: "example.com/startup", Value: "1", Effect: corev1.TaintEffectNoSchedule}},
		Labels:   map[string]string{"karpenter.sh/nodepool": "general", "karpenter.sh/do-not-sync-taints": "true"},
		Settings: KubeletSettings{MaxPods: 50, KubeReserved: map[string]string{"memory": "500Mi"}},
	}
	k3s := &Join{
		Server: "https://127.0.0.1:40001", Token: kubeadm.Token, Bundle: "00", Name: kubeadm.Name,
		ProviderID: "linode://77", External: true, Taints: []corev1.Taint{unregistered},
		Labels: map[string]string{"karpenter.sh/nodepool": "general"}, Settings: k3sSettings(),
	}
	k3s.Settings.MaxPods = 50
	for name, want := range map[string]*Join{"kubeadm": kubeadm, "k3s": k3s} {
		for _, text := range []string{userData(t, name), atEachBoot(userData(t, name))} {
			got, err := ReadUserData([]byte(text), 77)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s (-want +got)\n%s", name, d)
			}
		}
	}
}

// TestUserDataThatDoesNotJoin: of those that are for kubeadm, linodetest.BadJoins has more.
func TestUserDataThatDoesNotJoin(t *testing.T) {
	kubeadm, k3s := userData(t, "kubeadm"), userData(t, "k3s")
	for _, tc := range []struct{ name, of, old, new, want string }{
		{"nothing", "", "", "", ""},
		{"a script", "#!/bin/sh\nkubeadm join\n", "", "", ""},
		{"no first line", kubeadm, "#cloud-config\n", "", ""},
		{"nothing is run", kubeadm, "runcmd:", "disable_ec2_metadata:", ""},
		{"a script that is no program", atEachBoot(kubeadm), `"0700"`, `"0600"`, ""},
		{"a program elsewhere", atEachBoot(kubeadm), "/per-boot/", "/", ""},
		{"a file elsewhere", kubeadm, "/etc/lkeplan/join.yaml", "/etc/join.yaml", ""},
		{"no YAML", "#cloud-config\n{", "", "", "user data: "},
		{"packed", kubeadm, "    content", "    encoding: gzip\n    content", `encoding "gzip" is not played`},
		{"an open token", k3s, "K1000::", "", "/etc/rancher/k3s/config.yaml: token: want K10"},
		{"a password", k3s, "abcdef.0123456789abcdef", "server:secret", "the bootstrap token is invalid"},
		{"no port", k3s, "127.0.0.1:40001", "127.0.0.1", "want a host and a port"},
	} {
		if tc.old != "" && !strings.Contains(tc.of, tc.old) {
			t.Fatalf("%s: no %q", tc.name, tc.old)
		}
		got, err := ReadUserData([]byte(replace(tc.of, tc.old, tc.new)), 77)
		switch {
		case tc.want == "" && (err != nil || got != nil):
			t.Errorf("%s: %+v, %v", tc.name, got, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: %v; want %q", tc.name, err, tc.want)
		case err != nil && strings.Contains(err.Error(), "0123456789abcdef\""):
			t.Errorf("%s: the secret is in %v", tc.name, err)
		}
	}
}

// atEachBoot has cloud-init run a program at each boot in place of one at the first.
func atEachBoot(text string) string {
	before, _, _ := strings.Cut(text, "runcmd:")
	return before + `  - {path: /var/lib/cloud/scripts/per-boot/join, permissions: "0700", content: "kubeadm join"}` + "\n"
}

func replace(text, old, with string) string {
	if old == "" {
		return text
	}
	return strings.ReplaceAll(text, old, with)
}
