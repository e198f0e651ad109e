package stop

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

var start = time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)

func newStop(name string, created time.Time, lasts time.Duration) *lkeplanv1alpha1.DisruptionStop {
	return &lkeplanv1alpha1.DisruptionStop{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(created)},
		Spec:       lkeplanv1alpha1.DisruptionStopSpec{For: metav1.Duration{Duration: lasts}, Reason: "errors in " + name, By: "ann"},
	}
}

func TestDisruptionIsStoppedWhileAnyStopIsActive(t *testing.T) {
	deleted := newStop("deleted", start, time.Hour)
	deleted.DeletionTimestamp = &metav1.Time{Time: start.Add(time.Minute)}
	hold := newStop("hold", start, time.Hour)
	hold.Spec.Drains = lkeplanv1alpha1.DrainsHold
	a, b := newStop("a", start, time.Hour), newStop("b", start, 2*time.Hour)
	for _, tc := range []struct {
		name  string
		stops []*lkeplanv1alpha1.DisruptionStop
		now   time.Time
		want  string
		holds bool
	}{
		{"there is none", nil, start, "", false},
		{"one is active", []*lkeplanv1alpha1.DisruptionStop{a}, start, "stopped until Mon 2026-11-30 13:00 UTC by ann: errors in a", false},
		{"at its last moment", []*lkeplanv1alpha1.DisruptionStop{a}, start.Add(time.Hour - time.Nanosecond),
			"stopped until Mon 2026-11-30 13:00 UTC by ann: errors in a", false},
		{"at its end", []*lkeplanv1alpha1.DisruptionStop{a}, start.Add(time.Hour), "", false},
		{"two are active", []*lkeplanv1alpha1.DisruptionStop{a, b}, start,
			"stopped until Mon 2026-11-30 14:00 UTC by ann: errors in b (and 1 other stop)", false},
		{"one of two has ended", []*lkeplanv1alpha1.DisruptionStop{b, a}, start.Add(90 * time.Minute),
			"stopped until Mon 2026-11-30 14:00 UTC by ann: errors in b", false},
		{"one of two is deleted", []*lkeplanv1alpha1.DisruptionStop{deleted, b}, start,
			"stopped until Mon 2026-11-30 14:00 UTC by ann: errors in b", false},
		{"it is being deleted", []*lkeplanv1alpha1.DisruptionStop{deleted}, start, "", false},
		{"the clock is behind the API server's", []*lkeplanv1alpha1.DisruptionStop{a}, start.Add(-time.Minute),
			"stopped until Mon 2026-11-30 13:00 UTC by ann: errors in a", false},
		{"the clock jumps back after the end", []*lkeplanv1alpha1.DisruptionStop{a}, start.Add(59 * time.Minute),
			"stopped until Mon 2026-11-30 13:00 UTC by ann: errors in a", false},
		{"the clock jumps beyond the end", []*lkeplanv1alpha1.DisruptionStop{a}, start.Add(1000 * time.Hour), "", false},
		{"drains are held", []*lkeplanv1alpha1.DisruptionStop{hold, b}, start,
			"stopped until Mon 2026-11-30 14:00 UTC by ann: errors in b (and 1 other stop)", true},
		{"drains were held", []*lkeplanv1alpha1.DisruptionStop{hold, b}, start.Add(time.Hour),
			"stopped until Mon 2026-11-30 14:00 UTC by ann: errors in b", false},
		{"without a duration, which the CRD refuses", []*lkeplanv1alpha1.DisruptionStop{newStop("none", start, 0)}, start, "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := At(tc.stops, tc.now)
			if got.String() != tc.want || got.Stopped() != (tc.want != "") || got.Holds() != tc.holds {
				t.Errorf("got %q, stopped %t, holds %t; want %q, holds %t", got, got.Stopped(), got.Holds(), tc.want, tc.holds)
			}
		})
	}
}

// TestStateIsThatOfTheObjectsAndTheTimeAlone: in drawn worlds, neither the order of the objects nor an earlier question
// matters, a further stop never resumes disruption, and deleting one never stops it.
func TestStateIsThatOfTheObjectsAndTheTimeAlone(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 1))
		var stops []*lkeplanv1alpha1.DisruptionStop
		for range random.IntN(5) {
			stops = append(stops, newStop(string(rune('a'+len(stops))), start.Add(time.Duration(random.IntN(120))*time.Minute),
				time.Duration(random.IntN(120))*time.Minute))
		}
		for range 10 { // the clock jumps
			now := start.Add(time.Duration(random.IntN(300)-30) * time.Minute)
			want := slices.ContainsFunc(stops, func(s *lkeplanv1alpha1.DisruptionStop) bool { return now.Before(s.Until()) })
			random.Shuffle(len(stops), func(i, j int) { stops[i], stops[j] = stops[j], stops[i] })
			got := At(stops, now)
			if got.Stopped() != want || got.Stopped() != got.Until().After(now) {
				t.Fatalf("seed %d at %s: stopped %t until %s, want %t", seed, now, got.Stopped(), got.Until(), want)
			}
			if more := At(append(slices.Clone(stops), newStop("z", now, time.Minute)), now); !more.Stopped() {
				t.Fatalf("seed %d at %s: another stop resumes disruption", seed, now)
			}
			if len(stops) > 0 && !want && At(stops[1:], now).Stopped() {
				t.Fatalf("seed %d at %s: without %s, disruption is stopped", seed, now, stops[0].Name)
			}
		}
	}
}

// unlisted is a cluster whose DisruptionStops cannot be listed.
type unlisted struct{ client.Reader }

func (unlisted) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("forbidden")
}

func TestDisruptionIsStoppedIfStopsCannotBeListed(t *testing.T) {
	s := Read(t.Context(), unlisted{}, start)
	if !s.Stopped() || s.Holds() || !s.Until().IsZero() || !strings.Contains(s.String(), "list DisruptionStops: forbidden") {
		t.Errorf("got %q, stopped %t, holds %t until %s", s, s.Stopped(), s.Holds(), s.Until())
	}
}

func TestTextOfOthersStaysOnOneLine(t *testing.T) {
	s := newStop("a", start, time.Hour)
	s.Spec.Reason, s.Spec.By = "a\nPods: 0\x1b[2J", "ann\nroot"
	if got := Describe(s); strings.ContainsAny(got, "\n\x1b") {
		t.Errorf("%q", got)
	}
}
