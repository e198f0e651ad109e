package plan

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/schedule"
	"github.com/lkeplan/lkeplan/linode/inplace"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// MarkRemoval returns the live NodePool to apply so that it creates no nodes and drains its nodes. It has the UID of
// the object, so that no other object is changed.
//
// In karpenter v1.15.0, a limit of zero nodes keeps the scheduler from creating nodes (addToNewNodeClaim), and does
// not affect pods that fit in other pools. An annotation of the template is in the hash, so each node drifts
// (areStaticFieldsDrifted): it drains within the budgets and the PodDisruptionBudgets of its pods, after other pools
// have created the nodes that its pods need. A node whose pods fit nowhere else stays (Drift.ComputeCommands). A pool
// with replicas ignores limits; its replicas are lowered as its budgets allow.
func MarkRemoval(live map[string]any, nodes []Node, now time.Time) (map[string]any, error) {
	pool := authoredPool(live)
	annotations := manifest.Ensure(pool, "metadata", "annotations")
	if s, _ := ReadRemoval(live); s.Since.IsZero() {
		limit, _ := manifest.Lookup(pool, "spec", "limits", "nodes")
		annotations[schemas.AnnotationRemoval] = Removal{Since: now, Nodes: len(nodes), Limit: textOf(limit)}.String()
	}
	typed, err := manifest.As[karpv1.NodePool](pool)
	if err != nil {
		return nil, err
	}
	if typed.Spec.Replicas != nil {
		return pool, lowerReplicas(pool, typed, nodes, now)
	}
	manifest.Ensure(pool, "spec", "limits")["nodes"] = "0"
	template := manifest.Ensure(pool, "spec", "template", "metadata", "annotations")
	if template[schemas.AnnotationRemoval] == nil {
		template[schemas.AnnotationRemoval] = formatStamp(now)
	}
	return pool, restampTemplate(pool, template, nodes, now)
}

// authoredPool returns a live NodePool without the fields that the API server and Karpenter write.
func authoredPool(live map[string]any) map[string]any {
	live = runtime.DeepCopyJSON(live)
	metadata := map[string]any{"name": manifest.Name(live), "uid": manifest.UID(live)}
	for _, part := range []string{"labels", "annotations"} {
		entries := manifest.Map(live, "metadata", part)
		maps.DeleteFunc(entries, func(key string, _ any) bool { return strings.HasPrefix(key, "karpenter.") })
		if len(entries) > 0 {
			metadata[part] = entries
		}
	}
	return map[string]any{
		"apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": metadata, "spec": live["spec"],
	}
}

// textOf returns a limit as text; "" if there is none.
func textOf(limit any) string {
	if limit == nil {
		return ""
	}
	return fmt.Sprint(limit)
}

func formatStamp(now time.Time) string { return now.UTC().Format(time.RFC3339) }

// restampTemplate gives the template a new stamp if a node was created from it after all, by a scheduler that had not
// seen the limit yet: that node would never drift.
func restampTemplate(pool, template map[string]any, nodes []Node, now time.Time) error {
	typed, err := manifest.As[karpv1.NodePool](pool)
	if err != nil {
		return err
	}
	marked := inplace.TemplateOf(typed)
	for _, n := range nodes {
		if !n.Deleting && !marked.Drifted(n.Labels, n.Annotations) {
			template[schemas.AnnotationRemoval] = formatStamp(now)
		}
	}
	return nil
}

// lowerReplicas reduces the replicas of a pool by the number of disruptions that its budgets allow now.
func lowerReplicas(pool map[string]any, typed *karpv1.NodePool, nodes []Node, now time.Time) error {
	initialized, deleting, staying := 0, 0, 0
	for _, n := range nodes {
		if n.Initialized {
			initialized++
		}
		if n.Deleting {
			deleting++
		} else {
			staying++
		}
	}
	may, err := typed.GetAllowedDisruptionsByReason(schedule.ClockAt(now.UTC()), initialized, karpv1.DisruptionReasonDrifted)
	if err != nil {
		may = 0 // like Karpenter for a budget that it cannot read
	}
	if may == math.MaxInt32 {
		may = len(nodes)
	}
	left := int64(max(0, staying-max(0, may-deleting)))
	manifest.Ensure(pool, "spec")["replicas"] = min(left, *typed.Spec.Replicas)
	return nil
}

// UnmarkRemoval returns a NodePool without the marks of its removal; the same object if it has none.
func UnmarkRemoval(pool map[string]any) map[string]any {
	if _, started := ReadRemoval(pool); !started {
		return pool
	}
	pool = runtime.DeepCopyJSON(pool)
	for _, path := range [][]string{{"metadata", "annotations"}, {"spec", "template", "metadata", "annotations"}} {
		entries := manifest.Map(pool, path...)
		delete(entries, schemas.AnnotationRemoval)
		if len(entries) == 0 {
			delete(manifest.Map(pool, path[:len(path)-1]...), "annotations")
		}
	}
	return pool
}

// ReleaseRemoval returns the live NodePool to apply so that it creates nodes again, before lkeplan stops managing it.
// A pool with replicas keeps its remaining replicas.
func ReleaseRemoval(live map[string]any) map[string]any {
	removal, started := ReadRemoval(live)
	pool := authoredPool(live)
	if !started {
		return pool
	}
	pool = UnmarkRemoval(pool)
	limits := manifest.Map(pool, "spec", "limits")
	if limits == nil {
		return pool
	}
	delete(limits, "nodes")
	if removal.Limit != "" {
		limits["nodes"] = removal.Limit
	} else if len(limits) == 0 {
		delete(manifest.Map(pool, "spec"), "limits")
	}
	return pool
}
