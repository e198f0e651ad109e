package during_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/engine/during"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

func TestChosenBlocksApplyRegardlessOfTheTime(t *testing.T) {
	night := window("night", "0 20 * * mon-fri", "10h", "", "0")
	weekend := window("weekend", "0 12 * * sat", "24h", "", "8")
	weight := manifest.DuringWindow{Name: "noon", Schedule: "0 12 * * *", Duration: "1h",
		Set: map[string]any{"spec.weight": int64(7)}}
	plain := map[string]any{"kind": "NodePool", "metadata": map[string]any{"name": "plain"}}
	tests := []struct {
		names    []string
		cpu, err string
		notes    []string
	}{
		{nil, "400", "", []string{"The pool web has the values outside of its during blocks: night (Mon-Fri 20:00 UTC " +
			"for 10h), noon (daily 12:00 UTC for 1h), weekend (Sat 12:00 UTC for 24h)."}},
		{[]string{"weekend", "other"}, "8", "", []string{"The pool web has the values of during weekend."}},
		{[]string{"noon", "night"}, "0", "", []string{"The pool web has the values of during night and noon."}},
		{[]string{"weekend", "night"}, "", "the during blocks night and weekend of pool web set the same argument, so " +
			"they do not apply at the same time", nil},
	}
	for _, test := range tests {
		objects := []map[string]any{plain, pool(t, night, weekend, weight)}
		if diff := cmp.Diff([]string{"night", "noon", "weekend"}, during.Names(objects)); diff != "" {
			t.Error(diff)
		}
		chosen, notes, err := during.Choose(objects, test.names...)
		if err != nil || test.err != "" {
			if err == nil || err.Error() != test.err {
				t.Errorf("%v: %v, want %s", test.names, err, test.err)
			}
			continue
		}
		if diff := cmp.Diff(test.notes, notes); diff != "" {
			t.Errorf("%v: %s", test.names, diff)
		}
		if got := manifest.Text(chosen[1], "spec", "limits", "cpu"); got != test.cpu {
			t.Errorf("%v: cpu is %s, want %s", test.names, got, test.cpu)
		}
		if got := manifest.Text(objects[1], "spec", "limits", "cpu"); got != "400" {
			t.Errorf("%v: the declared form is modified: cpu is %s", test.names, got)
		}
	}
}
