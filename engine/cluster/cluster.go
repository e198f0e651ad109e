// Package cluster reads a snapshot of a cluster: the objects that were read at one moment, and the kinds that could
// not be listed. Load and Read read lists, and Cached reads a cache. An empty list of a kind that could not be
// listed means that nothing is known, not that no objects exist.
//
// It changes nothing, and sends only get and list requests.
package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	autoscalingv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	karpv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Snapshot is what was read of a cluster. Readers must not change the objects.
type Snapshot struct {
	Nodes      []*corev1.Node
	Pods       []*corev1.Pod
	Claims     []*karpv1.NodeClaim
	Pools      []*karpv1.NodePool
	Classes    []*linodev1alpha1.LinodeNodeClass
	Limits     []*lkeplanv1alpha1.CapacityLimit
	Plans      []*lkeplanv1alpha1.NodePlan
	Stops      []*lkeplanv1alpha1.DisruptionStop
	Budgets    []*policyv1.PodDisruptionBudget
	Events     []*corev1.Event // at least warnings, and the events with which Karpenter nominates nodes for pods
	Daemons    []*appsv1.DaemonSet
	Namespaces []*corev1.Namespace
	Volumes    Volumes
	Notes      []string // what could not be read, one sentence each

	// Unlisted are the kinds, in the plural, that could not be listed. Their lists are empty, which does not mean
	// that the cluster has no such objects.
	Unlisted []string
	// Refused has, by kind, the resources that the user may not list, such as nodepools.karpenter.sh. Load sets it.
	Refused map[string]string
}

// Volumes are the objects that decide where the volumes of pods can be used.
type Volumes struct {
	Claims  []*corev1.PersistentVolumeClaim
	All     []*corev1.PersistentVolume
	Classes []*storagev1.StorageClass
}

// Of sorts objects by kind and ignores other kinds. notes say what could not be read.
func Of(objects []client.Object, notes []string) Snapshot {
	s := Snapshot{Notes: notes}
	for _, obj := range objects {
		switch obj := obj.(type) {
		case *corev1.Node:
			s.Nodes = append(s.Nodes, obj)
		case *corev1.Pod:
			s.Pods = append(s.Pods, obj)
		case *karpv1.NodeClaim:
			s.Claims = append(s.Claims, obj)
		case *karpv1.NodePool:
			s.Pools = append(s.Pools, obj)
		case *linodev1alpha1.LinodeNodeClass:
			s.Classes = append(s.Classes, obj)
		case *lkeplanv1alpha1.CapacityLimit:
			s.Limits = append(s.Limits, obj)
		case *lkeplanv1alpha1.NodePlan:
			s.Plans = append(s.Plans, obj)
		case *lkeplanv1alpha1.DisruptionStop:
			s.Stops = append(s.Stops, obj)
		case *policyv1.PodDisruptionBudget:
			s.Budgets = append(s.Budgets, obj)
		case *appsv1.DaemonSet:
			s.Daemons = append(s.Daemons, obj)
		case *corev1.Namespace:
			s.Namespaces = append(s.Namespaces, obj)
		case *corev1.Event:
			s.Events = append(s.Events, obj)
		case *corev1.PersistentVolumeClaim:
			s.Volumes.Claims = append(s.Volumes.Claims, obj)
		case *corev1.PersistentVolume:
			s.Volumes.All = append(s.Volumes.All, obj)
		case *storagev1.StorageClass:
			s.Volumes.Classes = append(s.Volumes.Classes, obj)
		}
	}
	return s
}

// The kinds that callers check with Unread, as Snapshot.Unlisted names them.
const (
	KindNodes   = "Nodes"
	KindClaims  = "NodeClaims"
	KindPods    = "Pods"
	KindBudgets = "PodDisruptionBudgets"
	KindEvents  = "Events"
	KindClasses = "LinodeNodeClasses"
	KindLimits  = "CapacityLimits"
	KindPlans   = "NodePlans"
	KindStops   = "DisruptionStops"

	KindPools          = "NodePools"
	KindDaemonSets     = "DaemonSets"
	KindNamespaces     = "Namespaces"
	KindVolumeClaims   = "PersistentVolumeClaims"
	KindVolumes        = "PersistentVolumes"
	KindStorageClasses = "StorageClasses"
)

// Unread returns a sentence if the objects of some kinds, named in the plural, could not be listed; else "".
func (s Snapshot) Unread(kinds ...string) string {
	unread := slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return !slices.Contains(s.Unlisted, kind) })
	if len(unread) == 0 {
		return ""
	}
	return strings.Join(unread, " and ") + " cannot be listed"
}

// Most returns the value that more than half of the values have, ignoring ""; "" if there is no such majority. A
// kubelet can write the region of its Node, so a single Node must not decide for the cluster.
func Most(voices []string) string {
	said, n := map[string]int{}, 0
	for _, voice := range voices {
		if voice != "" {
			said[voice]++
			n++
		}
	}
	for voice, times := range said {
		if 2*times > n {
			return voice
		}
	}
	return ""
}

// Region returns the region and the tier of a cluster. The region is the one that the controller has written on its
// classes, or else that of most nodes, or of most NodeClaims. The tier follows from the versions in the classes:
// only Enterprise has versions like v1.33.4+lke2, and classes of instance mode set it. A class can name a version
// that the cluster does not have, so one class with a version of the standard tier decides. The results are "" if
// they are unknown.
func (s Snapshot) Region() (region string, tier catalog.Tier) {
	var nodes, claims, classes []string
	for _, n := range s.Nodes {
		nodes = append(nodes, n.Labels[corev1.LabelTopologyRegion])
	}
	for _, nc := range s.Claims {
		claims = append(claims, nc.Labels[corev1.LabelTopologyRegion])
	}
	for _, class := range s.Classes {
		classes = append(classes, class.Annotations[linodev1alpha1.AnnotationRegion])
	}
	region = cmp.Or(Most(classes), Most(nodes), Most(claims))
	tier, gpus := catalog.Standard, false
	for _, class := range s.Classes {
		switch version := class.Status.KubernetesVersion; {
		case class.Annotations[linodev1alpha1.AnnotationMode] == linodev1alpha1.ModeInstance:
			return region, catalog.Instances
		case version == "":
		case !strings.Contains(version, "+lke"):
			return region, catalog.Standard
		default:
			tier = catalog.Enterprise
		}
		gpus = gpus || class.Annotations[schemas.AnnotationGPUPlans] == "true"
	}
	return region, tier.WithGPUs(gpus)
}

// Sorted returns the snapshot with its lists sorted by name, so that the same cluster gives the same text.
func (s Snapshot) Sorted() Snapshot {
	s.Nodes, s.Pods, s.Claims, s.Pools = byName(s.Nodes), byName(s.Pods), byName(s.Claims), byName(s.Pools)
	s.Classes, s.Limits, s.Plans = byName(s.Classes), byName(s.Limits), byName(s.Plans)
	s.Budgets, s.Events, s.Daemons = byName(s.Budgets), byName(s.Events), byName(s.Daemons)
	return s
}

func byName[T metav1.Object](list []T) []T {
	return slices.SortedFunc(slices.Values(list), func(a, b T) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
}

// Lister lists objects of a cluster, in all namespaces; kube.Cluster implements it.
type Lister interface {
	List(ctx context.Context, apiVersion, kind string) ([]map[string]any, error)
}

// List lists the objects of a kind, and decodes them into their Go type.
func List[T any](ctx context.Context, from Lister, apiVersion, kind string) ([]*T, error) {
	objects, err := from.List(ctx, apiVersion, kind)
	if err != nil {
		return nil, err
	}
	typed := make([]*T, len(objects))
	for i, obj := range objects {
		if typed[i], err = manifest.As[T](obj); err != nil {
			return nil, err
		}
	}
	return typed, nil
}

// Reader returns a reader that decodes what a Lister lists. It lists all objects of a kind, and gets none.
func Reader(from Lister) client.Reader {
	instancetype.Register()
	return decoder{from: from}
}

type decoder struct {
	client.Reader // nil
	from          Lister
}

// List implements client.Reader.
func (d decoder) List(ctx context.Context, into client.ObjectList, _ ...client.ListOption) error {
	gvk, err := apiutil.GVKForObject(into, scheme.Scheme)
	if err != nil {
		return err
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	objects, err := d.from.List(ctx, gvk.GroupVersion().String(), gvk.Kind)
	if err != nil {
		return err
	}
	items := make([]runtime.Object, len(objects))
	for i, obj := range objects {
		if items[i], err = scheme.Scheme.New(gvk); err != nil {
			return err
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj, items[i]); err != nil {
			return fmt.Errorf("read %s: %w", manifest.KeyOf(obj), err)
		}
	}
	return meta.SetList(into, items)
}

// Decode returns an object, as the API server stores it, in the Go type of its kind if it is one of those that determine
// capacity. Of other objects it returns only the metadata.
func Decode(obj map[string]any) (client.Object, error) {
	switch manifest.Kind(obj) {
	case "NodePool":
		return manifest.As[karpv1.NodePool](obj)
	case "LinodeNodeClass":
		return manifest.As[linodev1alpha1.LinodeNodeClass](obj)
	case "CapacityLimit":
		return manifest.As[lkeplanv1alpha1.CapacityLimit](obj)
	case "NodeOverlay":
		return manifest.As[karpv1alpha1.NodeOverlay](obj)
	case "CapacityBuffer":
		return manifest.As[autoscalingv1beta1.CapacityBuffer](obj)
	}
	return manifest.As[metav1.PartialObjectMetadata](obj)
}

// Load lists kinds. If the user may not list a kind, this is noted and is not an error.
func Load(ctx context.Context, from client.Reader, lists ...client.ObjectList) (Snapshot, error) {
	var objects []client.Object
	unlisted, refused := []string(nil), map[string]string{}
	for _, list := range lists {
		err := from.List(ctx, list)
		switch {
		case apierrors.IsForbidden(err):
			kind := plural(list)
			unlisted, refused[kind] = append(unlisted, kind), Refused(err)
		case err != nil:
			return Snapshot{}, err
		}
		objects = append(objects, Items(list)...)
	}
	s := Of(objects, nil)
	s.Unlisted, s.Refused = unlisted, refused
	return s, nil
}

// plural returns the name of the kind of a list in the plural, such as StorageClasses.
func plural(list client.ObjectList) string {
	kind := strings.TrimSuffix(reflect.TypeOf(list).Elem().Name(), "List")
	if strings.HasSuffix(kind, "s") {
		return kind + "es"
	}
	return kind + "s"
}

// Items returns the objects of a list, which they share.
func Items(list client.ObjectList) (objects []client.Object) {
	_ = meta.EachListItem(list, func(item runtime.Object) error { // it never returns an error
		objects = append(objects, item.(client.Object))
		return nil
	})
	return objects
}

// Refused returns the resource that an error says the user may not list, such as nodepools.karpenter.sh.
func Refused(err error) string {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || answer.Status().Details == nil {
		return "some objects"
	}
	details := answer.Status().Details
	return strings.TrimSuffix(details.Kind+"."+details.Group, ".")
}

// Cached reads lists from a cache and shares its objects.
func Cached(ctx context.Context, cache client.Reader, lists ...client.ObjectList) (Snapshot, error) {
	var objects []client.Object
	for _, list := range lists {
		if err := (Shared{cache}).List(ctx, list); err != nil {
			return Snapshot{}, err
		}
		objects = append(objects, Items(list)...)
	}
	return Of(objects, nil), nil
}

// Shared is a cache that lists its objects and no copies of them. Readers must not change them.
type Shared struct{ client.Reader }

// List implements client.Reader.
func (s Shared) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return s.Reader.List(ctx, list, append(opts, client.UnsafeDisableDeepCopy)...)
}

// PodsToMove returns the pods that leave a node when it is drained. Pods of DaemonSets and static pods stay, and
// pods that have ended do not count. For the node "" there are none.
func PodsToMove(pods []*corev1.Pod, node string) (on []*corev1.Pod) {
	for _, pod := range pods {
		_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
		if node != "" && pod.Spec.NodeName == node && !mirror && !podutils.IsTerminal(pod) &&
			!podutils.IsOwnedByDaemonSet(pod) && !podutils.IsOwnedByNode(pod) {
			on = append(on, pod)
		}
	}
	return on
}
