package report

import (
	"encoding/json"
	"testing"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/plan"
)

// TestOnlyGuardsOfNoBlockAreDefaults: the controller reads guards without their place in the source, which must not make
// the guards that a directory sets the defaults.
func TestOnlyGuardsOfNoBlockAreDefaults(t *testing.T) {
	for want, set := range map[string]config.Guards{
		"2 passed (the defaults)": {Default: true, MaxDeletedPools: 1},
		"2 passed":                {MaxDeletedPools: 1},
	} {
		stored, err := json.Marshal(set)
		if err != nil {
			t.Fatal(err)
		}
		var guards config.Guards
		if err := json.Unmarshal(stored, &guards); err != nil {
			t.Fatal(err)
		}
		verdicts, err := plan.Plan{}.Judge(plan.Bounds{Guards: guards, Before: 1, After: 1})
		if err != nil {
			t.Fatal(err)
		}
		var r Report
		if r.Verdicts = verdicts; r.guarded() != want {
			t.Errorf("got %q, want %q", r.guarded(), want)
		}
	}
}
