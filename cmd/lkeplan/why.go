package main

import (
	"cmp"
	"errors"
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

const whyHelp = `Explain the state of one object:

  pod    why each pool creates no node for the pod
  node   why the node has its plan type (kind of Linode), why it stays, or why
         it is replaced or removed. A node that has not joined has the name of
         its NodeClaim (Karpenter's request for a node)
  pool   the state of the pool, its plan types, and the pods that wait for it

You can write the object as TYPE NAME or TYPE/NAME, such as pod/web. TYPE can
also be the full name of a Kubernetes resource, as in
nodepool.karpenter.sh/general. The name of a pod can start with its namespace, such as pod/shop/web.

A line of the output that starts with | continues the previous line, or quotes a
message of a Kubernetes object.

You need permission to list nodes, pods, events, daemonsets, persistentvolumes,
persistentvolumeclaims, storageclasses, poddisruptionbudgets, and the custom
resources of Karpenter and lkeplan. Without events, the output leaves them out.
The command also works if the controller is down.

If the node no longer exists, the output shows the last event about it. Prices
come from the catalogue, a file with plan types (kinds of Linode), regions and prices.`

func newWhy(env *flags.Env) *cobra.Command {
	var (
		l                 look
		namespace, region string
	)
	cmd := &cobra.Command{
		Use:   "why pod|node|pool NAME",
		Short: "Explain why a pod is pending or a node stays",
		Long:  whyHelp,
		Example: "  lkeplan why pod shop/web-5d9c7-x2k4q\n  lkeplan why node lke12345-67890-1a2b3c\n" +
			"  lkeplan why pool general -o json\n  lkeplan why nodepool.karpenter.sh/general",
		Args: func(_ *cobra.Command, args []string) error {
			_, _, err := parseTypeName(args)
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
			kind, name, err := parseTypeName(args)
			if err != nil {
				return err
			}
			prices, from, err := l.connect()
			if err != nil {
				return err
			}
			question := inspect.Question{Kind: kind, Namespace: cmp.Or(namespace, from.Namespace()), Name: name}
			if of, pod, both := strings.Cut(name, "/"); both && kind == "pod" {
				question.Namespace, question.Name = cmp.Or(of, question.Namespace), pod
			}
			lists, err := readKinds(cmd.Context(), from, cluster.AllKinds())
			if err != nil {
				return err
			}
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
		"Linode `REGION` of the cluster (default: the region of its nodes, or of its LinodeNodeClasses)")
	flags.RejectUnused(cmd, flags.Use{
		Flags: "namespace",
		If: func() bool {
			kind, name, err := parseTypeName(cmd.Flags().Args())
			return err == nil && kind == "pod" && !strings.Contains(name, "/")
		},
		Else: "is for a pod without a namespace in its name: nodes and pools have none",
	})
	return cmd
}

// parseTypeName reads the arguments: TYPE NAME, or TYPE/NAME as kubectl get -o name prints it.
func parseTypeName(args []string) (kind, name string, err error) {
	kinds := strings.Join(inspect.QuestionKinds(), ", ")
	switch len(args) {
	case 0:
		return "", "", errors.New("usage: lkeplan why pod|node|pool NAME")
	case 1:
		kind, name, _ = strings.Cut(args[0], "/")
	case 2:
		kind, name = args[0], args[1]
	default:
		return "", "", fmt.Errorf("usage: lkeplan why pod|node|pool NAME, with one name; got %d arguments", len(args))
	}
	of := kindOf(kind)
	if prefix, rest, found := strings.Cut(name, "/"); found && of != "" && kindOf(prefix) == of { // TYPE TYPE/NAME
		name = rest
	}
	switch {
	case of == "":
		return "", "", fmt.Errorf("unknown kind %q; write one of %s.%s", kind, kinds, eval.DidYouMean(kind, inspect.QuestionKinds()))
	case name == "":
		return "", "", fmt.Errorf("usage: lkeplan why %s NAME: the name of the %s is missing", of, of)
	}
	return of, name, nil
}

// kindOf returns the kind of inspect.QuestionKinds for a word that kubectl accepts: pods, nodepool.karpenter.sh; ""
// if there is none.
func kindOf(word string) string {
	word, _, _ = strings.Cut(strings.ToLower(word), ".")
	switch word = strings.TrimSuffix(word, "s"); word {
	case "po":
		return "pod"
	case "no":
		return "node"
	case "nodeclaim":
		return "node"
	case "nodepool":
		return "pool"
	}
	if slices.Contains(inspect.QuestionKinds(), word) {
		return word
	}
	return ""
}
