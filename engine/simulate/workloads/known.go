package workloads

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// kinds are those that are known, and in which versions of the API.
var kinds = map[string][]string{
	"Pod": {"v1"}, "Deployment": {"apps/v1"}, "StatefulSet": {"apps/v1"}, "ReplicaSet": {"apps/v1"},
	"DaemonSet": {"apps/v1"}, "Job": {"batch/v1"}, "CronJob": {"batch/v1"}, "PodDisruptionBudget": {"policy/v1"},
	"HorizontalPodAutoscaler": {"autoscaling/v1", "autoscaling/v2"}, "RuntimeClass": {"node.k8s.io/v1"},
	"PersistentVolumeClaim": {"v1"}, "PersistentVolume": {"v1"}, "StorageClass": {"storage.k8s.io/v1"},
	"LimitRange": {"v1"}, "ResourceQuota": {"v1"},
}

// admit returns the objects that are known, each once. Of the others it notes that they do
// not count.
func (r *reader) admit(objects []Object) (known []Object, err error) {
	for _, o := range objects {
		if what := title(o.Fields); strings.ContainsFunc(what, unprintable) {
			return nil, fmt.Errorf("%s: %q: no object of Kubernetes has such a name", o.place(), what)
		}
		if !r.understands(o) {
			continue
		}
		k := keyOf(o.Fields)
		switch other, twice := r.there[k]; {
		case !twice:
			r.there[k] = o
			known = append(known, o)
		case !reflect.DeepEqual(said(other.Fields), said(o.Fields)):
			return nil, fmt.Errorf("%s: it is in %s, too, and is another there", o.named(), other.place())
		default:
			r.note("%s counts once: it is in %s, too.", o.named(), other.place())
		}
	}
	return known, nil
}

// said is what an object says of itself: what a cluster adds changes with time.
func said(o map[string]any) map[string]any {
	fields := maps.Clone(o)
	delete(fields, "status")
	fields["metadata"] = manifest.Map(o, "metadata", "labels")
	return fields
}

// understands reports whether the kind of an object is known in its version of the API.
func (r *reader) understands(o Object) bool {
	kind, version := manifest.Kind(o.Fields), manifest.APIVersion(o.Fields)
	versions, known := kinds[kind]
	switch {
	case !known:
		r.others[kind]++
	case slices.Contains(versions, version):
		return true
	case version == "":
		r.note("%s does not count: it has no apiVersion, and the %s that is known is of %s.", o.named(), kind,
			strings.Join(versions, " and "))
	default:
		r.note("%s does not count: it is of %s, and the %s that is known of %s.", o.named(), version, kind,
			strings.Join(versions, " and "))
	}
	return false
}
