package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Follower follows one cluster. It is safe for concurrent use.
type Follower struct {
	client client.WithWatch
	every  time.Duration // between lists, where there is no watch
	kinds  []*known

	mu      sync.Mutex
	changed bool
}

// Kind is one kind of objects, or some of them.
type Kind struct {
	Name   string // in the plural, and what is special about some
	Group  string // of the API; "" for that of Kubernetes itself
	Empty  client.ObjectList
	Opts   []client.ListOption
	Needed bool // without it there is nothing to show
}

// resource is what the right to list a kind is for, such as nodepools.karpenter.sh.
func (k Kind) resource() string {
	name, _, _ := strings.Cut(strings.ToLower(k.Name), " ")
	return strings.TrimSuffix(name+"."+k.Group, ".")
}

func (k Kind) list() client.ObjectList { return k.Empty.DeepCopyObject().(client.ObjectList) }

type known struct {
	Kind
	objects  map[types.UID]client.Object
	problem  string // why they cannot be read; "" where they can
	unlisted bool   // the cluster has the kind, and does not list it
}

// NewFollower returns a Follower that reads by a client, which knows the kinds and bounds its
// requests. If it may not watch, it lists at the given interval.
func NewFollower(c client.WithWatch, every time.Duration, kinds ...Kind) *Follower {
	linode.Register()
	f := &Follower{client: c, every: every}
	for _, k := range kinds {
		f.kinds = append(f.kinds, &known{Kind: k})
	}
	return f
}

// Read reads all kinds once. What cannot be read and is not needed is noted; the first error
// of another sort ends it.
func (f *Follower) Read(ctx context.Context) error {
	all, end := context.WithCancel(ctx)
	defer end()
	errs := make([]error, len(f.kinds))
	var wait sync.WaitGroup
	for i, k := range f.kinds {
		wait.Go(func() {
			_, err := f.read(all, k)
			if err != nil && (k.Needed || !explained(err)) && all.Err() == nil {
				errs[i] = fmt.Errorf("list the %s: %w", k.Name, err)
				end()
			}
		})
	}
	wait.Wait()
	return cmp.Or(append(errs, ctx.Err())...)
}

// explained reports whether an error is one that a note tells, and that asking again does
// not change.
func explained(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || meta.IsNoMatchError(err)
}

// Follow keeps what Read has read up to date until ctx ends.
func (f *Follower) Follow(ctx context.Context) {
	var wait sync.WaitGroup
	for _, k := range f.kinds {
		wait.Go(func() { f.follow(ctx, k) })
	}
	wait.Wait()
}

func (f *Follower) follow(ctx context.Context, k *known) {
	for ctx.Err() == nil {
		version, err := f.read(ctx, k)
		if err == nil {
			err = f.watch(ctx, k, version)
		}
		if errors.Is(err, errAgain) {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(f.every):
		}
	}
}

// read lists a kind, from the API server's cache, and returns the version that it has.
func (f *Follower) read(ctx context.Context, k *known) (version string, err error) {
	list := k.list()
	opts := append(slices.Clone(k.Opts), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}})
	if err := f.client.List(ctx, list, opts...); err != nil {
		f.note(ctx, k, err)
		return "", err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return "", err
	}
	objects := make(map[types.UID]client.Object, len(items))
	for _, item := range items {
		if obj, ok := item.(client.Object); ok {
			objects[obj.GetUID()] = obj
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	k.objects, k.problem, k.unlisted, f.changed = objects, "", false, true
	return list.GetResourceVersion(), nil
}

// note tells why a kind cannot be read.
func (f *Follower) note(ctx context.Context, k *known, err error) {
	if ctx.Err() != nil {
		return
	}
	problem := fmt.Sprintf("%s are not updated: %v", k.Name, err)
	unlisted := apierrors.IsForbidden(err) || apierrors.IsNotFound(err) // where it knows no such kind, there are none
	switch {
	case apierrors.IsForbidden(err):
		problem = fmt.Sprintf("%s cannot be shown: the user may not list %s.", k.Name, k.resource())
	case apierrors.IsNotFound(err):
		problem = k.Name + " cannot be shown: the API server does not serve them."
	case meta.IsNoMatchError(err):
		problem = k.Name + " cannot be shown: the cluster does not have this kind."
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changed = f.changed || k.problem != problem
	k.problem, k.unlisted = problem, unlisted
}

// errAgain says that a watch has ended as watches do, and that it is time to list.
var errAgain = errors.New("the watch has ended")

// watch takes over changes until it ends. Where watching is forbidden, it does at once.
func (f *Follower) watch(ctx context.Context, k *known, version string) error {
	opts := append(slices.Clone(k.Opts), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}})
	began := time.Now()
	w, err := f.client.Watch(ctx, k.list(), opts...)
	if err != nil {
		return err
	}
	defer w.Stop()
	for f.next(ctx, k, w) {
	}
	if time.Since(began) < time.Second {
		return nil // no haste
	}
	return errAgain
}

// next takes over one change, and reports whether there may be more.
func (f *Follower) next(ctx context.Context, k *known, w watch.Interface) bool {
	select {
	case <-ctx.Done():
		return false
	case event := <-w.ResultChan():
		obj, ok := event.Object.(client.Object)
		if event.Type == watch.Error || !ok {
			return false
		}
		f.take(k, event.Type, obj)
		return true
	}
}

func (f *Follower) take(k *known, event watch.EventType, obj client.Object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changed = true
	if event == watch.Deleted {
		delete(k.objects, obj.GetUID())
		return
	}
	k.objects[obj.GetUID()] = obj
}

// Snapshot returns what is known, in no order, and whether it has changed since the last call. The objects are shared
// and must not be changed. Of kinds that the cluster has and gave no list of, Unlisted is known.
func (f *Follower) Snapshot() (s Snapshot, changed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var objects []client.Object
	var notes, unlisted []string
	for _, k := range f.kinds {
		if k.problem != "" {
			notes = append(notes, k.problem)
		}
		if k.unlisted {
			unlisted = append(unlisted, k.Name)
		}
		objects = slices.AppendSeq(objects, maps.Values(k.objects))
	}
	changed, f.changed = f.changed, false
	s = Of(objects, notes)
	s.Unlisted = unlisted
	return s, changed
}

// AllKinds are what why looks at: those of StatusKinds, and all events.
func AllKinds() []Kind {
	all := slices.DeleteFunc(StatusKinds(), func(k Kind) bool { return strings.HasPrefix(k.Name, "Events") })
	return append(all, Kind{Name: "Events", Empty: &corev1.EventList{}})
}

// StatusKinds are what status looks at. Of events, warnings count, and which node a pod is to have.
func StatusKinds() []Kind {
	warnings := fields.OneTermEqualSelector("type", corev1.EventTypeWarning)
	nominated := fields.OneTermEqualSelector("reason", "Nominated")
	return []Kind{
		{Name: "Nodes", Empty: &corev1.NodeList{}},
		{Name: "Pods", Empty: &corev1.PodList{}, Opts: some(notEnded)},
		{Name: "NodeClaims", Group: "karpenter.sh", Empty: &karpv1.NodeClaimList{}},
		{Name: "NodePools", Group: "karpenter.sh", Empty: &karpv1.NodePoolList{}, Needed: true},
		{Name: "LinodeNodeClasses", Group: linodev1alpha1.Group, Empty: &linodev1alpha1.LinodeNodeClassList{}},
		{Name: "CapacityLimits", Group: lkeplanv1alpha1.GroupVersion.Group, Empty: &lkeplanv1alpha1.CapacityLimitList{}},
		{Name: "NodePlans", Group: lkeplanv1alpha1.GroupVersion.Group, Empty: &lkeplanv1alpha1.NodePlanList{}},
		{Name: "PodDisruptionBudgets", Group: "policy", Empty: &policyv1.PodDisruptionBudgetList{}},
		{Name: "DaemonSets", Group: "apps", Empty: &appsv1.DaemonSetList{}},
		{Name: "PersistentVolumeClaims", Empty: &corev1.PersistentVolumeClaimList{}},
		{Name: "PersistentVolumes", Empty: &corev1.PersistentVolumeList{}},
		{Name: "StorageClasses", Group: "storage.k8s.io", Empty: &storagev1.StorageClassList{}},
		{Name: "Events", Empty: &corev1.EventList{}, Opts: some(warnings)},
		{Name: "Events of nominated pods", Empty: &corev1.EventList{}, Opts: some(nominated)},
	}
}

// TopKinds are what top looks at.
func TopKinds() []Kind {
	return []Kind{
		{Name: "Nodes", Empty: &corev1.NodeList{}, Needed: true},
		{Name: "Pods", Empty: &corev1.PodList{}, Opts: some(notEnded)},
		{Name: "NodeClaims", Group: "karpenter.sh", Empty: &karpv1.NodeClaimList{}},
		{Name: "NodePools", Group: "karpenter.sh", Empty: &karpv1.NodePoolList{}},
	}
}

// notEnded selects pods that have not ended.
var notEnded = fields.AndSelectors(fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)))

func some(selector fields.Selector) []client.ListOption {
	return []client.ListOption{client.MatchingFieldsSelector{Selector: selector}}
}
