package plan

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/encode"
)

// Migration is how a pool becomes another object without deleting its nodes immediately: Kubernetes cannot rename objects,
// and Karpenter cannot make an existing pool static or dynamic. The plan itself would delete the old pool, or be refused.
// The steps are commits to make instead, one after the other.
type Migration struct {
	From   string // the address in the base
	To     string // the address of the pool that takes over
	Reason string // why it becomes another object, as a sentence without the period
	// Moved is the moved block that keeps the object with its name and its nodes; "" if that is not possible.
	Moved string
	Steps []Step
}

// Step is one commit of a migration, or a time to wait.
type Step struct {
	Title string
	HCL   string // to write; may be ""
}

// migrations finds pools that become other objects.
func (p *Plan) migrations(base, head side) error {
	var created, deleted []object
	for _, c := range p.Changes {
		switch old, o := base.byKey[c.Key()], head.byKey[c.Key()]; {
		case c.Kind != "NodePool":
		case c.Action == Create:
			created = append(created, o)
		case c.Action == Delete:
			deleted = append(deleted, old)
		case static(old) != static(o):
			m, err := transition(old, o, head.State)
			if err != nil {
				return err
			}
			p.Migrations = append(p.Migrations, m)
		}
	}
	if err := p.renames(deleted, created, head.State); err != nil {
		return err
	}
	slices.SortFunc(p.Migrations, func(a, b Migration) int { return cmp.Compare(a.From, b.From) })
	return nil
}

// renames pairs removed pools with new ones. Pools with the same address have precedence over similar pools.
func (p *Plan) renames(deleted, created []object, head State) error {
	for _, succeeds := range []func(old, o object) bool{sameAddress, alike} {
		var left []object
		for _, old := range deleted {
			i := slices.IndexFunc(created, func(o object) bool { return succeeds(old, o) })
			if i < 0 {
				left = append(left, old)
				continue
			}
			m, err := rename(old, created[i], head)
			if err != nil {
				return err
			}
			p.Migrations = append(p.Migrations, m)
			created = slices.Delete(created, i, i+1)
		}
		deleted = left
	}
	return nil
}

// static reports whether a pool has replicas.
func static(o object) bool { return o.pool != nil && o.pool.Spec.Replicas != nil }

// sameAddress reports whether a new pool has the address of the old one, or the address that it was moved to.
func sameAddress(old, o object) bool { return o.Addr == old.Addr || o.Before == old.Addr }

// alike reports whether nodes of two pools are interchangeable: Karpenter's hash is the same, and so are the
// requirements, which are not in the hash.
func alike(a, b object) bool {
	return a.hash() == b.hash() && reflect.DeepEqual(requirementFields(a), requirementFields(b))
}

// requirementFields are the requirements of a pool, regardless of their order.
func requirementFields(o object) map[string]any {
	fields := flatten(o.Defaulted)
	maps.DeleteFunc(fields,
		func(path string, _ any) bool { return !strings.HasPrefix(path, "spec.template.spec.requirements") })
	return fields
}

// rename is the migration to a pool that the head has under another name.
func rename(old, o object, head State) (Migration, error) {
	w := migration{old: old, next: o, head: head, label: o.Addr.Name}
	w.oldLabel = old.Addr.Name
	if old.Addr == o.Addr || w.taken(w.oldLabel) {
		w.oldLabel = w.free(old.Addr.Name + "_old")
	}
	reason := fmt.Sprintf("the name of the NodePool changes from %s to %s, and Kubernetes cannot rename an object",
		old.Name(), o.Name())
	moved := w.moved()
	if moved != "" && w.inModule() {
		return Migration{From: old.Addr.String(), To: o.Addr.String(), Reason: reason, Moved: moved}, nil
	}
	m, err := w.plan(reason, o.Addr.String())
	m.Moved = moved
	return m, err
}

// inModule reports whether one of the pools is in a module. It is unknown what its block can refer to there, so no steps
// are written if there is another way.
func (m migration) inModule() bool { return m.old.Addr.Module != "" || m.next.Addr.Module != "" }

// moved is the moved block for the root module. It works if both pools have the default name for their address.
func (m migration) moved() string {
	named := func(o object) bool { return o.Name() != o.Addr.ObjectName() }
	if m.old.Addr == m.next.Addr || named(m.old) || named(m.next) {
		return ""
	}
	return fmt.Sprintf("moved {\n  from = %s\n  to   = %s\n}\n", m.old.Addr, m.next.Addr)
}

// transition is the migration of a pool that becomes static or dynamic, to a pool
// next to it.
func transition(old, o object, head State) (Migration, error) {
	kind := "dynamic"
	if static(o) {
		kind = "static"
	}
	w := migration{old: old, next: o, head: head, oldLabel: old.Addr.Name}
	w.label = w.free(o.Addr.Name + "_" + kind)
	w.next.Manifest = with(w.next.Manifest, "metadata.name", strings.ReplaceAll(w.label, "_", "-"))
	return w.plan("Karpenter cannot make an existing NodePool "+kind+", so the steps create a new pool, pool."+w.label,
		"pool."+w.label)
}

// with returns a manifest with a field set to a value; nil removes the field.
func with(manifest map[string]any, path string, value any) map[string]any {
	changed, keys := runtime.DeepCopyJSON(manifest), strings.Split(path, ".")
	if value == nil {
		unstructured.RemoveNestedField(changed, keys...)
		return changed
	}
	// It fails only if a part of the path is not a map, which the CRD forbids.
	_ = unstructured.SetNestedField(changed, value, keys...)
	return changed
}

// taken reports whether the block of a pool in the head has a label.
func (m migration) taken(label string) bool {
	return slices.ContainsFunc(m.head.Objects,
		func(o config.Object) bool { return o.Addr.Type == m.old.Addr.Type && o.Addr.Name == label })
}

// free returns a label that no block of a pool in the head has.
func (m migration) free(label string) string {
	free := label
	for n := 2; m.taken(free); n++ {
		free = fmt.Sprintf("%s_%d", label, n)
	}
	return free
}

// block writes a pool as HCL, with a label of the migration. A pool of a module names its class, because it cannot refer
// to a block of the root module.
func (m migration) block(label string, manifest map[string]any) (string, error) {
	objects := []config.Object{{Addr: config.Addr{Name: label}, Manifest: manifest, Defaulted: manifest}}
	for _, o := range m.head.Objects {
		if !m.inModule() && o.Addr.Type == "node_class" && o.Addr.Key == "" && o.Addr.Module == "" {
			objects = append(objects, o)
		}
	}
	blocks, err := encode.Blocks(objects)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(blocks, func(b encode.Block) bool { return b.Addr.Type == m.old.Addr.Type })
	return blocks[i].HCL, nil
}
