package plan

import (
	"fmt"
	"maps"

	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// A migration is the input of a Migration.
type migration struct {
	old, next       object
	oldLabel, label string // of their blocks while both exist
	head            State
}

// movedTo is an annotation of the nodes of the old pool. It is in Karpenter's hash, so all nodes drift: they are replaced
// within the budgets, by nodes of the new pool because the old one cannot grow.
const movedTo = schemas.MovedTo

// maxWeight is the largest weight that the CRD of NodePool allows.
const maxWeight = 100

func (m migration) plan(reason, to string) (Migration, error) {
	old, next := m.weighted()
	oldName, name := manifest.Name(old), manifest.Name(next)
	both, err := m.blocks(old, next)
	if err != nil {
		return Migration{}, err
	}
	draining := with(with(old, "spec.limits", map[string]any{"nodes": "0"}), "spec.template.metadata.annotations",
		annotated(old, name))
	pace := fmt.Sprintf("Drain %s within its budgets: it can no longer grow, and all its nodes have drifted", oldName)
	if static(m.old) {
		draining = with(old, "spec.replicas", int64(0))
		pace = fmt.Sprintf("Drain %s: lower replicas step by step to 0; the nodes of a step drain at the same time, "+
			"and only PodDisruptionBudgets delay them", oldName)
	}
	drained, err := m.block(m.oldLabel, draining)
	if err != nil {
		return Migration{}, err
	}
	first := fmt.Sprintf("Create %s next to %s", name, oldName)
	if !static(m.old) && !static(m.next) {
		first += ", and prefer it for new nodes"
	}
	return Migration{From: m.old.Addr.String(), To: to, Reason: reason, Steps: []Step{
		{Title: first, HCL: both},
		{Title: pace, HCL: drained},
		{Title: fmt.Sprintf("Wait until no nodes are left: kubectl get nodes -l karpenter.sh/nodepool=%s", oldName)},
		{Title: fmt.Sprintf("Delete %s: replace its block with this", oldName), HCL: m.removal(oldName)},
	}}, nil
}

func (m migration) blocks(old, next map[string]any) (string, error) {
	first, err := m.block(m.label, next)
	if err != nil {
		return "", err
	}
	second, err := m.block(m.oldLabel, old)
	return first + "\n" + second, err
}

func (m migration) removal(name string) string {
	return fmt.Sprintf("removed {\n  from   = pool.%s\n  id     = %q\n  delete = true\n}\n", m.oldLabel, name)
}

// weighted returns both pools as written, the new one with a higher weight than the old one. Static pools have no weight.
func (m migration) weighted() (old, next map[string]any) {
	old, next = asWritten(m.old.Manifest), asWritten(m.next.Manifest)
	if static(m.old) || static(m.next) {
		return old, next
	}
	weight := min(weightOf(old), maxWeight-1)
	if weight != weightOf(old) {
		old = with(old, "spec.weight", weight)
	}
	if weightOf(next) <= weight {
		next = with(next, "spec.weight", weight+1)
	}
	return old, next
}

func weightOf(manifest map[string]any) int64 {
	weight, _ := lookup(manifest, "spec.weight").(int64)
	return weight
}

// asWritten is an object without the fields that an API server adds.
func asWritten(obj map[string]any) map[string]any {
	live := manifest.UID(obj) != ""
	kept := map[string]any{"name": manifest.Name(obj)}
	for _, key := range []string{"labels", "annotations"} {
		if value, ok := manifest.Lookup(obj, "metadata", key); ok && !live {
			kept[key] = value
		}
	}
	return map[string]any{"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": kept, "spec": obj["spec"]}
}

// annotated returns the annotations of a pool's nodes, with the one that makes them drift.
func annotated(pool map[string]any, name string) map[string]any {
	annotations := map[string]any{movedTo: name}
	maps.Copy(annotations, manifest.Map(pool, "spec", "template", "metadata", "annotations"))
	return annotations
}
