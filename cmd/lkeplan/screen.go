package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/revision"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// look is what commands that show a cluster have in common.
type look struct {
	access  kube.Access
	catalog string
	output  textOrJSON
}

// flags adds the common flags.
func (l *look) flags(cmd *cobra.Command, env *flags.Env) {
	flags.ClusterFlags(cmd, env, &l.access)
	flags.Catalog(cmd, &l.catalog)
	l.output.add(cmd)
}

// connect returns the prices of plan types and the cluster.
func (l *look) connect() (prices *catalog.Catalog, from *kube.Cluster, err error) {
	if prices, err = (revision.Options{Catalog: l.catalog}).Prices(); err != nil {
		return nil, nil, err
	}
	from, err = kube.Connect(l.access)
	return prices, from, err
}

// readKinds reads kinds of a cluster.
func readKinds(ctx context.Context, from *kube.Cluster, kinds []cluster.Kind) (cluster.Snapshot, error) {
	client, err := from.Client(scheme.Scheme)
	if err != nil {
		return cluster.Snapshot{}, err
	}
	lists, err := cluster.Read(ctx, client, kinds...)
	return lists, from.Explain(err)
}

// names completes names of a kind of inspect.QuestionKinds; for pods those of a namespace, or NAMESPACE/NAME. A
// cluster that does not answer quickly has none.
func (l *look) names(ctx context.Context, kind, namespace, begun string) (names []string) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	l.access.Say = nil
	from, err := kube.Connect(l.access)
	if err != nil {
		return nil
	}
	version, of := "v1", map[string]string{"pod": "Pod", "node": "Node", "pool": "NodePool"}[kind]
	if kind == "pool" {
		version = "karpenter.sh/v1"
	}
	before := ""
	if in, _, both := strings.Cut(begun, "/"); both && kind == "pod" {
		namespace, before = in, in+"/"
	} else if kind == "pod" {
		namespace = cmp.Or(namespace, from.Namespace())
	}
	objects, err := from.ListIn(ctx, version, of, namespace)
	if err != nil {
		return nil
	}
	for _, o := range objects {
		if name := before + manifest.Name(o); strings.HasPrefix(name, begun) {
			names = append(names, name)
		}
	}
	return names
}

// textOrJSON is the flag of commands that print their result as text or JSON.
type textOrJSON struct{ flags.Choice }

func (o *textOrJSON) add(cmd *cobra.Command) {
	o.Choice = flags.Choice{Value: "text", Of: []string{"text", "json"}}
	o.Flag(cmd, "output", "o", "print the result as `FORMAT`")
}

// print writes a value as JSON, or its text.
func (o *textOrJSON) print(env *flags.Env, value any, text func(*diag.Page)) error {
	if o.Value == "json" {
		return diag.JSON(env.Data(), value)
	}
	return printPage(env.Stdout, flags.Columns(env.Stdout, env.Getenv), text)
}

// printPage writes a page that is wrapped at a width; 0 wraps nothing.
func printPage(to io.Writer, width int, fill func(*diag.Page)) error {
	page := diag.Page{Width: width}
	fill(&page)
	_, err := io.WriteString(to, page.String())
	return err
}

// printWide writes a value as JSON, or its text, as wide as the terminal, or in 120 columns
// without one.
func (o *textOrJSON) printWide(env *flags.Env, value any, text func(width int) string) error {
	if o.Value == "json" {
		return diag.JSON(env.Data(), value)
	}
	_, err := io.WriteString(env.Stdout, text(cmp.Or(flags.Columns(env.Stdout, env.Getenv), 120)))
	return err
}

// confirm asks the user, unless yes is set. If they do not agree, it returns an error that names what was not done.
func confirm(ctx context.Context, env *flags.Env, yes bool, question, not string) error {
	if yes {
		return nil
	}
	if agreed, err := flags.Confirm(ctx, env.Stdin, env.Stdout, question); err != nil || !agreed {
		return errors.New(not)
	}
	return nil
}
