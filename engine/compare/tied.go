package compare

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/lkeplan/lkeplan/config"
	clusters "github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Tie is the cluster of a configuration.
type Tie struct {
	config.Cluster        // from the configuration
	Other          string // another name for the same cluster; "" for none
	Place          string // the context and server of the cluster
	// Asked reads the notes of its controller; nil if there is none, as for a snapshot.
	Asked Asked
}

// OtherClusterError reports that a cluster is not that of the configuration.
type OtherClusterError struct {
	Tie
	Name     string // of the actual cluster; "" if it has the same name and another id
	Evidence string
}

// Error implements error.
func (e OtherClusterError) Error() string {
	return fmt.Sprintf("this is not the cluster %s of the directory: %s (%s)", e.Cluster.Name, e.Evidence, e.Place)
}

// Tied returns a view that returns an error if the cluster is not that of the configuration: if its controller
// reports another name or id, in its ConfigMap or on a node class, or if an object was applied from the directory
// of another cluster.
func Tied(view View, tie Tie) View {
	if tie.Name == "" {
		return view
	}
	return &tied{View: view, tie: tie}
}

type tied struct {
	View
	tie Tie

	asked sync.Once
	err   error // about the notes of the controller
}

// Objects implements View. The error is an OtherClusterError if the objects belong to another cluster.
func (t *tied) Objects(ctx context.Context, kind schemas.Object) ([]map[string]any, error) {
	objects, err := t.View.Objects(ctx, kind)
	if err != nil {
		return nil, err
	}
	t.asked.Do(func() { t.err = t.noted(ctx) })
	if t.err != nil {
		return nil, t.err
	}
	for _, obj := range objects {
		if err := writtenDown(obj).otherCluster(t.tie); err != nil {
			return nil, err
		}
		if name := clusterAppliedTo(obj); name != "" && name != t.tie.Name && name != t.tie.Other {
			return nil, OtherClusterError{t.tie, name, fmt.Sprintf("%s was applied from the directory of the cluster %s",
				manifest.KeyOf(obj), name)}
		}
	}
	return objects, nil
}

// noted returns an OtherClusterError if the controller has noted another cluster.
func (t *tied) noted(ctx context.Context) error {
	notes, err := readNotes(ctx, t.tie.Asked)
	for _, n := range notes {
		if err := n.otherCluster(t.tie); err != nil {
			return err
		}
	}
	return err
}

// clusterAppliedTo returns the name of the cluster that an object was applied to; "" if unknown, or if a NodePlan has
// applied it.
func clusterAppliedTo(obj map[string]any) string {
	owner := manifest.Label(obj, kube.InventoryLabel)
	if strings.HasPrefix(owner, kube.NodePlanOwner+".") {
		return ""
	}
	return owner
}

// Asked is a cluster whose identity is checked; kube.Cluster implements it.
type Asked interface {
	clusters.Lister
	Get(ctx context.Context, like map[string]any) (map[string]any, error)
}

// note is the identity of a cluster that its controller recorded, and the place. Unknown fields are empty.
type note struct{ id, label, in string }

// writtenDown returns the note on a node class.
func writtenDown(obj map[string]any) note {
	record, _ := manifest.Map(obj, "metadata", "annotations")[linodev1alpha1.AnnotationCluster].(string)
	id, label, _ := strings.Cut(record, "/")
	in := fmt.Sprintf("annotation %s of %s", linodev1alpha1.AnnotationCluster, manifest.KeyOf(obj))
	return note{id: id, label: label, in: in}
}

// readNotes returns the notes of a cluster's controllers, which are next to their Leases. Before the first apply they
// are the only information about the identity. If the user may not read them, it returns none, without an error.
func readNotes(ctx context.Context, in Asked) (notes []note, err error) {
	if in == nil {
		return nil, nil
	}
	all, err := clusters.Controllers(ctx, in, time.Time{})
	if err != nil {
		return nil, withoutForbidden(err)
	}
	for _, c := range slices.DeleteFunc(all, func(c clusters.Controller) bool { return !c.MakesNodes() }) {
		obj, err := in.Get(ctx, map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"namespace": c.Namespace, "name": linodev1alpha1.ConfigMapCluster},
		})
		if err = withoutForbidden(err); err != nil {
			return nil, err
		}
		if obj != nil {
			text := func(key string) string { return manifest.Text(obj, "data", key) }
			notes = append(notes, note{text("id"), text("label"),
				fmt.Sprintf("ConfigMap %s/%s", c.Namespace, linodev1alpha1.ConfigMapCluster)})
		}
	}
	return notes, nil
}

// withoutForbidden drops errors about missing permissions.
func withoutForbidden(err error) error {
	if apierrors.IsForbidden(err) || meta.IsNoMatchError(err) {
		return nil
	}
	return err
}

// otherCluster returns an OtherClusterError if a note is about another cluster than the one that is meant.
func (n note) otherCluster(tie Tie) error {
	switch {
	case n.label == "" || n.label == tie.Other:
		return nil
	case n.label != tie.Name:
		return OtherClusterError{tie, n.label, fmt.Sprintf("its controller reports the name %s in the %s", n.label, n.in)}
	case tie.ID != 0 && n.id != fmt.Sprint(tie.ID):
		return OtherClusterError{tie, "", fmt.Sprintf("its id is %s, not %d, according to the %s", cmp.Or(n.id, "unknown"), tie.ID, n.in)}
	}
	return nil
}
