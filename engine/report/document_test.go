package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

func TestDollarsAreRoundedToCents(t *testing.T) {
	for money, want := range map[catalog.Money]string{
		0: "0.00", catalog.Dollar: "1.00", catalog.Dollar / 200: "0.01", catalog.Dollar/200 - 1: "0.00",
		-12*catalog.Dollar - catalog.Dollar/2: "-12.50",
	} {
		if got := plan.Amount(money).String(); got != want {
			t.Errorf("%d is written %s, want %s", money, got, want)
		}
	}
}

// TestDriftIsOneObjectInTheDocument, with all its fields.
func TestDriftIsOneObjectInTheDocument(t *testing.T) {
	drift := func(path string, live any) plan.Drift {
		return plan.Drift{Addr: "pool.web", Kind: "NodePool", Name: "web", Path: path, Live: live, Owners: []string{"jane"}}
	}
	r := Report{Plan: plan.Plan{Drift: []plan.Drift{drift("spec.limits.cpu", "9"), drift("spec.weight", 3)}}}
	found := r.document(Options{}).Drift
	if len(found) != 1 {
		t.Fatalf("%d objects have drifted", len(found))
	}
	want := map[string]any{"spec": map[string]any{"limits": map[string]any{"cpu": "9"}, "weight": 3}}
	if diff := cmp.Diff(want, found[0].Change.After); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestTheDocumentLeavesOutWhatOnlySavedPlansHave: its schema forbids other members.
func TestTheDocumentLeavesOutWhatOnlySavedPlansHave(t *testing.T) {
	r := offline()
	pace := &plan.Pace{Waits: true}
	r.Changes[0].Impact = &plan.Impact{Known: true, Pace: pace}
	r.Rolling = []plan.Rolling{{Addr: "pool.old", Pace: pace}}
	r.Verdicts[0].Default = true
	text := written(t, "json", r, Options{})
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err == nil {
		err = validator(t).Validate(v)
	}
	if err != nil {
		t.Error(err)
	}
	if !pace.Waits || !r.Verdicts[0].Default {
		t.Error("the report has changed the plan")
	}
}
