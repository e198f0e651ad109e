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

// Tie is which cluster a configuration is for.
type Tie struct {
	config.Cluster        // as the configuration says it
	Other          string // another name that was given for the same cluster; "" for none
	Place          string // of the cluster that is asked: its context and server
	// Asked says what its controller has noted; nil if none can be asked, as of a snapshot.
	Asked Asked
}

// mode is how the cluster's nodes are made.
func (t Tie) mode() string {
	if t.Instances() {
		return schemas.ModeInstance
	}
	return schemas.ModeLKE
}

// OtherClusterError says that a cluster is not the one that a configuration is for.
type OtherClusterError struct {
	Tie
	Name     string // of the cluster that it is; "" where it has the same name
	Differs  string // what of the configuration differs, where it has the same name: id, region or mode
	Evidence string
}

// Error implements error.
func (e OtherClusterError) Error() string {
	return fmt.Sprintf("this is not the cluster %s, which the directory is for: %s (%s)", e.Cluster.Name, e.Evidence, e.Place)
}

// Tied is a cluster that is read only if it is the one that a configuration is for, as
// far as it says so: by what the controller notes and writes on node classes, by the labels of
// objects that were applied from another directory, and by the region of its nodes. Where
// the controller calls it as the configuration does, such labels are noted only.
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

// Objects implements View. The error is an OtherClusterError where the objects are of
// another cluster.
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

// noted is an OtherClusterError where the controller has noted another cluster. It is asked
// once.
func (t *tied) noted(ctx context.Context) error {
	t.asked.Do(func() { t.notes, t.notesErr = noted(ctx, t.tie.Asked) })
	if t.notesErr != nil {
		return t.notesErr
	}
	return t.differ(t.notes)
}

// recorded is an OtherClusterError where the controller has written another cluster on an
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

// foreign counts the objects that were applied from directories of other clusters, by
// their names, and returns the first.
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

// confirmed reports whether the controller calls the cluster as the directory does. Where
// the classes cannot be read it does not.
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

// Notes implements View. That objects have another name of the cluster is known when they
// have been asked for.
func (t *tied) Notes() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	notes := slices.Clone(t.View.Notes())
	for _, name := range slices.Sorted(maps.Keys(t.renamed)) {
		objects := "1 object was"
		if n := t.renamed[name]; n > 1 {
			objects = fmt.Sprintf("%d objects were", n)
		}
		notes = append(notes, fmt.Sprintf("%s applied from the directory of the cluster %s. The controller calls this "+
			"cluster %s, as the directory does, so an apply takes over those that are declared; the others stay.",
			objects, name, t.tie.Name))
	}
	return notes
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

// nodeName is the name that LKE gives a node: lke, the id of the cluster, that of the LKE
// pool, and more.
//
// Unverified: that the first number is the id of the cluster on Enterprise as well.
var nodeName = regexp.MustCompile(`^lke([0-9]+)-[0-9]+-`)

// Nodes implements View. The error is an OtherClusterError where a node is in another
// region, as a cluster of LKE is in one, or has the id of another cluster in its name.
func (t *tied) Nodes(ctx context.Context) ([]plan.Node, error) {
	nodes, err := t.View.Nodes(ctx)
	for _, n := range nodes {
		if region := n.Labels[corev1.LabelTopologyRegion]; region != "" && t.tie.Region != "" && region != t.tie.Region {
			return nil, OtherClusterError{t.tie, "", "region",
				fmt.Sprintf("its node %s is in %s, not in %s", n.Name, region, t.tie.Region)}
		}
		m := nodeName.FindStringSubmatch(n.Node)
		if m != nil && t.tie.ID != 0 && t.tie.Other == "" && m[1] != fmt.Sprint(t.tie.ID) {
			return nil, OtherClusterError{t.tie, "", "id",
				fmt.Sprintf("its id is %s and not %d, by the name of its node %s", m[1], t.tie.ID, n.Node)}
		}
	}
	return nodes, err
}
