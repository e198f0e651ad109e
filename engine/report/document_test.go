package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

func TestDollarsAreRoundedToCents(t *testing.T) {
	for money, want := range map[catalog.Money]string{
		0: "0.00", catalog.Dollar: "1.00", catalog.Dollar / 200: "0.01", catalog.Dollar/200 - 1: "0.00",
		-12*catalog.Dollar - catalog.Dollar/2: "-12.50",
	} {
		if got := Dollars(money); got != want {
			t.Errorf("%d is written %s, want %s", money, got, want)
		}
	}
}

// TestDriftIsOneObjectInTheDocument, and a line for each field.
func TestDriftIsOneObjectInTheDocument(t *testing.T) {
	drift := func(path string, live any) plan.Drift {
		return plan.Drift{
			Addr:   "pool.web",
			Kind:   "NodePool",
			Name:   "web",
			Path:   path,
			Live:   live,
			Owners: []string{"jane"},
		}
	}
	r := Report{Plan: plan.Plan{Drift: []plan.Drift{drift("spec.limits.cpu", "9"), drift("spec.weight", 3)}}}
	after := func(text, member string) (list []string) {
		for line := range strings.Lines(text) {
			var v map[string]json.RawMessage
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatal(err)
			}
			var changes []struct {
				Change struct{ After json.RawMessage }
			}
			one := v[member]
			if one != nil && one[0] == '{' {
				one = []byte("[" + string(one) + "]")
			}
			if one != nil && json.Unmarshal(one, &changes) == nil {
				for _, c := range changes {
					list = append(list, string(c.Change.After))
				}
			}
		}
		return list
	}
	var whole, compact, lines bytes.Buffer
	if err := errors.Join(
		writeJSON(&whole, r, Options{}), json.Compact(&compact, whole.Bytes()), writeLines(&lines, r, Options{}),
	); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`{"spec":{"limits":{"cpu":"9"},"weight":3}}`}, after(compact.String(), "resource_drift")); diff != "" {
		t.Errorf("document (-want +got)\n%s", diff)
	}
	want := []string{`{"spec":{"limits":{"cpu":"9"}}}`, `{"spec":{"weight":3}}`}
	if diff := cmp.Diff(want, after(lines.String(), "resource_drift")); diff != "" {
		t.Errorf("lines (-want +got)\n%s", diff)
	}
}
