package main

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine"
)

func newValidate(env *env) *cobra.Command {
	var src source
	output := choice{value: "text", of: []string{"text", "json"}}
	cmd := &cobra.Command{
		Use:   "validate [DIR]",
		Short: "Check a directory without a cluster",
		Long: `Compile a directory and check the objects as the API server would, without a
cluster. DIR is the working directory where none is given.`,
		Example: "  lkeplan validate clusters/prod",
		Args:    oneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			fsys, opts, err := src.open(args)
			if err != nil {
				return err
			}
			compiled, diags := engine.Compile(cmd.Context(), fsys, opts)
			if output.value == "json" {
				return reportJSON(env, compiled, diags)
			}
			if err := report(env, compiled, diags); err != nil {
				return err
			}
			fmt.Fprintf(env.Stdout, "ok: %s\n", inventory(compiled))
			return nil
		},
	}
	src.flags(cmd)
	cmd.Flags().VarP(&output, "output", "o", "how to print the result: text or json")
	return cmd
}

// report prints diagnostics and returns an error if there are errors among
// them.
func report(env *env, compiled engine.Compiled, diags hcl.Diagnostics) error {
	if err := diag.Text(env.Stderr, diag.New(diags, compiled.Files), env.Color); err != nil {
		return err
	}
	if !diags.HasErrors() {
		return nil
	}
	fmt.Fprintln(env.Stderr, diag.Count(diags))
	return errReported
}

func reportJSON(env *env, compiled engine.Compiled, diags hcl.Diagnostics) error {
	if err := diag.JSON(env.Stdout, diag.New(diags, compiled.Files)); err != nil {
		return err
	}
	if diags.HasErrors() {
		return errReported
	}
	return nil
}

// inventory says what a directory compiles to: "2 objects (1 NodePool, 1
// LinodeNodeClass)". Pools come first, as they are what people count.
func inventory(compiled engine.Compiled) string {
	counts := map[string]int{}
	var kinds []string
	for i := len(compiled.Resources) - 1; i >= 0; i-- {
		kind := compiled.Resources[i].Kind()
		if counts[kind]++; counts[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	n := len(compiled.Resources)
	switch n {
	case 0:
		return "nothing to apply"
	case 1:
		return "1 object (1 " + kinds[0] + ")"
	}
	var parts []string
	for _, kind := range kinds {
		parts = append(parts, fmt.Sprintf("%d %s", counts[kind], kind))
	}
	return fmt.Sprintf("%d objects (%s)", n, strings.Join(parts, ", "))
}
