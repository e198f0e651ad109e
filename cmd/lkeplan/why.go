package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/inspect"
)

const whyHelp = `Say why one thing is as it is, by what is in the cluster now.

  pod    which pool refuses it for what, by Karpenter's own scheduler
  node   why this plan type and no cheaper one, why it is not consolidated, why
         it is replaced and since which commit
  claim  the same of a NodeClaim, which may have no node yet
  pool   how it is, what it can make, what waits for it

TYPE/NAME, as kubectl get -o name prints it, is the same as TYPE NAME. The name
of a pod may have its namespace before it: pod/shop/web.

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
			"  lkeplan why pool general -o json\n  lkeplan why nodepool.karpenter.sh/general",
		Args: func(_ *cobra.Command, args []string) error {
			_, _, err := asked(args)
			return err
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return inspect.QuestionKinds(), cobra.ShellCompDirectiveNoFileComp
			}
			if kind := kindOf(args[0]); kind != "" && len(args) == 1 {
				return l.names(cmd.Context(), kind, namespace, begun), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			kind, name, err := asked(args)
			if err != nil {
				return err
			}
			prices, from, read, err := l.read(cmd.Context(), time.Second, cluster.AllKinds())
			if err != nil {
				return err
			}
			question := inspect.Question{Kind: kind, Namespace: cmp.Or(namespace, from.Namespace()), Name: name}
			if of, pod, both := strings.Cut(name, "/"); both && kind == "pod" {
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
	l.flags(cmd, env)
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "", "`NAMESPACE` of a pod (default: that of the context)")
	cmd.Flags().StringVar(&region, "region", "",
		"Linode `REGION` of the cluster (default: that of its nodes, or of its classes)")
	flags.Effects{"namespace": {
		When: func(args []string) bool {
			kind, name, err := asked(args)
			return err == nil && kind == "pod" && !strings.Contains(name, "/")
		},
		Else: "is for a pod whose name says none: nodes, claims and pools have none",
	}}.RejectUnused(cmd)
	return cmd
}

// asked reads what why is asked about: TYPE NAME, or TYPE/NAME as kubectl get -o name prints it.
func asked(args []string) (kind, name string, err error) {
	kinds := strings.Join(inspect.QuestionKinds(), ", ")
	switch len(args) {
	case 0:
		return "", "", fmt.Errorf("why takes one of %s and a name: lkeplan why pod NAME", kinds)
	case 1:
		kind, name, _ = strings.Cut(args[0], "/")
	case 2:
		kind, name = args[0], args[1]
	default:
		return "", "", fmt.Errorf("why takes one of %s and one name, and got %d arguments", kinds, len(args))
	}
	of := kindOf(kind)
	switch {
	case of == "":
		return "", "", fmt.Errorf("why answers for %s, and not for %q.%s", kinds, kind, eval.DidYouMean(kind, inspect.QuestionKinds()))
	case name == "":
		return "", "", fmt.Errorf("why takes the name of a %s, too: lkeplan why %s NAME", of, of)
	}
	return of, name, nil
}

// kindOf is the kind of inspect.QuestionKinds that a word names, as kubectl takes it: pods, nodepool.karpenter.sh; ""
// if there is none.
func kindOf(word string) string {
	word, _, _ = strings.Cut(strings.ToLower(word), ".")
	switch word = strings.TrimSuffix(word, "s"); word {
	case "po":
		return "pod"
	case "no":
		return "node"
	case "nodeclaim":
		return "claim"
	case "nodepool":
		return "pool"
	}
	if slices.Contains(inspect.QuestionKinds(), word) {
		return word
	}
	return ""
}
