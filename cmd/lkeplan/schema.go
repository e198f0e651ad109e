package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/schemas"
)

func newSchema(env *env) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of *.lke.json files",
		Long: `Print the JSON Schema (draft 2020-12) of *.lke.json files, for editors and for
programs that write such files. It is made from the table that lkeplan reads
files by, so the two agree.`,
		Example: "  lkeplan schema > lke.schema.json",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			enc := json.NewEncoder(env.Stdout)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			return enc.Encode(schemas.JSONSchema())
		},
	}
}
