package main

import (
	"strings"

	"github.com/spf13/cobra"
)

func newDiff(env *env) *cobra.Command {
	d := comparison{env: env}
	var (
		detailed bool
		out      output
	)
	cmd := &cobra.Command{
		Use:   "diff [DIR]",
		Short: "Say what a change does to objects and nodes",
		Long: `Compare a directory as it lies there with an earlier state of it, and say which
objects change, in which fields, and whether nodes are replaced or deleted for it.

What it is compared with is the base:

  git:COMMIT   a commit, branch or tag of the Git repository; by default the commit
               where the checked out branch left the trunk, as for a pull request
  dir:PATH     another directory
  plan:FILE    what a plan saved by "lkeplan plan" would have made
  live         the cluster, which is only read: what an apply would make of its
               objects, who stands in its way, and which nodes it would replace
  snapshot:FILE
               the same, of what "lkeplan snapshot" has written down

What rolls nodes is told by Karpenter's own hash of a pool's template, and by
comparing its requirements: nodes roll that a new requirement does not allow any
more. How many nodes that is, only the cluster knows: --cluster adds it to the change
of a pull request. The cost is the most that the limits of the pools let them
cost, at the built-in prices.

Besides text there are markdown, a comment for a pull request; html, one page with
charts; json and jsonl for programs; and what CI systems show: github, github-summary
and github-output, gitlab-terraform and gitlab-codequality, sarif, junit.
One run writes as many as are wanted: one with --output, others with --out.`,
		Example: "  lkeplan diff clusters/prod\n  lkeplan diff --base git:HEAD~1 -o json clusters/prod\n  lkeplan diff --base dir:clusters/staging --detailed-exitcode clusters/prod\n  lkeplan diff -o github --out markdown=comment.md --out html=plan.html clusters/prod\n  lkeplan diff --base live clusters/prod",
		Args:    oneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			d.args = args
			found, err := d.run(cmd.Context())
			if err != nil {
				return err
			}
			verdict := found.verdict(detailed)
			if err := out.write(env, strings.Join(args, ""), found.report(verdict)); err != nil {
				return err
			}
			return verdict.asError()
		},
	}
	d.flags(cmd)
	cmd.Flags().StringVar(&d.base, "base", "", "what to compare with: git:`COMMIT`, dir:PATH, plan:FILE, snapshot:FILE or live (default: where the branch left the trunk)")
	cmd.Flags().StringVar(&d.cluster, "cluster", "", "where to count nodes for a base that has none: `live` or snapshot:FILE")
	cmd.Flags().BoolVar(&d.prune, "prune", false, "with a cluster as the base: list what was applied from here and is no longer in the directory, too")
	cmd.Flags().BoolVar(&detailed, "detailed-exitcode", false, "exit with 2 where there are changes")
	out.flags(cmd)
	return cmd
}
