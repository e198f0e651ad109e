package plan

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/schedule"
	"github.com/lkeplan/lkeplan/linode/inplace"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// RemovalStage is the progress of removing a NodePool that is no longer declared.
type RemovalStage string

// The stages.
const (
	RemoveAtOnce RemovalStage = ""         // it is deleted with its nodes
	StartRemoval RemovalStage = "condemn"  // it has nodes, which drain from now on
	Draining     RemovalStage = "draining" // its removal has started, and it has nodes left
	Drained      RemovalStage = "drained"  // all its nodes have drained, and it is deleted
	// CancelRemoval is for a draining NodePool that is declared again. It keeps its remaining nodes.
	CancelRemoval RemovalStage = "reprieve"
)

// NextRemoval returns the stage of a live NodePool that is no longer declared.
func NextRemoval(pool map[string]any, nodes int) RemovalStage {
	switch _, started := ReadRemoval(pool); {
	case started && nodes > 0:
		return Draining
	case started:
		return Drained
	case nodes > 0:
		return StartRemoval
	}
	return RemoveAtOnce
}

// Removal is what the annotation of a draining NodePool records, and the expected end.
type Removal struct {
	Since   time.Time `json:"since,omitzero"`
	Nodes   int       `json:"nodes" doc:"Nodes of the pool at that time."`
	Soonest time.Time `json:"soonest_end,omitzero" doc:"The earliest time at which the budgets allow the last node to drain; absent if that is not within a week."`
	Limit   string    `json:"-"` // its previous limit of nodes; "" for none
}

// ReadRemoval reads the removal annotation of a NodePool. If its text cannot be read, the pool is still draining,
// with the zero Removal.
func ReadRemoval(pool map[string]any) (r Removal, started bool) {
	value, started := manifest.Lookup(pool, "metadata", "annotations", schemas.AnnotationRemoval)
	text, _ := value.(string)
	return parseRemoval(text), started
}

// removalOf reads the removal annotation like ReadRemoval.
func removalOf(pool *karpv1.NodePool) (r Removal, started bool) {
	text, started := pool.Annotations[schemas.AnnotationRemoval]
	return parseRemoval(text), started
}

func parseRemoval(text string) Removal {
	words := append(strings.Fields(text), "", "")
	since, sinceErr := time.Parse(time.RFC3339, words[0])
	nodes, nodesErr := strconv.Atoi(words[1])
	if sinceErr != nil || nodesErr != nil {
		return Removal{}
	}
	return Removal{Since: since.UTC(), Nodes: nodes, Limit: words[2]}
}

// String returns the text of the annotation on a NodePool that is being removed.
func (r Removal) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %d %s", r.Since.UTC().Format(time.RFC3339), r.Nodes, r.Limit))
}

// RemovalClasses returns the names of the node classes that NodePools refer to. Nodes need their class until they
// are deleted, and so does a plan that cancels a removal.
func RemovalClasses(pools []map[string]any) map[string]bool {
	used := map[string]bool{}
	for _, pool := range pools {
		used[manifest.Text(pool, "spec", "template", "spec", "nodeClassRef", "name")] = true
	}
	return used
}

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
