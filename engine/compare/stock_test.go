package compare

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// TestStockDoesNotChangeADiff: what a region has is about a moment, and a pull request is not.
func TestStockDoesNotChangeADiff(t *testing.T) {
	facts, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	head := upgraded(t, "standard", "")
	text := func(available bool) string {
		var rows []catalog.Availability
		for _, p := range facts.Plans() {
			rows = append(rows, catalog.Availability{Region: head.Cluster.Region, Plan: p.ID, Available: available})
		}
		list, err := catalog.New(facts.Date(), facts.Source(), facts.Plans(), facts.Regions(), rows)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Revisions(t.Context(), compile.Result{}, head, list, time.Unix(1_800_000_000, 0).UTC())
		if err != nil || p.After.Ceiling.Monthly == 0 && !p.After.Ceiling.Unlimited {
			t.Fatalf("ceiling %s, %v", p.After.Ceiling, err)
		}
		digest, err := p.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return p.After.Ceiling.String() + " " + digest
	}
	if d := cmp.Diff(text(true), text(false)); d != "" {
		t.Errorf("(-in stock +out of stock)\n%s", d)
	}
}
