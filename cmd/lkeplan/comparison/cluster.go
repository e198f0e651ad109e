package comparison

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/revision"
	"github.com/lkeplan/lkeplan/kube"
)

// view opens the cluster, or a snapshot of it. Where it says that it is neither the
// cluster of the directory nor the other, reading it is an error.
func (d *Comparison) view(c *Compared, kind, name, other string) (compare.View, plan.Revision, error) {
	switch kind {
	case "live":
		live := c.asked
		if live == nil {
			if d.member != nil {
				d.Access.Context = c.Head.Cluster.Name
			}
			live = open(d.Access)
		}
		if live.err != nil {
			return nil, plan.Revision{}, live.err
		}
		c.Cluster = live.cluster
		return Tied(live.view, live.cluster, c.Head, other), plan.Revision{Kind: "live", Ref: live.cluster.Place()}, nil
	case "snapshot":
		if d.member != nil {
			name = filepath.Join(name, filepath.FromSlash(d.Dir())+".json")
		}
		snapshot, err := revision.SavedSnapshot(name, time.Now())
		if err != nil {
			return nil, plan.Revision{}, err
		}
		tie := compare.Tie{Cluster: c.Head.Cluster, Other: other, Place: "snapshot " + name}
		return compare.Tied(snapshot.View(), tie), plan.Revision{Kind: "snapshot", Ref: name, Taken: snapshot.Taken}, nil
	}
	return nil, plan.Revision{}, fmt.Errorf("%q names no cluster: write live or snapshot:FILE", kind)
}

// opened is a live cluster, or why it cannot be asked.
type opened struct {
	cluster *kube.Cluster
	view    compare.View
	err     error
}

func open(access kube.Access) *opened {
	cluster, err := kube.Connect(access)
	if err != nil {
		return &opened{err: err}
	}
	return &opened{cluster: cluster, view: compare.LiveView(cluster)}
}

// askAhead has a cluster that is the base answer while the configuration is compiled. Of
// several directories, only the compiled one says which cluster that is.
func (d *Comparison) askAhead(ctx context.Context) *opened {
	if d.Base != "live" || d.member != nil {
		return nil
	}
	live := open(d.Access)
	if live.err == nil {
		live.view = compare.Ahead(ctx, live.view)
	}
	return live
}

// Tied is a view of the live cluster, which is read only if it is the one that a directory is for,
// or has the other name.
func Tied(view compare.View, cluster *kube.Cluster, head compile.Result, other string) compare.View {
	return compare.Tied(view, compare.Tie{Cluster: head.Cluster, Other: other, Place: cluster.Place(), Asked: cluster})
}

// Another says what to do about an error that it is another cluster.
func Another(err error) error {
	wrong, ok := errors.AsType[compare.OtherClusterError](err)
	switch {
	case !ok:
		return err
	case wrong.Name == "":
		return fmt.Errorf("%w; choose another context with --context, or correct the %s of the directory", err, wrong.Differs)
	}
	return fmt.Errorf("%w; choose another context with --context, or say that it is meant with --cluster %s", err,
		wrong.Name)
}
