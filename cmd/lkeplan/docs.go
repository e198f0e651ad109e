package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/function"
	"github.com/lkeplan/lkeplan/schemas"
)

func newDocs(env *env) *cobra.Command {
	return &cobra.Command{
		Use:   "docs",
		Short: "Print the reference of the language",
		Long: `Print the reference of the language in Markdown: every block, argument,
requirement and function of this version, and the exit codes of the program.`,
		Example: "  lkeplan docs > reference.md",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			functions, err := function.Reference()
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(env.Stdout, schemas.Reference(functions, config.All())+exitCodesMarkdown())
			return err
		},
	}
}
