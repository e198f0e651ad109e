package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/kube"
)

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
			return snapshot.Write(env.Stdout)
		},
	}
	flags.ClusterFlags(cmd, env, &access)
	flags.Always("kubeconfig", "context").RejectUnused(cmd)
	return cmd
}
