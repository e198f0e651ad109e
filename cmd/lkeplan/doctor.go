package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/inspect"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/instance/checks"
	"github.com/lkeplan/lkeplan/schemas"
)

const doctorHelp = `Check the installation of lkeplan in a cluster. doctor checks the API server,
the CRDs, the controller and its RBAC permissions, and the conditions of pools and
NodePlans (objects that apply commits). It also finds other installations of Karpenter.

If the environment variable LINODE_TOKEN contains a token, doctor also checks
the LKE cluster, and the scopes of the token. By default, the LKE cluster is the
one that the controller is configured for. To check another LKE cluster, set
LKE_CLUSTER_ID or CLUSTER_NAME. If KARPENTER_MODE is instance, doctor checks the
Linodes of a cluster that you run yourself.

doctor changes nothing. Each line starts with ok, warn or fail. If there is a
problem, the next line shows what to do. The exit code is 1 if a check fails.`

func newDoctor(env *flags.Env) *cobra.Command {
	var access kube.Access
	var output textOrJSON
	name := env.Getenv("CLUSTER_NAME")
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check that everything lkeplan needs is in place", Long: doctorHelp,
		Example: "  lkeplan doctor\n  LINODE_TOKEN=... lkeplan doctor --cluster prod",
		Args:    flags.Arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, err := kube.Connect(access)
			if err != nil {
				return err
			}
			p := inspect.Installation{
				Cluster: cluster, Name: name, Version: compile.Release(flags.Version()), Now: time.Now,
				Instances: env.Getenv("KARPENTER_MODE") == schemas.ModeInstance,
				Region:    env.Getenv("LINODE_REGION"), Endpoint: env.Getenv("CLUSTER_ENDPOINT"),
			}
			if p.ID, err = clusterID(env); err != nil {
				return err
			}
			var account *api.Client
			if token := env.Getenv("LINODE_TOKEN"); token != "" {
				if account, err = api.New(env.Getenv("LINODE_URL"), token, api.Options{}); err != nil {
					return fmt.Errorf("set LINODE_URL: %w", err)
				}
				p.Linode = account
			}
			p.Joining = joinChecks(cluster, account)
			found := inspect.Examine(cmd.Context(), p)
			if err := output.print(env, found, func(p *diag.Page) { writeFindings(p, found) }); err != nil {
				return err
			}
			if inspect.Failed(found) {
				return flags.ErrReported
			}
			return nil
		},
	}
	output.add(cmd)
	cmd.Flags().StringVar(&name, "cluster", name, "`NAME` of the cluster (default: $CLUSTER_NAME, else the cluster of the controller)")
	flags.ClusterFlags(cmd, env, &access)
	return cmd
}

// joinChecks checks what Linodes need that join a cluster one by one.
func joinChecks(cluster checks.Cluster, account checks.Account) inspect.Joining {
	as := func(found []checks.Finding) (all []inspect.Finding) {
		for _, f := range found {
			all = append(all, inspect.Finding(f))
		}
		return all
	}
	return inspect.Joining{
		Needs: func(ctx context.Context, s inspect.Settings) []inspect.Finding {
			return as(checks.Joins(ctx, cluster, checks.Settings(s)))
		},
		Linodes: func(ctx context.Context, s inspect.Settings) ([]inspect.Finding, error) {
			found, err := checks.Linodes(ctx, account, checks.Settings(s))
			return as(found), err
		},
		NewToken: checks.NewToken,
	}
}

// clusterID returns the ID of the LKE cluster in the environment, if it is set.
func clusterID(env *flags.Env) (int, error) {
	text := env.Getenv("LKE_CLUSTER_ID")
	if text == "" {
		return 0, nil
	}
	id, err := strconv.Atoi(text)
	if err != nil || id <= 0 {
		return 0, fmt.Errorf("LKE_CLUSTER_ID is %q; it must be the ID of an LKE cluster", text)
	}
	return id, nil
}

// writeFindings writes each finding on a line. Quoted lines have a mark.
func writeFindings(p *diag.Page, found []inspect.Finding) {
	for _, f := range found {
		text, more, _ := strings.Cut(f.Text, "\n")
		short, level := diag.Page{Width: p.Width}, string(f.Level)
		if p.Width > 0 {
			short.Width -= 6
		}
		short.Paragraph(0, "%s: %s", f.Of, text)
		for line := range strings.Lines(short.String()) {
			p.Line(0, "%-4s  %s", level, strings.TrimSuffix(line, "\n"))
			level = ""
		}
		p.Words(6, more)
		if f.Do != "" {
			p.Paragraph(6, "-> %s", f.Do)
		}
	}
}
