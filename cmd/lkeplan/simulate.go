package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/comparison"
	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/cmd/lkeplan/podsource"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/simreport"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

const simulateHelp = `Say which nodes pods would get of the pools of a directory, what these cost, how
full they are, and which pods get none, with the reason of each pool.

Karpenter's own scheduler plans the nodes, in this process and without a
cluster, and the controller's own choice takes the plan types: limits of pools
and CapacityLimits hold as in a cluster. The nodes of static pools are there
from the beginning, no other is; all pods come at once. Overlays and buffers are
not simulated.

With --settle that goes on until nothing changes any more: Karpenter gives up
nodes that are empty, and has fewer or cheaper ones take the place of others, as
the disruption blocks of the pools, PodDisruptionBudgets among the manifests and
karpenter.sh/do-not-disrupt let it. Each step is told with what it saves, and of
the nodes that stay why they do. --keep 50% has half of the pods of each
workload leave before that.

Pods are written down, --pods 200x1cpu,2Gi, or are those of manifests, of which
Deployments, StatefulSets, ReplicaSets, Jobs, CronJobs and Pods count, and
DaemonSets on each node. What an autoscaler scales has as many pods as that
allows at least, with --at max at most. LKE's own DaemonSets count as they were
seen on the standard tier, unless the manifests have them: "kubectl get
daemonsets -A -o yaml" writes those of a cluster. Those of LKE Enterprise are
not known, and do not count.
Of a directory, files that are no objects of Kubernetes are left out; if one may
have pods and cannot be read, a warning says that pods may be missing. Objects
of versions of the API that are not known do not count, Jobs that have ended
neither, and pods wait for a PersistentVolumeClaim that is not given.

With --live all pods of the cluster are simulated, with its DaemonSets: it is
only read, by lists. A snapshot has them without names; --snapshot needs no
cluster. The flags can be combined.

With --base both states are simulated with the same pods, and shown next to each
other; with --settle, too, what becomes of the nodes of the base: those that
differ from their pools are replaced one by one, within the budgets, and nodes
of pools that are gone are given up. With --sweep the same pods are simulated
with each cap on the size of nodes, or with each class of plans and the cap that
is best for it, the cheapest first, with what to write for it.

With --replay the pods are those of several snapshots of one cluster, such as
one of each hour: Karpenter places what comes at each time, nodes live on in
between, and it is told what these pools would have cost, launched and
disrupted, beside the nodes that there were. An hour that a machine has begun is
billed. The last snapshot only says when it ends, and a step of Karpenter takes
three minutes.

markdown is for the comment of a pull request; html is one page with a picture:
each node a bar, filled by its pods. It loads nothing and runs no script.

The exit code is 3 where pods get no node that have one in the base, or without
a base where pods get none.`

const simulateExamples = `  lkeplan simulate --pods 40x1cpu,2Gi clusters/prod
  lkeplan simulate --workloads manifests.yaml --pods 4x2cpu,8Gi clusters/prod
  lkeplan simulate --keep 50% --workloads manifests.yaml clusters/prod
  lkeplan simulate -o html --pods 40x1cpu,2Gi clusters/prod > simulation.html
  lkeplan simulate --live --base git:HEAD~1 clusters/prod
  lkeplan simulate --sweep cpu --pods 40x1cpu,2Gi clusters/prod
  lkeplan simulate --sweep class --pods 40x1cpu,2Gi clusters/prod
  lkeplan simulate --replay snapshots clusters/prod
  lkeplan simulate --base git:HEAD~1 --pods 50x500mcpu,1Gi clusters/prod`

type simulateSettings struct {
	comparison comparison.Comparison
	pods       podsource.Flags
	detailed   bool
	settle     bool
	keep       string
	sweep      flags.Choice
	replay     []string
	at, output flags.Choice
}

func newSimulate(env *flags.Env) *cobra.Command {
	s := simulateSettings{
		comparison: comparison.Comparison{Env: env},
		sweep:      flags.Choice{Of: simulate.SweepSizes()},
		at:         flags.Choice{Value: "min", Of: []string{"min", "max"}},
		output:     flags.Choice{Value: "text", Of: []string{"text", "json", "markdown", "html"}},
	}
	cmd := &cobra.Command{
		Use:     "simulate [DIR]",
		Short:   "Say which nodes pods would get, and at what price",
		Long:    simulateHelp,
		Example: simulateExamples,
		Args:    flags.OneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			s.comparison.Args = args
			return s.run(cmd.Context(), env)
		},
	}
	s.comparison.SourceFlags(cmd)
	s.pods.Add(cmd)
	flags.ClusterFlags(cmd, env, &s.comparison.Access)
	s.at.Flag(cmd, "at", "", "take the pods of autoscalers at their `BOUND`")
	cmd.Flags().StringVar(&s.comparison.Base, "base", "",
		"`BASE` to compare with: git:REF or dir:PATH (default: compare with nothing)")
	s.sweep.Flag(cmd, "sweep", "",
		"simulate once with each cap on the `SIZE` of nodes, or each class of plans, and tell the cheapest")
	cmd.MarkFlagsMutuallyExclusive("sweep", "base")
	cmd.Flags().BoolVar(&s.settle, "settle", false, "go on until Karpenter has no node left to give up or to replace")
	flags.Once(cmd, &s.keep, "keep",
		"have only so many `PERCENT` of the pods of each workload stay once they have nodes, and settle")
	cmd.Flags().StringArrayVar(&s.replay, "replay", nil,
		"say what the pools would have cost with the pods of the snapshots in `PATH`, a file of \"lkeplan snapshot\" or a "+
			"directory of such files; may be repeated")
	for _, other := range []string{"sweep", "base", "settle", "keep"} {
		cmd.MarkFlagsMutuallyExclusive("replay", other)
	}
	cmd.MarkFlagsMutuallyExclusive("sweep", "settle")
	cmd.MarkFlagsMutuallyExclusive("sweep", "keep")
	cmd.Flags().BoolVar(&s.detailed, "detailed-exitcode", false, "exit with 2 if the nodes are others than in the base")
	s.output.Flag(cmd, "output", "o", "print the result as `FORMAT`")
	s.effects().RejectUnused(cmd)
	return cmd
}

// effects are those of the flags.
func (s *simulateSettings) effects() flags.Effects {
	once := func([]string) bool { return len(s.replay) == 0 }
	live := flags.Effect{
		When: func([]string) bool { return s.pods.Live }, Else: "is for --live: without it no cluster is asked",
	}
	based := func([]string) bool { return s.comparison.Base != "" }
	return s.pods.Effects(once, "is not for --replay, which has the pods of its snapshots, and no others").And(
		flags.Effects{
			"kubeconfig": live, "context": live, "request-timeout": live,
			"base":              {When: based, Else: "is empty; leave it out"},
			"detailed-exitcode": {When: based, Else: "is for --base: without it there is nothing to compare with"},
			"at": {
				When: func([]string) bool { return s.pods.Manifests() },
				Else: "is for the autoscalers among --workloads: a cluster has the pods that it has",
			},
		})
}

func (s *simulateSettings) run(ctx context.Context, env *flags.Env) error {
	if page := s.output.Value; s.sweep.Value != "" && (page == "markdown" || page == "html") {
		return fmt.Errorf("--sweep is printed as text or json, not as %s", page)
	}
	if len(s.replay) > 0 {
		return s.runReplay(ctx, env)
	}
	s.pods.Most = s.at.Value == "max"
	pods, err := s.pods.Read(ctx, env.Stdin, s.comparison.Access)
	if err != nil {
		return err
	}
	settle, err := s.settling()
	if err != nil {
		return err
	}
	compiled, against, err := s.comparison.Compile(ctx)
	if err != nil {
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
	in.Consolidate = settle
	if s.sweep.Value != "" {
		return s.runSweep(ctx, env, in, pods.NotesFor(compiled.Head.Cluster))
	}
	report, err := s.report(ctx, pods, prices, in, compiled, against)
	if err != nil {
		return err
	}
	if err := s.write(env, report); err != nil {
		return err
	}
	return s.verdict(report).AsError()
}

// report simulates the head and, where there is one, the base.
func (s *simulateSettings) report(ctx context.Context, pods podsource.Pods, prices *catalog.Catalog, in simulate.Input,
	compiled comparison.Compared, against plan.Revision) (r simulate.Report, err error) {
	head, err := simulate.Run(ctx, in)
	if err != nil {
		return r, err
	}
	head.Notes = append(pods.NotesFor(compiled.Head.Cluster), head.Notes...)
	if s.comparison.Base == "" {
		return simulate.NewReport(s.comparison.Dir(), "", head, nil), nil
	}
	// What the base does not say of the cluster is as in the head.
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

// settling is what is to happen after the pods have come.
func (s *simulateSettings) settling() (*simulate.Consolidation, error) {
	if s.keep == "" {
		return map[bool]*simulate.Consolidation{true: {}}[s.settle], nil
	}
	keep, err := strconv.Atoi(strings.TrimSuffix(s.keep, "%"))
	if err != nil || keep < 1 || keep > 100 {
		return nil, fmt.Errorf("--keep %s: write how much of the pods stays, from 1%% to 100%%", s.keep)
	}
	return &simulate.Consolidation{Keep: keep}, nil
}

// runSweep finds the cheapest cap. Notes are of the pods.
func (s *simulateSettings) runSweep(ctx context.Context, env *flags.Env, in simulate.Input, notes []string) error {
	steps, err := simulate.Sweep(ctx, in, s.sweep.Value)
	if err != nil {
		return err
	}
	if s.output.Value == "json" {
		err = diag.JSON(env.Stdout, steps)
	} else {
		asked := 0
		for _, load := range in.Workloads {
			asked += load.Pods
		}
		text := simulate.SweepText(s.comparison.Dir(), s.sweep.Value, asked, steps)
		if len(notes) > 0 {
			text += "\nNote: " + strings.Join(notes, "\nNote: ") + "\n"
		}
		_, err = fmt.Fprint(env.Stdout, text)
	}
	if err == nil && steps[0].Refused > 0 {
		return flags.Refused
	}
	return err
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
	case "html":
		return simreport.HTML(env.Data(), r)
	case "markdown":
		_, err := fmt.Fprint(env.Data(), simreport.Markdown(r))
		return err
	}
	text := diag.Visible(r.Text())
	if flags.Unicode(env.Getenv) {
		text = strings.ReplaceAll(text, " -> ", " → ")
	}
	_, err := fmt.Fprint(env.Stdout, text)
	return err
}

// runReplay says what the pools would have come to with the pods of snapshots.
func (s *simulateSettings) runReplay(ctx context.Context, env *flags.Env) error {
	if page := s.output.Value; page == "markdown" || page == "html" {
		return fmt.Errorf("--replay is printed as text or json, not as %s", page)
	}
	series, err := podsource.ReadSeries(s.replay)
	if err != nil {
		return fmt.Errorf("--replay: %w", err)
	}
	compiled, _, err := s.comparison.Compile(ctx)
	if err != nil {
		return err
	}
	prices, err := compiled.Head.Prices()
	if err != nil {
		return err
	}
	timeline, err := series.Timeline(compiled.Head, prices)
	if err != nil {
		return err
	}
	ledger, err := simulate.Replay(ctx, timeline)
	if err != nil {
		return err
	}
	ledger.Notes = append(series.Notes(timeline.Pools.Region), ledger.Notes...)
	if s.output.Value == "json" {
		err = diag.JSON(env.Stdout, ledger)
	} else {
		from := fmt.Sprintf("%s with the pods of %d snapshots of %s", s.comparison.Dir(), series.Size(),
			diag.OneLine(series.Cluster))
		_, err = fmt.Fprint(env.Stdout, diag.Visible(ledger.Text(from)))
	}
	if err == nil && ledger.PodHours > 0 {
		return flags.Refused
	}
	return err
}
