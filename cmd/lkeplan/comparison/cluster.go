package comparison

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/lkeplan/lkeplan/engine/base"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
)

// view opens the cluster, or a snapshot of it. Where it says that it is neither the
// cluster of the directory nor the other, reading it is an error.
func (d *Comparison) view(c *Compared, kind, name, other string) (compare.View, plan.Revision, error) {
	switch kind {
	case "live":
		if d.member != nil {
			d.Access.Context = c.Head.Cluster.Name
		}
		cluster, err := kube.Connect(d.Access)
		if err != nil {
			return nil, plan.Revision{}, err
		}
		c.Cluster = cluster
		return Tied(cluster, c.Head, other), plan.Revision{Kind: "live", Ref: cluster.Place()}, nil
	case "snapshot":
		if d.member != nil {
			name = filepath.Join(name, filepath.FromSlash(d.Dir())+".json")
		}
		snapshot, err := base.Snapshot(name)
		if err != nil {
			return nil, plan.Revision{}, err
		}
		tie := tieOf(c.Head, other, "snapshot "+name)
		return compare.Tied(snapshot.View(), tie), plan.Revision{Kind: "snapshot", Ref: name, Taken: snapshot.Taken}, nil
	}
	return nil, plan.Revision{}, fmt.Errorf("%q names no cluster: write live or snapshot:FILE", kind)
}

// Tied is the live cluster, which is read only if it is the one that a directory is for,
// or has the other name.
func Tied(cluster *kube.Cluster, head compile.Result, other string) compare.View {
	return compare.Tied(compare.LiveView(cluster), tieOf(head, other, cluster.Place()))
}

func tieOf(head compile.Result, other, place string) compare.Tie {
	tie := compare.Tie{Names: []string{head.Cluster.Name}, ID: head.Cluster.ID, Region: head.Cluster.Region, Place: place}
	if other != "" {
		tie.Names = append(tie.Names, other)
	}
	return tie
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
