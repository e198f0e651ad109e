package compile

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

// panicking are files of which reading one panics, as a library may for bad input.
type panicking struct{ fstest.MapFS }

func (panicking) Open(string) (fs.File, error) { panic("index out of range") }

func TestAPanicIsADiagnostic(t *testing.T) {
	result, diags := Dir(t.Context(), panicking{fstest.MapFS{"main.lke.hcl": {Data: []byte("locals {}\n")}}}, Options{})
	if !diags.HasErrors() || len(result.Objects) > 0 || !strings.Contains(diags.Error(), "index out of range") {
		t.Errorf("%d objects, %v", len(result.Objects), diags)
	}
}
