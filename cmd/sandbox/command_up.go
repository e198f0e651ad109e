package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/sandbox/binaries"
	"github.com/lkeplan/lkeplan/cmd/sandbox/process"
	"github.com/lkeplan/lkeplan/cmd/sandbox/stack"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

func (a *app) up() *cobra.Command {
	var s settings
	var output string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a sandbox and print what to export",
		Long: `Start a sandbox, wait until all of it answers, and print the environment that
leads there. It runs until "sandbox down". Progress goes to standard error, so
this works:

    eval "$(bin/sandbox up)"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "env" && output != "json" {
				return fmt.Errorf("--output %q: want env or json", output)
			}
			st, err := a.start(cmd.Context(), s, nil)
			if err != nil {
				return err
			}
			if st.Found {
				a.log.Printf("a sandbox is already running in %s; its settings are unchanged", st.Dir)
			}
			return a.printUp(st, output)
		},
	}
	s.register(cmd.Flags())
	cmd.Flags().StringVarP(&output, "output", "o", "env", "output format: env (lines for a shell) or json")
	return cmd
}

// start starts a sandbox. With a guard it ends with this process.
func (a *app) start(ctx context.Context, s settings, guard *process.Guard) (*stack.Stack, error) {
	cluster, simulated, err := s.cluster()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	var more []binaries.Module
	if s.flux {
		more = binaries.Flux()
	}
	programs, err := a.programs(ctx, more...)
	if err != nil {
		return nil, err
	}
	return stack.Up(ctx, stack.Config{
		Dir: s.dir, Programs: programs, Self: self,
		Cluster: cluster, Simulator: simulated,
		DaemonSets: s.daemonSets && s.mode == stack.ModeLKE && cluster.Tier == string(catalog.Standard),
		Flux:       s.flux, Audit: s.audit,
		Guard: guard, Say: a.log.Printf,
	})
}

// upReport is what `up --output json` prints.
type upReport struct {
	Dir          string            `json:"dir"`
	ReadySeconds float64           `json:"readySeconds"`
	Env          map[string]string `json:"env"`
	Kubectl      string            `json:"kubectl"`
	Components   []stack.Component `json:"components"`
}

func (a *app) printUp(st *stack.Stack, output string) error {
	if output == "json" {
		report := upReport{
			Dir: st.Dir, ReadySeconds: st.ReadySeconds, Env: map[string]string{},
			Kubectl: st.Kubectl, Components: st.Components,
		}
		for _, e := range st.Exports() {
			report.Env[e.Name] = e.Value
		}
		encoder := json.NewEncoder(a.stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(report)
	}
	if !st.Found {
		a.log.Printf("ready in %.1fs, in %s", st.ReadySeconds, st.Dir)
		a.log.Printf("kubectl is %s", st.Kubectl)
	}
	for _, e := range st.Exports() {
		if _, err := fmt.Fprintln(a.stdout, e.Shell()); err != nil {
			return err
		}
	}
	return nil
}
