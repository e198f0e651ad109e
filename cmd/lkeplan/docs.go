package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/config/function"
	"github.com/lkeplan/lkeplan/engine/lint"
	reports "github.com/lkeplan/lkeplan/engine/report"
	"github.com/lkeplan/lkeplan/schemas"
)

func newDocs(env *env) *cobra.Command {
	return &cobra.Command{
		Use:   "docs",
		Short: "Print the reference of the language",
		Long: `Print the reference of the language in Markdown: each block, argument,
requirement and function of this version.`,
		Example: "  lkeplan docs > reference.md",
		Args:    flags.Arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			functions, err := function.Reference()
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(env.Data(), schemas.Reference(functions, config.All()))
			return err
		},
	}
}

func newSchema(env *env) *cobra.Command {
	var ofPlans bool
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of files or plans",
		Long: `Print the JSON Schema (draft 2020-12) of *.lke.json files, for editors and for
programs that write these files.

With --plan, print the schema of the output of "lkeplan diff -o json".`,
		Example: "  lkeplan schema > lke.schema.json\n  lkeplan schema --plan > plan.schema.json",
		Args:    flags.Arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			schema := schemas.JSONSchema()
			if ofPlans {
				schema = reports.Schema()
			}
			return diag.JSON(env.Stdout, schema)
		},
	}
	cmd.Flags().BoolVar(&ofPlans, "plan", false, "print the schema of plans")
	return cmd
}

func newExplain(env *env) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [NAME]",
		Short: "Explain a rule that validate checks",
		Long: `Explain a rule that "lkeplan validate" checks: what the rule finds, why that
matters, and what to do. Without NAME, list all rules.

To silence a warning, write a comment with a reason on the line above the block
or argument:

  # lkeplan:ignore NAME reason`,
		Example: "  lkeplan explain matches-no-plan",
		Args:    flags.Arguments(0, 1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return describedRules(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listRules(env.Stdout)
			}
			rule, ok := lint.Lookup(args[0])
			if !ok {
				meant := eval.DidYouMean(args[0], ruleNames())
				return fmt.Errorf("unknown rule %q.%s \"lkeplan explain\" lists all rules", args[0], meant)
			}
			_, err := io.WriteString(env.Data(), rule.Explanation())
			return err
		},
	}
}

func ruleNames() (names []string) {
	for _, rule := range lint.Rules() {
		names = append(names, rule.Name)
	}
	return names
}

// describedRules are the rules with what each finds, for the shell.
func describedRules() (names []string) {
	for _, rule := range lint.Rules() {
		names = append(names, cobra.CompletionWithDesc(rule.Name, rule.What))
	}
	return names
}

func listRules(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, rule := range lint.Rules() {
		fmt.Fprintf(table, "%s\t%s\t%s\n", rule.Name, rule.Severity(), rule.What)
	}
	return table.Flush()
}
