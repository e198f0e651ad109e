package simulate_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/engine/simulate/workload"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// TestReplay replays the archives of testdata: pools, what there was at which time, and
// the report about it. The first lines of each say how it is reckoned by hand.
func TestReplay(t *testing.T) {
	names, err := filepath.Glob("testdata/replay/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no archives", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			in := timelineOf(t, archive)
			ledger, err := simulate.Replay(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := simulate.Replay(t.Context(), in); err != nil || cmp.Diff(ledger, again) != "" {
				t.Errorf("another time it is another: %v %s", err, cmp.Diff(ledger, again))
			}
			adds(t, ledger)
			got := ledger.Text("dir")
			for _, life := range ledger.Lives {
				got += fmt.Sprintf("%s %s from %s to %s %s\n", life.Node, life.Plan, life.From.Format("15:04"),
					life.Until.Format("15:04"), life.Reason)
			}
			want := &archive.Files[len(archive.Files)-1]
			if *update {
				want.Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(string(want.Data), got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// adds fails the test where a ledger does not add up.
func adds(t *testing.T, l simulate.Ledger) {
	t.Helper()
	nodes, gone := 0, 0
	for _, row := range l.Moments {
		gone += row.Gone
	}
	for _, p := range l.Would.Plans {
		nodes += p.Machines
	}
	if nodes != len(l.Lives) || l.Would.Began+l.Would.Launched != nodes || l.Would.Gone > gone {
		t.Errorf("of %d machines %d are reported, and %d of %d are gone", len(l.Lives), nodes, l.Would.Gone, gone)
	}
}

// timelineOf reads an archive: a configuration, and a file called timeline. Its lines are a
// time, pods such as 4x1cpu,1Gi, what there was, such as was:2xg6-standard-4, and
// pdb:0, a PodDisruptionBudget that lets so many of all pods go.
func timelineOf(t *testing.T, archive *txtar.Archive) (in simulate.Timeline) {
	t.Helper()
	fsys := fstest.MapFS{}
	for _, f := range archive.Files {
		if strings.HasSuffix(f.Name, ".lke.hcl") {
			fsys[f.Name] = &fstest.MapFile{Data: f.Data}
		}
		if f.Name == "timeline" {
			for line := range strings.Lines(string(f.Data)) {
				in.Moments = append(in.Moments, momentOf(t, strings.Fields(line)))
			}
		}
	}
	compiled, diags := compile.Dir(t.Context(), fsys, compile.Options{Options: config.Options{Dir: "."}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	in.Pools = simulate.Input{Region: compiled.Cluster.Region, Catalog: prices}
	for _, o := range compiled.Objects {
		in.Pools.Objects = append(in.Pools.Objects, o.Defaulted)
	}
	return in
}

func momentOf(t *testing.T, words []string) (m simulate.Moment) {
	t.Helper()
	var err error
	if m.At, err = time.Parse("2006-01-02T15:04Z", words[0]); err != nil {
		t.Fatal(err)
	}
	for _, word := range words[1:] {
		switch what, rest, _ := strings.Cut(word, ":"); what {
		case "was":
			m.Machines = append(m.Machines, machinesOf(t, rest, m.At)...)
		case "pdb":
			most := intstr.Parse(rest)
			m.Pods.Budgets = append(m.Pods.Budgets, &policyv1.PodDisruptionBudget{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "all"},
				Spec: policyv1.PodDisruptionBudgetSpec{
					MaxUnavailable: &most, Selector: &metav1.LabelSelector{},
				},
			})
		default:
			load, err := workload.ParsePods(word)
			if err != nil {
				t.Fatal(err)
			}
			_, load.Name, _ = strings.Cut(word, "x")
			m.Pods.Workloads = append(m.Pods.Workloads, load)
		}
	}
	return m
}

// machinesOf are machines such as 2xg6-standard-4, made at midnight.
func machinesOf(t *testing.T, text string, at time.Time) (list []simulate.Machine) {
	t.Helper()
	var n int
	var plan string
	if _, err := fmt.Sscanf(strings.Replace(text, "x", " ", 1), "%d %s", &n, &plan); err != nil {
		t.Fatal(err)
	}
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		m := simulate.Machine{
			Name: fmt.Sprintf("%s-%d", plan, i), Pool: "web", Plan: plan, Made: at.Truncate(24 * time.Hour),
		}
		if price, known := prices.Price(plan, "us-ord"); known {
			m.Price = &price
		}
		list = append(list, m)
	}
	return list
}

// TestTimelineNeedsTwoMomentsInOrder: there is nothing to replay otherwise.
func TestTimelineNeedsTwoMomentsInOrder(t *testing.T) {
	at := func(minute int) simulate.Moment {
		return simulate.Moment{At: time.Date(2026, 11, 2, 8, minute, 0, 0, time.UTC)}
	}
	for name, moments := range map[string][]simulate.Moment{
		"none": {}, "one": {at(0)}, "two of the same time": {at(0), at(0)}, "two out of order": {at(5), at(0)},
	} {
		if _, err := simulate.Replay(t.Context(), simulate.Timeline{Moments: moments}); err == nil {
			t.Errorf("%s: there is no error", name)
		}
	}
}

// TestReplayConservesPods replays timelines that are drawn: at each moment the nodes that
// live are those that are counted, no more is billed than an hour for each machine and begun
// hour, and a second time all is the same.
func TestReplayConservesPods(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/replay/cheaper.txtar")
	if err != nil {
		t.Fatal(err)
	}
	pools := timelineOf(t, archive).Pools
	gone := 0
	for seed := range uint64(5) {
		random := rand.New(rand.NewPCG(seed, 1))
		in := simulate.Timeline{Pools: pools}
		at := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
		for range 6 {
			words := []string{at.Format("2006-01-02T15:04Z")}
			for _, size := range []string{"500mcpu,1Gi", "1cpu,2Gi", "3cpu,4Gi"} {
				words = append(words, fmt.Sprintf("%dx%s", 1+random.IntN(12), size))
			}
			if random.IntN(3) == 0 {
				words = append(words, "pdb:1")
			}
			in.Moments = append(in.Moments, momentOf(t, words))
			at = at.Add(time.Duration(1+random.IntN(90)) * time.Minute)
		}
		ledger, err := simulate.Replay(t.Context(), in)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if again, err := simulate.Replay(t.Context(), in); err != nil || cmp.Diff(ledger, again) != "" {
			t.Errorf("seed %d: another time it is another: %v %s", seed, err, cmp.Diff(ledger, again))
		}
		adds(t, ledger)
		gone += ledger.Would.Gone
		for _, row := range ledger.Moments {
			living, going := 0, 0
			for _, life := range ledger.Lives {
				if life.From.After(row.At) || !life.Until.After(row.At) {
					continue
				}
				living++
				if life.Reason != "" && life.Until.Sub(row.At) <= simulate.StepTime {
					going++
				}
			}
			if row.Nodes > living || row.Nodes < living-going {
				t.Errorf("seed %d: at %s %d nodes are counted, and %d live, of which %d go", seed, row.At, row.Nodes, living, going)
			}
		}
	}
	if gone < 5 {
		t.Errorf("%d nodes that went are too few to tell anything", gone)
	}
}
