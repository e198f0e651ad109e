package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/migrate"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

const takeoverHelp = `Take over the objects that the import blocks of a directory name: in the
cluster, the fields that the directory sets become those of the field manager
"lkeplan", and nobody else's. From then on a field that is removed from the
directory is removed from the object, and no former owner prevents a new value.

No value is changed and no node replaced. If an object differs from the
directory, nothing is taken over. Flux, Argo CD, Helm or Terraform may set their
fields again, and delete the object when it is removed from their sources;
lkeplan prints what to do about that.`

func newTakeover(env *env) *cobra.Command {
	var (
		src    source
		access kube.Access
	)
	cmd := &cobra.Command{
		Use:     "takeover [DIR]",
		Short:   "Own the fields of objects that others have made",
		Long:    takeoverHelp,
		Example: "  lkeplan takeover clusters/prod",
		Args:    flags.OneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			fsys, opts, err := src.Directory(cmd.Context(), args)
			if err != nil {
				return err
			}
			compiled, diags := compile.Dir(cmd.Context(), fsys, opts)
			if err := flags.Report(env, compiled, diags); err != nil {
				return err
			}
			cluster, err := kube.Connect(access)
			if err != nil {
				return err
			}
			var owners migrate.Owners
			err = migrate.TakeOver(cmd.Context(), compiled, cluster, func(t migrate.Taken) {
				what := "was ours"
				if len(t.From) > 0 {
					what = "taken over from " + diag.OneLine(strings.Join(t.From, ", "))
				}
				fmt.Fprintf(env.Stdout, "%-15s %-24s %s\n", t.Kind, t.Name, what)
				owners.Add(manifest.Key{Kind: t.Kind, Name: t.Name}.String(), t.Owners)
			})
			printOwners(env.Stdout, owners)
			return err
		},
	}
	src.Flags(cmd)
	flags.ClusterFlags(cmd, env, &access)
	return cmd
}
