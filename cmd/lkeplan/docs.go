package main

import (
	_ "embed" // the steps of a rename
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

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
		Long: `Print the reference of the language in Markdown: every block, argument,
requirement and function of this version, and the exit codes of the program.`,
		Example: "  lkeplan docs > reference.md",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			functions, err := function.Reference()
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(env.Data(), schemas.Reference(functions, config.All())+exitCodesMarkdown())
			return err
		},
	}
}

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
		Short: "Explain a rule that validate warns of",
		Long: `Say what a rule finds, why it matters and what to do about it. Without a name
all rules are listed. "lkeplan explain rename-pool" has the steps by which a
pool gets another name and keeps its nodes.

A comment with a reason silences a warning, on the line above the block or
argument:

  # lkeplan:ignore NAME reason`,
		Example: "  lkeplan explain matches-no-plan",
		Args:    cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return ruleNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listRules(env.Stdout)
			}
			if args[0] == renamePool {
				_, err := io.WriteString(env.Data(), renameSteps)
				return err
			}
			rule, ok := lint.Lookup(args[0])
			if !ok {
				meant := eval.DidYouMean(args[0], ruleNames())
				return fmt.Errorf("explain %s: there is no such rule.%s Without a name, all are listed", args[0], meant)
			}
			_, err := io.WriteString(env.Data(), rule.Explanation())
			return err
		},
	}
}

// renamePool is what explain knows besides rules.
const renamePool = "rename-pool"

//go:embed rename-pool.txt
var renameSteps string

func ruleNames() (names []string) {
	names = append(names, renamePool)
	for _, rule := range lint.Rules() {
		names = append(names, rule.Name)
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
