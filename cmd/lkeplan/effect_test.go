package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
)

// effective are the flags of commands that have an effect however they are run.
var effective = map[string]string{
	"simulate":  "var var-file catalog sweep settle keep replay output",
	"snapshot":  "kubeconfig context request-timeout",
	"status":    "kubeconfig context request-timeout watch catalog output",
	"why":       "kubeconfig context request-timeout region catalog output",
	"test":      "var var-file catalog filter output",
	"diff":      "var var-file catalog guards simulate allow base cluster detailed-exitcode recursive affected at output out",
	"plan":      "var var-file catalog guards simulate allow cluster detailed-exitcode recursive at output out",
	"apply":     "allow cluster yes force-conflicts all wait",
	"top":       "kubeconfig context request-timeout once catalog sort reverse output",
	"validate":  "var var-file catalog recursive output strict",
	"render":    "target announce-parameters recursive",
	"import":    "from selector out-dir cluster region tier mode lke terraform",
	"doctor":    "output cluster-name kubeconfig context request-timeout",
	"uninstall": "drain leave yes without-lease kubeconfig context request-timeout",
}

// TestEachFlagSaysWhenItHasAnEffect, so that no new one is accepted where it has none.
func TestEachFlagSaysWhenItHasAnEffect(t *testing.T) {
	env := &flags.Env{Stdin: new(bytes.Buffer), Stdout: new(bytes.Buffer), Getenv: func(string) string { return "" }}
	told := 0
	for _, cmd := range newRoot(env).Commands() {
		always, known := effective[cmd.Name()]
		if !known {
			continue
		}
		told++
		var has []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" {
				has = append(has, f.Name)
			}
		})
		said := append(strings.Fields(always), flags.Conditional(cmd)...)
		slices.Sort(has)
		slices.Sort(said)
		if diff := cmp.Diff(has, said); diff != "" {
			t.Errorf("lkeplan %s: its flags, and those of which it is said when they have an effect (-has +said):\n%s", cmd.Name(), diff)
		}
	}
	if told != len(effective) {
		t.Errorf("%d commands", told)
	}
}

// TestFlagsWithoutEffectAreRefused, before anything is read.
func TestFlagsWithoutEffectAreRefused(t *testing.T) {
	for line, want := range map[string]string{
		"diff --request-timeout 5s":                              "--request-timeout is for --base live",
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
		"status --all -o json":                                   "--all is for text: JSON has them all",
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
		"validate --lke-daemonsets=false":                        "--lke-daemonsets is for --pods and --workloads",
		"simulate --live --lke-daemonsets=false":                 "--lke-daemonsets is for --pods and --workloads",
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
