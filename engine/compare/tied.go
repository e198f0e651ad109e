package compare

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Tie is which cluster a configuration is for.
type Tie struct {
	// Names are those that the cluster may have: the name in the configuration, and others
	// that somebody has said are the same cluster.
	Names  []string
	ID     int64 // of the cluster in LKE; 0 where the configuration does not say
	Region string
	Place  string // of the cluster that is asked: its context and server
}

// OtherClusterError says that a cluster is not the one that a configuration is for.
type OtherClusterError struct {
	Tie
	Name     string // of the cluster that it is; "" where it has the same name
	Differs  string // what of the configuration differs, where it has the same name: id or region
	Evidence string
}

// Error implements error.
func (e OtherClusterError) Error() string {
	return fmt.Sprintf("this is not the cluster %s, which the directory is for: %s (%s)", e.Names[0], e.Evidence, e.Place)
}

// Tied is a cluster that is read only if it is the one that a configuration is for, as
// far as it says so: by the labels of objects that were applied from another directory,
// by what the controller writes on node classes, and by the region of its nodes.
func Tied(view View, tie Tie) View {
	if tie.Names[0] == "" {
		return view
	}
	return tied{view, tie}
}

type tied struct {
	View
	tie Tie
}

// Objects implements View. The error is an OtherClusterError where the objects are of
// another cluster.
func (t tied) Objects(ctx context.Context, kind schemas.Object) ([]map[string]any, error) {
	objects, err := t.View.Objects(ctx, kind)
	if err != nil {
		return nil, err
	}
	for _, obj := range objects {
		id, name := writtenDown(obj)
		by := fmt.Sprintf("by the annotation %s of %s", linodev1alpha1.AnnotationCluster, manifest.KeyOf(obj))
		switch {
		case name == "" || name == t.meant():
		case !slices.Contains(t.tie.Names, name):
			return nil, OtherClusterError{t.tie, name, "", fmt.Sprintf("its controller calls it %s, %s", name, by)}
		case t.tie.ID != 0 && id != fmt.Sprint(t.tie.ID):
			return nil, OtherClusterError{t.tie, "", "id", fmt.Sprintf("its id is %s and not %d, %s", id, t.tie.ID, by)}
		}
	}
	foreign, first := map[string]int{}, ""
	for _, obj := range objects {
		if name := appliedTo(obj); name != "" && !slices.Contains(t.tie.Names, name) {
			if first == "" {
				first = name
			}
			foreign[name]++
		}
	}
	if first == "" {
		return objects, nil
	}
	i := slices.IndexFunc(objects, func(obj map[string]any) bool { return appliedTo(obj) == first })
	text := fmt.Sprintf("%s was applied from the directory of the cluster %s", manifest.KeyOf(objects[i]), first)
	if more := foreign[first] - 1; more > 0 {
		text = fmt.Sprintf("%s and %d more of its kind were applied from the directory of the cluster %s",
			manifest.KeyOf(objects[i]), more, first)
	}
	return nil, OtherClusterError{t.tie, first, "", text}
}

// meant is the name of another cluster that somebody has said is meant; "" for none.
func (t tied) meant() string {
	if len(t.tie.Names) > 1 {
		return t.tie.Names[1]
	}
	return ""
}

// appliedTo is the name of the cluster that an object was applied to; "" where none is
// known, or a NodePlan has applied it.
func appliedTo(obj map[string]any) string {
	owner := manifest.Label(obj, kube.InventoryLabel)
	if strings.HasPrefix(owner, kube.NodePlanOwner+".") {
		return ""
	}
	return owner
}

// writtenDown is the id and the label that the cluster has in LKE, by what the controller
// has written on a node class.
func writtenDown(obj map[string]any) (id, label string) {
	annotations := manifest.Map(obj, "metadata", "annotations")
	record, _ := annotations[linodev1alpha1.AnnotationCluster].(string)
	id, label, _ = strings.Cut(record, "/")
	return id, label
}

// nodeName is the name that LKE gives a node: lke, the id of the cluster, that of the LKE
// pool, and more.
//
// Unverified: that the first number is the id of the cluster on Enterprise as well.
var nodeName = regexp.MustCompile(`^lke([0-9]+)-[0-9]+-`)

// Nodes implements View. The error is an OtherClusterError where a node is in another
// region, as a cluster of LKE is in one, or has the id of another cluster in its name.
func (t tied) Nodes(ctx context.Context) ([]plan.Node, error) {
	nodes, err := t.View.Nodes(ctx)
	for _, n := range nodes {
		if region := n.Labels[corev1.LabelTopologyRegion]; region != "" && t.tie.Region != "" && region != t.tie.Region {
			return nil, OtherClusterError{t.tie, "", "region",
				fmt.Sprintf("its node %s is in %s, not in %s", n.Name, region, t.tie.Region)}
		}
		m := nodeName.FindStringSubmatch(n.Node)
		if m != nil && t.tie.ID != 0 && t.meant() == "" && m[1] != fmt.Sprint(t.tie.ID) {
			return nil, OtherClusterError{t.tie, "", "id",
				fmt.Sprintf("its id is %s and not %d, by the name of its node %s", m[1], t.tie.ID, n.Node)}
		}
	}
	return nodes, err
}
