package main

import "github.com/spf13/cobra"

// kubeconfigFlag adds the flag that says which cluster a command talks to.
func kubeconfigFlag(cmd *cobra.Command, env *env, kubeconfig *string) {
	cmd.Flags().StringVar(kubeconfig, "kubeconfig", env.Getenv("KUBECONFIG"),
		"kubeconfig `FILE` of the cluster ($KUBECONFIG, else ~/.kube/config)")
}
