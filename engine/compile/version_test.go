package compile_test

import (
	"testing"

	"github.com/lkeplan/lkeplan/engine/compile"
)

func TestCheckoutIsNotRelease(t *testing.T) {
	for version, want := range map[string]string{
		"v0.3.1": "v0.3.1", "v1.0.0-rc.1": "v1.0.0-rc.1", "devel": "", "devel-1f2c3d4a5b6c": "", "v0.3.1+dirty": "",
		"v0.0.0-20261122100000-1f2c3d4a5b6c": "", "v0.3.2-0.20261122100000-1f2c3d4a5b6c": "",
	} {
		if got := compile.Release(version); got != want {
			t.Errorf("%s is %q, want %q", version, got, want)
		}
	}
}
