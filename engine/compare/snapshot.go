package compare

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	autoscalingv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/config/diag"
	clusters "github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/files"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/engine/simulate/workload"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// A Snapshot is the state of a cluster that a comparison reads, for pull requests that must not access the cluster.
// It has no Secrets. Of pods it has only how many of them and of PodDisruptionBudgets hold a node, and their shapes:
// what determines where they are scheduled, with hashes instead of names, and on which nodes they run.
type Snapshot struct {
	FormatVersion string    `json:"format_version"`
	Taken         time.Time `json:"taken"`
	// Cluster is the id and the label of the LKE cluster, and Region its region, if the controller has written them
	// on its LinodeNodeClasses.
	Cluster string           `json:"cluster,omitempty"`
	Region  string           `json:"region,omitempty"`
	Objects []map[string]any `json:"objects"`
	Nodes   []plan.Node      `json:"nodes"`
	Notes   []string         `json:"notes"` // what could not be read
	// Unlisted are the kinds of objects that could not be listed.
	Unlisted []string `json:"unlisted,omitempty"`
	// Shapes are those of the pods; nil if they could not be listed.
	Shapes *workload.Shapes `json:"shapes,omitempty"`
}

// snapshotVersion is the version of the format. Another version is refused.
const snapshotVersion = "2"

// maxSnapshot is the largest file that is read, in bytes, enough for about ten thousand nodes.
const maxSnapshot = 64 << 20

// TakeSnapshot reads a cluster. With namespaces, the names of the namespaces of pods are in clear text.
func TakeSnapshot(ctx context.Context, cluster View, now time.Time, namespaces bool) (Snapshot, error) {
	s := Snapshot{FormatVersion: snapshotVersion, Taken: now.UTC().Truncate(time.Second), Objects: []map[string]any{},
		Notes: []string{}}
	for _, kind := range Kinds() {
		objects, err := cluster.Objects(ctx, kind)
		if apierrors.IsForbidden(err) {
			s.Unlisted = append(s.Unlisted, kind.Kind)
			s.Notes = append(s.Notes,
				fmt.Sprintf("Objects of kind %s are not in the snapshot: the user who took it may not list %s.", kind.Kind,
					clusters.Refused(err)))
			continue
		}
		if err != nil {
			return s, err
		}
		for _, obj := range objects {
			s.Objects = append(s.Objects, redactObject(obj, s.salt()))
		}
	}
	nodes, err := cluster.Nodes(ctx)
	if err != nil {
		return s, err
	}
	held, notes, err := cluster.Holds(ctx, nodes, nil, now)
	if err != nil {
		return s, err
	}
	s.Nodes = append([]plan.Node{}, redactNodes(held, s.chosen(), s.salt())...) // written as a list, even if it is empty
	s.Notes = slices.Concat(s.Notes, cluster.Notes(), notes)
	s.place()
	found, err := Shapes(ctx, cluster)
	if apierrors.IsForbidden(err) {
		return s, nil // the notes report that pods are unknown
	}
	if err == nil {
		hashed := found.Hashed(s.salt())
		if s.Shapes = &hashed; namespaces {
			hashed.Namespaces = found.NamespaceNames()
		}
	}
	return s, err
}

// place sets the identity of the cluster.
func (s *Snapshot) place() {
	for _, obj := range s.Objects {
		annotations := annotationsOf(obj)
		s.Cluster = cmp.Or(s.Cluster, annotations[linodev1alpha1.AnnotationCluster])
		s.Region = cmp.Or(s.Region, annotations[linodev1alpha1.AnnotationRegion])
	}
}

// Write writes the snapshot. Equal snapshots give equal bytes.
func (s Snapshot) Write(w io.Writer) error {
	return diag.IndentedJSON(w, s, " ")
}

// ReadSavedSnapshot reads a snapshot from a file. A snapshot from the future, beyond a small difference of clocks, is an
// error, because its age is unknown.
func ReadSavedSnapshot(name string, now time.Time) (Snapshot, error) {
	return files.Read("snapshot", name, func(r io.Reader) (Snapshot, error) {
		s, err := ReadSnapshot(r)
		if err == nil && s.Taken.After(now.Add(time.Hour)) {
			err = fmt.Errorf("it was taken on %s, but now it is %s: correct the clock, or take it again",
				s.Taken.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
		}
		return s, err
	})
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
		return s, fmt.Errorf("it is a Kubernetes %s, not a snapshot; create one with: lkeplan snapshot", list.Kind)
	}
	if err := utiljson.Unmarshal(raw, &s); err != nil {
		return s, fmt.Errorf("it is not a snapshot; create one with: lkeplan snapshot (%w)", err)
	}
	if s.FormatVersion != snapshotVersion {
		return s, fmt.Errorf("it has the format version %q, and this lkeplan reads %s; create it again with: lkeplan snapshot",
			s.FormatVersion, snapshotVersion)
	}
	for _, part := range []struct {
		name    string
		missing bool // a missing list is not an empty one
	}{{"objects", s.Objects == nil}, {"nodes", s.Nodes == nil}, {"taken", s.Taken.IsZero()}} {
		if part.missing {
			return s, fmt.Errorf("it has no %q, so the content of the cluster is unknown; create it again with: lkeplan snapshot",
				part.name)
		}
	}
	s.leaveOut()
	return s, nil
}

// readAll reads a JSON file of at most maxSnapshot bytes.
func readAll(r io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxSnapshot+1))
	if err == nil && len(raw) > maxSnapshot {
		err = fmt.Errorf("larger than %d MiB", maxSnapshot>>20)
	}
	if err == nil {
		raw, err = schemas.UTF8(raw)
	}
	if err == nil {
		err = manifest.UniqueKeys(raw)
	}
	return raw, err
}

// View returns the cluster as it was when the snapshot was taken.
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

// Holds implements View. The nodes of a snapshot have their holds.
func (t taken) Holds(_ context.Context, nodes []plan.Node, _ []plan.Change, _ time.Time) ([]plan.Node, []string, error) {
	return nodes, nil, nil
}

// Notes implements View: what could not be read when the snapshot was taken.
func (t taken) Notes() []string { return t.Snapshot.Notes }

// salt makes the hashes of each snapshot different.
func (s Snapshot) salt() string { return s.Taken.UTC().Format(time.RFC3339) }

// SimulationOf returns the input of a simulation, without pods, of a compiled directory.
func SimulationOf(compiled compile.Result, prices *catalog.Catalog) (simulate.Input, error) {
	in := simulate.Input{
		Region: compiled.Cluster.Region, Tier: catalog.Tier(compiled.Cluster.Tier).WithGPUs(compiled.Cluster.GPUPlans), Catalog: prices,
	}
	for _, o := range compiled.Objects {
		typed, err := clusters.Decode(o.Defaulted)
		if err != nil {
			return in, err
		}
		in.Objects = append(in.Objects, typed)
	}
	return in, nil
}

// wordsOf returns the words in the pools of a simulation.
func wordsOf(in simulate.Input) []string {
	return workload.KnownWords(in.Objects, instancetype.New(in.Catalog, in.Region, in.Tier).List())
}

// PodsFor returns the pods, with the words of the pools of a simulation in clear text.
func (s Snapshot) PodsFor(in simulate.Input) (workload.Found, error) {
	set, err := s.PodShapes(wordsOf(in))
	return workload.FromShapes(set), err
}

// PodShapes returns the shapes of the pods, with the given words in clear text.
func (s Snapshot) PodShapes(words []string) (workload.Shapes, error) {
	if s.Shapes == nil {
		return workload.Shapes{}, errors.New("it has no pods: the user who took it may not list pods; " +
			"create it again with: lkeplan snapshot")
	}
	if s.Shapes.Pods == nil {
		return workload.Shapes{}, errors.New("its list of pods is missing; create it again with: lkeplan snapshot")
	}
	for _, shape := range slices.Concat(s.Shapes.Pods, s.Shapes.DaemonSets, s.Shapes.Templates) {
		if shape.Count < 0 {
			return workload.Shapes{}, fmt.Errorf("it has %d pods of %q, which is not a valid number", shape.Count, shape.Owner)
		}
	}
	return s.Shapes.Readable(s.salt(), words), nil
}

// leaveOut removes pods that no simulation can read from a snapshot, with a note: API servers accept values that
// Karpenter and this program reject, such as Gt with a number of twenty digits. The other pods are still simulated.
func (s *Snapshot) leaveOut() {
	if s.Shapes == nil {
		return
	}
	for _, list := range []*[]workload.Shape{&s.Shapes.Pods, &s.Shapes.DaemonSets, &s.Shapes.Fixed, &s.Shapes.Templates} {
		kept := (*list)[:0]
		for _, shape := range *list {
			if err := simulate.CheckPod(shape.Spec); err != nil {
				s.Shapes.Notes = append(s.Shapes.Notes, fmt.Sprintf("Skipped %s of %q in the namespace %q: %v.",
					text.Count(shape.Count, "pod"), shape.Owner, shape.Namespace, err))
				continue
			}
			kept = append(kept, shape)
		}
		*list = kept
	}
}

// Shapes lists the pods of a cluster, with what determines where they are scheduled, and the nodes that they run on.
// It also has the objects to which the buffers of the cluster and some others refer.
func Shapes(ctx context.Context, cluster View, buffers ...client.Object) (workload.Shapes, error) {
	from, existing := clusters.Reader(viewed{cluster}), &autoscalingv1beta1.CapacityBufferList{}
	refused := from.List(ctx, existing)
	var templates []simulate.Template
	if refused == nil {
		templates, refused = templatesOf(ctx, from, append(clusters.Items(existing), buffers...))
	}
	if refused != nil && !apierrors.IsForbidden(refused) {
		return workload.Shapes{}, refused
	}
	_, found, err := readShapes(ctx, from, templates)
	if refused != nil {
		found.Notes = append(found.Notes, fmt.Sprintf("The pods of buffers are unknown: the user who read the cluster may not list %s.",
			clusters.Refused(refused)))
	}
	return found, err
}

func readShapes(ctx context.Context, from client.Reader, templates []simulate.Template) (clusters.Snapshot, workload.Shapes, error) {
	pods := &corev1.PodList{}
	if err := from.List(ctx, pods); err != nil {
		return clusters.Snapshot{}, workload.Shapes{}, err
	}
	read, err := clusters.Load(ctx, from, &corev1.PersistentVolumeClaimList{}, &corev1.PersistentVolumeList{}, &storagev1.StorageClassList{},
		&appsv1.DaemonSetList{}, &corev1.NamespaceList{}, &policyv1.PodDisruptionBudgetList{}, &corev1.NodeList{}, &karpv1.NodeClaimList{})
	if err != nil {
		return read, workload.Shapes{}, err
	}
	for i := range pods.Items {
		read.Pods = append(read.Pods, &pods.Items[i])
	}
	volumes := []string{clusters.KindVolumeClaims, clusters.KindVolumes, clusters.KindStorageClasses}
	var index *simulate.VolumeIndex
	if read.Unread(volumes...) == "" {
		index = simulate.NewVolumeIndex(read.Volumes.Claims, read.Volumes.All, read.Volumes.Classes)
	}
	found := workload.ShapesOf(read, index, templates...)
	if index == nil {
		found.Notes = append(found.Notes, "Volumes are ignored: the user who read the cluster may not list "+
			"PersistentVolumeClaims, PersistentVolumes and StorageClasses.")
	}
	for _, kind := range []string{clusters.KindDaemonSets, clusters.KindBudgets, clusters.KindNodes, clusters.KindClaims} {
		if read.Unread(kind) != "" {
			found.Notes = append(found.Notes, kind+" are unknown: the user who read the cluster may not list "+
				read.Refused[kind]+".")
		}
	}
	if read.Unread(clusters.KindDaemonSets, clusters.KindBudgets, clusters.KindNodes, clusters.KindClaims) != "" {
		found.Machines = nil // without one of them, it is unknown which nodes can go
	}
	return read, found, nil
}

type viewed struct{ View }

// List implements clusters.Lister.
func (v viewed) List(ctx context.Context, apiVersion, kind string) ([]map[string]any, error) {
	return v.Objects(ctx, schemas.Object{APIVersion: apiVersion, Kind: kind})
}
