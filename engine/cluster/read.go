package cluster

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/instancetype"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/task"
)

// Kind is a kind of objects, with options that select some of them.
type Kind struct {
	Name   string // in the plural
	Group  string // of the API; "" for the core group
	Empty  client.ObjectList
	Opts   []client.ListOption
	Needed bool // without it there is nothing to show, so that an error ends Read
}

// resource returns the resource of the kind for RBAC, such as nodepools.karpenter.sh.
func (k Kind) resource() string {
	return strings.TrimSuffix(strings.ToLower(k.Name)+"."+k.Group, ".")
}

// Read lists kinds at the same time with a client, which limits its requests. A kind that cannot be listed and is
// not Needed becomes a note; any other error ends Read.
func Read(ctx context.Context, c client.Reader, kinds ...Kind) (Snapshot, error) {
	instancetype.Register()
	all, end := context.WithCancel(ctx)
	defer end()
	notes, lists := make([]string, len(kinds)), make([][]client.Object, len(kinds))
	errs := task.Each(slog.Default(), len(kinds), kinds, func(i int, k Kind) (err error) {
		lists[i], err = k.list(all, c)
		notes[i] = k.problem(err)
		if err == nil || !k.Needed && notes[i] != "" || all.Err() != nil {
			return nil
		}
		end()
		return fmt.Errorf("list the %s: %w", k.Name, err)
	})
	if err := cmp.Or(append(errs, ctx.Err())...); err != nil {
		return Snapshot{}, err
	}
	s := Of(slices.Concat(lists...), slices.DeleteFunc(slices.Clone(notes), func(note string) bool { return note == "" }))
	for i, k := range kinds {
		if notes[i] != "" && !strings.HasSuffix(notes[i], unknownKind) { // if the cluster does not know the kind, there are no such objects
			s.Unlisted = append(s.Unlisted, k.Name)
		}
	}
	return s, nil
}

// list lists the kind from the API server's watch cache.
func (k Kind) list(ctx context.Context, c client.Reader) (objects []client.Object, err error) {
	list := k.Empty.DeepCopyObject().(client.ObjectList)
	opts := append(slices.Clone(k.Opts), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}})
	if err := c.List(ctx, list, opts...); err != nil {
		return nil, err
	}
	return Items(list), nil
}

// unknownKind ends the note about a kind that the cluster does not have.
const unknownKind = "the cluster does not have this kind."

// problem returns the note for an error that a retry does not change; "" for other errors.
func (k Kind) problem(err error) string {
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("%s cannot be shown: the user may not list %s.", k.Name, k.resource())
	case apierrors.IsNotFound(err):
		return k.Name + " cannot be shown: the API server does not serve them."
	case meta.IsNoMatchError(err):
		return k.Name + " cannot be shown: " + unknownKind
	}
	return ""
}

// AllKinds returns the kinds that the command why reads: those of StatusKinds, the objects that a scheduler reads,
// and all events.
func AllKinds() []Kind {
	all := slices.DeleteFunc(StatusKinds(), func(k Kind) bool { return k.Name == "Events" })
	return append(all,
		Kind{Name: "DaemonSets", Group: "apps", Empty: &appsv1.DaemonSetList{}},
		Kind{Name: "PersistentVolumeClaims", Empty: &corev1.PersistentVolumeClaimList{}},
		Kind{Name: "PersistentVolumes", Empty: &corev1.PersistentVolumeList{}},
		Kind{Name: "StorageClasses", Group: "storage.k8s.io", Empty: &storagev1.StorageClassList{}},
		Kind{Name: "Events", Empty: &corev1.EventList{}})
}

// StatusKinds returns the kinds that the command status reads, with warnings as the only events.
func StatusKinds() []Kind {
	warnings := fields.OneTermEqualSelector("type", corev1.EventTypeWarning)
	return []Kind{
		{Name: "Nodes", Empty: &corev1.NodeList{}, Needed: true},
		{Name: "Pods", Empty: &corev1.PodList{}, Opts: selectedBy(notEnded), Needed: true},
		{Name: "NodeClaims", Group: "karpenter.sh", Empty: &karpv1.NodeClaimList{}, Needed: true},
		{Name: "NodePools", Group: "karpenter.sh", Empty: &karpv1.NodePoolList{}, Needed: true},
		{Name: "LinodeNodeClasses", Group: linodev1alpha1.Group, Empty: &linodev1alpha1.LinodeNodeClassList{}, Needed: true},
		{Name: "CapacityLimits", Group: lkeplanv1alpha1.GroupVersion.Group, Empty: &lkeplanv1alpha1.CapacityLimitList{}},
		{Name: "NodePlans", Group: lkeplanv1alpha1.GroupVersion.Group, Empty: &lkeplanv1alpha1.NodePlanList{}},
		{Name: "DisruptionStops", Group: lkeplanv1alpha1.GroupVersion.Group, Empty: &lkeplanv1alpha1.DisruptionStopList{}},
		{Name: "PodDisruptionBudgets", Group: "policy", Empty: &policyv1.PodDisruptionBudgetList{}},
		{Name: "Events", Empty: &corev1.EventList{}, Opts: selectedBy(warnings)},
	}
}

// notEnded selects pods that have not ended.
var notEnded = fields.AndSelectors(fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)))

func selectedBy(selector fields.Selector) []client.ListOption {
	return []client.ListOption{client.MatchingFieldsSelector{Selector: selector}}
}
