package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/costs"
	"github.com/lkeplan/lkeplan/engine/diff"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/podsource"
	reports "github.com/lkeplan/lkeplan/engine/report"
)

// comparison is a comparison with the flags that diff, plan and apply share.
type comparison struct {
	diff.Comparison
	env *env
}

func newComparison(env *env, base string) comparison {
	return comparison{env: env, Comparison: diff.Comparison{
		Base: base, Stdin: env.Stdin, Getenv: env.Getenv, Report: func(compiled compile.Result, diags hcl.Diagnostics) error {
			return flags.Report(env, compiled, diags)
		},
	}}
}

// flags adds the flags of a comparison.
func (d *comparison) flags(cmd *cobra.Command) {
	flags.SourceFlags(cmd, &d.Source)
	flags.ClusterFlags(cmd, d.env, &d.Access)
	only, pods := "", "pods of the cluster"
	if d.Base == "" { // the command has --base and --nodes, which can name a snapshot
		only, pods = "; only with --base live, snapshot:FILE or plan:FILE", "pods of the cluster or snapshot"
	}
	cmd.Flags().StringVar(&d.Rules, "guards", "",
		"read guards and policies from `BASE`: git:REF or dir:PATH"+only+" (default: "+
			"the commit where the branch left the main branch)")
	cmd.Flags().BoolVar(&d.Simulate, "simulate", false,
		"simulate which nodes the pods get before and after the change, and what these nodes cost; without --pods and "+
			"--workloads, simulate the "+pods)
	podFlags(cmd, &d.Pods, "only with --simulate")
	costFlag(cmd, &d.Pods.CostBy, "; only with --simulate (default: namespace)")
	cmd.Flags().BoolVar(&d.WithoutConsolidation, "no-consolidation", false,
		"do not simulate consolidation: the nodes that Karpenter removes or replaces because other capacity is cheaper or has "+
			"room are then unknown")
	cmd.Flags().StringArrayVar(&d.Allow, "allow", nil,
		"allow a change that a guard or policy refuses: `GUARD:ADDRESS`, such as max_deleted_pools:pool.web; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("allow", cobra.FixedCompletions([]string{plan.ProtectedPool + ":", plan.MaxDeletedPools + ":",
		plan.MaxDeletedNodes + ":", plan.MaxRolledNodes + ":", plan.MaxUnschedulablePods + ":", plan.Frozen + ":", plan.ChangeWindow + ":"},
		cobra.ShellCompDirectiveNoSpace|cobra.ShellCompDirectiveNoFileComp)) // fails only for an unknown flag
}

// atFlag adds the flag --at, for commands that apply nothing: with apply, another time would bypass a freeze.
func (d *comparison) atFlag(cmd *cobra.Command) {
	cmd.Flags().Func("at",
		"evaluate disruption budgets and freezes (times without changes) at `TIME`, such as 2026-11-20T17:00:00Z (default: now)",
		func(text string) (err error) {
			if d.At, err = time.Parse(time.RFC3339, text); err != nil {
				return errors.New("write it like 2026-11-20T17:00:00Z")
			}
			return nil
		})
}

// clusterFlag adds the flag --cluster.
func (d *comparison) clusterFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&d.Name, "cluster", "", "`NAME` of the cluster (default: the name in the cluster block)")
}

// nodesFlag adds the flag --nodes.
func (d *comparison) nodesFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&d.Nodes, "nodes", "",
		"count the affected nodes in `PLACE`: \"live\" (the cluster) or snapshot:FILE; only if the base is not a cluster")
	_ = cmd.RegisterFlagCompletionFunc("nodes", cobra.FixedCompletions([]string{"live", "snapshot:"},
		cobra.ShellCompDirectiveDefault)) // fails only for an unknown flag
}

// uses says when flags have an effect: some are for some bases only.
func (d *comparison) uses() []flags.Use {
	return []flags.Use{
		{Flags: "pods workloads lke-daemonsets cost-by", If: func() bool { return d.Simulate }, Else: "works only with --simulate: add --simulate"},
		lkeUse(&d.Pods),
		{Flags: flags.OfCluster, If: func() bool { return diff.KindOf(d.Base) == "live" || d.Nodes == "live" || d.Pods.Live() },
			Else: "is for --base live, --nodes live or --workloads live: without one of them no cluster is read"},
		{Flags: "prune", If: d.OfCluster, Else: "is for a cluster as the base: --base live or snapshot:FILE"},
	}
}

// nodesUses says when --nodes and --cluster have an effect.
func (d *comparison) nodesUses() []flags.Use {
	return []flags.Use{
		{Flags: "nodes", If: func() bool { return !d.OfCluster() },
			Else: "is only for a base in git or a directory: with a cluster as the base, diff already counts its nodes"},
		{Flags: "cluster", If: func() bool { return d.OfCluster() || d.Nodes != "" },
			Else: "is the name of a cluster, and no cluster is read; to count nodes, write --nodes live or --nodes snapshot:FILE"},
	}
}

// about describes the subject of a report.
func (d *comparison) about(cmd *cobra.Command) reports.Options {
	root, _ := d.Source.Place(d.Dir())
	return reports.Options{
		Target: strings.Join(d.Dirs, ","), Version: flags.Version(), Path: flags.PathFrom(root),
		Apply: flags.CommandLine(cmd, "apply", flags.Shared(), d.Dirs),
	}
}

// verdictOf returns the exit code after a plan was printed.
func verdictOf(p plan.Plan, detailed bool) outcome {
	switch {
	case p.Refused(), p.Summary().Conflicts > 0:
		return flags.Refused
	case detailed && !p.Empty():
		return flags.Changes
	}
	return flags.Fine
}

// selectionFlags adds the flag --recursive.
func selectionFlags(cmd *cobra.Command, s *diff.Selection) {
	cmd.Flags().BoolVarP(&s.Recursive, "recursive", "r", false,
		"read each DIR and its subdirectories; skip those without a cluster block")
}

// isMissing reports whether a directory does not exist.
func isMissing(dir string) bool {
	_, err := os.Stat(dir)
	return errors.Is(err, fs.ErrNotExist)
}

// runSeveral writes one report of several directories, or of a removed one. Save saves the plan of each; nil saves
// none.
func (d *comparison) runSeveral(cmd *cobra.Command, s diff.Selection, detailed bool, out *flags.Output,
	save func(b *diff.Branch, messages io.Writer) error) error {
	written := map[*diff.Branch]*bytes.Buffer{}
	all, unreached, err := d.Several(cmd.Context(), s, func(b *diff.Branch) {
		own := *d.env
		written[b] = &bytes.Buffer{}
		own.Stderr = d.messages(written[b])
		b.Comparison.Report = newComparison(&own, "").Report
	})
	if err != nil {
		return err
	}
	var parts []reports.Report
	verdict, failed := flags.Fine, false
	for _, b := range all {
		r, v := branchReport(b, detailed, written[b], d.messages(written[b]).Width)
		if save != nil {
			if r.Digest, err = b.Found.Plan.Digest(); err != nil {
				return err
			}
			if err := save(b, d.messages(written[b])); err != nil {
				return err
			}
		}
		parts, failed, verdict = append(parts, r), failed || b.Err != nil, max(verdict, v)
	}
	for _, b := range all {
		if err := printMessages(d.env.Stderr, b.Member.Dir, written[b]); err != nil {
			return err
		}
	}
	// Errors take precedence over refusals, and refusals over changes.
	sum, ended := reports.Join(parts, unreached), verdict.AsError()
	sum.ExitCode = int(verdict)
	if failed {
		sum.ExitCode, ended = 1, flags.ErrReported
	}
	about := d.about(cmd)
	about.Apply = nil
	if !s.Several(d.Dirs) {
		if all[0].Err != nil {
			return ended
		}
		sum = parts[0]
	}
	if err := out.Write(d.env.Data(), d.env.Getenv, sum, about); err != nil {
		return err
	}
	return ended
}

// messages writes messages as standard error does.
func (d *comparison) messages(to io.Writer) *diag.Writer {
	w := diag.NewWriter(to)
	if terminal, ok := d.env.Stderr.(*diag.Writer); ok {
		w.Width = terminal.Width
	}
	return w
}

// branchReport reports one of several directories. If it has no plan, the report has its error, which is added to the
// messages.
func branchReport(b *diff.Branch, detailed bool, messages *bytes.Buffer, width int) (reports.Report, outcome) {
	verdict := verdictOf(b.Found.Plan, detailed)
	r := b.Found.ReportOf(int(verdict))
	r.Directory = b.Member.Dir
	if b.Err == nil {
		return r, verdict
	}
	r.Plan, r.Failed, r.ExitCode = plan.Plan{Incomplete: true}, strings.TrimSpace(diag.Visible(b.Err.Error())), 1
	if errors.Is(b.Err, flags.ErrReported) {
		lines := strings.Split(strings.TrimSpace(messages.String()), "\n")
		r.Failed = lines[len(lines)-1] // 2 errors
	} else {
		fmt.Fprintln(messages, errorText(b.Err, width))
	}
	return r, flags.Fine
}

// printMessages prints the messages of one of several directories.
func printMessages(stderr io.Writer, dir string, messages *bytes.Buffer) error {
	if messages.Len() == 0 {
		return nil
	}
	fmt.Fprintf(stderr, "%s:\n\n", diag.Harmless(diag.OneLine(dir)))
	_, err := messages.WriteTo(diag.Plain(stderr))
	return err
}

// podFlags adds the flags that name pods. They "use" pods: in the help of apply, "add pods" would read as if apply
// created them. Only, such as "only with --simulate", is when the command accepts the flags; "" if it always does.
func podFlags(cmd *cobra.Command, s *podsource.Sources, only string) {
	if only != "" {
		only = "; " + only
	}
	cmd.Flags().StringArrayVar(&s.Pods, "pods", nil,
		"use N pods with these requests: `NxCPU,MEMORY`, such as 200x1cpu,2Gi or 4x2cpu,8Gi,gpu=1"+only+"; may be repeated")
	cmd.Flags().StringArrayVar(&s.Workloads, "workloads", nil,
		"use the pods in `SOURCE`: a manifest, a directory of manifests, \"-\" (standard input), \"live\" (the cluster), or "+
			"snapshot:FILE"+only+"; may be repeated")
	cmd.Flags().BoolVar(&s.LKE, "lke-daemonsets", true,
		"also use the DaemonSets that LKE installs on each node, unless --workloads contains them"+only+
			"; --lke-daemonsets=false leaves them out")
	_ = cmd.RegisterFlagCompletionFunc("workloads", cobra.FixedCompletions([]string{podsource.Live, podsource.Snapshot},
		cobra.ShellCompDirectiveDefault)) // fails only for an unknown flag
}

// costFlag adds the flag that splits costs.
func costFlag(cmd *cobra.Command, by **costs.By, only string) {
	cmd.Flags().Func("cost-by", "split the cost of the nodes `BY` a property of pods: namespace or label:KEY"+only, func(text string) error {
		parsed, err := costs.ParseBy(text)
		*by = &parsed
		return err
	})
	_ = cmd.RegisterFlagCompletionFunc("cost-by", cobra.FixedCompletions([]string{"namespace", "label:"},
		cobra.ShellCompDirectiveNoSpace|cobra.ShellCompDirectiveNoFileComp)) // fails only for an unknown flag
}

// lkeUse says when --lke-daemonsets has an effect.
func lkeUse(s *podsource.Sources) flags.Use {
	return flags.Use{
		Flags: "lke-daemonsets", If: func() bool { return s.Given() && !s.OfCluster() },
		Else: "is for --pods and manifests: a cluster and its snapshot have their own DaemonSets",
	}
}
