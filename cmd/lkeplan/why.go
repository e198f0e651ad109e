package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/inspect"
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

func newWhy(env *flags.Env) *cobra.Command {
	var (
		l                 look
		namespace, region string
	)
	cmd := &cobra.Command{
		Use:   "why pod|node|claim|pool NAME",
		Short: "Say why a pod waits, or a node is as it is",
		Long:  whyHelp,
		Example: "  lkeplan why pod shop/web-5d9c7-x2k4q\n  lkeplan why node lke12345-67890-1a2b3c\n" +
			"  lkeplan why pool general -o json",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return fmt.Errorf("why takes one of %s and a name: lkeplan why pod NAME", strings.Join(inspect.QuestionKinds(), ", "))
			case len(args) != 2:
				return fmt.Errorf("why takes one of %s and a name, and got %q", strings.Join(inspect.QuestionKinds(), ", "), args)
			case !slices.Contains(inspect.QuestionKinds(), args[0]):
				return fmt.Errorf("why answers for %s, and not for %q", strings.Join(inspect.QuestionKinds(), ", "), args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			prices, from, read, err := l.read(cmd.Context(), time.Second, cluster.AllKinds())
			if err != nil {
				return err
			}
			question := inspect.Question{Kind: args[0], Namespace: cmp.Or(namespace, from.Namespace()), Name: args[1]}
			if of, pod, both := strings.Cut(args[1], "/"); both && args[0] == "pod" {
				question.Namespace, question.Name = cmp.Or(of, question.Namespace), pod
			}
			lists, _ := read.Snapshot()
			answer, err := inspect.Ask(cmd.Context(), lists, inspect.Given{Catalog: prices, Now: time.Now(), Region: region}, question)
			if err != nil {
				return err
			}
			return l.output.printWide(env, answer, answer.Text)
		},
	}
	l.flags(cmd, env, "take plan types and prices from `FILE`, and not from lkeplan.catalog", "print it as `FORMAT`")
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "", "`NAMESPACE` of a pod (default: that of the context)")
	cmd.Flags().StringVar(&region, "region", "",
		"`REGION` of the cluster (default: that of its nodes, or of its classes)")
	flags.Effects{"namespace": {
		When: func(args []string) bool { return args[0] == "pod" && !strings.Contains(args[1], "/") },
		Else: "is for a pod whose name says none: nodes, claims and pools have none",
	}}.RejectUnused(cmd)
	return cmd
}
