package podsource

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/files"
	"github.com/lkeplan/lkeplan/engine/revision"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Series are snapshots of one cluster, by time.
type Series struct {
	Cluster   string // its id and its label
	snapshots []compare.Snapshot
}

// MostSnapshots bounds a series: half a year of hours.
const MostSnapshots = 5000

// ReadSeries reads snapshots: files, and of directories those that end in .json. It is an
// error that there are fewer than two, that two are of the same time, or of two clusters, or
// that one does not say what a series needs.
func ReadSeries(paths []string) (s Series, err error) {
	names, err := named(paths)
	if err != nil {
		return s, err
	}
	if len(names) > MostSnapshots {
		return s, fmt.Errorf("there are %d snapshots, and a series has %d at most", len(names), MostSnapshots)
	}
	at := map[time.Time]string{}
	for _, name := range names {
		snapshot, err := revision.SavedSnapshot(name, time.Now())
		if err != nil {
			return s, err
		}
		if err := s.admit(snapshot); err != nil {
			return s, fmt.Errorf("snapshot %s: %w", name, err)
		}
		if other, twice := at[snapshot.Taken.UTC()]; twice {
			return s, fmt.Errorf("snapshots %s and %s are of the same time", other, name)
		}
		at[snapshot.Taken.UTC()] = name
		s.snapshots = append(s.snapshots, snapshot)
	}
	if len(s.snapshots) < 2 {
		return s, errors.New("to replay takes two snapshots at least, of different times: \"lkeplan snapshot\" writes one")
	}
	slices.SortFunc(s.snapshots, func(a, b compare.Snapshot) int { return a.Taken.Compare(b.Taken) })
	return s, nil
}

// named are the files that are to be read.
func named(paths []string) (names []string, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, files.Cause(err))
		}
		if !info.IsDir() {
			names = append(names, path)
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, files.Cause(err))
		}
		for _, entry := range entries {
			name := filepath.Join(path, entry.Name())
			if info, err := os.Stat(name); filepath.Ext(name) == ".json" && (err != nil || info.Mode().IsRegular()) {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// admit checks that a snapshot belongs to the series.
func (s *Series) admit(snapshot compare.Snapshot) error {
	if _, err := snapshot.SeriesShapes(nil); err != nil {
		return err
	}
	if s.Cluster != "" && s.Cluster != snapshot.Cluster {
		return fmt.Errorf("it is of the cluster %s, and those before it are of %s", snapshot.Cluster, s.Cluster)
	}
	s.Cluster = snapshot.Cluster
	return nil
}

// Timeline has the pods of the series for the pools of a configuration.
func (s Series) Timeline(compiled compile.Result, prices *catalog.Catalog) (t simulate.Timeline, err error) {
	t.Pools = compare.SimulationOf(compiled, prices)
	all, err := compare.SeriesFor(t.Pools, s.snapshots)
	for i, found := range all {
		found.Workloads = slices.DeleteFunc(found.Workloads, func(l simulate.Workload) bool { return l.Why() != "" })
		t.Moments = append(t.Moments, simulate.Moment{
			At: s.snapshots[i].Taken.UTC(), Pods: found.Pods, Machines: machines(s.snapshots[i]),
		})
	}
	return t, err
}

// machines are the nodes of a snapshot that were made.
func machines(s compare.Snapshot) (list []simulate.Machine) {
	for _, n := range s.Nodes {
		if n.Node == "" {
			continue // it has not joined, and may never have had a machine
		}
		m := simulate.Machine{Name: n.Name, Pool: n.Pool, Plan: compare.PlanOf(n), Made: n.Created}
		if price, known := s.Prices[m.Plan]; known {
			m.Price = &price
		}
		list = append(list, m)
	}
	return list
}

// Notes say what the snapshots do not have, and where their nodes are, if that is not where
// the pools are for.
func (s Series) Notes(region string) (notes []string) {
	for _, snapshot := range s.snapshots {
		if r := snapshot.Region; r != "" && r != region {
			note := fmt.Sprintf("The nodes that there were are in %s, and the pools make nodes in %s, at its prices.",
				diag.OneLine(r), region)
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
		for _, note := range slices.Concat(snapshot.Notes, snapshot.Shapes.Notes, held(snapshot)) {
			note = diag.Harmless(diag.OneLine(note))
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	return notes
}

// held notes how many pods are left out that nothing would get a node.
func held(s compare.Snapshot) []string {
	pods := 0
	for _, shape := range s.Shapes.Pods {
		if shape.Waits != nil || len(shape.Spec.SchedulingGates) > 0 {
			pods += shape.Count
		}
	}
	if pods == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Left out: %s that a scheduling gate or a claim of a volume holds back.",
		diag.Counted(pods, "pod"))}
}

// Size is how many snapshots there are.
func (s Series) Size() int { return len(s.snapshots) }
