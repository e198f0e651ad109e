package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/engine/lint"
)

func newExplain(env *env) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [NAME]",
		Short: "Explain a rule that validate warns of",
		Long: `Say what a rule finds, why it matters and what to do about it. Without a name
all rules are listed.

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
			rule, ok := lint.Lookup(args[0])
			if !ok {
				return fmt.Errorf("explain %s: there is no such rule.%s Without a name, all are listed", args[0], eval.DidYouMean(args[0], ruleNames()))
			}
			_, err := io.WriteString(env.Stdout, explanation(rule))
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

func listRules(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, rule := range lint.Rules() {
		fmt.Fprintf(table, "%s\t%s\t%s\n", rule.Name, severity(rule), rule.What)
	}
	return table.Flush()
}

func severity(rule lint.Rule) string {
	if rule.Fatal {
		return "error"
	}
	return "warning"
}

func explanation(rule lint.Rule) string {
	var b strings.Builder
	level := severity(rule)
	if rule.Catalog {
		level += "; an error with --catalog"
	}
	fmt.Fprintf(&b, "%s (%s)\n\n%s\n\n%s\n\n%s\n", rule.Name, level, fold(rule.What), fold(rule.Why), fold(rule.Do))
	if rule.Example != "" {
		b.WriteString("\n")
		for line := range strings.Lines(rule.Example) {
			if strings.TrimSpace(line) != "" {
				b.WriteString("  ")
			}
			b.WriteString(line)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// fold breaks text into lines that a terminal shows whole.
func fold(text string) string {
	const width = 80
	var lines []string
	var line string
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return strings.Join(slices.Concat(lines, []string{line}), "\n")
}
