package diff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/podsource"
	"github.com/lkeplan/lkeplan/engine/simreport"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// workloads simulates pods before and after the change.
func (d *Comparison) workloads(ctx context.Context, c *Compared) error {
	switch {
	case !d.Simulate && d.Pods.Given():
		return errors.New("--pods and --workloads are for --simulate: add it")
	case !d.Simulate:
		return nil
	}
	from, err := d.podsOf(c)
	if err != nil {
		return err
	}
	from.CostBy = d.Pods.CostBy
	access := d.Access
	if d.member != nil {
		access.Context = c.Head.Cluster.Name
	}
	pods, err := from.Read(ctx, d.Stdin, access)
	if d.member != nil && errors.Is(err, fs.ErrNotExist) {
		c.Plan.Notes = append(c.Plan.Notes, "There is no snapshot of its cluster, so no pods are simulated.")
		return nil
	}
	if err == nil {
		err = pods.AddTemplates(ctx, slices.Concat(c.Base.Objects, c.Head.Objects))
	}
	if err != nil {
		return err
	}
	pods.SplitCosts()
	prices, err := c.prices()
	if err != nil {
		return err
	}
	found, err := d.simulateBoth(ctx, c, pods, prices)
	if err != nil {
		return err
	}
	summary := simreport.Workloads(found)
	if len(pods.Missing) > 0 {
		summary.Missing = append(summary.Missing, "pods may be missing or differ: "+strings.Join(pods.Missing, "; "))
	}
	if c.Plan.Before.FloorUnknown || c.Plan.After.FloorUnknown {
		summary.Missing = append(summary.Missing, "the price or size of the nodes of a pool with replicas is not known, so they are not "+
			"simulated")
	}
	c.Plan.Workloads = &summary
	c.picture, err = simreport.Picture(found)
	return err
}

// podsOf returns the flags of the pods, or else the pods of the cluster that is compared.
func (d *Comparison) podsOf(c *Compared) (podsource.Sources, error) {
	if d.Pods.Given() {
		if d.member != nil {
			return d.Pods, errors.New("--pods and --workloads are for one directory: for several, the pods are those of the " +
				"clusters or snapshots that --base or --nodes names")
		}
		return d.Pods, nil
	}
	for _, place := range []string{d.Base, d.Nodes} {
		switch kind, name, _ := strings.Cut(place, ":"); kind {
		case "live":
			return podsource.OfCluster(), nil
		case "snapshot":
			return podsource.OfSnapshot(d.snapshotFile(name)), nil
		}
	}
	return d.Pods, nil
}

// simulateBoth simulates the pods before and after the change.
func (d *Comparison) simulateBoth(
	ctx context.Context, c *Compared, pods podsource.Pods, prices *catalog.Catalog,
) (r simulate.Report, err error) {
	before, after := c.Plan.Sides(c.Base.Objects, c.Head.Objects)
	was, is := c.Base.Cluster, c.Head.Cluster
	was.Region, is.Region = cmp.Or(was.Region, is.Region), cmp.Or(is.Region, was.Region)
	run := func(cluster config.Cluster, objects []config.Object) (result simulate.Result, err error) {
		in, err := pods.Input(compile.Result{Compiled: config.Compiled{Cluster: cluster, Objects: objects}}, prices)
		if err != nil {
			return result, err
		}
		return simulate.Run(ctx, in)
	}
	old, err := run(was, before)
	if err != nil {
		return r, fmt.Errorf("simulate pods before the change: %w", err)
	}
	head, err := run(is, after)
	if err != nil {
		return r, fmt.Errorf("simulate pods after the change: %w", err)
	}
	for _, text := range old.Notes {
		if !slices.Contains(head.Notes, text) {
			head.Notes = append(head.Notes, "Before the change: "+text)
		}
	}
	head.Notes = append(pods.NotesFor(c.Head.Cluster), head.Notes...)
	return simulate.NewReport(d.Dir(), c.Plan.Base.String(), head, &old), nil
}
