//go:build regression

package e2e

import (
	"bufio"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	focus         = flag.String("focus", "", "a regular expression of the specs to run; empty for all")
	controllerLog = flag.String("controller-log", "", "a file for the log of the controller")
)

// apart are the specs that each need a sandbox with other settings.
var apart = []struct {
	name  string
	specs []string // as the suite names them
	flags []string // of the sandbox
	plan  string   // of all nodes; empty for any
}{
	// Karpenter's suite blocks such Nodes by a label that LKE's Nodes get only after they
	// have joined, so the simulator keeps them from joining.
	{"machines that never join", []string{
		"NodeClaim StandaloneNodeClaim should delete a NodeClaim after the registration timeout " +
			"when the node doesn't register",
	}, []string{"--join-delay", "2h"}, ""},
	// The suite counts on KWOK's types of 2 CPUs, minus what the system reserves; LKE's
	// nodes leave more to pods.
	{"nodes of two CPUs", []string{
		"CapacityBuffer NodePool Limits should not provision buffer capacity beyond NodePool CPU limit",
		"CapacityBuffer Edge Cases should coexist with real pods on the same node",
	}, nil, "g6-standard-2"},
}

// containers are those of the suite that run side by side, each in a sandbox, next to one with all others: most of
// their time they wait.
var containers = []struct {
	name string
	plan string // of all nodes; empty for any
}{
	{"Drift", ""}, {"StaticCapacity", ""}, {"Integration", ""},
	// The suite counts on nodes with room for one pod of a CPU.
	{"CapacityBuffer", "g6-standard-1"},
}

// TestKarpentersOwnSuite runs Karpenter's regression tests for providers, except those
// in testdata/regression/skipped.txt. All of them take more than an hour; -args -focus names some.
func TestKarpentersOwnSuite(t *testing.T) {
	wanted, err := regexp.Compile(*focus)
	if err != nil {
		t.Fatalf("-focus: %v", err)
	}
	suite, skip := buildSuite(t), skipped(t)
	for _, part := range apart {
		skip = append(skip, part.specs...)
	}
	others := skip
	named := func(part string) string { return "^Regression " + part + " " } // with the name of the suite
	for _, part := range containers {
		if *focus != "" {
			break
		}
		others = append(others, named(part.name))
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			judge(t, suite, startSandbox(t), part.plan, named(part.name), skip)
		})
	}
	t.Run("others", func(t *testing.T) {
		t.Parallel()
		judge(t, suite, startSandbox(t), "", *focus, others)
	})
	for _, part := range apart {
		specs := slices.DeleteFunc(slices.Clone(part.specs), func(spec string) bool { return !wanted.MatchString(spec) })
		if len(specs) == 0 {
			continue
		}
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			judge(t, suite, startSandbox(t, part.flags...), part.plan, strings.Join(specs, "|"), nil)
		})
	}
}

// buildSuite returns the path of Karpenter's tests.
func buildSuite(t *testing.T) string {
	t.Helper()
	build := exec.Command(bin(t, "sandbox"), "build", "karpenter")
	build.Stderr = os.Stderr
	out, err := build.Output()
	if err != nil {
		t.Fatalf("sandbox build karpenter: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "karpenter-regression" {
			return fields[1]
		}
	}
	t.Fatalf("sandbox build karpenter names no karpenter-regression:\n%s", out)
	return ""
}

// judge runs Karpenter's suite against the controller in a sandbox.
func judge(t *testing.T, suite string, s *sandbox, plan, focus string, skip []string) {
	t.Helper()
	s.installCRDs()
	c := s.startController("--feature-gates", "NodeOverlay")
	class, err := filepath.Abs("testdata/regression/nodeclass.yaml")
	if err != nil {
		t.Fatal(err)
	}
	pool := filepath.Join(t.TempDir(), "nodepool.yaml")
	text := file(t, "regression/nodepool.yaml")
	if plan != "" {
		const requirements = "      requirements:\n"
		text = strings.Replace(text, requirements,
			requirements+"        - {key: node.kubernetes.io/instance-type, operator: In, values: ["+plan+"]}\n", 1)
	}
	if err := os.WriteFile(pool, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run := s.command(suite, nil, "-test.timeout", "3h", "-ginkgo.timeout", "3h", "-ginkgo.no-color", "-ginkgo.v",
		"-ginkgo.focus", focus, "-ginkgo.skip", strings.Join(skip, "|"), "-default-nodeclass", class, "-default-nodepool",
		pool)
	out, err := os.Create(filepath.Join(os.TempDir(), strings.NewReplacer("/", "-", "|", "-").Replace(t.Name())+".log"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	t.Logf("what the suite says: %s", out.Name())
	run.Stdout, run.Stderr = out, out
	err = run.Run()
	said, readErr := os.ReadFile(out.Name())
	if err != nil || readErr != nil {
		t.Errorf("Karpenter's suite: %v, %v\n%s", err, readErr, tail(string(said), 60))
	}
	for line := range strings.Lines(string(said)) {
		if strings.HasPrefix(line, "Ran ") || strings.HasPrefix(line, "• [FAILED]") {
			t.Log(strings.TrimSpace(line))
		}
		if strings.HasPrefix(line, "Ran 0 ") {
			t.Error("no spec is called so")
		}
	}
	if *controllerLog != "" {
		if err := os.WriteFile(*controllerLog, []byte(c.log.String()), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// skipped reads the patterns of the specs that do not apply. Each must have a reason.
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
