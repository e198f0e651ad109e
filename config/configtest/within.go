package configtest

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Within fails a test if the CPU time of a function, as measured by CPU, exceeds a limit for one core
// of a server at 2 GHz. A busy machine counts up to 50% more for the same work, because its cores share
// caches, and a slow one, or the race detector, still more, as Slowness returns. That much is allowed,
// and a function that exceeds the limit runs again, at most twice.
func Within(t *testing.T, limit time.Duration, do func()) {
	t.Helper()
	took, allowed := CPU(do), limit
	for range 2 {
		if took > allowed {
			slow := Slowness()
			took = min(took, CPU(do))
			allowed = max(allowed, time.Duration(float64(limit)*1.5*(slow+Slowness())/2))
		}
	}
	if took > allowed {
		t.Errorf("it takes %s of CPU time, and the limit is %s; this machine is allowed %s", took, limit, allowed)
	}
}

// fixedWork is how often Slowness parses a text. It contains none of our code, which the limits are
// for.
const fixedWork = 50

// fixedWorkTakes is the CPU time of fixedWork on the machine that the limits are for: one core of a
// server at 2 GHz.
const fixedWorkTakes = 100 * time.Millisecond

// Slowness returns how much longer this process currently takes for a fixed amount of work than on the
// machine that the limits are for; at least 1.
func Slowness() float64 {
	text := []byte(strings.Repeat("a = [for x in range(10) : \"${x}-${upper(local.b)}\" if x > 3]\n", 100))
	took := CPU(func() {
		for range fixedWork {
			_, _ = hclsyntax.ParseConfig(text, "", hcl.InitialPos)
		}
	})
	return max(1, float64(took)/float64(fixedWorkTakes))
}
