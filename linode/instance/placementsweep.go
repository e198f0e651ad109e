package instance

import (
	"context"
	"time"

	"github.com/lkeplan/lkeplan/linode/api"
)

// Run deletes groups that are not needed until ctx ends.
func (g *placementGroups) Run(ctx context.Context) {
	ticker := time.NewTicker(max(time.Second, g.cfg.Keep/2))
	defer ticker.Stop()
	for ctx.Err() == nil {
		if err := g.Sweep(api.LowPriority(ctx)); err != nil && ctx.Err() == nil {
			g.cfg.Log.Warn("placement groups are not compared with NodePools", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// placementTimeout bounds a sweep, which makes others wait.
const placementTimeout = 30 * time.Second

// Sweep deletes the groups that have no Linodes and that were not needed for as long as they
// are kept, in two looks at least. One that is needed again soon is made again.
func (g *placementGroups) Sweep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, placementTimeout)
	defer cancel()
	if err := g.take(ctx); err != nil {
		return err
	}
	defer g.leave()
	if err := g.list(ctx); err != nil {
		return err
	}
	if len(g.shown) == 0 {
		g.unneeded = nil
		return nil
	}
	needed, err := g.cfg.Needed(ctx) // after the list: a group that is new in it has been asked for by then
	if err != nil {
		return err
	}
	labels := map[string]bool{}
	for _, of := range needed {
		labels[Label(g.cfg.Cluster, of)] = true
	}
	var due []api.PlacementGroup
	g.unneeded, due = surplus(g.unneeded, g.shown, labels, g.cfg.Keep, time.Now())
	for _, p := range due {
		if err := g.cfg.Linode.DeletePlacementGroup(ctx, p.ID); err != nil {
			g.cfg.Log.Warn("placement group not deleted", "id", p.ID, "label", p.Label, "error", err)
			continue
		}
		g.cfg.Log.Info("placement group deleted", "id", p.ID, "label", p.Label)
		g.asked = time.Time{}
	}
	return nil
}

// surplus returns since when each group has been empty and not needed, and those for
// which that is long enough. Of several with one label the first is the one that is needed.
func surplus(
	since map[int]time.Time, all []api.PlacementGroup, needed map[string]bool, keep time.Duration, now time.Time,
) (next map[int]time.Time, due []api.PlacementGroup) {
	next = map[int]time.Time{}
	for _, p := range all {
		counts, _ := first(all, p.Region, p.Label)
		if len(p.Members) > 0 || needed[p.Label] && counts.ID == p.ID {
			continue
		}
		at, again := since[p.ID]
		if !again {
			at = now
		}
		next[p.ID] = at
		if again && now.Sub(at) >= keep {
			due = append(due, p)
		}
	}
	return next, due
}
