package main

import (
	"testing"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/engine/compile"
)

// TestStrictIgnoresNotes: --strict turns warnings into errors, but not notes.
func TestStrictIgnoresNotes(t *testing.T) {
	for name, want := range map[compile.RuleName]hcl.DiagnosticSeverity{
		"plan-out-of-stock": hcl.DiagWarning, "plan-without-price": hcl.DiagWarning, "plan-needs-capability": hcl.DiagWarning,
		"uncapped-plan-size": hcl.DiagError, "": hcl.DiagError,
	} {
		d := &hcl.Diagnostic{Severity: hcl.DiagWarning, Extra: name}
		if warningsAsErrors(hcl.Diagnostics{d}); d.Severity != want {
			t.Errorf("%q: severity %v, want %v", name, d.Severity, want)
		}
	}
}
