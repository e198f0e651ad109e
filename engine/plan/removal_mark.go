package plan

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/timing"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// MarkRemoval returns a live NodePool as it has to be applied to make no node any more
// and to give up those that it has. It is that object and no other: it has its UID.
//
// By karpenter v1.14.1: a limit of no nodes keeps the scheduler from new nodes
// (addToNewNodeClaim) and is no obstacle for pods that go to other pools. An
// annotation of the template is in the hash, so each node drifts
// (areStaticFieldsDrifted): it goes within the budgets and the PodDisruptionBudgets
// of its pods, after the nodes are there that its pods need elsewhere; where its pods
// have no other place, it stays (Drift.ComputeCommands). A pool with replicas does not
// heed limits; its replicas are lowered as its budgets let nodes go.
func MarkRemoval(live map[string]any, nodes []Node, now time.Time) (map[string]any, error) {
	pool := authored(live)
	annotations := manifest.Ensure(pool, "metadata", "annotations")
	if s, _ := ReadRemoval(live); s.Since.IsZero() {
		limit, _ := manifest.Lookup(pool, "spec", "limits", "nodes")
		annotations[schemas.AnnotationRemoval] = Removal{now, len(nodes), textOf(limit)}.String()
	}
	typed, err := manifest.As[karpv1.NodePool](pool)
	if err != nil {
		return nil, err
	}
	if typed.Spec.Replicas != nil {
		return pool, lower(pool, typed, nodes, now)
	}
	manifest.Ensure(pool, "spec", "limits")["nodes"] = "0"
	template := manifest.Ensure(pool, "spec", "template", "metadata", "annotations")
	if template[schemas.AnnotationRemoval] == nil {
		template[schemas.AnnotationRemoval] = stamp(now)
	}
	return pool, escapes(pool, template, nodes, now)
}

// authored is a live NodePool without what the API server and Karpenter write on it.
func authored(live map[string]any) map[string]any {
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

// textOf is a limit as text; "" where there is none.
func textOf(limit any) string {
	if limit == nil {
		return ""
	}
	return fmt.Sprint(limit)
}

func stamp(now time.Time) string { return now.UTC().Format(time.RFC3339) }

// escapes gives the template another stamp where a node was made from it all the same,
// by a scheduler that had not seen the limit yet: the node would never drift.
func escapes(pool, template map[string]any, nodes []Node, now time.Time) error {
	hash, err := TemplateHash(pool)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if n.Annotations[karpv1.NodePoolHashAnnotationKey] == hash && !n.Deleting {
			template[schemas.AnnotationRemoval] = stamp(now)
		}
	}
	return nil
}

// lower takes as many replicas from a pool as its budgets let nodes go at this moment.
func lower(pool map[string]any, typed *karpv1.NodePool, nodes []Node, now time.Time) error {
	settled, going, staying := 0, 0, 0
	for _, n := range nodes {
		if n.Initialized {
			settled++
		}
		if n.Deleting {
			going++
		} else {
			staying++
		}
	}
	may, err := typed.GetAllowedDisruptionsByReason(timing.ClockAt(now.UTC()), settled, karpv1.DisruptionReasonDrifted)
	if err != nil {
		may = 0 // Karpenter, too, lets none go by a budget that it cannot read
	}
	if may == math.MaxInt32 {
		may = len(nodes)
	}
	left := int64(max(0, staying-max(0, may-going)))
	manifest.Ensure(pool, "spec")["replicas"] = min(left, *typed.Spec.Replicas)
	return nil
}

// UnmarkRemoval returns a NodePool as it was before it was condemned, as far as its nodes
// are concerned. It is the same object where it is not condemned.
func UnmarkRemoval(pool map[string]any) map[string]any {
	if _, condemned := ReadRemoval(pool); !condemned {
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

// ReleaseRemoval returns a live NodePool as it has to be applied so that it makes nodes again,
// which nobody manages from then on. A pool with replicas keeps those that it has left.
func ReleaseRemoval(live map[string]any) map[string]any {
	removal, condemned := ReadRemoval(live)
	pool := authored(live)
	if !condemned {
		return pool
	}
	pool = UnmarkRemoval(pool)
	limits := manifest.Map(pool, "spec", "limits")
	if limits == nil {
		return pool
	}
	if delete(limits, "nodes"); removal.Limit != "" {
		limits["nodes"] = removal.Limit
	} else if len(limits) == 0 {
		delete(manifest.Map(pool, "spec"), "limits")
	}
	return pool
}
