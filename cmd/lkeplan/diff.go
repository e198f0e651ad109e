package main

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/diff"
	"github.com/lkeplan/lkeplan/kube"
)

const diffHelp = `Compare a directory with its earlier state, the base. The report shows which
objects and fields change, and which nodes are replaced or deleted.

--base selects the base:

  git:REF        a commit, branch or tag of the Git repository
  dir:PATH       another directory
  plan:FILE      the state after a plan of "lkeplan plan" is applied
  live           the cluster. The report also shows fields that other owners,
                 such as kubectl or Helm, have set. The API server computes in a
                 dry run what it would store, and nothing is changed
  snapshot:FILE  the cluster as "lkeplan snapshot" has saved it

Without --base, the base is the commit where your branch left the main branch.
On the main branch, the base is the last commit if the directory has uncommitted
changes. Otherwise, the base is the commit before the last commit. If the base
has errors, diff uses the last commit before it that compiles, and adds a note.

diff also checks guards (limits on one change) and policies (conditions that a
plan must meet). It reads them from the base, so a change cannot remove the
guard that refuses it. If the base is a cluster or a saved plan, diff reads
guards and policies from the commit where your branch left the main branch. To
read them from another commit or a directory, set --guards.

To count the affected nodes, diff needs a cluster or a snapshot. If the base is
a commit, set --nodes live or --nodes snapshot:FILE. The report shows the maximum
cost: the cost if all pools reach their limits. Prices come from the catalogue, a
file with plan types (kinds of Linode), regions and prices.

Karpenter moves pods to capacity that becomes cheaper, and then removes nodes,
also of pools that do not change. diff runs Karpenter's consolidation before and
after the change, for at most a minute, and counts the nodes that go only after
it, also those that a pod which ends or a PodDisruptionBudget holds now. It does
not count what pods that start later cause, such as when they reach the limits of
a pool that Karpenter tries first. diff uses the prices of the catalogue, and if
the change alters the catalogue, the nodes are unknown. A NodePlan uses the prices
of Linode, which the controller reads each hour. With --no-consolidation, diff
leaves all that out, and the nodes are unknown.

With --simulate, the report also shows which nodes the pods get before and after
the change, and what these nodes cost. If a pod no longer gets a node, the report
shows the reason, and diff refuses the change. To permit the change, pass --allow,
or first merge a change that raises the guard max_unschedulable_pods. --pods and
--workloads select the pods, as in "lkeplan simulate". By default, diff uses the pods of the
cluster or snapshot.

--output selects the format of the report. --out also writes the report to a
file. Use text for people, markdown for the comment of a pull request, and html
for a page with charts. Use json for programs. The other formats are
for CI systems.

To compare several directories, name them, or use --recursive. The report then
shows the total number of nodes and the total cost. If the change removes a
directory, the report shows this, and diff checks the guards that the directory
has in the base. If the base is a cluster, the kubeconfig needs a context for each
cluster. The name of the context is the name in the cluster block. With --nodes
snapshot:DIR, the snapshot of the directory clusters/prod is the file
DIR/clusters/prod.json.`

const diffExamples = `  lkeplan diff clusters/prod
  lkeplan diff --base git:HEAD~1 -o json clusters/prod
  lkeplan diff --base dir:clusters/staging --detailed-exitcode clusters/prod
  lkeplan diff -o github --out markdown=comment.md clusters/prod
  lkeplan diff --base live clusters/prod
  lkeplan diff --simulate --workloads manifests.yaml clusters/prod
  lkeplan diff --recursive --affected clusters`

func newDiff(env *env) *cobra.Command {
	d := newComparison(env, "")
	d.Reads = true
	var (
		detailed bool
		out      flags.Output
		some     diff.Selection
	)
	cmd := &cobra.Command{
		Use:     "diff [DIR...]",
		Short:   "Show what a change does to nodes",
		Long:    diffHelp,
		Example: diffExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			d.Dirs = args
			if gone := isMissing(d.Dir()) && d.InGit(); some.Several(args) || gone {
				return d.runSeveral(cmd, some, detailed, &out, nil)
			}
			found, err := d.Run(cmd.Context())
			if err != nil {
				return err
			}
			verdict := verdictOf(found.Plan, detailed)
			if err := out.Write(env.Data(), env.Getenv, found.ReportOf(int(verdict)), d.about(cmd)); err != nil {
				return err
			}
			return verdict.AsError()
		},
	}
	d.flags(cmd)
	d.atFlag(cmd)
	cmd.Flags().StringVar(&d.Base, "base", "",
		"compare with `BASE`: git:REF, dir:PATH, plan:FILE, snapshot:FILE or live (default: the commit where the branch "+
			"left the main branch)")
	_ = cmd.RegisterFlagCompletionFunc("base", cobra.FixedCompletions([]string{"git:", "dir:", "plan:", "snapshot:", "live"},
		cobra.ShellCompDirectiveNoSpace)) // fails only for an unknown flag
	d.nodesFlag(cmd)
	d.clusterFlag(cmd)
	cmd.Flags().BoolVar(&d.Prune, "prune", false,
		"also show the deletion of objects that were applied from this directory and are no longer in it; diff "+
			"deletes nothing")
	cmd.Flags().BoolVar(&detailed, "detailed-exitcode", false, "exit with 2 if there are changes")
	selectionFlags(cmd, &some)
	cmd.Flags().BoolVar(&some.Affected, "affected", false,
		"skip directories that the change does not affect")
	out.Add(cmd)
	flags.RejectUnused(cmd, slices.Concat(d.uses(), d.nodesUses(), out.Uses())...)
	return cmd
}

func newSnapshot(env *env) *cobra.Command {
	var access kube.Access
	var namespaces bool
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Write a snapshot of a cluster",
		Long: `Write a snapshot of a cluster to standard output: its pools, node classes, nodes
and pods, and what blocks the replacement of nodes. From a snapshot, diff counts
the nodes that a pull request replaces, and simulate places the pods. They then
need no access to the cluster. Because the snapshot contains which pods run on
which node, diff also simulates which nodes Karpenter removes or replaces because
of the pull request.

The command only reads the cluster, with list requests. The snapshot contains no
Secrets, annotations, finalizers or owners. It contains a label of a node only
if the pool of the node names the label, or if Kubernetes or Karpenter define
the label.

These objects keep their names and their whole spec, even if another tool has
created them: NodePools, LinodeNodeClasses, CapacityLimits (limits over several
pools), NodeOverlays and CapacityBuffers. CapacityBuffers also keep their namespaces and the names of the
objects that they refer to. NodeClaims, nodes and the cluster keep their names,
too; the cluster also keeps its ID, label and region.

The snapshot contains equal pods once, with their number, requests, number of
volumes, the fields that decide their placement, and how many of them run on
each node. It contains only hashes of:

  * the names and owners of pods, and their namespaces without --namespaces
  * the names of PodDisruptionBudgets, PersistentVolumeClaims, scheduling gates,
    and custom resources such as example.com/fpga
  * the labels, taints and values that decide placement

A reader who guesses one of these words can verify the guess with the hash. The
snapshot contains no images, commands or environment variables.`,
		Example: `  lkeplan snapshot > prod.json
  lkeplan snapshot > "snapshots/$(date -u +%FT%H%M).json"
  lkeplan diff --nodes snapshot:prod.json clusters/prod
  lkeplan simulate --workloads snapshot:prod.json clusters/prod`,
		Args: flags.Arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, err := kube.Connect(access)
			if err != nil {
				return err
			}
			snapshot, err := compare.TakeSnapshot(cmd.Context(), compare.LiveView(cluster), time.Now(), namespaces)
			if err != nil {
				return err
			}
			return snapshot.Write(env.Data())
		},
	}
	flags.ClusterFlags(cmd, env, &access)
	cmd.Flags().BoolVar(&namespaces, "namespaces", false,
		"write the names of the namespaces of pods instead of hashes, so that reports can show what each namespace pays")
	return cmd
}
