package config_test

import (
	"io"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/configtest"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/syntax"
)

// TestHostile compiles hostile directories, formats them, and shows what is wrong
// with them: soon, and with little memory.
func TestHostile(t *testing.T) {
	for _, h := range configtest.Hostiles() {
		t.Run(h.Name, func(t *testing.T) {
			files := h.FS()
			var diags hcl.Diagnostics
			configtest.Within(t, func() int {
				for name, file := range files {
					if strings.HasSuffix(name, ".hcl") {
						_, _, _ = syntax.Format(name, file.Data)
					}
				}
				var sources map[string]*hcl.File
				var compiled config.Compiled
				compiled, diags, sources = compile(files, config.Options{})
				if err := diag.JSON(io.Discard, diag.New(diags, sources)); err != nil {
					t.Error(err)
				}
				return len(compiled.Objects)
			})
			if h.Valid && diags.HasErrors() {
				t.Errorf("it is valid, and has errors: %s", first(diags.Error()))
			}
			found := h.Want == ""
			for _, d := range diags {
				found = found || strings.Contains(d.Summary+": "+d.Detail, h.Want)
			}
			if !found {
				t.Errorf("no error %q: %s", h.Want, first(diags.Error()))
			}
		})
	}
}

const cluster = configtest.Cluster

func first(text string) string { return text[:min(len(text), 200)] }
