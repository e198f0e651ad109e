package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/diff"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/podsource"
	"github.com/lkeplan/lkeplan/engine/simreport"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

const simulateHelp = `Show which nodes the pools of a directory would create for your pods. The report
shows the nodes, their cost, and how full they are. If a pod gets no node, the
report shows the reason for each pool.

The simulation needs no cluster. It uses Karpenter's scheduler, and chooses plan
types (kinds of Linode, such as g6-standard-2) as the controller does. The
limits of the pools apply. At the start, only pools with a fixed number of nodes
have nodes. All pods are created at the same time, with those of CapacityBuffers.
NodeOverlays count, as with the feature gate NodeOverlay.

--pods 200x1cpu,2Gi adds 200 pods that each request 1 CPU and 2Gi of memory to the
simulation. --workloads adds the pods of manifests: Deployments, StatefulSets,
ReplicaSets, Jobs, CronJobs, Pods, and DaemonSets on each node, and the workloads
and PodTemplates to which CapacityBuffers refer. You can repeat and combine these
flags. The SOURCE of --workloads is one of these:

  FILE           a file with manifests; the FILE "-" is standard input
  DIR            all manifests in a directory. Files without Kubernetes objects
                 are skipped. If a file cannot be read, the report warns that
                 pods may be missing or differ
  live           all pods and DaemonSets of the cluster, which is only read
  snapshot:FILE  all pods and DaemonSets in a file of "lkeplan snapshot"

If manifests contain an autoscaler for a workload, such as a
HorizontalPodAutoscaler, simulate uses its minimum number of pods. With
--autoscalers max, simulate uses the maximum. It ignores Jobs that have ended. If a
pod uses a PersistentVolumeClaim that is not in the manifests, the pod gets no
node.

On the standard tier of LKE, simulate adds the DaemonSets that LKE installs. On
LKE Enterprise, it does not know these DaemonSets. To add them, save the output
of "kubectl get daemonsets -A -o yaml", and pass the file to --workloads.

With --settle, the simulation also consolidates the nodes, as Karpenter does. It
removes empty nodes, and replaces nodes with fewer or cheaper nodes. Disruption
budgets, PodDisruptionBudgets and the annotation karpenter.sh/do-not-disrupt
apply. The report shows what each step saves, and why the other nodes stay. With
--keep 50%, half of the pods of each workload are removed before the
consolidation.

With --base, simulate also runs with the base, an earlier state of the
directory. The report compares the results. If you add --settle, the report also
shows how the nodes of the base are replaced or drained.

With --cost-by, the report shows what each namespace pays for the nodes, or each
value of a label of pods, with its part of idle room and DaemonSets.

Use the format markdown for the comment of a pull request.

The exit code is 3 if a pod, or a pod of a CapacityBuffer, gets no node. With --base, the exit code is 3 only
if a pod gets a node in the base, and no node after the change.`

const simulateExamples = `  lkeplan simulate --pods 40x1cpu,2Gi clusters/prod
  lkeplan simulate --workloads manifests.yaml --pods 4x2cpu,8Gi clusters/prod
  lkeplan simulate --keep 50% --workloads manifests.yaml clusters/prod
  lkeplan simulate --workloads live --base git:HEAD~1 clusters/prod
  lkeplan simulate --base git:HEAD~1 --pods 50x500mcpu,1Gi clusters/prod`

type simulateSettings struct {
	comparison comparison
	pods       podsource.Sources
	detailed   bool
	settle     bool
	keep       string
	bound      flags.Choice // of autoscalers
	output     flags.Choice
}

func newSimulate(env *flags.Env) *cobra.Command {
	s := simulateSettings{
		comparison: newComparison(env, ""),
		bound:      flags.Choice{Value: "min", Of: []string{"min", "max"}},
		output:     flags.Choice{Value: "text", Of: []string{"text", "json", "markdown"}},
	}
	cmd := &cobra.Command{
		Use:     "simulate [DIR]",
		Short:   "Show the nodes that your pods would get",
		Long:    simulateHelp,
		Example: simulateExamples,
		Args:    flags.OneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			s.comparison.Dirs = args
			return s.run(cmd.Context(), env)
		},
	}
	flags.SourceFlags(cmd, &s.comparison.Source)
	podFlags(cmd, &s.pods, "")
	costFlag(cmd, &s.pods.CostBy, "")
	flags.ClusterFlags(cmd, env, &s.comparison.Access)
	s.bound.Flag(cmd, "autoscalers", "", "scale each workload that has an autoscaler to the `BOUND` of the autoscaler")
	cmd.Flags().StringVar(&s.comparison.Base, "base", "", "compare with `BASE`: git:REF or dir:PATH (default: none)")
	cmd.Flags().BoolVar(&s.settle, "settle", false, "run consolidation until Karpenter has no node left to remove or replace")
	cmd.Flags().StringVar(&s.keep, "keep", "",
		"after placement, scale each workload to `PERCENT` of its pods, then run consolidation")
	cmd.Flags().BoolVar(&s.detailed, "detailed-exitcode", false,
		"exit with 2 if there are changes: the result differs from that of --base")
	s.output.Flag(cmd, "output", "o", "print the result as `FORMAT`")
	based := func() bool { return s.comparison.Base != "" }
	flags.RejectUnused(cmd, lkeUse(&s.pods),
		flags.Use{Flags: flags.OfCluster, If: s.pods.Live, Else: "is for --workloads live: without it no cluster is read"},
		flags.Use{Flags: "base", If: based, Else: "is empty; leave it out"},
		flags.Use{Flags: "keep", If: func() bool { return s.keep != "" }, Else: "is empty; leave it out"},
		flags.Use{Flags: "detailed-exitcode", If: based, Else: "is for --base: without it there is nothing to compare with"},
		flags.Use{Flags: "autoscalers", If: s.pods.Manifests,
			Else: "is for autoscalers in the manifests of --workloads: live and snapshot:FILE have the scaled numbers of pods"})
	return cmd
}

func (s *simulateSettings) run(ctx context.Context, env *flags.Env) error {
	s.pods.Most = s.bound.Value == "max"
	pods, err := s.pods.Read(ctx, env.Stdin, s.comparison.Access)
	if err != nil {
		return err
	}
	settle, err := s.consolidation()
	if err != nil {
		return err
	}
	compiled, against, err := s.comparison.Compile(ctx)
	if err != nil {
		return err
	}
	if err := pods.AddTemplates(ctx, slices.Concat(compiled.Base.Objects, compiled.Head.Objects)); err != nil {
		return err
	}
	prices, err := compiled.Head.Prices()
	if err != nil {
		return err
	}
	in, err := pods.Input(compiled.Head, prices)
	if err != nil {
		return err
	}
	notes := pods.NotesFor(compiled.Head.Cluster)
	in.Consolidate = settle
	if flags.Terminal(env.Stderr) != nil {
		defer time.AfterFunc(reportAfter, func() {
			fmt.Fprintln(env.Stderr, "lkeplan: the simulation still runs; with --keep, many nodes take a minute")
		}).Stop()
	}
	report, err := s.report(ctx, pods, prices, in, notes, compiled, against)
	if err != nil {
		return err
	}
	if err := s.write(env, report); err != nil {
		return err
	}
	return s.verdict(report).AsError()
}

// reportAfter is when a simulation reports that it still runs, as commands do that wait for a cluster.
const reportAfter = 3 * time.Second

// report simulates the head, and the base if there is one. The notes are about the input.
func (s *simulateSettings) report(ctx context.Context, pods podsource.Pods, prices *catalog.Catalog, in simulate.Input,
	notes []string, compiled diff.Compared, against plan.Revision) (r simulate.Report, err error) {
	head, err := simulate.Run(ctx, in)
	if err != nil {
		return r, err
	}
	head.Notes = append(notes, head.Notes...)
	if s.comparison.Base == "" {
		return simulate.NewReport(s.comparison.Dir(), "", head, nil), nil
	}
	// If the base does not set the region, it is that of the head.
	compiled.Base.Cluster.Region = cmp.Or(compiled.Base.Cluster.Region, compiled.Head.Cluster.Region)
	old, err := pods.Input(compiled.Base, prices)
	if err != nil {
		return r, err
	}
	old.Consolidate = in.Consolidate
	before, err := simulate.Run(ctx, old)
	if err != nil {
		return r, fmt.Errorf("simulate %s: %w", against, err)
	}
	r = simulate.NewReport(s.comparison.Dir(), against.String(), head, &before)
	if old.Consolidate != nil && old.Region == in.Region && old.Tier == in.Tier {
		if r.Change, err = simulate.Change(ctx, old, in); err != nil {
			return r, fmt.Errorf("simulate the nodes of %s after the change: %w", against, err)
		}
	}
	return r, nil
}

// consolidation returns what to simulate after the pods are placed.
func (s *simulateSettings) consolidation() (*simulate.Consolidation, error) {
	if s.keep == "" {
		if !s.settle {
			return nil, nil
		}
		return &simulate.Consolidation{}, nil
	}
	keep, err := strconv.Atoi(strings.TrimSuffix(s.keep, "%"))
	if err != nil || keep < 1 || keep > 100 {
		return nil, fmt.Errorf("--keep %s: write a share of the pods from 1%% to 100%%", s.keep)
	}
	return &simulate.Consolidation{Keep: keep}, nil
}

func (s *simulateSettings) verdict(r simulate.Report) flags.Outcome {
	switch {
	case r.Before == nil && r.Head.Refused > 0, len(r.New) > 0:
		return flags.Refused
	case s.detailed && r.Changed():
		return flags.Changes
	}
	return flags.Fine
}

func (s *simulateSettings) write(env *flags.Env, r simulate.Report) error {
	switch s.output.Value {
	case "json":
		return diag.JSON(env.Stdout, r)
	case "markdown":
		_, err := fmt.Fprint(env.Data(), simreport.Markdown(r))
		return err
	}
	text := diag.Visible(r.Text())
	if flags.Unicode(env.Getenv) {
		text = strings.ReplaceAll(text, " -> ", " → ")
	}
	_, err := fmt.Fprint(env.Stdout, diag.Fit(text, flags.Columns(env.Stdout, env.Getenv)))
	return err
}
