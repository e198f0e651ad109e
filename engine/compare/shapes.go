package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	clusters "github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/engine/simulate/workload"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/schemas"
)

// salt has the words of each snapshot hashed in another way.
func (s Snapshot) salt() string { return s.Taken.UTC().Format(time.RFC3339) }

// SeriesShapes are the shapes of the pods, in which equal words of snapshots of one cluster
// are equal, with those words in them that are given. Where a snapshot does not say how, it
// is an error with what to do.
func (s Snapshot) SeriesShapes(words []string) (workload.Shapes, error) {
	set, err := s.PodShapes(words)
	switch {
	case err != nil:
		return set, err
	case s.FormatVersion == "1.0" || s.FormatVersion == "1.1":
		return set, fmt.Errorf("it has the format version %q, in which pods cannot be followed from one snapshot to the "+
			"next; take snapshots from now on with this lkeplan: lkeplan snapshot", s.FormatVersion)
	case s.Cluster == "":
		return set, errors.New("it does not say which cluster it is of, and its pods cannot be followed: the controller " +
			"writes that on each LinodeNodeClass; take snapshots once it has")
	}
	return set.Followed(s.Series), nil
}

// SimulationOf is what a simulation of what a directory compiles to is of, without pods.
func SimulationOf(compiled compile.Result, prices *catalog.Catalog) simulate.Input {
	in := simulate.Input{
		Region: compiled.Cluster.Region, Tier: catalog.Tier(compiled.Cluster.Tier).WithGPUs(compiled.Cluster.GPUPlans), Catalog: prices,
	}
	for _, o := range compiled.Objects {
		in.Objects = append(in.Objects, o.Defaulted)
	}
	return in
}

// wordsOf are the words that the pools of a simulation have.
func wordsOf(in simulate.Input) []string {
	return workload.KnownWords(in.Objects, instancetype.New(in.Catalog, in.Region, in.Tier).List())
}

// PodsFor are the pods, with the words in them that the pools of a simulation have.
func (s Snapshot) PodsFor(in simulate.Input) (workload.Found, error) {
	set, err := s.PodShapes(wordsOf(in))
	return workload.FromShapes(set), err
}

// SeriesFor are the pods of several snapshots of one cluster, as PodsFor has them and SeriesShapes.
func SeriesFor(in simulate.Input, snapshots []Snapshot) (all []workload.Found, err error) {
	words := wordsOf(in)
	for _, s := range snapshots {
		set, err := s.SeriesShapes(words)
		if err != nil {
			return nil, err
		}
		all = append(all, workload.FromShapes(set))
	}
	return all, nil
}

// PodShapes are the shapes of the pods, with those words in them that are given.
func (s Snapshot) PodShapes(words []string) (workload.Shapes, error) {
	if s.Shapes == nil {
		return workload.Shapes{}, errors.New("it has no shapes of pods: it was made by an older lkeplan, or by a user who may " +
			"not list pods; make it anew with: lkeplan snapshot")
	}
	if s.Shapes.Pods == nil {
		return workload.Shapes{}, errors.New("it does not say which pods there are; make it anew with: lkeplan snapshot")
	}
	for _, shape := range slices.Concat(s.Shapes.Pods, s.Shapes.DaemonSets) {
		if shape.Count < 0 {
			return workload.Shapes{}, fmt.Errorf("it has %d pods of %q: no snapshot says so", shape.Count, shape.Owner)
		}
		if err := simulate.CheckPod(shape.Spec); err != nil {
			return workload.Shapes{}, fmt.Errorf("no API server takes the pods of %q: %w", shape.Owner, err)
		}
	}
	return s.Shapes.Readable(s.salt(), words), nil
}

// Shapes lists the pods of a cluster and what decides where they go.
func Shapes(ctx context.Context, cluster View) (workload.Shapes, error) {
	from := viewed{cluster}
	pods, err := clusters.List[corev1.Pod](ctx, from, "v1", "Pod")
	if err != nil {
		return workload.Shapes{}, err
	}
	volumes := []string{clusters.KindVolumeClaims, clusters.KindVolumes, clusters.KindStorageClasses}
	read, err := clusters.Load(ctx, from,
		append(volumes, clusters.KindDaemonSets, clusters.KindNamespaces, clusters.KindBudgets)...)
	if err != nil {
		return workload.Shapes{}, err
	}
	read.Pods = pods
	var index *simulate.VolumeIndex
	if read.Unread(volumes...) == "" {
		index = simulate.NewVolumeIndex(read.Volumes.Claims, read.Volumes.All, read.Volumes.Classes)
	}
	found := workload.ShapesOf(read, index)
	if index == nil {
		found.Notes = append(found.Notes, "Volumes do not count: the user who read the cluster may not list "+
			"PersistentVolumeClaims, PersistentVolumes and StorageClasses.")
	}
	for _, kind := range []string{clusters.KindDaemonSets, clusters.KindBudgets} {
		if read.Unread(kind) != "" {
			found.Notes = append(found.Notes, kind+" are not known: the user who read the cluster may not list "+
				read.Refused[kind]+".")
		}
	}
	return found, nil
}

// viewed lists what a View has.
type viewed struct{ View }

// List implements clusters.Lister.
func (v viewed) List(ctx context.Context, apiVersion, kind string) ([]map[string]any, error) {
	return v.Objects(ctx, schemas.Object{APIVersion: apiVersion, Kind: kind})
}
