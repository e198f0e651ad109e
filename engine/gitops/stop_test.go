package gitops

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/engine/plan"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// stop stops disruption for a time.
func (p *proving) stop(lasts time.Duration) {
	p.stops = append(p.stops, lkeplanv1alpha1.DisruptionStop{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("s%d", len(p.stops)), CreationTimestamp: metav1.NewTime(p.now)},
		Spec:       lkeplanv1alpha1.DisruptionStopSpec{For: metav1.Duration{Duration: lasts}, Reason: "API errors", By: "ann"},
	})
}

// TestChangeWaitsForEndOfStop: as for a freeze, and longer if the stop ends in a freeze. A change that touches no node does
// not wait.
func TestChangeWaitsForEndOfStop(t *testing.T) {
	p := newProving(t, lkeplanv1alpha1.RolloutSpec{})
	p.np.Spec.Rollout = nil
	freeze := "  freeze \"noon\" {\n    schedule = \"0 10 * * *\"\n    duration = \"1h\"\n  }\n"
	p.guardedPools(freeze, "", "db", "web")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonSucceeded, "", "", "")

	p.stop(time.Hour)
	ends := p.stops[0].Until()
	p.guardedPools(freeze, "two", "db", "web")
	o := p.after(time.Minute)
	p.is(o, lkeplanv1alpha1.ReasonOutsideWindow, "main@sha1:2 waits: Disruption is stopped until Sun 2026-11-22 09:01 UTC by ann: API errors. lkeplan applies it at Sun 2026-11-22 09:01 UTC.", "", "")
	if state := nodeplan.State(p.np); state != nodeplan.Stopped {
		t.Errorf("the state is %q", state)
	}
	if waits := plan.WaitsFor(p.np); waits != "the end of a DisruptionStop, until Sun 2026-11-22 09:01 UTC" {
		t.Errorf("it waits for %q", waits)
	}
	if !o.inProgress || o.stalled || !o.waitUntil.Equal(ends) {
		t.Errorf("it waits as %+v", o)
	}

	was := p.commits[len(p.commits)-1]["a/main.lke.hcl"]
	p.guardedPools(freeze, "", "db", "web")
	files := p.commits[len(p.commits)-1]
	files["a/main.lke.hcl"] = strings.ReplaceAll(files["a/main.lke.hcl"], "weight = 5", "weight = 7")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonSucceeded, "", "", "")
	if got := manifest.Map(p.pool("web"), "spec")["weight"]; got != int64(7) && got != 7.0 {
		t.Errorf("a change that touches no node waits for the end of a stop: the weight is %v", got)
	}
	p.commit(map[string]string{"a": was})
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonOutsideWindow, "", "", "")

	p.stop(90 * time.Minute) // until 09:34, by another user
	p.is(p.after(ends.Sub(p.now)+time.Minute), lkeplanv1alpha1.ReasonOutsideWindow, "until Sun 2026-11-22 09:34 UTC by ann", "", "")
	p.stop(90 * time.Minute) // until 10:32, in the freeze
	o = p.after(time.Minute)
	p.is(o, lkeplanv1alpha1.ReasonOutsideWindow, "lkeplan applies it at Sun 2026-11-22 11:00 UTC", "", "")
	if !o.waitUntil.Equal(time.Date(2026, 11, 22, 11, 0, 0, 0, time.UTC)) {
		t.Errorf("it waits until %s", o.waitUntil)
	}
	p.stops = nil // they are resumed
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonSucceeded, "", "two", "two")

	p.noStops = errors.New("not synced")
	p.guardedPools(freeze, "three", "db", "web")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonApplyFailed, "list DisruptionStops: not synced", "two", "two")
}

// TestApprovalDoesNotLiftStop: nor does a stop use it up.
func TestApprovalDoesNotLiftStop(t *testing.T) {
	p := newProving(t, lkeplanv1alpha1.RolloutSpec{})
	p.np.Spec.Rollout = nil
	p.guardedPools("  max_rolled_nodes = \"0\"\n", "", "db", "web")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonSucceeded, "", "", "")
	p.guardedPools("  max_rolled_nodes = \"0\"\n", "two", "db", "web")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonGuarded, "", "", "")
	p.approve()
	p.stop(time.Hour)
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonOutsideWindow, "Disruption is stopped until", "", "")
	if p.np.Status.Approval == nil {
		t.Error("the approval is used up")
	}
	p.is(p.after(time.Hour), lkeplanv1alpha1.ReasonSucceeded, "", "two", "two")
}

// TestStopDoesNotFailRollout: a rollout is stopped at each of its steps for much longer than its timeout, or resumed early.
// It does not advance in that time, and has the same end as without a stop.
func TestStopDoesNotFailRollout(t *testing.T) {
	for _, joins := range []bool{true, false} {
		usual := 0                                      // steps without a stop
		for _, at := range []int{-1, 0, 1, 7, 18, 29} { // steps of ten seconds
			for _, early := range []bool{true, false} {
				t.Run(fmt.Sprintf("joins %t, stopped after %ds, resumed early %t", joins, 10*at, early), func(t *testing.T) {
					p := newProving(t, onWeb)
					p.push("two")
					took, o := 0, outcome{}
					for {
						if took == at {
							was := p.has("web") + "; " + p.has("db")
							p.stop(2 * time.Hour)
							for range 3 {
								o = p.after(10 * time.Second)
								p.now = p.now.Add(30 * time.Minute)
							}
							o = p.after(10 * time.Second)
							if now := p.has("web") + "; " + p.has("db"); now != was {
								t.Fatalf("the pools are %s while disruption is stopped, and were %s", now, was)
							}
							if s := p.np.Status.Rollout; s != nil && s.Phase == lkeplanv1alpha1.PhaseProving {
								p.is(o, lkeplanv1alpha1.ReasonProving, "waits with its first wave of nodes in web: disruption is stopped until")
								if !o.inProgress || !o.waitUntil.Equal(p.stops[0].Until()) {
									t.Fatalf("it waits as %+v", o)
								}
							}
							if early {
								p.stops = nil
							} else {
								p.now = p.stops[0].Until()
							}
						}
						o = p.after(10 * time.Second)
						took++
						if s := p.np.Status.Rollout; s == nil || s.Phase != lkeplanv1alpha1.PhaseProving {
							break
						}
						if took == 6 && joins {
							p.replace("web")
						}
					}
					want := lkeplanv1alpha1.ReasonRolledBack
					if joins {
						want = lkeplanv1alpha1.ReasonSucceeded
					}
					if at < 0 {
						usual = took
					}
					// The step in which the stop begins or ends does not count.
					if o.reason != want || took < usual || took > usual+2 {
						t.Errorf("%s after %d steps, want %s after %d: %s", o.reason, took, want, usual, o.message)
					}
				})
			}
		}
	}
}
