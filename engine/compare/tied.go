package compare

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas"
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
