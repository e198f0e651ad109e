package gitops

import (
	"strings"
	"testing"
	"time"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// TestAChangeWaitsForItsWindow: a change that replaces nodes waits until its window opens,
// the status says until when, and the reconciliation that follows applies it. A change that
// touches no node waits for no window.
func TestAChangeWaitsForItsWindow(t *testing.T) {
	p := newProving(t, lkeplanv1alpha1.RolloutSpec{})
	p.np.Spec.Rollout = nil
	opens := p.now.Add(3 * time.Hour)
	push := func(label string) {
		p.push(label)
		files := p.commits[len(p.commits)-1]
		files["a/main.lke.hcl"] += "guards {\n  window \"later\" {\n    schedule = \"" + opens.Format("4 15 * * *") +
			"\"\n    duration = \"1h\"\n  }\n}\n"
	}
	push("")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonSucceeded, "", "", "")

	push("two")
	for range 3 {
		o := p.after(time.Minute)
		p.is(o, lkeplanv1alpha1.ReasonOutsideWindow, opens.Format("15:04 UTC"), "", "")
		if !o.inProgress || o.stalled || !o.waitUntil.Equal(opens) || !strings.Contains(o.message, "2 to update") {
			t.Fatalf("it waits as %+v", o)
		}
		if next := o.opening(); next == nil || !next.Time.Equal(opens) {
			t.Errorf("the status says that the next window opens at %v, want %s", next, opens)
		}
		p.np.Spec.Interval.Duration = 24 * time.Hour
		if next := (&Reconciler{Worker: p.worker}).next(p.np, o); p.now.Add(next).Before(opens) ||
			p.now.Add(next).After(opens.Add(time.Minute)) {
			t.Errorf("it is reconciled again in %s, and the window opens in %s", next, opens.Sub(p.now))
		}
	}
	p.is(p.after(opens.Sub(p.now)-time.Second), lkeplanv1alpha1.ReasonOutsideWindow, "", "", "")
	o := p.after(time.Second)
	p.is(o, lkeplanv1alpha1.ReasonSucceeded, "", "two", "two")
	if next := o.opening(); next != nil {
		t.Errorf("after it is applied the status still names the window of %s", next)
	}

	p.now = opens.Add(2 * time.Hour) // the window has closed
	push("two")
	files := p.commits[len(p.commits)-1]
	files["a/main.lke.hcl"] = strings.ReplaceAll(files["a/main.lke.hcl"], "weight = 5", "weight = 6")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonSucceeded, "", "two", "two")
	if got := manifest.Map(p.pool("web"), "spec")["weight"]; got != int64(6) && got != 6.0 {
		t.Errorf("a change that touches no node waits for a window: the weight is %v", got)
	}
}
