package main

import (
	"fmt"
	"strings"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
)

// exitCodes are all there are, for the help and the reference.
var exitCodes = []struct {
	code    outcome
	meaning string
}{
	{flags.Fine, "fine"},
	{1, "an error, of whatever kind; it takes precedence over the others"},
	{flags.Changes, "diff, plan, simulate: there are changes, and --detailed-exitcode asks for\nthis; import: the HCL " +
		"does not say the same as the objects"},
	{flags.Refused, "a guard, a policy, or a field that others have set refuses the plan;\nrender: there are no " +
		"objects; simulate: pods get no node"},
	{flags.Stale, "apply: the cluster has changed since the plan was saved"},
}

// exitCodesText lists the exit codes for a terminal.
func exitCodesText() string {
	var lines []string
	for _, e := range exitCodes {
		lines = append(lines, fmt.Sprintf("  %d  %s", e.code, strings.ReplaceAll(e.meaning, "\n", "\n     ")))
	}
	return strings.Join(lines, "\n")
}

// exitCodesMarkdown is the chapter of the reference about exit codes.
func exitCodesMarkdown() string {
	var b strings.Builder
	b.WriteString("\n## Exit codes\n\n| code | meaning |\n|---|---|\n")
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "| %d | %s |\n", e.code, strings.ReplaceAll(e.meaning, "\n", " "))
	}
	return b.String()
}
