package main

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/revision"
	"github.com/lkeplan/lkeplan/engine/testrun"
)

const testHelp = `Run the tests of a directory. A test is a "run" block in a file named
*.lketest.hcl. Each run compiles the directory with the variables of the run. The
"assert" blocks of a run check the objects, their cost, the nodes that pods would get, or what a change
does to nodes. The command reads no cluster and changes nothing.

  run "sixty workers fit in five nodes" {
    variables {
      environment = "prod"
    }
    pods = ["60x500mcpu,1Gi"]

    assert {
      condition     = simulate.nodes <= 5 && simulate.unschedulable == 0
      error_message = "It takes ${simulate.nodes} nodes."
    }
  }

A run also fails if a condition is null or unknown. A run with the argument
expect_error passes only if the directory does not compile, and an error
contains the text of the argument. "lkeplan explain run" lists the arguments of a run,
and the values that a condition can use.

The exit code is 1 if a run fails, or if the directory has no run.`

func newTest(env *flags.Env) *cobra.Command {
	var (
		src    revision.Options
		filter []string
	)
	output := flags.Choice{Value: "text", Of: []string{"text", "json", "junit"}}
	cmd := &cobra.Command{
		Use:   "test [DIR]",
		Short: "Run the tests of a directory",
		Long:  testHelp,
		Example: `  lkeplan test clusters/prod
  lkeplan test --filter nodes clusters/prod
  lkeplan test -o junit clusters/prod > tests.xml`,
		Args: flags.OneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			fsys, opts, err := flags.Open(cmd.Context(), src, args)
			if err != nil {
				return err
			}
			runs, files, diags := config.Read(fsys, opts.Dir)
			if diags.HasErrors() {
				return flags.Report(env, compile.Result{Files: files, Root: opts.Root}, diags)
			}
			if runs, err = filterRuns(runs, filter); err != nil {
				return err
			}
			dir := slices.Concat(args, []string{"."})[0]
			tested := testrun.Directory{FS: fsys, Options: opts, Commit: commitOf(env, dir, fsys)}
			var outcomes []testrun.Outcome
			for _, r := range runs {
				outcomes = append(outcomes, testrun.Try(cmd.Context(), tested, r))
			}
			return write(env, output.Value, testrun.NewReport(dir, outcomes), opts.Root)
		},
	}
	flags.SourceFlags(cmd, &src)
	cmd.Flags().StringArrayVar(&filter, "filter", nil, "run only tests with `TEXT` in their name; may be repeated")
	output.Flag(cmd, "output", "o", "print the result as `FORMAT`")
	return cmd
}

// filterRuns returns the runs whose names contain one of some texts.
func filterRuns(runs []config.Run, texts []string) ([]config.Run, error) {
	if len(texts) == 0 {
		return runs, nil
	}
	kept := slices.DeleteFunc(slices.Clone(runs), func(r config.Run) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(r.Name, text) })
	})
	if len(kept) == 0 {
		return nil, fmt.Errorf("--filter %s: no run has that in its name", strings.Join(texts, ", "))
	}
	return kept, nil
}

// commitOf returns a function that compiles the directory of a commit.
func commitOf(env *flags.Env, dir string, work fs.FS) func(context.Context, string, string, compile.Options) (
	compile.Result, hcl.Diagnostics, error) {
	return func(ctx context.Context, ref, cluster string, opts compile.Options) (compile.Result, hcl.Diagnostics, error) {
		from := revision.Git{Dir: dir, Ref: ref, Cluster: cluster, Work: work, Getenv: env.Getenv}
		commit, err := from.Compile(ctx, opts)
		if err == nil && commit.Missing {
			err = fmt.Errorf("%s does not have the directory", commit.Revision())
		}
		return commit.Compiled, commit.Diagnostics, err
	}
}

func write(env *flags.Env, format string, r testrun.Report, root string) (err error) {
	switch format {
	case "json":
		err = diag.JSON(env.Stdout, r)
	case "junit":
		err = r.JUnit(env.Data())
	default:
		path := flags.PathFrom(root)
		for i := range r.Runs {
			r.Runs[i].File, r.Runs[i].Diagnostics = path(r.Runs[i].File), flags.Located(r.Runs[i].Diagnostics, root)
		}
		err = r.Text(env.Data(), env.Stderr, env.Color)
	}
	if err == nil && r.Failed > 0 {
		err = flags.ErrReported
	}
	return err
}
