package main

import (
	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/engine/report/planjson"
	"github.com/lkeplan/lkeplan/schemas"
)

func newSchema(env *env) *cobra.Command {
	var ofPlans bool
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of *.lke.json files, or of plans",
		Long: `Print the JSON Schema (draft 2020-12) of *.lke.json files, for editors and for
programs that write such files. It is made from the table that lkeplan reads
files by, so the two agree.

With --plan it is the schema of what "lkeplan diff -o json" writes.`,
		Example: "  lkeplan schema > lke.schema.json\n  lkeplan schema --plan > plan.schema.json",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			schema := schemas.JSONSchema()
			if ofPlans {
				schema = planjson.Schema()
			}
			return writeJSON(env.Stdout, schema)
		},
	}
	cmd.Flags().BoolVar(&ofPlans, "plan", false, "print the schema of plans")
	return cmd
}
