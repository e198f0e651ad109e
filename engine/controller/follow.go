package controller

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/apply"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/source"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/lkeapi"
)

// follower keeps a cluster in step with a source of configuration: each new
// revision is compiled and applied. A revision that does not compile, or is for
// another cluster, changes nothing: what was applied before stays in force.
type follower struct {
	source  *source.Source
	to      *kube.Cluster
	cluster lkeapi.Cluster
	plans   *catalog.Catalog // advice: a plan that is sold no more holds no revision back
	log     *slog.Logger

	applied   string // the last revision that was applied whole
	appliedAt time.Time
	refused   string // the last one that was not fit to be applied
}

// How often the source is looked at, and how often a revision that is applied
// already is applied again, to undo what was changed beside it.
const (
	followEvery = 2 * time.Second
	applyAgain  = 5 * time.Minute
)

// Start implements manager.Runnable.
func (f *follower) Start(ctx context.Context) error {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		if err := f.step(ctx); err != nil && ctx.Err() == nil {
			f.log.Error("the configuration could not be applied", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (f *follower) NeedLeaderElection() bool { return true }

// step applies the present revision where it is new, or was applied a while
// ago.
func (f *follower) step(ctx context.Context) error {
	rev, err := f.source.Revision()
	if err != nil {
		return err
	}
	if rev.ID == f.refused || (rev.ID == f.applied && time.Since(f.appliedAt) < applyAgain) {
		return nil
	}
	compiled, diags := compile.Dir(ctx, rev.FS, compile.Options{Options: config.Options{Dir: rev.Dir}, Catalog: f.plans})
	if problem := f.unfit(compiled, diags); problem != nil {
		f.refused = rev.ID
		return fmt.Errorf("revision %s is not applied, the last good one stays: %w", short(rev.ID), problem)
	}
	changed := 0
	err = apply.Objects(ctx, f.to, compiled.LabelledManifests(), func(p apply.Progress) {
		if p.Event != apply.Event(kube.Unchanged) {
			changed++
			f.log.Info("applied", "kind", p.Kind, "name", p.Name, "outcome", p.Event)
		}
	})
	if err != nil {
		return err
	}
	if rev.ID != f.applied || changed > 0 {
		f.log.Info("revision applied", "revision", short(rev.ID), "objects", len(compiled.Resources), "changed", changed)
	}
	f.applied, f.appliedAt = rev.ID, time.Now()
	return nil
}

// unfit says why a revision must not be applied.
func (f *follower) unfit(compiled compile.Result, diags hcl.Diagnostics) error {
	if diags.HasErrors() {
		return diags
	}
	if name := compiled.Cluster.Name; name != "" && name != f.cluster.Label {
		return fmt.Errorf("it is for the cluster %q, and this is %q", name, f.cluster.Label)
	}
	if len(compiled.Resources) == 0 {
		return fmt.Errorf("it has no node_class and no pool")
	}
	return nil
}

func short(revision string) string { return revision[:min(len(revision), 12)] }
