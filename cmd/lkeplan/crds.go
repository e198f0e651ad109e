package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

const crdsHelp = `Print or apply the CRDs that this version of lkeplan needs: those of NodePools,
node classes, NodePlans (objects that apply commits) and other kinds. The Helm
chart also installs them.`

func newCRDs(env *flags.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "crds", Short: "Print or apply the CRDs", Long: crdsHelp,
		Example: "  lkeplan crds apply\n  lkeplan crds print > crds.yaml",
	}
	cmd.AddCommand(newCRDsPrint(env), newCRDsApply(env))
	return cmd
}

func newCRDsPrint(env *flags.Env) *cobra.Command {
	return &cobra.Command{
		Use: "print", Short: "Print the CRDs as YAML", Example: "  lkeplan crds print | kubectl apply --server-side -f -",
		Args: flags.Arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			for _, file := range schemas.CRDs() {
				if _, err := fmt.Fprintf(env.Data(), "---\n%s", file.YAML); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func newCRDsApply(env *flags.Env) *cobra.Command {
	var access kube.Access
	cmd := &cobra.Command{
		Use: "apply", Short: "Apply the CRDs and wait for them",
		Long: `Apply the CRDs by server-side apply, and wait until the API server serves them.
CRDs that another tool has applied are overwritten. Objects are not changed.`,
		Example: "  lkeplan crds apply",
		Args:    flags.Arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, err := kube.Connect(access)
			if err != nil {
				return err
			}
			return applyCRDs(cmd.Context(), env, cluster)
		},
	}
	flags.ClusterFlags(cmd, env, &access)
	return cmd
}

// applyCRDs applies all CRDs, and waits until each is served.
func applyCRDs(ctx context.Context, env *flags.Env, cluster *kube.Cluster) error {
	var applied []map[string]any
	for _, file := range schemas.CRDs() {
		var definition map[string]any
		if err := yaml.Unmarshal(file.YAML, &definition); err != nil {
			return fmt.Errorf("read CRD %s: %w", file.Name, err)
		}
		before, err := cluster.Get(ctx, definition)
		if err != nil {
			return err
		}
		outcome, err := cluster.ApplyForced(ctx, definition, before)
		if err != nil {
			return err
		}
		fmt.Fprintf(env.Stdout, "%-55s %s\n", manifest.Name(definition), outcome)
		applied = append(applied, definition)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, definition := range applied {
		if err := awaitServed(ctx, cluster, definition); err != nil {
			return err
		}
	}
	return nil
}

// awaitServed returns when the API server serves a kind.
func awaitServed(ctx context.Context, cluster *kube.Cluster, definition map[string]any) error {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		live, err := cluster.Get(ctx, definition)
		if err != nil {
			return err
		}
		conditions, _ := manifest.Lookup(live, "status", "conditions")
		list, _ := conditions.([]any)
		for _, c := range list {
			fields, _ := c.(map[string]any)
			kind, status := manifest.Text(fields, "type"), manifest.Text(fields, "status")
			if kind == "Established" && status == "True" {
				return nil
			}
			if kind == "NamesAccepted" && status == "False" {
				return fmt.Errorf("CRD %s: %s", manifest.Name(definition), manifest.Text(fields, "message"))
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("timed out waiting for the API server to serve CRD %s", manifest.Name(definition)),
				ctx.Err())
		}
	}
}
