package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/engine"
	"github.com/lkeplan/lkeplan/engine/plan"
	revision "github.com/lkeplan/lkeplan/engine/source"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// errChanges ends diff --detailed-exitcode where there are changes.
var errChanges = errors.New("there are changes")

func newDiff(env *env) *cobra.Command {
	var (
		src      source
		base     string
		kubeconf string
		detailed bool
		maxChars int
	)
	output := choice{value: "text", of: []string{"text", "json", "markdown"}}
	cmd := &cobra.Command{
		Use:   "diff [DIR]",
		Short: "Say what a change does to objects and nodes",
		Long: `Compare a directory as it lies there with an earlier state of it, and say which
objects change, in which fields, and whether nodes are replaced or deleted for it.

What it is compared with is the base:

  git:COMMIT   a commit, branch or tag of the Git repository; by default the commit
               where the checked out branch left the trunk, as for a pull request
  dir:PATH     another directory
  live         the cluster, which is only read: what an apply would make of its
               objects, who stands in its way, and which nodes it would replace

What rolls nodes is told by Karpenter's own hash of a pool's template, and by
comparing its requirements: nodes roll that a new requirement does not allow any
more. How many nodes that is, only the cluster knows (--base live). The cost is the most that
the limits of the pools let them cost, at the built-in prices.`,
		Example: "  lkeplan diff clusters/prod\n  lkeplan diff --base git:HEAD~1 -o json clusters/prod\n  lkeplan diff --base dir:clusters/staging --detailed-exitcode clusters/prod\n  lkeplan diff --base live clusters/prod",
		Args:    oneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			d := comparison{env: env, src: src, args: args, kubeconfig: kubeconf}
			p, against, err := d.run(cmd.Context(), base)
			if err != nil {
				return err
			}
			switch output.value {
			case "json":
				err = plan.JSON(env.Stdout, p)
			case "markdown":
				err = plan.Markdown(env.Stdout, p, strings.Join(args, ""), maxChars)
			default:
				fmt.Fprintf(env.Stdout, "compared with %s\n\n", against)
				err = plan.Text(env.Stdout, p)
			}
			if err == nil && detailed && !p.Empty() {
				return errChanges
			}
			return err
		},
	}
	src.flags(cmd)
	cmd.Flags().StringVar(&base, "base", "", "what to compare with: git:`COMMIT`, dir:PATH or live (default: where the branch left the trunk)")
	cmd.Flags().StringVar(&kubeconf, "kubeconfig", env.Getenv("KUBECONFIG"), "kubeconfig `FILE` for --base live ($KUBECONFIG, else ~/.kube/config)")
	cmd.Flags().BoolVar(&detailed, "detailed-exitcode", false, "exit with 2 where there are changes")
	cmd.Flags().VarP(&output, "output", "o", "how to print the result: text, json, or markdown for a comment")
	cmd.Flags().IntVar(&maxChars, "max-chars", plan.MaxComment, "how long markdown may be; deleted and replaced nodes are never left out")
	return cmd
}

// comparison is one run of diff.
type comparison struct {
	env        *env
	src        source
	args       []string
	kubeconfig string
}

// run compiles head and base and compares them. It says what the base was.
func (d comparison) run(ctx context.Context, base string) (plan.Plan, string, error) {
	fsys, opts, err := d.src.open(d.args)
	if err != nil {
		return plan.Plan{}, "", err
	}
	head, diags := engine.Compile(ctx, fsys, opts)
	if err := report(d.env, head, diags); err != nil {
		return plan.Plan{}, "", err
	}
	prices, err := catalog.Embedded()
	if err != nil {
		return plan.Plan{}, "", err
	}
	if base == "live" {
		cluster, err := connect(d.kubeconfig)
		if err != nil {
			return plan.Plan{}, "", err
		}
		p, err := engine.DiffLive(ctx, head, cluster, prices)
		return p, "the cluster", err
	}
	before, against, err := d.base(ctx, base, opts)
	if err != nil {
		return plan.Plan{}, "", err
	}
	p, err := engine.Diff(before, head, prices)
	return p, against, err
}

// base compiles what head is compared with.
func (d comparison) base(ctx context.Context, base string, opts engine.CompileOptions) (engine.Compiled, string, error) {
	kind, name, _ := strings.Cut(base, ":")
	switch kind {
	case "dir":
		fsys, dirOpts, err := d.src.open([]string{name})
		if err != nil {
			return engine.Compiled{}, "", err
		}
		compiled, err := d.compileBase(ctx, fsys, dirOpts, base)
		return compiled, base, err
	case "", "git":
		rev, err := d.revision(name)
		if err != nil {
			return engine.Compiled{}, "", err
		}
		against := fmt.Sprintf("commit %.12s", rev.ID)
		opts.Dir = rev.Dir
		if opts.Dir == "" {
			opts.Dir = "."
		}
		if _, err := fs.Stat(rev.FS, opts.Dir); errors.Is(err, fs.ErrNotExist) {
			return engine.Compiled{}, against + ", which does not have this directory", nil
		}
		compiled, err := d.compileBase(ctx, rev.FS, opts, against)
		return compiled, against, err
	}
	return engine.Compiled{}, "", fmt.Errorf("--base %s: write git:COMMIT, dir:PATH or live", base)
}

func (d comparison) compileBase(ctx context.Context, fsys fs.FS, opts engine.CompileOptions, against string) (engine.Compiled, error) {
	compiled, diags := engine.Compile(ctx, fsys, opts)
	if !diags.HasErrors() {
		return compiled, nil
	}
	if err := report(d.env, compiled, diags); !errors.Is(err, errReported) {
		return compiled, err
	}
	return compiled, fmt.Errorf("the base, %s, has these errors; name another with --base", against)
}

// revision finds the commit of a base: the named one, or the merge base.
func (d comparison) revision(commit string) (revision.Revision, error) {
	dir := "."
	if len(d.args) > 0 {
		dir = d.args[0]
	}
	s, err := revision.Open(dir)
	if err != nil {
		return revision.Revision{}, err
	}
	var rev revision.Revision
	if commit == "" {
		rev, err = s.MergeBase()
	} else {
		rev, err = s.At(commit)
	}
	if errors.Is(err, revision.ErrNoRepository) {
		where, _ := os.Getwd()
		return rev, fmt.Errorf("%s is in no Git repository; name what to compare with by --base dir:PATH", strings.TrimSpace(where))
	}
	return rev, err
}
