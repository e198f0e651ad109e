package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/linode/instancetype"
)

// Workload has the pods of one owner that are waiting for a node.
type Workload struct {
	Namespace string     `json:"namespace"`
	Owner     string     `json:"owner"` // kind and name
	Pods      int        `json:"pods"`
	Pod       string     `json:"pod"` // the oldest of them
	Since     *time.Time `json:"since,omitempty"`
	Pools     []string   `json:"pools"`             // whose nodes match them
	Message   string     `json:"message,omitempty"` // of the last warning about the oldest pod; why pod explains more
}

// waiting returns the pods that are waiting for a node, by their owner.
func (w *reader) waiting() []Workload {
	by := map[[2]string][]*corev1.Pod{}
	for _, pod := range filterList(w.Pods, PodWaits) {
		key := [2]string{pod.Namespace, OwnerOf(pod)}
		by[key] = append(by[key], pod)
	}
	all := []Workload{}
	for key, pods := range by {
		oldest := slices.MinFunc(pods, func(a, b *corev1.Pod) int {
			return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
		})
		load := Workload{
			Namespace: key[0], Owner: key[1], Pods: len(pods), Pod: oldest.Name,
			Since: timeOrNil(oldest.CreationTimestamp.Time), Pools: []string{},
		}
		for _, pool := range w.Snapshot.Pools {
			if _, ok := instancetype.ForPod(pool, oldest); ok && classOf(pool) != "" {
				load.Pools = append(load.Pools, pool.Name)
			}
		}
		for _, e := range w.events.About(cluster.SubjectOf("Pod", oldest)) {
			if e.Type != corev1.EventTypeWarning || load.Message != "" && e.Reason == "FailedScheduling" {
				continue
			}
			load.Message = diag.Shorten(messageOf(w.events, e), mostSaid)
			if e.Reason != "FailedScheduling" { // which says less than other reasons
				break
			}
		}
		all = append(all, load)
	}
	slices.SortFunc(all, func(a, b Workload) int {
		return strings.Compare(a.Namespace+"/"+a.Owner, b.Namespace+"/"+b.Owner)
	})
	return all
}

// foldWorkloads merges workloads of one kind in a namespace if there are many, such as 3,000 pods without an owner. The
// Owner of the result has their number and kind.
func foldWorkloads(loads []Workload) (folded []Workload) {
	kindOf := func(w Workload) [2]string {
		kind, _, _ := strings.Cut(w.Owner, " ")
		return [2]string{w.Namespace, kind}
	}
	count, at := map[[2]string]int{}, map[[2]string]int{}
	for _, w := range loads {
		count[kindOf(w)]++
	}
	for _, w := range loads {
		of := kindOf(w)
		i, seen := at[of]
		switch {
		case count[of] <= quiet:
			folded = append(folded, w)
		case !seen:
			at[of] = len(folded)
			_, name, _ := strings.Cut(w.Owner, " ")
			w.Owner = fmt.Sprintf("%d %ss, for example %s", count[of], of[1], name)
			folded = append(folded, w)
		default:
			sum := &folded[i]
			sum.Pods += w.Pods
			if sum.Since == nil || w.Since != nil && w.Since.Before(*sum.Since) {
				sum.Since = w.Since
			}
		}
	}
	return folded
}

// PodWaits reports whether a pod has no node yet.
func PodWaits(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.DeletionTimestamp.IsZero() &&
		pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// OwnerOf names the owner of a pod as people know it: the Deployment of a ReplicaSet.
func OwnerOf(pod *corev1.Pod) string {
	return strings.Replace(simulate.Owner(pod), " "+pod.Namespace+"/", " ", 1)
}
