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

// Series is the snapshots of one cluster, ordered by time.
type Series struct {
	Cluster   string // its ID and its label
	snapshots []compare.Snapshot
}

// MostSnapshots limits a series: half a year with one each hour.
const MostSnapshots = 5000

// ReadSeries reads snapshots: files, and the *.json files of directories. It is an error if there
// are fewer than two, if two have the same time or different clusters, or if one lacks data that a
// series needs.
func ReadSeries(paths []string) (s Series, err error) {
	names, err := named(paths)
	if err != nil {
		return s, err
	}
	if len(names) > MostSnapshots {
		return s, fmt.Errorf("there are %d snapshots, and a series has at most %d", len(names), MostSnapshots)
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
			return s, fmt.Errorf("snapshots %s and %s have the same time", other, name)
		}
		at[snapshot.Taken.UTC()] = name
		s.snapshots = append(s.snapshots, snapshot)
	}
	if len(s.snapshots) < 2 {
		return s, errors.New("a replay needs at least two snapshots with different times: \"lkeplan snapshot\" writes one")
	}
	slices.SortFunc(s.snapshots, func(a, b compare.Snapshot) int { return a.Taken.Compare(b.Taken) })
	return s, nil
}

// named lists the files to read.
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
		return fmt.Errorf("it is of the cluster %s, and the earlier ones are of %s", snapshot.Cluster, s.Cluster)
	}
	s.Cluster = snapshot.Cluster
	return nil
}

// Timeline returns the pods of the series for the pools of a configuration.
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

// machines are the nodes of a snapshot with a machine.
func machines(s compare.Snapshot) (list []simulate.Machine) {
	for _, n := range s.Nodes {
		if n.Node == "" {
			continue // it has not joined; it may have no machine
		}
		m := simulate.Machine{Name: n.Name, Pool: n.Pool, Plan: compare.PlanOf(n), Made: n.Created}
		if price, known := s.Prices[m.Plan]; known {
			m.Price = &price
		}
		list = append(list, m)
	}
	return list
}

// Notes lists what is missing in the snapshots, and regions of their nodes that are not the
// region of the pools.
func (s Series) Notes(region string) (notes []string) {
	for _, snapshot := range s.snapshots {
		if r := snapshot.Region; r != "" && r != region {
			note := fmt.Sprintf("The nodes of the snapshots are in %s, and the pools create nodes in %s, at its prices.",
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

// held notes the number of pods that wait for something other than a node.
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
	return []string{fmt.Sprintf("Left out: %s blocked by a scheduling gate or a PersistentVolumeClaim.",
		diag.Counted(pods, "pod"))}
}

// Size is how many snapshots there are.
func (s Series) Size() int { return len(s.snapshots) }
