//go:build regression

package e2e

import (
	"bufio"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var focus = flag.String("focus", "", "a regular expression of the specs to run; empty for all")

// TestKarpentersOwnSuite runs the regression tests that Karpenter has for its
// providers, but for those of testdata/regression/skipped.txt. All of them take
// more than an hour: make regression, with FOCUS for a part.
func TestKarpentersOwnSuite(t *testing.T) {
	build := exec.Command(bin(t, "sandbox"), "build", "karpenter")
	build.Stderr = os.Stderr
	out, err := build.Output()
	if err != nil {
		t.Fatalf("sandbox build karpenter: %v", err)
	}
	var suite string
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "karpenter-regression" {
			suite = fields[2]
		}
	}
	s := startSandbox(t)
	s.installCRDs()
	s.startController("--feature-gates", "NodeRepair,StaticCapacity,NodeOverlay,CapacityBuffer")
	data, err := filepath.Abs("testdata/regression")
	if err != nil {
		t.Fatal(err)
	}
	run := s.command(suite, nil, "-test.timeout", "3h", "-ginkgo.timeout", "3h", "-ginkgo.no-color", "-ginkgo.v",
		"-ginkgo.focus", *focus, "-ginkgo.skip", strings.Join(skipped(t), "|"),
		"-default-nodeclass", filepath.Join(data, "nodeclass.yaml"), "-default-nodepool", filepath.Join(data, "nodepool.yaml"))
	run.Stdout, run.Stderr = os.Stdout, os.Stderr
	if err := run.Run(); err != nil {
		t.Errorf("Karpenter's suite: %v", err)
	}
}

// skipped reads the expressions of the specs that do not apply. Each has a
// reason.
func skipped(t *testing.T) (expressions []string) {
	t.Helper()
	list, err := os.Open("testdata/regression/skipped.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	for lines := bufio.NewScanner(list); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		expression, reason, _ := strings.Cut(line, "  ")
		if strings.TrimSpace(reason) == "" {
			t.Fatalf("testdata/regression/skipped.txt: %q has no reason", expression)
		}
		expressions = append(expressions, expression)
	}
	return expressions
}
