package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/engine/compare"
)

func newSnapshot(env *env) *cobra.Command {
	var kubeconfig string
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Write down what diff needs to know of a cluster",
		Long: `Write a snapshot of a cluster to the standard output: its pools and node classes,
its nodes, and what holds them. With it, diff says in a pull request how many nodes
a change replaces, without any right in the cluster.

The cluster is only read, by lists. The snapshot has no secrets, no annotations of
others, and no names of pods.`,
		Example: "  lkeplan snapshot > prod.snapshot.json\n  lkeplan diff --cluster snapshot:prod.snapshot.json clusters/prod",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, err := connect(kubeconfig)
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
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", env.Getenv("KUBECONFIG"), "kubeconfig `FILE` of the cluster ($KUBECONFIG, else ~/.kube/config)")
	return cmd
}
