package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
)

// TestEachFlagSaysWhenItHasAnEffect, so that no new one is accepted where it has none.
func TestEachFlagSaysWhenItHasAnEffect(t *testing.T) {
	env := &flags.Env{Stdin: new(bytes.Buffer), Stdout: new(bytes.Buffer), Getenv: func(string) string { return "" }}
	told := 0
	want := []string{
		"simulate", "snapshot", "status", "why", "test", "diff", "plan", "apply", "top", "validate", "render", "import", "doctor",
		"uninstall",
	}
	for _, cmd := range newRoot(env).Commands() {
		if !slices.Contains(want, cmd.Name()) {
			continue
		}
		told++
		if names := flags.MissingRules(cmd); len(names) > 0 {
			t.Errorf("lkeplan %s: flags.Effects do not say when these have an effect, or name them in vain: %q", cmd.Name(), names)
		}
	}
	if told != len(want) {
		t.Errorf("%d commands", told)
	}
}

// TestFlagsWithoutEffectAreRefused, before anything is read.
func TestFlagsWithoutEffectAreRefused(t *testing.T) {
	for line, want := range map[string]string{
		"simulate --pods 1x1cpu --context c":                     "--context is for --live",
		"simulate --snapshot s.json --kubeconfig k":              "--kubeconfig is for --live",
		"simulate --pods 1x1cpu --detailed-exitcode":             "--detailed-exitcode is for --base",
		"simulate --pods 1x1cpu --sweep cpu --detailed-exitcode": "--detailed-exitcode is for --base",
		"simulate --replay s --detailed-exitcode":                "--detailed-exitcode is for --base",
		"simulate --replay s --at max":                           "--at is for the autoscalers among --workloads",
		"simulate --pods 1x1cpu --at min":                        "--at is for the autoscalers among --workloads",
		"simulate --replay s --pods 1x1cpu":                      "--pods is not for --replay",
		"simulate --replay s --live":                             "--live is not for --replay",
		"simulate --pods 1x1cpu --base=":                         "--base is empty",
		"status --all -o json":                                   "--all is for text about all pools",
		"status --all web":                                       "--all is for text about all pools",
		"status --interval 5s":                                   "--interval is for --watch",
		"why node x --namespace shop":                            "--namespace is for a pod",
		"why pod shop/x -n other":                                "--namespace is for a pod whose name says none",
		"diff --prune":                                           "--prune is for a cluster as the base",
		"diff --server-dry-run":                                  "--server-dry-run is for --base live",
		"diff --base snapshot:s --server-dry-run":                "--server-dry-run is for --base live",
		"diff --context c":                                       "--context is for --base live",
		"diff --cluster snapshot:s --kubeconfig k":               "--kubeconfig is for --base live",
		"diff --pods 1x1cpu":                                     "--pods is for --simulate",
		"diff --live":                                            "--live is for --simulate",
		"diff -o json --width 80":                                "--width is for text",
		"diff -o json --ascii":                                   "--ascii is for text",
		"diff -o json --color always":                            "--color is for text",
		"diff -o json --all":                                     "--all is for text and markdown",
		"top --once --interval 5s":                               "--interval is for a screen that follows",
		"top -o json --interval 5s":                              "--interval is for a screen that follows",
		"plan --pods 1x1cpu":                                     "--pods is for --simulate",
		"plan -o json --width 80":                                "--width is for text",
		"apply --yes --pods 1x1cpu":                              "--pods is for --simulate",
		"apply --yes --wait none --timeout 5m":                   "--timeout is for --wait ready or rolled",
		"validate --context c":                                   "--context is for --live",
		"validate --pods 1x1cpu --kubeconfig k":                  "--kubeconfig is for --live",
		"render --announce-parameters -o json":                   "--output is for objects",
		"render --announce-parameters --var a=b":                 "--var is for objects",
		"import --from f.yaml --context c":                       "--context is not for --from",
		"uninstall --leave --yes --timeout 5m":                   "--timeout is for --drain",
		"diff --max-chars 100":                                   "--max-chars is for markdown",
	} {
		var said bytes.Buffer
		env := &flags.Env{Stdin: new(bytes.Buffer), Stdout: &said, Stderr: &said, Getenv: func(string) string { return "" }}
		if code := run(t.Context(), strings.Fields(line), env); code != 1 || !strings.Contains(said.String(), want) {
			t.Errorf("%s: exit code %d: %s", line, code, &said)
		}
	}
}
