package compare

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/plan"
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

// mode is how the cluster's nodes are created.
func (t Tie) mode() string {
	if t.Instances() {
		return schemas.ModeInstance
	}
	return schemas.ModeLKE
}

// OtherClusterError reports that a cluster is not that of the configuration.
type OtherClusterError struct {
	Tie
	Name     string // of the actual cluster; "" if it has the same name
	Differs  string // what differs if it has the same name: id, region or mode
	Evidence string
}

// Error implements error.
func (e OtherClusterError) Error() string {
	return fmt.Sprintf("this is not the cluster %s of the directory: %s (%s)", e.Cluster.Name, e.Evidence, e.Place)
}

// Tied is a view that returns an error if the cluster is not that of the configuration. It checks the notes of the
// controller and its annotations on node classes, the labels of objects that were applied from another directory, and the
// region of nodes. If the name from the controller is that of the configuration, other labels only lead to notes.
func Tied(view View, tie Tie) View {
	if tie.Name == "" {
		return view
	}
	return &tied{View: view, tie: tie, renamed: map[string]int{}}
}

type tied struct {
	View
	tie Tie

	asked    sync.Once
	notes    []note // of the controller
	notesErr error

	mu      sync.Mutex
	renamed map[string]int // objects with another name of this cluster, by that name
}

// Objects implements View. The error is an OtherClusterError if the objects belong to another cluster.
func (t *tied) Objects(ctx context.Context, kind schemas.Object) ([]map[string]any, error) {
	objects, err := t.View.Objects(ctx, kind)
	if err != nil {
		return nil, err
	}
	if err := t.noted(ctx); err != nil {
		return nil, err
	}
	if err := t.recorded(objects); err != nil {
		return nil, err
	}
	foreign, first := t.foreign(objects)
	if first == nil {
		return objects, nil
	}
	if t.confirmed(ctx, kind, objects) {
		t.rename(foreign)
		return objects, nil
	}
	name := appliedTo(first)
	text := fmt.Sprintf("%s was applied from the directory of the cluster %s", manifest.KeyOf(first), name)
	if more := foreign[name] - 1; more > 0 {
		text = fmt.Sprintf("%s and %d more of its kind were applied from the directory of the cluster %s",
			manifest.KeyOf(first), more, name)
	}
	return nil, OtherClusterError{t.tie, name, "", text}
}

// noted is an OtherClusterError if the controller has noted another cluster. The notes are read once.
func (t *tied) noted(ctx context.Context) error {
	t.asked.Do(func() { t.notes, t.notesErr = noted(ctx, t.tie.Asked) })
	if t.notesErr != nil {
		return t.notesErr
	}
	return t.differ(t.notes)
}

// recorded is an OtherClusterError if the controller has written another cluster on an
// object.
func (t *tied) recorded(objects []map[string]any) error {
	for _, obj := range objects {
		if err := t.differ([]note{writtenDown(obj)}); err != nil {
			return err
		}
	}
	return nil
}

func (t *tied) differ(notes []note) error {
	for _, n := range notes {
		if err := n.differs(t.tie); err != nil {
			return err
		}
	}
	return nil
}

// foreign counts the objects that were applied from directories of other clusters, by cluster name, and returns the first.
func (t *tied) foreign(objects []map[string]any) (foreign map[string]int, first map[string]any) {
	foreign = map[string]int{}
	for _, obj := range objects {
		if name := appliedTo(obj); name != "" && name != t.tie.Name && name != t.tie.Other {
			if first == nil {
				first = obj
			}
			foreign[name]++
		}
	}
	return foreign, first
}

// confirmed reports whether the controller uses the directory's name for the cluster. It does not if the classes cannot be
// read.
func (t *tied) confirmed(ctx context.Context, kind schemas.Object, objects []map[string]any) bool {
	if class := *schemas.NodeClass.Object; kind != class {
		var err error
		if objects, err = t.View.Objects(ctx, class); err != nil || t.recorded(objects) != nil {
			return false
		}
	}
	calls := slices.Clone(t.notes)
	for _, obj := range objects {
		calls = append(calls, writtenDown(obj))
	}
	return slices.ContainsFunc(calls, func(n note) bool { return n.label == t.tie.Name })
}

func (t *tied) rename(foreign map[string]int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, n := range foreign {
		t.renamed[name] += n
	}
}

// Notes implements View. Objects with another name of the cluster are known after they have been read.
func (t *tied) Notes() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	notes := slices.Clone(t.View.Notes())
	for _, name := range slices.Sorted(maps.Keys(t.renamed)) {
		objects := "1 object was"
		if n := t.renamed[name]; n > 1 {
			objects = fmt.Sprintf("%d objects were", n)
		}
		notes = append(notes, fmt.Sprintf("%s applied from a directory for the cluster name %s. The controller and this "+
			"directory use the name %s, so an apply takes over the declared objects; the others stay.",
			objects, name, t.tie.Name))
	}
	return notes
}

// appliedTo is the name of the cluster that an object was applied to; "" if unknown, or if a NodePlan has applied it.
func appliedTo(obj map[string]any) string {
	owner := manifest.Label(obj, kube.InventoryLabel)
	if strings.HasPrefix(owner, kube.NodePlanOwner+".") {
		return ""
	}
	return owner
}

// nodeName is the name that LKE gives a node: lke, the id of the cluster, that of the LKE
// pool, and more.
//
// Unverified: that the first number is the id of the cluster on Enterprise as well.
var nodeName = regexp.MustCompile(`^lke([0-9]+)-[0-9]+-`)

// Nodes implements View. The error is an OtherClusterError if a node is in another region, because an LKE cluster has only
// one, or has the id of another cluster in its name.
func (t *tied) Nodes(ctx context.Context) ([]plan.Node, error) {
	nodes, err := t.View.Nodes(ctx)
	for _, n := range nodes {
		if region := n.Labels[corev1.LabelTopologyRegion]; region != "" && t.tie.Region != "" && region != t.tie.Region {
			return nil, OtherClusterError{t.tie, "", "region",
				fmt.Sprintf("its node %s is in the region %s, not %s", n.Name, region, t.tie.Region)}
		}
		m := nodeName.FindStringSubmatch(n.Node)
		if m != nil && t.tie.ID != 0 && t.tie.Other == "" && m[1] != fmt.Sprint(t.tie.ID) {
			return nil, OtherClusterError{t.tie, "", "id",
				fmt.Sprintf("its id is %s, not %d, according to the name of its node %s", m[1], t.tie.ID, n.Node)}
		}
	}
	return nodes, err
}
