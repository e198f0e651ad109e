package main

import (
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/engine/compare"
)

// TestPrintedCommandsHaveFlags: a command that is printed has the flags of the command that ran, if it knows them.
func TestPrintedCommandsHaveFlags(t *testing.T) {
	cmd := newApply(&env{Getenv: func(string) string { return "" }})
	if err := cmd.ParseFlags([]string{
		"--var", "a=b", "--var", "c=d e", "--kubeconfig", "/k", "--prune", "--wait", "none", "--force-conflicts", "x", "dir",
	}); err != nil {
		t.Fatal(err)
	}
	for want, some := range map[string][]string{
		"lkeplan apply --kubeconfig=/k --prune --var=a=b --var=c=d e --wait=none dir": nil,
		"lkeplan apply --kubeconfig=/k --var=a=b --var=c=d e dir":                     flags.Shared(),
	} {
		if got := strings.Join(flags.CommandLine(cmd, "apply", some, []string{"dir"}), " "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestStalePlanHasOneReasonPerLine: line breaks between them are not escaped, and those in them are.
func TestStalePlanHasOneReasonPerLine(t *testing.T) {
	var out strings.Builder
	err := writeStale(&out, "prod.plan", compare.StaleError{Reasons: []string{"NodePool a: it has been deleted", "NodePool b: set by x\nforged"}})
	const want = "lkeplan: plan prod.plan: the cluster has changed since the plan was created, so nothing is applied; create a new plan\n" +
		"  NodePool a: it has been deleted\n  NodePool b: set by x\\u000aforged\n"
	if err != nil || out.String() != want {
		t.Errorf("%v: %q, want %q", err, &out, want)
	}
}
