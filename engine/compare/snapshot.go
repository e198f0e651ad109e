package compare

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/lkeplan/lkeplan/config/diag"
	clusters "github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/engine/simulate/workload"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// A Snapshot is what a comparison needs to know of a cluster, written down: for
// pull requests that must not reach the cluster itself. Secrets are not in it,
// nor anything of pods but how many PodDisruptionBudgets and pods hold a node, and
// their shapes: what decides where they go, with hashes for words.
type Snapshot struct {
	FormatVersion string    `json:"format_version"`
	Taken         time.Time `json:"taken"`
	// Cluster is the id and the label of the LKE cluster, and Region where it is, as far as
	// the controller has written that on its LinodeNodeClasses.
	Cluster string           `json:"cluster,omitempty"`
	Region  string           `json:"region,omitempty"`
	Objects []map[string]any `json:"objects"`
	Nodes   []plan.Node      `json:"nodes"`
	Notes   []string         `json:"notes"` // what could not be read
	// Prices are those of the plan types of the nodes, as they were known when it was taken.
	Prices map[string]catalog.Price `json:"prices,omitempty"`
	// Series has, for each hash of the shapes, the hash that the same word has in all snapshots
	// of the cluster: by it pods are followed from one to the next.
	Series map[string]string `json:"series,omitempty"`
	// Shapes are those of the pods; nil where they could not be listed, or the snapshot is
	// of a release that did not write them.
	Shapes *workload.Shapes `json:"shapes,omitempty"`
}

// snapshotVersion is the version of the form. Another major one is not read.
const snapshotVersion = "1.3"

// maxSnapshot bounds what is read, in bytes: some ten thousand nodes.
const maxSnapshot = 64 << 20

// TakeSnapshot reads a cluster.
func TakeSnapshot(ctx context.Context, cluster View, now time.Time) (Snapshot, error) {
	s := Snapshot{FormatVersion: snapshotVersion, Taken: now.UTC().Truncate(time.Second), Objects: []map[string]any{},
		Notes: []string{}}
	for _, kind := range Kinds() {
		objects, err := cluster.Objects(ctx, kind)
		if apierrors.IsForbidden(err) {
			s.Notes = append(s.Notes,
				fmt.Sprintf("Objects of kind %s are not in the snapshot: the user who took it may not list %s.", kind.Kind,
					clusters.Refused(err)))
			continue
		}
		if err != nil {
			return s, err
		}
		for _, obj := range objects {
			s.Objects = append(s.Objects, redacted(obj, s.salt()))
		}
	}
	nodes, err := cluster.Nodes(ctx)
	if err != nil {
		return s, err
	}
	held, notes, err := cluster.Holds(ctx, nodes, now)
	if err != nil {
		return s, err
	}
	s.Nodes = append([]plan.Node{}, anonymous(held, s.chosen(), s.salt())...) // written as a list, also if it is empty
	s.Notes = slices.Concat(s.Notes, cluster.Notes(), notes)
	if err := s.place(); err != nil {
		return s, err
	}
	found, err := Shapes(ctx, cluster)
	if apierrors.IsForbidden(err) {
		return s, nil // the notes say that pods are not known
	}
	if err == nil {
		hashed := found.Hashed(s.salt())
		s.Shapes, s.Series = &hashed, found.Series(s.salt(), s.Cluster)
	}
	return s, err
}

// place notes which cluster it is of, and what its nodes cost there.
func (s *Snapshot) place() error {
	for _, obj := range s.Objects {
		annotations := annotationsOf(obj)
		s.Cluster = cmp.Or(s.Cluster, annotations[linodev1alpha1.AnnotationCluster])
		s.Region = cmp.Or(s.Region, annotations[linodev1alpha1.AnnotationRegion])
	}
	facts, err := catalog.Embedded()
	if err != nil || s.Region == "" {
		return err
	}
	s.Prices = map[string]catalog.Price{}
	for _, node := range s.Nodes {
		plan := PlanOf(node)
		if price, known := facts.Price(plan, s.Region); known {
			s.Prices[plan] = price
		}
	}
	return nil
}

// PlanOf is the plan type of a node; "" where it is not known.
func PlanOf(n plan.Node) string { return n.Labels[corev1.LabelInstanceTypeStable] }

// Write writes the snapshot. Equal snapshots give equal bytes.
func (s Snapshot) Write(w io.Writer) error {
	return diag.IndentedJSON(w, s, " ")
}

// ReadSnapshot reads what Write has written.
func ReadSnapshot(r io.Reader) (Snapshot, error) {
	var s Snapshot
	raw, err := readAll(r)
	if err != nil {
		return s, err
	}
	var list metav1.TypeMeta
	if json.Unmarshal(raw, &list) == nil && list.Kind != "" {
		return s, fmt.Errorf("it is a Kubernetes %s, not a snapshot; make one with: lkeplan snapshot", list.Kind)
	}
	if err := utiljson.Unmarshal(raw, &s); err != nil {
		return s, fmt.Errorf("it is not a snapshot; make one with: lkeplan snapshot (%w)", err)
	}
	if major, _, _ := strings.Cut(s.FormatVersion, "."); major != "1" {
		return s, fmt.Errorf("it has the format version %q, and this lkeplan reads 1; make it with this lkeplan",
			s.FormatVersion)
	}
	for _, part := range []struct {
		name    string
		missing bool // a list that is not there is not an empty one
	}{{"objects", s.Objects == nil}, {"nodes", s.Nodes == nil}, {"taken", s.Taken.IsZero()}} {
		if part.missing {
			return s, fmt.Errorf("it has no %q, so what is in the cluster is not known; make it again with: lkeplan snapshot",
				part.name)
		}
	}
	if slices.Contains([]string{"1.1", "1.2"}, s.FormatVersion) && s.Shapes != nil {
		s.Shapes.Notes = append(s.Shapes.Notes,
			"Volumes do not count: the snapshot is of an older lkeplan, which did not write them.")
	}
	s.leaveOut()
	return s, nil
}

// readAll reads a file of JSON that may have maxSnapshot bytes.
func readAll(r io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxSnapshot+1))
	if err == nil && len(raw) > maxSnapshot {
		err = fmt.Errorf("larger than %d MiB", maxSnapshot>>20)
	}
	if err == nil {
		err = manifest.UniqueKeys(raw)
	}
	return raw, err
}

// View is the cluster as it was when the snapshot was taken.
func (s Snapshot) View() View { return taken{s} }

type taken struct{ Snapshot }

// Objects implements View.
func (t taken) Objects(_ context.Context, kind schemas.Object) (objects []map[string]any, err error) {
	for _, obj := range t.Snapshot.Objects {
		if manifest.Kind(obj) == kind.Kind {
			objects = append(objects, runtime.DeepCopyJSON(obj))
		}
	}
	return objects, nil
}

// Nodes implements View.
func (t taken) Nodes(context.Context) ([]plan.Node, error) {
	return append([]plan.Node{}, t.Snapshot.Nodes...), nil
}

// Holds implements View: the nodes of a snapshot know what held them.
func (t taken) Holds(_ context.Context, nodes []plan.Node, _ time.Time) ([]plan.Node, []string, error) {
	return nodes, nil, nil
}

// Notes implements View: what the user could not read who took the snapshot.
func (t taken) Notes() []string { return t.Snapshot.Notes }

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

// SimulationOf is the input of a simulation, without pods, of a compiled directory.
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

// SeriesFor are the pods of several snapshots of one cluster, by SeriesShapes.
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
	}
	return s.Shapes.Readable(s.salt(), words), nil
}

// leaveOut takes the pods out of a snapshot that no simulation can read, and notes them: API servers take what Karpenter
// and this program do not, such as Gt with a number of twenty digits, and one of them is no reason to say nothing of the
// others.
func (s *Snapshot) leaveOut() {
	if s.Shapes == nil {
		return
	}
	for _, list := range []*[]workload.Shape{&s.Shapes.Pods, &s.Shapes.DaemonSets} {
		kept := (*list)[:0]
		for _, shape := range *list {
			if err := simulate.CheckPod(shape.Spec); err != nil {
				s.Shapes.Notes = append(s.Shapes.Notes, fmt.Sprintf("Left out: %s of %q in the namespace %q: %v.",
					simulate.Count(shape.Count, "pod"), shape.Owner, shape.Namespace, err))
				continue
			}
			kept = append(kept, shape)
		}
		*list = kept
	}
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

type viewed struct{ View }

// List implements clusters.Lister.
func (v viewed) List(ctx context.Context, apiVersion, kind string) ([]map[string]any, error) {
	return v.Objects(ctx, schemas.Object{APIVersion: apiVersion, Kind: kind})
}
