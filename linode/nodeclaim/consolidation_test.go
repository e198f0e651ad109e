package nodeclaim

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/linode/catalog"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// TestWindowIsTheEndOfEachPaidHour of a machine that was created at 12:00.
func TestWindowIsTheEndOfEachPaidHour(t *testing.T) {
	for _, tc := range []struct {
		last        time.Duration
		now         time.Duration // after noon
		open        bool
		from, until time.Duration
	}{
		{10 * time.Minute, 0, false, 50 * time.Minute, time.Hour},
		{10 * time.Minute, 49*time.Minute + 59*time.Second, false, 50 * time.Minute, time.Hour},
		{10 * time.Minute, 50 * time.Minute, true, 50 * time.Minute, time.Hour},
		{10 * time.Minute, time.Hour - 1, true, 50 * time.Minute, time.Hour},
		{10 * time.Minute, time.Hour, false, 110 * time.Minute, 2 * time.Hour},
		{10 * time.Minute, 71*time.Hour + 55*time.Minute, true, 71*time.Hour + 50*time.Minute, 72 * time.Hour},
		{10 * time.Minute, -5 * time.Minute, false, 50 * time.Minute, time.Hour}, // the clock was set back
		{0, 5 * time.Minute, true, 5 * time.Minute, 65 * time.Minute},
		{time.Hour, 5 * time.Minute, true, 5 * time.Minute, 65 * time.Minute},
		{90 * time.Minute, 5 * time.Minute, true, 5 * time.Minute, 65 * time.Minute},
	} {
		p := ConsolidationPolicy{Last: tc.last}
		from, until := p.Window(noon, noon.Add(tc.now))
		if p.Open(noon, noon.Add(tc.now)) != tc.open || !from.Equal(noon.Add(tc.from)) || !until.Equal(noon.Add(tc.until)) {
			t.Errorf("%s before the end, after %s: from %s until %s", tc.last, tc.now, from.Sub(noon), until.Sub(noon))
		}
	}
}

func TestSavingIsByTheMonth(t *testing.T) {
	for _, tc := range []struct {
		least  catalog.Money
		hourly float64
		want   bool
	}{
		{0, 0, true}, {0, -1, false}, {5 * catalog.Dollar, 5.0 / catalog.HoursPerMonth, true},
		{5 * catalog.Dollar, 4.99 / catalog.HoursPerMonth, false}, {73 * catalog.Dollar, 0.1, true},
	} {
		if got := (ConsolidationPolicy{Saving: tc.least}).Worth(tc.hourly); got != tc.want {
			t.Errorf("%s a month: %v an hour is worth it: %v", tc.least, tc.hourly, got)
		}
	}
}

func TestPolicyIsThatOfTheClass(t *testing.T) {
	class := &linodev1alpha1.LinodeNodeClass{}
	if p, err := ConsolidationPolicyOf(class); err != nil || p != (ConsolidationPolicy{}) {
		t.Errorf("a class that says nothing has %+v, %v", p, err)
	}
	class.Spec.Consolidation = &linodev1alpha1.Consolidation{
		BeforePaidHourEnds: &metav1.Duration{Duration: 10 * time.Minute}, MinimumMonthlySaving: "7.50",
	}
	if p, err := ConsolidationPolicyOf(class); err != nil || p != (ConsolidationPolicy{10 * time.Minute, 7*catalog.Dollar + catalog.Dollar/2}) {
		t.Errorf("it is read as %+v, %v", p, err)
	}
	class.Spec.Consolidation.MinimumMonthlySaving = "much"
	if p, err := ConsolidationPolicyOf(class); err == nil {
		t.Errorf("it is read as %+v", p)
	}
}
