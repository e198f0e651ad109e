package e2e

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBadInputGetsOneClearLine: a program that cannot start exits with status 1 and
// one line that says what to do.
func TestBadInputGetsOneClearLine(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	silent := filepath.Join(t.TempDir(), "kubeconfig")
	raw, err := os.ReadFile(s.env["KUBECONFIG"])
	if err != nil {
		t.Fatal(err)
	}
	_, server, _ := strings.Cut(string(raw), "server: ")
	server, _, _ = strings.Cut(server, "\n")
	if err := os.WriteFile(silent, []byte(strings.ReplaceAll(string(raw), server, "https://"+closed.Addr().String())),
		0o600); err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "main.lke.hcl"), []byte("pool \"a\" {\n  weight = \n}\n"),
		0o644); err != nil {
		t.Fatal(err)
	}

	type env = map[string]string
	quiet := []string{"--metrics-bind-address", "0", "--health-probe-bind-address", "0"}
	tests := []struct {
		name    string
		program string
		args    []string
		env     env
		crds    bool // after the definitions are installed
		want    []string
	}{
		{name: "no token", program: "controller", env: env{"LINODE_TOKEN": ""},
			want: []string{"no Linode API token", "set LINODE_TOKEN"}},
		{name: "a wrong token", program: "controller", env: env{"LINODE_TOKEN": "wrong"},
			want: []string{"refuses the token", "Invalid Token", "check LINODE_TOKEN"}},
		{name: "an unknown cluster number", program: "controller", env: env{"LKE_CLUSTER_ID": "4711"},
			want: []string{"no LKE cluster 4711", "correct LKE_CLUSTER_ID"}},
		{name: "a cluster number that is none", program: "controller", env: env{"LKE_CLUSTER_ID": "prod"},
			want: []string{`LKE_CLUSTER_ID is "prod"`}},
		{name: "an unknown cluster name", program: "controller", env: env{"LKE_CLUSTER_ID": "", "CLUSTER_NAME": "prod"},
			want: []string{`no LKE cluster called "prod"`, "it has: sandbox", "correct CLUSTER_NAME"}},
		{name: "number and name of different clusters", program: "controller", env: env{"CLUSTER_NAME": "prod"},
			want: []string{`is called "sandbox", not "prod"`}},
		{name: "no cluster named", program: "controller", env: env{"LKE_CLUSTER_ID": "", "CLUSTER_NAME": ""},
			want: []string{"set LKE_CLUSTER_ID"}},
		{name: "a Linode API that does not answer", program: "controller",
			env: env{"LINODE_URL": "http://" + closed.Addr().String()}, want: []string{"does not respond correctly", "check LINODE_URL"}},
		{name: "a Linode URL that is none", program: "controller", env: env{"LINODE_URL": "api.linode.com"},
			want: []string{"set LINODE_URL", "is not the URL"}},
		{name: "no kubeconfig", program: "controller", env: env{"KUBECONFIG": ""}, want: []string{"set KUBECONFIG"}},
		{name: "a kubeconfig that is not there", program: "controller", env: env{"KUBECONFIG": "/nowhere/kubeconfig"},
			want: []string{"/nowhere/kubeconfig", "correct KUBECONFIG"}},
		{name: "an API server that does not answer", program: "controller", env: env{"KUBECONFIG": silent},
			want: []string{"does not answer", "check KUBECONFIG"}},
		{name: "definitions that are not installed", program: "controller",
			want: []string{"has no CRD for NodePool, NodeClaim, LinodeNodeClass", "lkeplan crds apply"}},
		{name: "a flag that is unknown", program: "controller", args: []string{"--speed", "9"},
			want: []string{"unknown flag: --speed"}},
		{name: "definitions that are not installed, for apply", program: "lkeplan", args: []string{"apply", "--yes", "testdata/four"},
			want: []string{"lkeplan crds apply"}},
		{name: "an API server that does not answer, for apply", program: "lkeplan", args: []string{"apply", "--yes", "testdata/four"},
			env: env{"KUBECONFIG": silent}, want: []string{"does not answer", "check KUBECONFIG"}},
		{name: "no kubeconfig, for apply", program: "lkeplan", args: []string{"apply", "--yes", "testdata/four"},
			env: env{"KUBECONFIG": ""}, want: []string{"set KUBECONFIG"}},
		{name: "a port that is taken", crds: true, program: "controller",
			args: []string{"--metrics-bind-address", taken.Addr().String()},
			want: []string{"address already in use", "--metrics-bind-address"}},
		{name: "a probe port that is taken", crds: true, program: "controller", args: []string{"--metrics-bind-address", "0",
			"--health-probe-bind-address", taken.Addr().String()},
			want: []string{"address already in use", "--health-probe-bind-address"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.crds {
				s.installCRDs()
			}
			args := tt.args
			if tt.program == "controller" && args == nil {
				args = quiet
			}
			cmd := s.command(bin(t, tt.program), tt.env, args...)
			out, err := cmd.CombinedOutput()
			if err == nil || cmd.ProcessState.ExitCode() != 1 {
				t.Errorf("exit status %d, want 1", cmd.ProcessState.ExitCode())
			}
			// The controller's log comes before; what a person reads is last.
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			last := lines[len(lines)-1]
			for _, want := range append(tt.want, tt.program+": ") {
				if !strings.Contains(last, want) {
					t.Errorf("the last line has no %q:\n%s", want, out)
				}
			}
			if tt.program == "lkeplan" && len(lines) != 1 {
				t.Errorf("%d lines instead of one:\n%s", len(lines), out)
			}
		})
	}

	t.Run("a syntax error in the HCL changes nothing", func(t *testing.T) {
		cmd := s.command(bin(t, "lkeplan"), nil, "apply", "--yes", broken)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "main.lke.hcl:2") || !strings.Contains(string(out), "weight =") {
			t.Errorf("%v, and the message has no file, line and snippet:\n%s", err, out)
		}
		if now := s.kube("", "get", "nodepools,linodenodeclasses", "-o", "name"); now != "" &&
			!strings.Contains(now, "No resources found") {
			t.Errorf("something was made: %s", now)
		}
	})
}
