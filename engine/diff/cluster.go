package diff

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
)

// checkPlaces returns an error if a flag has a kind of place without its name.
func (d *Comparison) checkPlaces() error {
	names := map[string]string{
		"snapshot": "the name of a file: snapshot:FILE", "plan": "the name of a file: plan:FILE",
		"dir": "the path of a directory: dir:PATH", "git": "a commit, branch or tag: git:REF",
	}
	for _, flag := range [][2]string{{"base", d.Base}, {"nodes", d.Nodes}, {"guards", d.Rules}} {
		kind, name, found := strings.Cut(flag[1], ":")
		if needs := names[kind]; found && name == "" && needs != "" {
			return fmt.Errorf("--%s %s needs %s", flag[0], flag[1], needs)
		}
	}
	inGit := false
	switch KindOf(d.Base) {
	case "", "git", "dir":
		inGit = true
	case "plan", "live", "snapshot":
	default:
		return unknownBase(d.Base)
	}
	switch kind := KindOf(d.Rules); {
	case d.Rules == "":
	case inGit:
		return errors.New("--guards needs --base live, --base snapshot:FILE or --base plan:FILE; with any other base, " +
			"guards and policies are read from the base")
	case kind != "git" && kind != "dir":
		return fmt.Errorf("--guards %s: write git:REF or dir:PATH", d.Rules)
	}
	return nil
}

// KindOf returns the part of a place before the colon: live, or snapshot of snapshot:FILE.
func KindOf(place string) string {
	kind, _, _ := strings.Cut(place, ":")
	return kind
}

// OfCluster reports whether the base is a cluster or a snapshot of one.
func (d *Comparison) OfCluster() bool {
	return KindOf(d.Base) == "live" || KindOf(d.Base) == "snapshot"
}

// InGit reports whether the base is a commit.
func (d *Comparison) InGit() bool { return KindOf(d.Base) == "" || KindOf(d.Base) == "git" }

// snapshotFile returns the file of a snapshot: that of a directory, in a directory of snapshots, if several are
// compared.
func (d *Comparison) snapshotFile(name string) string {
	if d.member == nil {
		return name
	}
	return filepath.Join(name, filepath.FromSlash(d.Dir())+".json")
}

// view opens the cluster or a snapshot. Reading it is an error if it is neither the cluster of the
// directory nor the cluster with the other name.
func (d *Comparison) view(c *Compared, kind, name, other string) (compare.View, plan.Revision, error) {
	switch kind {
	case "live":
		live := c.ahead
		if live == nil {
			if d.member != nil {
				d.Access.Context = c.Head.Cluster.Name
			}
			live = openCluster(d.Access)
		}
		if live.err != nil {
			return nil, plan.Revision{}, live.err
		}
		c.Cluster = live.cluster
		return d.Consolidating(Tied(live.view, live.cluster, c.Head, other)), plan.Revision{Kind: "live", Ref: live.cluster.Place()}, nil
	case "snapshot":
		name = d.snapshotFile(name)
		snapshot, err := compare.ReadSavedSnapshot(name, time.Now())
		if err != nil {
			return nil, plan.Revision{}, err
		}
		tie := compare.Tie{Cluster: c.Head.Cluster, Other: other, Place: "snapshot " + name}
		return d.Consolidating(compare.Tied(snapshot.View(), tie)), plan.Revision{Kind: "snapshot", Ref: name, Taken: snapshot.Taken.UTC()}, nil
	}
	return nil, plan.Revision{}, fmt.Errorf("--nodes %s: write live or snapshot:FILE", d.Nodes)
}

// Consolidating returns a view with which consolidation is simulated, unless the user leaves it out.
func (d *Comparison) Consolidating(view compare.View) compare.View {
	if d.WithoutConsolidation {
		return compare.WithoutConsolidation(view)
	}
	return view
}

// opened is a connection to a cluster, or an error.
type opened struct {
	cluster *kube.Cluster
	view    compare.View
	err     error
}

func openCluster(access kube.Access) *opened {
	cluster, err := kube.Connect(access)
	if err != nil {
		return &opened{err: err}
	}
	return &opened{cluster: cluster, view: compare.LiveView(cluster)}
}

// readAhead starts to read a cluster that is the base, while the configuration is compiled. With
// several directories, the cluster is only known after that.
func (d *Comparison) readAhead(ctx context.Context) *opened {
	if d.Base != "live" || d.member != nil {
		return nil
	}
	live := openCluster(d.Access)
	if live.err == nil {
		live.view = compare.Ahead(ctx, live.view)
	}
	return live
}

// Tied returns a view of the live cluster. Reading it is an error if it is neither the cluster of a
// directory nor the cluster with the other name.
func Tied(view compare.View, cluster *kube.Cluster, head compile.Result, other string) compare.View {
	return compare.Tied(view, compare.Tie{Cluster: head.Cluster, Other: other, Place: cluster.Place(), Asked: cluster})
}

// Another adds to an error about the wrong cluster what to do.
func Another(err error) error {
	wrong, ok := errors.AsType[compare.OtherClusterError](err)
	switch {
	case !ok:
		return err
	case wrong.Name == "":
		return fmt.Errorf("%w; choose another context with --context, or correct the id in the cluster block", err)
	}
	return fmt.Errorf("%w; choose another context with --context, or confirm this cluster with --cluster %s", err,
		wrong.Name)
}
