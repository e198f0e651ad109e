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

const diffHelp = `Compare the working tree of a directory with an earlier state, the base. Report
which objects and fields change, and whether nodes are replaced or deleted.

The base is one of:

  git:REF        a commit, branch or tag of the Git repository. The default is
                 the commit where the branch left the trunk, as in a pull
                 request. On the trunk it is HEAD if the directory has
                 uncommitted changes, and otherwise the previous commit
  dir:PATH       another directory
  plan:FILE      the result of a plan that "lkeplan plan" has saved
  live           the cluster, which is only read. The report shows what an
                 apply would change, which fields other owners have set, and
                 which nodes are replaced
  snapshot:FILE  the same, from the output of "lkeplan snapshot"

Guards and policies are read from the base. If the base is a cluster, they are
read from the default commit of git:REF. If that commit cannot be determined, or
is not in this clone, the error names the flag to use.

Nodes are replaced if Karpenter's hash of the pool's template changes, or if the
new requirements do not allow them. Only the cluster knows how many nodes there
are: --nodes live or --nodes snapshot:FILE counts them for a pull request. Costs
are the maximum that the limits of the pools allow, at built-in prices or those
of --catalog.

With --simulate, the report also shows what happens to pods: which nodes they
get before and after the change, what these cost, and which pods no longer get a
node, and why each pool refuses them. Such pods block the change until a guard
or --allow permits them. --pods and --workloads name the pods, as for "lkeplan
simulate"; the default is the pods of the cluster or snapshot that is compared.

--output selects the format of standard output. --out writes more formats to
files. text is for people, markdown is for the comment of a pull request, html
is one page with charts, json and jsonl are for programs, and the other formats
are for CI systems.

You can give several directories, or --recursive for all clusters below. There
is one report for all of them, with the sum of nodes and cost. A directory that
was removed is a change too, and the guards of the base apply to it. If the base
is a cluster, each directory uses the context that is named like its cluster.
With --nodes snapshot:DIR, snapshots are read from DIR/DIRECTORY.json.`

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
		Short:   "Show what a change does to nodes",
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
		"compare with `BASE`: git:REF, dir:PATH, plan:FILE, snapshot:FILE or live (default: the commit where the branch "+
			"left the trunk)")
	d.NodesFlag(cmd)
	d.ClusterFlag(cmd)
	cmd.Flags().BoolVar(&d.Prune, "prune", false,
		"delete objects that were applied from this directory and are no longer in it; diff only shows this")
	cmd.Flags().BoolVar(&detailed, "detailed-exitcode", false, "exit with 2 if there are changes")
	some.Flags(cmd)
	cmd.Flags().BoolVar(&some.Affected, "affected", false,
		"skip directories that the change does not affect: no file that they read differs from the base")
	out.Add(cmd)
	d.Effects().And(d.NodesEffects(), out.Effects()).RejectUnused(cmd)
	d.AcceptOldNodes(cmd)
	return cmd
}

func newSnapshot(env *env) *cobra.Command {
	var access kube.Access
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Write a snapshot of a cluster",
		Long: `Write a snapshot of a cluster to standard output: its pools, node classes and
nodes, and what blocks the replacement of nodes. With it, diff counts the nodes
that a pull request replaces, and simulate places the pods of the cluster,
without access to the cluster.

The cluster is only read, with list requests. The snapshot has no secrets. It
has only the labels of nodes that their pool names, or that Kubernetes and
Karpenter define, and no annotations, finalizers or owners.

Objects that a directory can declare keep their names and their whole spec, also
if another tool has created them: NodePools, LinodeNodeClasses, CapacityLimits,
NodeOverlays, and CapacityBuffers with their namespaces and what they refer to.
NodeClaims, nodes, and the ID, label and region of the cluster are not hidden
either.

For pods, the snapshot has the number of equal pods, their requests, their
number of volumes, and the fields that decide their placement. These are hashes:
names, owners and namespaces of pods, names of PodDisruptionBudgets,
PersistentVolumeClaims, scheduling gates and custom resources such as
example.com/fpga, and the labels, taints and values for placement. A hash hides
a word from a reader, but not from a reader who guesses it. Images, commands and
variables are not in the snapshot.`,
		Example: `  lkeplan snapshot > prod.json
  lkeplan snapshot > "snapshots/$(date -u +%FT%H%M).json"
  lkeplan diff --nodes snapshot:prod.json clusters/prod
  lkeplan simulate --workloads snapshot:prod.json clusters/prod`,
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

// pipeDOT is the hint for a picture.
const pipeDOT = "pipe DOT into Graphviz: lkeplan graph -o dot DIR | dot -Tsvg"

func newGraph(env *env) *cobra.Command {
	var src source
	output := flags.Choice{
		Value: "dot", Of: []string{"dot", "mermaid", "json"},
		Instead: map[string]string{"svg": pipeDOT, "png": pipeDOT},
	}
	cmd := &cobra.Command{
		Use:   "graph [DIR]",
		Short: "Draw the references between blocks",
		Long: `Draw the variables, locals, node classes, pools and other named blocks of a
directory, with an arrow from each block to each block that it refers to.
Nothing is evaluated, so variables need no values. Without DIR, the working
directory is read.

dot is for Graphviz. GitHub and GitLab display mermaid in Markdown.`,
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
	output.Flag(cmd, "output", "o", "print the result as `FORMAT`")
	return cmd
}
