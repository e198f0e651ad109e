package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/engine/follow"
	"github.com/lkeplan/lkeplan/engine/revision"
	"github.com/lkeplan/lkeplan/engine/status"
	"github.com/lkeplan/lkeplan/engine/why"
	"github.com/lkeplan/lkeplan/kube"
)

const whyHelp = `Say why one thing is as it is, by what is in the cluster now.

  pod    which pool refuses it for what, by Karpenter's own scheduler
  node   why this plan type and no cheaper one, why it is not consolidated, why
         it is replaced and since which commit
  claim  the same of a NodeClaim, which may have no node yet
  pool   how it is, what it can make, what waits for it

It takes the right to list nodes, pods, events, daemonsets, volumes and their
claims, storageclasses, poddisruptionbudgets and the kinds of Karpenter and
lkeplan. What may not be listed is said. The
controller need not run. Of a node that is gone, the journal tells that the
controller keeps on its LinodeNodeClass, and of what is not in it the events of
the last hour.
Plan types and prices are those of the catalogue.`

// whySettings are the flags as they were given.
type whySettings struct {
	access    kube.Access
	namespace string
	region    string
	catalog   string
	output    flags.Choice
}

// newWhy returns the command.
func newWhy(env *flags.Env) *cobra.Command {
	s := whySettings{output: flags.Choice{Value: "text", Of: []string{"text", "json"}}}
	cmd := &cobra.Command{
		Use:   "why pod|node|claim|pool NAME",
		Short: "Say why a pod waits, or a node is as it is",
		Long:  whyHelp,
		Example: "  lkeplan why pod shop/web-5d9c7-x2k4q\n  lkeplan why node lke12345-67890-1a2b3c\n" +
			"  lkeplan why pool general -o json",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) != 2:
				return fmt.Errorf("why takes one of %s and a name, and got %q", strings.Join(why.Kinds(), ", "), args)
			case !slices.Contains(why.Kinds(), args[0]):
				return fmt.Errorf("why answers for %s, and not for %q", strings.Join(why.Kinds(), ", "), args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return s.run(cmd.Context(), env, args[0], args[1]) },
	}
	flags.ClusterFlags(cmd, env, &s.access)
	cmd.Flags().StringVarP(&s.namespace, "namespace", "n", "", "`NAMESPACE` of a pod (default: that of the context)")
	cmd.Flags().StringVar(&s.region, "region", "",
		"`REGION` of the cluster (default: that of its nodes, or of its classes)")
	cmd.Flags().StringVar(&s.catalog, "catalog", "",
		"take plan types and prices from `FILE`, which \"lkeplan catalog refresh\" writes")
	s.output.Flag(cmd, "output", "o", "print it as `FORMAT`")
	flags.Always("kubeconfig", "context", "region", "catalog", "output").And(flags.Effects{"namespace": {
		When: func(args []string) bool { return args[0] == "pod" && !strings.Contains(args[1], "/") },
		Else: "is for a pod whose name says none: nodes, claims and pools have none",
	}}).Of(cmd)
	return cmd
}

func (s whySettings) run(ctx context.Context, env *flags.Env, kind, name string) error {
	prices, err := revision.Options{Catalog: s.catalog}.Prices()
	if err != nil {
		return err
	}
	cluster, reads, err := connect(s.access)
	if err != nil {
		return err
	}
	question := why.Question{Kind: kind, Namespace: s.namespace, Name: name}
	if namespace, pod, both := strings.Cut(name, "/"); both && kind == "pod" {
		question.Namespace, question.Name = namespace, pod
	}
	if question.Namespace == "" {
		question.Namespace = cluster.Namespace()
	}
	reader := follow.NewStatusOfAll(reads, time.Second)
	if err := reader.Read(ctx); err != nil {
		return cluster.Explain(err)
	}
	lists, _ := reader.Snapshot()
	answer, err := why.Ask(ctx, lists, status.Given{Catalog: prices, Now: time.Now(), Region: s.region}, question)
	if err != nil {
		return err
	}
	return s.write(env, answer)
}

func (s whySettings) write(env *flags.Env, answer why.Answer) error {
	return printResult(env, s.output.Value, answer, answer.Text)
}
