// Package simulate is the command simulate: what becomes of pods on the pools of a
// directory.
//
// Karpenter's scheduler is in package engine/simulate; here are flags and files.
package simulate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/comparison"
	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/engine/simulate/sweep"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

const help = `Say which nodes pods would get of the pools of a directory, what these cost, how
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
allows at least, with --at max at most. LKE's own DaemonSets take some of each
node: "kubectl get daemonsets -A -o yaml" writes them as a file for --workloads.

With --base both states are simulated with the same pods, and shown next to each
other. With --sweep the same pods are simulated with each cap on the size of
nodes, the cheapest first, with what to write for it.

The exit code is 3 where pods get no node that have one in the base, or without
a base where pods get none.`

const examples = `  lkeplan simulate --pods 40x1cpu,2Gi clusters/prod
  lkeplan simulate --workloads manifests.yaml --pods 4x2cpu,8Gi clusters/prod
  lkeplan simulate --keep 50% --workloads manifests.yaml clusters/prod
  lkeplan simulate --sweep cpu --pods 40x1cpu,2Gi clusters/prod
  lkeplan simulate --base git:HEAD~1 --pods 50x500mcpu,1Gi clusters/prod`

// settings are the flags as they were given.
type settings struct {
	comparison comparison.Comparison
	pods       []string
	workloads  []string
	detailed   bool
	settle     bool
	keep       string
	sweep      flags.Choice
	at, output flags.Choice
}

// New returns the command.
func New(env *flags.Env) *cobra.Command {
	s := settings{
		comparison: comparison.Comparison{Env: env},
		sweep:      flags.Choice{Of: sweep.Sizes()},
		at:         flags.Choice{Value: "min", Of: []string{"min", "max"}},
		output:     flags.Choice{Value: "text", Of: []string{"text", "json"}},
	}
	cmd := &cobra.Command{
		Use:     "simulate [DIR]",
		Short:   "Say which nodes pods would get, and at what price",
		Long:    help,
		Example: examples,
		Args:    flags.OneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			s.comparison.Args = args
			return s.run(cmd.Context(), env)
		},
	}
	s.comparison.SourceFlags(cmd)
	cmd.Flags().StringArrayVar(&s.pods, "pods", nil,
		"simulate so many pods that ask for so much: `NxCPU,MEMORY`, such as 200x1cpu,2Gi or 4x2cpu,8Gi,gpu=1; may "+
			"be repeated")
	cmd.Flags().StringArrayVar(&s.workloads, "workloads", nil,
		"simulate the pods of the manifests in `PATH`: a file, a directory of such files and all below it, or - for "+
			"standard input; may be repeated")
	s.at.Flag(cmd, "at", "", "take the pods of autoscalers at their `BOUND`")
	cmd.Flags().StringVar(&s.comparison.Base, "base", "",
		"`BASE` to compare with: git:REF or dir:PATH (default: compare with nothing)")
	s.sweep.Flag(cmd, "sweep", "", "simulate once with each cap on the `SIZE` of nodes, and tell the cheapest")
	cmd.MarkFlagsMutuallyExclusive("sweep", "base")
	cmd.Flags().BoolVar(&s.settle, "settle", false, "go on until Karpenter has no node left to give up or to replace")
	cmd.Flags().StringVar(&s.keep, "keep", "",
		"have only so many `PERCENT` of the pods of each workload stay once they have nodes, and settle")
	cmd.MarkFlagsMutuallyExclusive("sweep", "settle")
	cmd.MarkFlagsMutuallyExclusive("sweep", "keep")
	cmd.Flags().BoolVar(&s.detailed, "detailed-exitcode", false, "exit with 2 if the nodes are others than in the base")
	s.output.Flag(cmd, "output", "o", "print the result as `FORMAT`")
	return cmd
}

func (s *settings) run(ctx context.Context, env *flags.Env) error {
	in, notes, err := s.read(env.Stdin)
	if err != nil {
		return err
	}
	if in.Settle, err = s.settling(); err != nil {
		return err
	}
	compiled, against, err := s.comparison.Compile(ctx)
	if err != nil {
		return err
	}
	if in.Catalog, err = s.comparison.Catalog(); err != nil {
		return err
	}
	if s.sweep.Value != "" {
		return s.runSweep(ctx, env, inputOf(in, compiled.Head))
	}
	head, err := simulate.Run(ctx, inputOf(in, compiled.Head))
	if err != nil {
		return err
	}
	head.Notes = append(notes, head.Notes...)
	var before *simulate.Result
	if s.comparison.Base != "" {
		// What the base does not say of the cluster is as in the head.
		compiled.Base.Cluster.Region = cmp.Or(compiled.Base.Cluster.Region, compiled.Head.Cluster.Region)
		result, err := simulate.Run(ctx, inputOf(in, compiled.Base))
		if err != nil {
			return fmt.Errorf("simulate %s: %w", against, err)
		}
		before = &result
	}
	report := simulate.NewReport(s.comparison.Dir(), against.String(), head, before)
	if err := s.write(env, report); err != nil {
		return err
	}
	return s.verdict(report).AsError()
}

// settling is what is to happen after the pods have come.
func (s *settings) settling() (*simulate.Settle, error) {
	if s.keep == "" {
		return map[bool]*simulate.Settle{true: {}}[s.settle], nil
	}
	keep, err := strconv.Atoi(strings.TrimSuffix(s.keep, "%"))
	if err != nil || keep < 1 || keep > 100 {
		return nil, fmt.Errorf("--keep %s: write how much of the pods stays, from 1%% to 100%%", s.keep)
	}
	return &simulate.Settle{Keep: keep}, nil
}

// inputOf adds a configuration to pods.
func inputOf(in simulate.Input, compiled compile.Result) simulate.Input {
	in.Region, in.Tier = compiled.Cluster.Region, catalog.Tier(compiled.Cluster.Tier)
	for _, o := range compiled.Objects {
		in.Objects = append(in.Objects, o.Defaulted)
	}
	return in
}

// runSweep finds the cheapest cap.
func (s *settings) runSweep(ctx context.Context, env *flags.Env, in simulate.Input) error {
	steps, err := sweep.Run(ctx, in, s.sweep.Value)
	if err != nil {
		return err
	}
	if s.output.Value == "json" {
		err = writeJSON(env, steps)
	} else {
		asked := 0
		for _, load := range in.Workloads {
			asked += load.Pods
		}
		_, err = fmt.Fprint(env.Stdout, sweep.Text(s.comparison.Dir(), s.sweep.Value, asked, steps))
	}
	if err == nil && steps[0].Refused > 0 {
		return flags.Refused
	}
	return err
}

func (s *settings) verdict(r simulate.Report) flags.Outcome {
	switch {
	case r.Before == nil && r.Head.Refused > 0, len(r.New) > 0:
		return flags.Refused
	case s.detailed && r.Changed():
		return flags.Changes
	}
	return flags.Fine
}

func (s *settings) write(env *flags.Env, r simulate.Report) error {
	if s.output.Value == "json" {
		return writeJSON(env, r)
	}
	text := r.Text()
	if flags.Unicode(env.Getenv) {
		text = strings.ReplaceAll(text, " -> ", " → ")
	}
	_, err := fmt.Fprint(env.Stdout, text)
	return err
}

func writeJSON(env *flags.Env, value any) error {
	enc := json.NewEncoder(env.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// errNoPods says what to type.
var errNoPods = errors.New("there are no pods to simulate: write some, --pods 200x1cpu,2Gi, or name manifests with " +
	"--workloads PATH")
