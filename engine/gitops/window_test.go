package gitops

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
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
		if next := p.np.Status.NextWindow; next == nil || !next.Time.Equal(opens) {
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
	if next := p.np.Status.NextWindow; next != nil {
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

// TestRefusedPlanNamesItsWindow: an approval counts from the start of the window, even if a guard blocks the plan as well.
func TestRefusedPlanNamesItsWindow(t *testing.T) {
	p := &proving{world: newWorld(t), now: time.Date(2026, 11, 28, 9, 26, 0, 0, time.UTC)}
	p.worker.Now = func() time.Time { return p.now }
	p.np = p.plan("fleet", "a", "fleet")
	const guards = "  max_rolled_nodes = \"0\"\n  window \"nights\" {\n    schedule = \"0 21 * * mon-thu\"\n    duration = \"6h\"\n  }\n"
	p.guardedPools(guards, "one", "web")
	p.reconcile(p.np)
	p.node("web")
	p.guardedPools(guards, "two", "web")
	o, opens := p.after(time.Minute), time.Date(2026, 11, 30, 21, 0, 0, 0, time.UTC)
	until, waits := plan.Opens(p.np)
	if o.reason != lkeplanv1alpha1.ReasonGuarded || !waits || !until.Equal(opens) || !p.np.Status.NextWindow.Time.Equal(opens) {
		t.Errorf("%s; it waits %t until %s; the status has %s: %s", o.reason, waits, until, p.np.Status.NextWindow, o.message)
	}
	p.approve()
	if o := p.after(time.Minute); o.reason != lkeplanv1alpha1.ReasonOutsideWindow || p.np.Status.Approval == nil || p.has("web") != "one" {
		t.Errorf("%s: %s", o.reason, o.message)
	}
}

// TestChangeWaitsForEndOfFreeze: as for a window, without an approval.
func TestChangeWaitsForEndOfFreeze(t *testing.T) {
	p := newProving(t, lkeplanv1alpha1.RolloutSpec{})
	p.np.Spec.Rollout = nil
	ends := p.now.Add(3 * time.Hour)
	freeze := "  freeze \"day\" {\n    schedule = \"" + p.now.Format("4 15 * * *") + "\"\n    duration = \"3h\"\n  }\n"
	p.guardedPools(freeze, "", "db", "web")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonSucceeded, "", "", "")
	p.guardedPools(freeze, "two", "db", "web")
	o := p.after(time.Minute)
	p.is(o, lkeplanv1alpha1.ReasonOutsideWindow, "are frozen until Sun 2026-11-22 11:00 UTC. lkeplan applies it at Sun 2026-11-22 11:00 UTC.", "", "")
	if !o.inProgress || o.stalled || !o.waitUntil.Equal(ends) {
		t.Errorf("it waits as %+v", o)
	}
	p.is(p.after(ends.Sub(p.now)), lkeplanv1alpha1.ReasonSucceeded, "", "two", "two")
}

// panicking is a compiler with a bug.
type panicking struct{ Compiler }

func (panicking) Compile(context.Context, compile.Request) (compile.Answer, error) {
	panic("no such pool")
}

// TestPanicEndsReconciliation as a failure that the conditions show, and that is retried.
func TestPanicEndsReconciliation(t *testing.T) {
	p := newProving(t, lkeplanv1alpha1.RolloutSpec{})
	p.worker.Compiler = panicking{}
	p.push("two")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonApplyFailed, "a bug in lkeplan, with details in the log: no such pool", "", "")
}
