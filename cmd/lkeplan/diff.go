package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/comparison"
	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/kube"
)

const diffHelp = `Compare the working tree of a directory with an earlier state, the base, and say
which objects change, in which fields, and whether nodes are replaced or
deleted.

The base is one of:

  git:REF        a commit, branch or tag of the Git repository; by default the
                 commit where the branch left the trunk, as for a pull request;
                 on the trunk itself the checked out commit if the directory has
                 been edited since, and else the commit before
  dir:PATH       another directory
  plan:FILE      what a plan saved by "lkeplan plan" would have made
  live           the cluster, which is only read: what an apply would make of
                 its objects, which fields others own, which nodes are replaced
  snapshot:FILE  the same, from what "lkeplan snapshot" has written

Guards and policies are those of the base; of a cluster, those of the commit
that is the default of git:REF. Where there is no telling which commit that is,
or it is not in this clone, the error says what to type.

Whether nodes are replaced follows from Karpenter's hash of a pool's template,
and from its requirements: a node goes that they no longer allow. How many nodes
those are, only the cluster knows: --cluster counts them for a pull request.
Costs are the most that the limits of the pools allow, at built-in prices or
those of --catalog.

With --simulate the report says what becomes of pods, too: which nodes they get
of the pools before and after the change, what those cost, and which pods get no
node any more, with the reason of each pool. That refuses the change, until
somebody allows it or a guard does. The pods are those that flags name as for
"lkeplan simulate", or those of the cluster or snapshot that is read anyway.

text is for people, markdown for the comment of a pull request, html is one page
with charts, json and jsonl are for programs, and the others are for CI systems.
One run writes any number of them: one with --output, the others with --out.

Several directories have one report, with the sum of nodes and money: those that
are given, or with --recursive all clusters below. One that is gone is a change
like any other, and its guards are those of the base. With a cluster as the
base, each has the context that is called as its cluster; snapshots are files
DIR/DIRECTORY.json of --cluster snapshot:DIR.`

const diffExamples = `  lkeplan diff clusters/prod
  lkeplan diff --base git:HEAD~1 -o json clusters/prod
  lkeplan diff --base dir:clusters/staging --detailed-exitcode clusters/prod
  lkeplan diff -o github --out markdown=comment.md clusters/prod
  lkeplan diff --base live clusters/prod
  lkeplan diff --simulate --workloads manifests.yaml clusters/prod
  lkeplan diff --recursive --affected clusters`

func newDiff(env *env) *cobra.Command {
	d := comparison.Comparison{Env: env}
	var (
		detailed bool
		out      flags.Output
		some     comparison.Selection
	)
	cmd := &cobra.Command{
		Use:     "diff [DIR...]",
		Short:   "Say what a change does to objects and nodes",
		Long:    diffHelp,
		Example: diffExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			d.Args = args
			if gone := comparison.Missing(d.Dir()) && d.InGit(); some.Several(args) || gone {
				return d.DiffSeveral(cmd, some, detailed, &out)
			}
			found, err := d.Run(cmd.Context())
			if err != nil {
				return err
			}
			verdict := found.Verdict(detailed)
			if err := out.Write(env.Data(), env.Getenv, found.Report(verdict), d.About(cmd)); err != nil {
				return err
			}
			return verdict.AsError()
		},
	}
	d.Flags(cmd)
	d.AtFlag(cmd)
	cmd.Flags().StringVar(&d.Base, "base", "",
		"`BASE` to compare with: git:REF, dir:PATH, plan:FILE, snapshot:FILE or live (default: where the branch "+
			"left the trunk)")
	cmd.Flags().StringVar(&d.Nodes, "cluster", "",
		"`CLUSTER` whose nodes are counted, for a base without: live or snapshot:FILE; for such a base, the name of "+
			"the cluster, where it is not that of the directory")
	cmd.Flags().BoolVar(&d.Prune, "prune", false,
		"with a cluster as the base: list what was applied from this directory and is no longer in it")
	cmd.Flags().BoolVar(&detailed, "detailed-exitcode", false, "exit with 2 if there are changes")
	some.Flags(cmd)
	cmd.Flags().BoolVar(&some.Affected, "affected", false,
		"leave out directories that the change does not reach: whose files, modules and other files are as in the base")
	out.Add(cmd)
	d.Effects().And(out.Effects()).RejectUnused(cmd)
	return cmd
}

func newSnapshot(env *env) *cobra.Command {
	var access kube.Access
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Write what diff and simulate need to know of a cluster",
		Long: `Write a snapshot of a cluster to standard output: its pools, node classes and
nodes, and what holds nodes. With it, diff says in a pull request how many nodes
a change replaces, and simulate which nodes the pods would get, without any
right in the cluster.

The cluster is only read, by list requests. The snapshot has no secrets, and of
others no annotations, labels, finalizers or owners: of a node the labels that
its pool names, or that Kubernetes and Karpenter define.

What directories declare is compared by its names, and keeps them, with all that
its spec says, whoever has made it: NodePools, LinodeNodeClasses,
CapacityLimits, NodeOverlays, and CapacityBuffers with their namespaces and what
they refer to. So do NodeClaims and nodes, and the id, the label and the region
of the cluster.

Of pods it has how many are alike, what they ask for, how many volumes they
have, and what decides where they go. Their names, owners and namespaces, those
of PodDisruptionBudgets, claims of volumes, scheduling gates and resources that
not every cluster has, such as example.com/fpga, and the labels, taints and
values by which they are placed, are hashes. A hash hides a word from who reads
it, not from who guesses it. Images, commands and variables are not in it.`,
		Example: `  lkeplan snapshot > prod.json
  lkeplan snapshot > "snapshots/$(date -u +%FT%H%M).json"
  lkeplan diff --cluster snapshot:prod.json clusters/prod
  lkeplan simulate --snapshot prod.json clusters/prod`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, err := kube.Connect(access)
			if err != nil {
				return err
			}
			snapshot, err := compare.TakeSnapshot(cmd.Context(), compare.LiveView(cluster), time.Now())
			if err != nil {
				return err
			}
			return snapshot.Write(env.Data())
		},
	}
	flags.ClusterFlags(cmd, env, &access)
	return cmd
}

// pipeDOT says how to get a picture.
const pipeDOT = "pipe DOT into Graphviz: lkeplan graph -o dot DIR | dot -Tsvg"

func newGraph(env *env) *cobra.Command {
	var src source
	output := flags.Choice{
		Value: "dot", Of: []string{"dot", "mermaid", "json"},
		Instead: map[string]string{"svg": pipeDOT, "png": pipeDOT},
	}
	cmd := &cobra.Command{
		Use:   "graph [DIR]",
		Short: "Draw what refers to what in a directory",
		Long: `Draw the variables, locals, node classes, pools and other named blocks of a
directory, with an arrow from each block to what it refers to. Nothing is
evaluated, so variables need no values. DIR is the working directory where none
is given.

dot is for Graphviz, which makes a picture of it; GitHub and GitLab draw mermaid
in Markdown.`,
		Example: `  lkeplan graph -o mermaid clusters/prod
  lkeplan graph -o dot clusters/prod | dot -Tsvg > prod.svg`,
		Args: flags.OneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			fsys, opts, err := src.Directory(cmd.Context(), args)
			if err != nil {
				return err
			}
			module, diags := config.Load(fsys, opts.Options)
			if diags.HasErrors() {
				if err := diag.Text(env.Stderr, flags.Located(diag.New(diags, module.Files), opts.Root), env.Color); err != nil {
					return err
				}
				return flags.ErrReported
			}
			switch g := module.Graph(); output.Value {
			case "mermaid":
				return g.Mermaid(env.Data())
			case "json":
				return g.JSON(env.Data())
			default:
				return g.DOT(env.Data())
			}
		},
	}
	output.Flag(cmd, "output", "o", "draw as `FORMAT`")
	return cmd
}
