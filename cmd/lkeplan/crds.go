package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

const crdsHelp = `Apply the CRDs that this version of lkeplan needs: those of NodePools, node
classes, NodePlans (objects that apply commits) and other kinds. The Helm chart
also installs them.`

func newCRDs(env *flags.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "crds", Short: "Apply the CRDs", Long: crdsHelp,
		Example: "  lkeplan crds apply\n  lkeplan crds apply --dry-run > crds.yaml",
	}
	cmd.AddCommand(newCRDsApply(env))
	return cmd
}

func newCRDsApply(env *flags.Env) *cobra.Command {
	var (
		access kube.Access
		dryRun bool
	)
	cmd := &cobra.Command{
		Use: "apply", Short: "Apply the CRDs and wait for them",
		Long: `Apply the CRDs by server-side apply, and wait until the API server serves them.
CRDs that another tool has applied are overwritten. Objects are not changed.

With --dry-run, print the CRDs as YAML, for example to commit them for Flux or
Argo CD. This needs no cluster.`,
		Example: "  lkeplan crds apply\n  lkeplan crds apply --dry-run | kubectl diff --server-side -f -",
		Args:    flags.Arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dryRun {
				return printCRDs(env.Data())
			}
			cluster, err := kube.Connect(access)
			if err != nil {
				return err
			}
			return applyCRDs(cmd.Context(), env, cluster)
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only print the CRDs as YAML")
	flags.ClusterFlags(cmd, env, &access)
	flags.RejectUnused(cmd, flags.Use{
		Flags: flags.OfCluster, If: func() bool { return !dryRun }, Else: "is not for --dry-run, which uses no cluster",
	})
	return cmd
}

func printCRDs(out io.Writer) error {
	for _, file := range schemas.CRDs() {
		if _, err := fmt.Fprintf(out, "---\n%s", file.YAML); err != nil {
			return err
		}
	}
	return nil
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
