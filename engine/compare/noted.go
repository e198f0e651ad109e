package compare

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	clusters "github.com/lkeplan/lkeplan/engine/cluster"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

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
