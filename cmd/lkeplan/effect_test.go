package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
)

// TestUnusedFlagsAreRefused: a flag without effect is an error before anything is read.
func TestUnusedFlagsAreRefused(t *testing.T) {
	for line, want := range map[string]string{
		"diff --request-timeout 5s":                           "--request-timeout is for --base live",
		"simulate --pods 1x1cpu --context c":                  "--context is for --workloads live",
		"simulate --workloads snapshot:s.json --kubeconfig k": "--kubeconfig is for --workloads live",
		"simulate --pods 1x1cpu --detailed-exitcode":          "--detailed-exitcode is for --base",
		"simulate --pods 1x1cpu --autoscalers min":            "--autoscalers is for autoscalers in the manifests of --workloads",
		"simulate --pods 1x1cpu --base=":                      "--base is empty",
		"simulate --pods 1x1cpu --keep=":                      "--keep is empty",
		"status --all -o json":                                "--all is for text: JSON always has all",
		"status --interval 5s":                                "--interval is for --watch",
		"why node x --namespace shop":                         "--namespace is for a pod",
		"why pod shop/x -n other":                             "--namespace is for a pod without a namespace in its name",
		"diff --prune":                                        "--prune is for a cluster as the base",
		"diff --context c":                                    "--context is for --base live",
		"diff --nodes snapshot:s --kubeconfig k":              "--kubeconfig is for --base live",
		"diff --cluster prod":                                 "--cluster is the name of a cluster, and no cluster is read",
		"diff --base live --nodes live":                       "--nodes is only for a base in git or a directory",
		"diff --nodes snapshot:":                              "--nodes snapshot: needs the name of a file: snapshot:FILE",
		"diff --base snapshot:":                               "--base snapshot: needs the name of a file: snapshot:FILE",
		"diff --base plan:":                                   "--base plan: needs the name of a file: plan:FILE",
		"simulate --pods 1x1cpu --base dir:":                  "--base dir: needs the path of a directory: dir:PATH",
		"diff --base git:":                                    "--base git: needs a commit, branch or tag: git:REF",
		"plan --guards dir:":                                  "--guards dir: needs the path of a directory: dir:PATH",
		"diff --pods 1x1cpu":                                  "--pods works only with --simulate",
		"diff --workloads live":                               "--workloads works only with --simulate",
		"diff -o json --width 80":                             "--width is for text",
		"diff -o json --ascii":                                "--ascii is for text",
		"diff -o json --color always":                         "--color is for text",
		"diff -o json --all":                                  "--all is for text and markdown",
		"plan --pods 1x1cpu":                                  "--pods works only with --simulate",
		"plan -o json --width 80":                             "--width is for text",
		"apply --yes --pods 1x1cpu":                           "--pods works only with --simulate",
		"apply --yes --wait none --timeout 5m":                "--timeout is for --wait ready or rolled",
		"validate --lke-daemonsets=false":                     "--lke-daemonsets is for --pods and manifests",
		"simulate --workloads live --lke-daemonsets=false":    "--lke-daemonsets is for --pods and manifests",
		"validate --context c":                                "--context is for --workloads live",
		"validate --pods 1x1cpu --kubeconfig k":               "--kubeconfig is for --workloads live",
		"render --announce-parameters -o json":                "--output is for objects",
		"render --announce-parameters --var a=b":              "--var is for objects",
		"import --from f.yaml --context c":                    "--context is not for --from",
		"uninstall --leave --yes --timeout 5m":                "--timeout is for --drain",
		"diff --max-chars 100":                                "--max-chars is for markdown",
	} {
		var printed bytes.Buffer
		env := &flags.Env{Stdin: new(bytes.Buffer), Stdout: &printed, Stderr: &printed, Getenv: func(string) string { return "" }}
		if code := run(t.Context(), strings.Fields(line), env); code != 1 || !strings.Contains(printed.String(), want) {
			t.Errorf("%s: exit code %d: %s", line, code, &printed)
		}
	}
}

// TestSourcesOfPodsAreClear: live is the cluster, unless a file of that name makes it ambiguous.
func TestSourcesOfPodsAreClear(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("live", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"simulate --workloads live":      "--workloads live is the cluster, and there is a file of that name: write ./live",
		"simulate --workloads ./live":    "--workloads ./live: there are no pods in it",
		"simulate --workloads snapshot:": "needs the name of a file: snapshot:FILE",
	} {
		env := bareEnv()
		if code := run(t.Context(), strings.Fields(line), env); code != 1 || !strings.Contains(fmt.Sprint(env.Stderr), want) {
			t.Errorf("%s: exit code %d: %s", line, code, env.Stderr)
		}
	}
}
