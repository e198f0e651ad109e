package gitops

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/isolate"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// world is a cluster, the NodePlans in it and their repository, in memory. Objects are
// applied as the API server does it, and sources are compiled by the compiler, in this
// process.
type world struct {
	t       *testing.T
	worker  *Worker
	objects map[manifest.Key]map[string]any
	plans   map[client.ObjectKey]*lkeplanv1alpha1.NodePlan
	records map[client.ObjectKey]kept
	commits []map[string]string // of the repository: files by name
	seen    map[string]int      // the commit that a NodePlan sees, by name; else the last one
	known   map[string]compile.Answer
	claims  []karpv1.NodeClaim
	nodes   []corev1.Node
	events  []corev1.Event
	stops   []lkeplanv1alpha1.DisruptionStop
	noStops error // they cannot be listed
	serial  int
	deleted []string // the names of the pools that were deleted

	fetched, compiled, written int // what was done, in numbers

	writes, ends int                             // to the API server; the one that ends the controller
	recorded     *lkeplanv1alpha1.NodePlanStatus // the last status that was written during a reconciliation

	admit func(obj map[string]any) // what a policy of admission changes; nil: nothing

	mu sync.Mutex // of the objects and writes: an apply makes several calls at a time
}

type kept struct {
	packed []byte
	record appliedRecord
}

func newWorld(t *testing.T) *world {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, objects: map[manifest.Key]map[string]any{}, plans: map[client.ObjectKey]*lkeplanv1alpha1.NodePlan{},
		records: map[client.ObjectKey]kept{}, seen: map[string]int{}, known: map[string]compile.Answer{},
	}
	w.worker = &Worker{
		Sources: w, Compiler: w, Records: w, Cache: plansOf{w: w}, Reader: plansOf{w: w}, Cluster: "dev", Prices: func() *catalog.Catalog { return prices },
		Now:     time.Now,
		Vars:    func(context.Context, *lkeplanv1alpha1.NodePlan) (Variables, error) { return Variables{}, nil },
		Connect: func(*lkeplanv1alpha1.NodePlan) (Cluster, error) { return w, nil },
	}
	return w
}

// plan adds a NodePlan that reads a directory of the repository, called as it is.
func (w *world) plan(namespace, name, source string) *lkeplanv1alpha1.NodePlan {
	np := nodePlan(namespace, name)
	np.UID = types.UID("uid of " + name)
	np.Spec.Path = name
	np.Spec.SourceRef = &lkeplanv1alpha1.SourceReference{Kind: "OCIRepository", Namespace: "flux-system", Name: source}
	w.plans[client.ObjectKeyFromObject(np)] = np
	return np
}

// commit adds a commit, which has a file for each directory.
func (w *world) commit(dirs map[string]string) {
	files := map[string]string{}
	for dir, text := range dirs {
		files[dir+"/main.lke.hcl"] = text
	}
	w.commits = append(w.commits, files)
}

// pools is a directory with pools, whose node class is called as it is.
func pools(class string, names ...string) string {
	text := "cluster {\n  name   = \"dev\"\n  region = \"us-ord\"\n}\n\nguards {\n  max_deleted_pools = 100\n" +
		"  allow_empty       = true\n}\n\nnode_class \"" + class + "\" {}\n"
	for _, name := range names {
		text += fmt.Sprintf("\npool %q {\n  node_class   = node_class.%s\n  requirements = { cpu = 4 }\n}\n", name, class)
	}
	return text
}

// reconcile has a NodePlan reconciled, and returns how that ended.
func (w *world) reconcile(np *lkeplanv1alpha1.NodePlan) outcome {
	w.t.Helper()
	o := w.worker.Work(w.t.Context(), np, w.record(np))
	setConditions(np, o)
	addHistory(np, o, w.worker.Now())
	return o
}

// record writes the status of a NodePlan as it is into the API server.
func (w *world) record(np *lkeplanv1alpha1.NodePlan) Recorder {
	return func(context.Context) error {
		if err := w.write(); err != nil {
			return err
		}
		w.recorded = np.Status.DeepCopy()
		return nil
	}
}

var errEnded = errors.New("the controller has ended")

// write counts a write to the API server; from the one on that ends the controller all fail.
func (w *world) write() error {
	if w.writes++; w.ends > 0 && w.writes >= w.ends {
		return errEnded
	}
	return nil
}

// ending reconciles a NodePlan with a controller that ends before the n-th of its writes,
// of which the status after the reconciliation is one. It reports whether it has ended.
func (w *world) ending(np *lkeplanv1alpha1.NodePlan, n int) bool {
	w.recorded, w.writes, w.ends = np.Status.DeepCopy(), 0, n
	w.reconcile(np)
	ended := w.write() != nil
	if w.ends = 0; ended {
		w.recorded.DeepCopyInto(&np.Status)
	}
	return ended
}

// Find implements Sources.
func (w *world) Find(_ context.Context, np *lkeplanv1alpha1.NodePlan) (sourceArtifact, error) {
	n, ok := w.seen[np.Name]
	if !ok {
		n = len(w.commits) - 1
	}
	return sourceArtifact{
		Revision: fmt.Sprintf("main@sha1:%d", n),
		Fetch: func(_ context.Context, dir string) error {
			w.fetched++
			return write(dir, w.commits[n])
		},
	}, nil
}

// Compile implements Compiler.
func (w *world) Compile(ctx context.Context, req compile.Request) (compile.Answer, error) {
	w.compiled++
	text, err := os.ReadFile(filepath.Join(req.Root, req.Dir, "main.lke.hcl"))
	at := fmt.Sprint(req.Version, req.Dir, req.Vars, string(text))
	if known, ok := w.known[at]; ok && err == nil {
		return known, nil
	}
	result, diags := compile.Dir(ctx, os.DirFS(req.Root), compile.Options{Options: config.Options{
		Dir: req.Dir, Version: req.Version,
		Vars: slices.DeleteFunc(slices.Clone(req.Vars), func(v config.Var) bool {
			return !strings.Contains(string(text), fmt.Sprintf("variable %q", v.Name))
		}),
	}})
	answer := compile.Answer{Result: result, Failed: diags.HasErrors(), Diagnostics: diag.New(diags, result.Files)}
	for name := range result.Files {
		if !strings.HasPrefix(name, "-") { // a variable of the command line
			answer.Read = append(answer.Read, name)
		}
	}
	if err == nil {
		w.known[at] = answer
	}
	return answer, nil
}

// Load implements Records.
func (w *world) Load(_ context.Context, np *lkeplanv1alpha1.NodePlan, dir string) (appliedRecord, error) {
	last, ok := w.records[client.ObjectKeyFromObject(np)]
	if !ok {
		return appliedRecord{}, nil
	}
	return last.record, isolate.Unpack(strings.NewReader(string(last.packed)), dir)
}

// Store implements Records.
func (w *world) Store(
	_ context.Context, np *lkeplanv1alpha1.NodePlan, files isolate.Pick, vars []config.Var,
) (string, error) {
	if err := w.write(); err != nil {
		return "", err
	}
	packed, err := files.Pack()
	digest, digestErr := files.Digest(sourcePath(np.Spec.Path))
	r := appliedRecord{Path: sourcePath(np.Spec.Path), Digest: digest}
	for _, v := range vars {
		r.Variables = append(r.Variables, lkeplanv1alpha1.RecordedVariable{Name: v.Name, Value: v.Value})
	}
	w.records[client.ObjectKeyFromObject(np)] = kept{packed, r}
	return digest, errors.Join(err, digestErr)
}

// Get implements Cluster.
func (w *world) Get(_ context.Context, like map[string]any) (map[string]any, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.objects[manifest.KeyOf(like)], nil
}

// ListLabelled implements Cluster.
func (w *world) ListLabelled(_ context.Context, _, kind, label, value string) (found []map[string]any, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range slices.SortedFunc(maps.Keys(w.objects),
		func(a, b manifest.Key) int { return strings.Compare(a.Name, b.Name) }) {
		if obj := w.objects[key]; key.Kind == kind && manifest.Label(obj, label) == value {
			found = append(found, obj)
		}
	}
	return found, nil
}

// Apply implements Cluster.
func (w *world) Apply(_ context.Context, desired, _ map[string]any) (kube.Outcome, error) {
	return w.apply(desired, false)
}

// DryRun implements Cluster.
func (w *world) DryRun(_ context.Context, desired map[string]any) (map[string]any, []manifest.Conflict, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stored(desired)
}

// stored is what an apply stores.
func (w *world) stored(desired map[string]any) (map[string]any, []manifest.Conflict, error) {
	after, conflicts, err := kube.BuiltinValidator().Predict(w.objects[manifest.KeyOf(desired)], desired)
	if err == nil && w.admit != nil {
		w.admit(after)
	}
	return after, conflicts, err
}

// ApplyForced implements Cluster.
func (w *world) ApplyForced(_ context.Context, desired, _ map[string]any) (kube.Outcome, error) {
	return w.apply(desired, true)
}

func (w *world) apply(desired map[string]any, force bool) (kube.Outcome, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.write(); err != nil {
		return "", err
	}
	w.written++
	before := w.objects[manifest.KeyOf(desired)]
	after, conflicts, err := w.stored(desired)
	if err != nil || len(conflicts) > 0 && !force {
		return "", errors.Join(err, fmt.Errorf("conflicts: %v", conflicts))
	}
	w.store(after)
	if before == nil {
		return kube.Created, nil
	}
	return kube.Changed, nil
}

// put stores an object that another client has created or changed.
func (w *world) put(obj map[string]any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.store(obj)
}

func (w *world) store(obj map[string]any) {
	if manifest.UID(obj) == "" {
		w.serial++
		manifest.Ensure(obj, "metadata")["uid"] = fmt.Sprintf("uid-%d", w.serial)
	}
	w.objects[manifest.KeyOf(obj)] = obj
}

// Delete implements Cluster.
func (w *world) Delete(_ context.Context, obj map[string]any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.write(); err != nil {
		return err
	}
	key := manifest.KeyOf(obj)
	live, ok := w.objects[key]
	if ok && manifest.UID(live) != manifest.UID(obj) {
		return fmt.Errorf("delete %s: it is another object", key)
	}
	if delete(w.objects, key); key.Kind == "NodePool" {
		w.deleted = append(w.deleted, key.Name)
	}
	return nil
}

// Orphan implements Cluster.
func (w *world) Orphan(_ context.Context, obj map[string]any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.write(); err != nil {
		return err
	}
	if live, ok := w.objects[manifest.KeyOf(obj)]; ok {
		live = runtime.DeepCopyJSON(live)
		delete(manifest.Map(live, "metadata", "labels"), kube.InventoryLabel)
		w.objects[manifest.KeyOf(obj)] = live
	}
	return nil
}

// holder is the NodePlan that a pool is labelled with, and its UID.
func (w *world) holder(pool string) (label, uid string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	live := w.objects[manifest.Key{Kind: "NodePool", Name: pool}]
	return manifest.Label(live, kube.InventoryLabel), manifest.UID(live)
}

// plansOf reads the NodePlans, nodes and events of a world, which has no pods.
type plansOf struct {
	client.Reader
	w *world
}

// Get implements client.Reader.
func (p plansOf) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	np, known := p.w.plans[key]
	into, wanted := obj.(*lkeplanv1alpha1.NodePlan)
	if !known || !wanted {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	np.DeepCopyInto(into)
	return nil
}

// List implements client.Reader.
func (p plansOf) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch all := list.(type) {
	case *lkeplanv1alpha1.NodePlanList:
		for _, np := range p.w.plans {
			all.Items = append(all.Items, *np.DeepCopy())
		}
	case *karpv1.NodeClaimList:
		all.Items = slices.Clone(p.w.claims)
	case *corev1.NodeList:
		all.Items = slices.Clone(p.w.nodes)
	case *corev1.EventList:
		all.Items = slices.Clone(p.w.events)
	case *lkeplanv1alpha1.DisruptionStopList:
		all.Items = slices.Clone(p.w.stops)
		return p.w.noStops
	}
	return nil
}
