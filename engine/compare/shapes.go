package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/engine/simulate/workload"
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
	pods, err := listed[corev1.Pod](ctx, cluster, "v1", "Pod")
	if err != nil {
		return workload.Shapes{}, err
	}
	sets, setsErr := listed[appsv1.DaemonSet](ctx, cluster, "apps/v1", "DaemonSet")
	namespaces, err := listed[corev1.Namespace](ctx, cluster, "v1", "Namespace")
	budgets, budgetsErr := listed[policyv1.PodDisruptionBudget](ctx, cluster, "policy/v1", "PodDisruptionBudget")
	index, storageErr := stored(ctx, cluster)
	for _, err := range []error{setsErr, err, budgetsErr, storageErr} {
		if err != nil && !apierrors.IsForbidden(err) {
			return workload.Shapes{}, err
		}
	}
	found := workload.ShapesOf(workload.Cluster{
		Pods: pods, DaemonSets: sets, Namespaces: namespaces, Budgets: budgets, Storage: index,
	})
	if storageErr != nil {
		found.Notes = append(found.Notes, "Volumes do not count: the user who read the cluster may not list "+
			"PersistentVolumeClaims, PersistentVolumes and StorageClasses.")
	}
	if setsErr != nil {
		found.Notes = append(found.Notes, "DaemonSets are not known: the user who read the cluster may not list "+
			refused(setsErr)+".")
	}
	if budgetsErr != nil {
		found.Notes = append(found.Notes, "PodDisruptionBudgets are not known: the user who read the cluster may not list "+
			refused(budgetsErr)+".")
	}
	return found, nil
}

// stored lists what the claims of pods lead to.
func stored(ctx context.Context, cluster View) (*simulate.VolumeIndex, error) {
	claims, claimsErr := listed[corev1.PersistentVolumeClaim](ctx, cluster, "v1", "PersistentVolumeClaim")
	volumes, volumesErr := listed[corev1.PersistentVolume](ctx, cluster, "v1", "PersistentVolume")
	classes, classesErr := listed[storagev1.StorageClass](ctx, cluster, "storage.k8s.io/v1", "StorageClass")
	if err := cmp.Or(claimsErr, volumesErr, classesErr); err != nil {
		return nil, err
	}
	return simulate.NewVolumeIndex(pointers(claims), pointers(volumes), pointers(classes)), nil
}

func pointers[T any](list []T) []*T {
	all := make([]*T, len(list))
	for i := range list {
		all[i] = &list[i]
	}
	return all
}

// listed are the objects of a kind that no configuration has.
func listed[T any](ctx context.Context, cluster View, apiVersion, kind string) ([]T, error) {
	return listOf[T](ctx, viewed{cluster}, apiVersion, kind)
}

// viewed lists what a View has.
type viewed struct{ View }

// List implements lister.
func (v viewed) List(ctx context.Context, apiVersion, kind string) ([]map[string]any, error) {
	return v.Objects(ctx, schemas.Object{APIVersion: apiVersion, Kind: kind})
}
