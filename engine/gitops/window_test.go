package gitops

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lkeplan/lkeplan/config/configtest"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
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

// TestRefusedPlanNamesItsWindow: an approval counts from the start of the window, even if a guard blocks the plan as
// well.
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
	until := plan.Opens(p.np)
	if o.reason != lkeplanv1alpha1.ReasonGuarded || !until.Equal(opens) || !p.np.Status.NextWindow.Time.Equal(opens) {
		t.Errorf("%s; it waits until %s; the status has %s: %s", o.reason, until, p.np.Status.NextWindow, o.message)
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
	p.is(o, lkeplanv1alpha1.ReasonOutsideWindow, "Freeze day: Changes that replace or delete nodes are frozen until Sun 2026-11-22 11:00 UTC. lkeplan applies it at Sun 2026-11-22 11:00 UTC.", "", "")
	if state := nodeplan.State(p.np); state != nodeplan.Frozen {
		t.Errorf("the state is %q", state)
	}
	if waits := plan.WaitsFor(p.np); waits != "the end of the freeze day, until Sun 2026-11-22 11:00 UTC" {
		t.Errorf("it waits for %q", waits)
	}
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

// TestPanicEndsReconciliation as a failure that the conditions show, and that is retried, also if it is in another
// goroutine.
func TestPanicEndsReconciliation(t *testing.T) {
	for name, spoil := range map[string]func(*proving){
		"compile": func(p *proving) { p.worker.Compiler = panicking{} },
		"compare": func(p *proving) { p.admit = func(map[string]any) { panic("no such pool") } },
	} {
		t.Run(name, func(t *testing.T) {
			p := newProving(t, lkeplanv1alpha1.RolloutSpec{})
			spoil(p)
			p.push("two")
			p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonApplyFailed, "a bug in lkeplan, with details in the log: no such pool", "", "")
		})
	}
}

// slow is a cluster that answers no dry run.
type slow struct{ Cluster }

func (slow) DryRun(ctx context.Context, _ map[string]any) (map[string]any, []manifest.Conflict, error) {
	<-ctx.Done()
	return nil, nil, ctx.Err()
}

// TestReconciliationHasDeadline that names the step, and is retried.
func TestReconciliationHasDeadline(t *testing.T) {
	p := newProving(t, lkeplanv1alpha1.RolloutSpec{})
	synctest.Test(t, func(t *testing.T) {
		w := *p.worker
		w.Connect = func(*lkeplanv1alpha1.NodePlan) (Cluster, error) { return slow{p.world}, nil }
		p.push("two")
		o := w.Work(t.Context(), p.np, p.record(p.np))
		const want = "the reconciliation took longer than 7m30s, and ended in this step: compare revision main@sha1:1 with the cluster: " +
			"context deadline exceeded."
		if !o.failed || !strings.HasPrefix(o.message, want) {
			t.Errorf("%+v", o)
		}
	})
}

// TestComputationIsCheap whatever the commit contains: rare and frequent schedules together, and limits of many pools.
func TestComputationIsCheap(t *testing.T) {
	const head = "cluster {\n  name = \"dev\"\n  region = \"us-ord\"\n}\nnode_class \"c\" {}\n"
	freezes := ""
	for minute := 1; minute <= 45; minute++ {
		freezes += fmt.Sprintf("  freeze \"f%d\" {\n    schedule = \"%d * * * *\"\n    duration = \"1m\"\n  }\n", minute, minute)
	}
	for name, text := range map[string]string{
		"schedules": head + `
guards {
  window "leap" {
    schedule = "0 0 29 2 *"
    duration = "1m"
  }
` + freezes + `}
pool "p" {
  for_each     = toset([for i in range(10) : tostring(i)])
  name         = "p${each.key}"
  node_class   = node_class.c
  requirements = { cpu = 4 }
  labels       = { l = "LABEL" }
  disruption {
    consolidate_after = "1h"
    dynamic "budget" {
      for_each = range(45)
      content {
        nodes    = "0"
        schedule = "${budget.value} * 29 2 *"
        duration = "1m"
      }
    }
    budget {
      nodes    = "0"
      schedule = "* * * * *"
      duration = "1m"
    }
  }
}
`,
		"limits": head + `
pool "p" {
  for_each     = toset([for i in range(100) : tostring(i)])
  name         = "p${each.key}"
  node_class   = node_class.c
  requirements = { cpu = between(1, 30) }
  labels       = { l = "LABEL" }
}
limits "l" {
  for_each = toset([for i in range(100) : tostring(i)])
  name     = "l${each.key}"
  nodes    = 100 + each.key
  cpu      = 1000 + each.key
  pools    = [for i in range(80) : pool.p[tostring((i + each.key) % 100)]]
}
`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			np := w.plan("fleet", "a", "fleet")
			w.commit(map[string]string{"a": strings.ReplaceAll(text, "LABEL", "one")})
			w.commit(map[string]string{"a": strings.ReplaceAll(text, "LABEL", "two")})
			w.seen["a"] = 0
			w.reconcile(np)
			w.seen["a"], np.Spec.Mode = 1, lkeplanv1alpha1.ModePlanOnly // so that it can be repeated
			w.reconcile(np)                                             // compiles
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var o outcome
			configtest.Within(t, 2*time.Second, func() { o = w.reconcile(np) })
			runtime.ReadMemStats(&after)
			if made := (after.TotalAlloc - before.TotalAlloc) >> 20; o.failed || o.reason != lkeplanv1alpha1.ReasonPlanned || made > 3*300 { // it may have run three times
				t.Errorf("%s: %s; %d MiB", o.reason, o.message, made)
			}
		})
	}
}
