package main

import (
	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/sandbox/simulator"
	"github.com/lkeplan/lkeplan/cmd/sandbox/stack"
)

// simulate is the hidden command with which the sandbox starts itself as the Linode
// simulator, a process like the other components.
func (a *app) simulate() *cobra.Command {
	var config, address, kubeconfig string
	cmd := &cobra.Command{
		Use:    stack.SimulateCommand,
		Short:  "Run the Linode simulator of a sandbox",
		Hidden: true,
		Args:   noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return simulator.Serve(cmd.Context(), config, address, kubeconfig, a.stderr)
		},
	}
	cmd.Flags().StringVar(&config, "config", "", "what to play, as JSON")
	cmd.Flags().StringVar(&address, "address", "", "where to serve the API")
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "the API server that nodes join")
	return cmd
}
