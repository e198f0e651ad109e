package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lkeplan/lkeplan/examples/guidetest"
)

// TestGuidesInASandbox runs what the READMEs of the examples show, with the cluster that
// they are about.
func TestGuidesInASandbox(t *testing.T) {
	t.Parallel()
	for _, guide := range []struct {
		name       string
		sandbox    []string
		controller []string
		tenant     bool // with the accounts that apply a NodePlan
	}{
		{name: "quickstart", sandbox: []string{"--cluster-name", "quickstart"}},
		{name: "gpu", sandbox: []string{"--region", "us-southeast"}},
		{name: "batch"},
		{name: "by-the-clock", tenant: true},
		{name: "critical"},
		{name: "maintenance", controller: []string{"--maintenance-every", "3s"}},
		{name: "office-hours"},
		{name: "cost-caps"},
		{name: "headroom"},
		{name: "moving-in"},
		{name: "troubleshooting"},
		{name: "upgrade-kubernetes", sandbox: []string{"--tier", "enterprise", "--kubernetes-version", "v1.31.8+lke1", "--list-delay", "1s"}},
	} {
		t.Run(guide.name, func(t *testing.T) {
			t.Parallel()
			s := startSandbox(t, append([]string{"--cluster-name", "prod"}, guide.sandbox...)...)
			s.installCRDs()
			if guide.tenant {
				for _, name := range []string{"rbac.yaml", "tenant.yaml", "approval.yaml"} {
					s.kube("", "apply", "-f", "../../../kube/deploy/"+name)
				}
			}
			s.startController(guide.controller...)
			guidetest.Runner{Env: s.shell(), Sandbox: true}.Run(t, "../../../examples", guide.name)
		})
	}
}

// TestQuickstartWithoutACluster types the block of the quickstart for users without an LKE cluster, and applies its
// configuration. A controller that cannot start says why on the screen.
func TestQuickstartWithoutACluster(t *testing.T) {
	for _, port := range []string{":8080", ":8081"} {
		taken, err := net.Listen("tcp", port)
		if err != nil {
			t.Skipf("the default ports of the controller are in use: %v", err)
		}
		taken.Close()
	}
	readme, err := os.ReadFile("../../../examples/quickstart/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(readme), "If you have no LKE cluster")
	_, text, _ = strings.Cut(text, "```sh\n")
	block, _, _ := strings.Cut(text, "```\n")
	again := block[strings.Index(block, "(bin/controller"):]
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"lkeplan", "controller", "sandbox"} {
		if err := os.Symlink(bin(t, program), filepath.Join(dir, "bin", program)); err != nil {
			t.Fatal(err)
		}
	}
	example, err := filepath.Abs("../../../examples/quickstart")
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	// make has built the programs.
	cmd := exec.Command("bash", "--norc", "-eo", "pipefail", "-c", "make() { :; }\ntrap 'bin/sandbox down' EXIT\n"+block+
		"bin/lkeplan apply --yes \"$EXAMPLE\"\nbin/lkeplan doctor\n"+strings.NewReplacer("controller.log", "second.log", "&\n", "\n").Replace(again))
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(os.Environ(), "EXAMPLE="+example), file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	failed := cmd.Run()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) // the controller, if it has not ended
	log, err := os.ReadFile(file.Name())
	if err != nil || failed != nil {
		t.Fatalf("%v, %v\n%s", failed, err, log)
	}
	mustContain(t, string(log), "applied 2 objects: 2 created", "lkeplan-controller works", "controller: ", "address already in use")
}
