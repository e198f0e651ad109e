package simulate_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/engine/simulate/disrupt"
)

// TestChange simulates the archives of testdata/change: a configuration
// before and after, pods, and the reported nodes in between.
func TestChange(t *testing.T) {
	archives, err := filepath.Glob("testdata/change/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no archives", err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			base, head := side(t, archive, "base/"), side(t, archive, "head/")
			before, after := simulated(t, base), simulated(t, head)
			report := simulate.NewReport("dir", "the base", after, &before)
			if report.Change, err = simulate.Change(t.Context(), base, head); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				again, err := simulate.Change(t.Context(), base, head)
				if diff := cmp.Diff(report.Change, again); err != nil || diff != "" {
					t.Fatalf("another time it is another: %v %s", err, diff)
				}
			}
			_, told, _ := strings.Cut(report.Text(), "The nodes that")
			if told == "" {
				_, told, _ = strings.Cut(report.Text(), "From the nodes that")
			}
			compare(t, name, archive, strings.TrimSpace(told)+"\n"+nodesText(report.Change.Nodes))
		})
	}
}

// side is one side of an archive: its own configuration, and what both have.
func side(t *testing.T, archive *txtar.Archive, prefix string) simulate.Input {
	t.Helper()
	own := &txtar.Archive{}
	for _, f := range archive.Files {
		name, mine := strings.CutPrefix(f.Name, prefix)
		if mine || !strings.Contains(name, "/") {
			own.Files = append(own.Files, txtar.File{Name: name, Data: f.Data})
		}
	}
	in := inputOf(t, own)
	in.Consolidate = &simulate.Consolidation{}
	return in
}

func simulated(t *testing.T, in simulate.Input) simulate.Result {
	t.Helper()
	result, err := simulate.Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestDriftConservesPods has worlds that are drawn get the pools of others: each
// pod is somewhere or waits, no node is overfull, each node that stays does so for a
// reason, and a second time all is the same.
func TestDriftConservesPods(t *testing.T) {
	drifts := 0
	for seed := range uint64(*worlds / 4) {
		base, head := draw(t, seed), draw(t, seed+100_000)
		head.in.Pods = base.in.Pods
		base.in.Consolidate, head.in.Consolidate = &simulate.Consolidation{}, &simulate.Consolidation{}
		s, err := simulate.Change(t.Context(), base.in, head.in)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, base.text, head.text)
		}
		r := simulated(t, head.in)
		sound(t, simulate.Result{Asked: r.Asked, Placed: s.Placed, Total: s.Total, Nodes: s.Nodes, Refused: s.Refused,
			Notes: s.Notes})
		told := 0
		for _, held := range s.Held {
			told += len(held.Nodes)
			if held.Text == "" || strings.Contains(held.Text, "does not say why") || strings.Contains(held.Text, "pod-0") {
				t.Errorf("%d nodes stay for %q", len(held.Nodes), held.Text)
			}
		}
		for _, step := range s.Steps {
			if step.Kind == disrupt.Drift || step.Kind == disrupt.StaticDrift {
				drifts++
			}
		}
		again, err := simulate.Change(t.Context(), base.in, head.in)
		if diff := cmp.Diff(s, again); err != nil || diff != "" || told != len(s.Nodes) || !s.Ended {
			t.Errorf("of %d nodes %d are reported; another time: %v %s", len(s.Nodes), told, err, diff)
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s\n%s", seed, base.text, head.text)
		}
	}
	if drifts < *worlds/8 {
		t.Errorf("%d steps of drift are too few to tell anything", drifts)
	}
}
