package main

import (
	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
)

// pipeDOT says how to get a picture.
const pipeDOT = "pipe DOT into Graphviz: lkeplan graph -o dot DIR | dot -Tsvg"

func newGraph(env *env) *cobra.Command {
	var src source
	output := flags.Choice{
		Value: "dot", Of: []string{"dot", "mermaid", "json"},
		Instead: map[string]string{"svg": pipeDOT, "png": pipeDOT},
	}
	cmd := &cobra.Command{
		Use:   "graph [DIR]",
		Short: "Draw what refers to what in a directory",
		Long: `Draw the variables, locals, node classes, pools and other named blocks of a
directory, with an arrow from each block to what it refers to. Nothing is
evaluated, so variables need no values. DIR is the working directory where none
is given.

dot is for Graphviz, which makes a picture of it; GitHub and GitLab draw mermaid
in Markdown.`,
		Example: `  lkeplan graph -o mermaid clusters/prod
  lkeplan graph -o dot clusters/prod | dot -Tsvg > prod.svg`,
		Args: flags.OneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			fsys, opts, err := src.Directory(cmd.Context(), args)
			if err != nil {
				return err
			}
			module, diags := config.Load(fsys, opts.Options)
			if diags.HasErrors() {
				if err := diag.Text(env.Stderr, diag.New(diags, module.Files), env.Color); err != nil {
					return err
				}
				return flags.ErrReported
			}
			switch g := module.Graph(); output.Value {
			case "mermaid":
				return g.Mermaid(env.Stdout)
			case "json":
				return g.JSON(env.Stdout)
			default:
				return g.DOT(env.Stdout)
			}
		},
	}
	output.Flag(cmd, "output", "o", "draw as `FORMAT`")
	return cmd
}
