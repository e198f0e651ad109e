package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/cobra"
	"k8s.io/client-go/util/workqueue"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/diff"
	"github.com/lkeplan/lkeplan/engine/lint"
	"github.com/lkeplan/lkeplan/engine/podlint"
	"github.com/lkeplan/lkeplan/engine/podsource"
	"github.com/lkeplan/lkeplan/engine/revision"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas/text"
)

func newValidate(env *env) *cobra.Command {
	var (
		src    revision.Options
		some   diff.Selection
		pods   podsource.Sources
		access kube.Access
		strict bool
	)
	output := flags.Choice{Value: "text", Of: []string{"text", "json", "github", "gitlab-codequality", "sarif", "junit"}}
	cmd := &cobra.Command{
		Use:   "validate [DIR...]",
		Short: "Check a directory without a cluster",
		Long: `Check the configuration in a directory. validate checks the objects as the API
server would, and reads no cluster, except with --workloads live. Without DIR, it
checks the working directory.

--output selects a format:

  text                for people
  json                for programs
  github              GitHub Actions, which shows findings in the pull request
  gitlab-codequality  GitLab CI, which shows findings in the merge request
  sarif               tools for code scanning
  junit               CI systems that show test reports

The exit code is 1 if there is an error.

Some rules compare pods with pools. For example, validate can find a taint that
no pod tolerates, or a label that no pool has. For these rules, select the pods
with --pods or --workloads, as in "lkeplan simulate". These flags allow only one
directory. --context and --kubeconfig are for --workloads live. "lkeplan explain"
lists all rules.

To check several directories, name them. With --recursive, validate also checks
their subdirectories. It skips directories without a cluster block.`,
		Example: `  lkeplan validate clusters/prod
  lkeplan validate --var environment=staging clusters/prod
  lkeplan validate --workloads manifests.yaml --pods 40x1cpu,2Gi clusters/prod
  lkeplan validate -o sarif clusters/prod > lkeplan.sarif
  lkeplan validate --recursive clusters`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if some.Several(args) && pods.Given() {
				if some.Recursive {
					return errors.New("--pods and --workloads are for one directory: name it, without --recursive")
				}
				return fmt.Errorf("--pods and --workloads are for one directory, not %d: name one", len(args))
			}
			if some.Several(args) {
				members, err := revision.Members(cmd.Context(), src, revision.Selection{Arguments: args, Recursive: some.Recursive})
				if err != nil {
					return err
				}
				return validateSeveral(cmd.Context(), env, output.Value, strict, members)
			}
			fsys, opts, err := flags.Open(cmd.Context(), src, args)
			if err != nil {
				return err
			}
			compiled, diags := compile.Dir(cmd.Context(), fsys, opts)
			checked := podsSkipped
			if pods.Given() && !diags.HasErrors() {
				var found hcl.Diagnostics
				if found, checked, err = checkPods(cmd.Context(), env, &pods, access, compiled); err != nil {
					return err
				}
				diags = append(diags, found...)
			}
			if strict {
				diags = warningsAsErrors(diags)
			}
			if output.Value != "text" {
				return reportAs(output.Value, env, compiled, diags)
			}
			if err := flags.Report(env, compiled, diags); err != nil {
				return err
			}
			fmt.Fprintln(env.Stdout, diag.Fit("ok: "+countObjects(compiled)+checked, flags.Columns(env.Stdout, env.Getenv)))
			return nil
		},
	}
	flags.SourceFlags(cmd, &src)
	selectionFlags(cmd, &some)
	podFlags(cmd, &pods, "")
	flags.ClusterFlags(cmd, env, &access)
	output.Flag(cmd, "output", "o", "print the result as `FORMAT`")
	cmd.Flags().BoolVar(&strict, "strict", false, "report warnings as errors")
	flags.RejectUnused(cmd, lkeUse(&pods),
		flags.Use{Flags: flags.OfCluster, If: pods.Live, Else: "is for --workloads live: without it no cluster is read"})
	return cmd
}

// warningsAsErrors turns warnings into errors, but not notes.
func warningsAsErrors(diags hcl.Diagnostics) hcl.Diagnostics {
	for _, d := range diags {
		name, _ := d.Extra.(compile.RuleName)
		if rule, _ := lint.Lookup(string(name)); !rule.Note {
			d.Severity = hcl.DiagError
		}
	}
	return diags
}

// validateSeveral checks several directories, and prints one result.
func validateSeveral(ctx context.Context, env *env, format string, strict bool, members []revision.Member) error {
	results, found := make([]compile.Result, len(members)), make([]hcl.Diagnostics, len(members))
	workqueue.ParallelizeUntil(ctx, runtime.GOMAXPROCS(0), len(members), func(i int) {
		results[i], found[i] = compile.Dir(ctx, members[i].FS, members[i].Options())
		if strict {
			found[i] = warningsAsErrors(found[i])
		}
	})
	sum := compile.Result{Files: map[string]*hcl.File{}}
	var diags hcl.Diagnostics
	for i := range members {
		maps.Copy(sum.Files, results[i].Files)
		diags = append(diags, found[i]...)
	}
	other := func(c compile.Result) bool { return c.Root != results[0].Root }
	if len(results) > 0 && !slices.ContainsFunc(results, other) { // files of several repositories can have the same name
		sum.Root = results[0].Root
	}
	diags = withoutDuplicates(diags)
	if format != "text" {
		return reportAs(format, env, sum, diags)
	}
	err := flags.Report(env, sum, diags)
	for i, m := range members {
		dir := diag.Harmless(diag.OneLine(m.Dir))
		if found[i].HasErrors() {
			fmt.Fprintf(env.Stderr, "%s: %s\n", dir, diag.Count(found[i]))
		} else {
			fmt.Fprintf(env.Stdout, "%s: ok: %s\n", dir, countObjects(results[i]))
		}
	}
	return err
}

// withoutDuplicates removes duplicates: the diagnostics of a module are reported for each directory
// that calls it.
func withoutDuplicates(diags hcl.Diagnostics) (list hcl.Diagnostics) {
	seen := map[string]bool{}
	for _, d := range diags {
		key := fmt.Sprint(d.Severity, d.Subject, d.Summary, d.Detail)
		if !seen[key] {
			list = append(list, d)
		}
		seen[key] = true
	}
	return list
}

// reportAs prints diagnostics in one of the formats for programs.
func reportAs(format string, env *env, compiled compile.Result, diags hcl.Diagnostics) error {
	model := diag.New(diags, compiled.Files)
	var err error
	switch format {
	case "json":
		err = diag.JSON(env.Stdout, model)
	case "github":
		err = diag.GitHub(env.Data(), model)
	case "gitlab-codequality":
		err = diag.CodeQuality(env.Data(), model, nil)
	case "sarif":
		err = diag.SARIF(env.Data(), model, flags.Version())
	case "junit":
		err = diag.JUnit(env.Data(), model, slices.Collect(maps.Keys(compiled.Files)))
	}
	if err == nil && diags.HasErrors() {
		err = flags.ErrReported
	}
	return err
}

// countObjects counts the objects of a directory: "2 objects (1 NodePool, 1
// LinodeNodeClass)". Pools come first.
func countObjects(compiled compile.Result) string {
	counts := map[string]int{}
	var kinds []string
	for i := len(compiled.Objects) - 1; i >= 0; i-- {
		kind := compiled.Objects[i].Kind()
		counts[kind]++
		if counts[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) == 0 {
		return "nothing to apply"
	}
	var parts []string
	for _, kind := range kinds {
		parts = append(parts, text.Count(counts[kind], kind))
	}
	return fmt.Sprintf("%s (%s)", text.Count(len(compiled.Objects), "object"), strings.Join(parts, ", "))
}

// checkPods checks pods and pools together. Checked is text for people: how many pods, and
// which rules were skipped.
func checkPods(ctx context.Context, env *env, flags *podsource.Sources, access kube.Access, compiled compile.Result,
) (found hcl.Diagnostics, checked string, err error) {
	pods, err := flags.Read(ctx, env.Stdin, access)
	if err == nil {
		err = pods.AddTemplates(ctx, compiled.Objects)
	}
	if err != nil {
		return nil, "", err
	}
	prices, err := compiled.Prices()
	if err != nil {
		return nil, "", err
	}
	in, err := pods.Input(compiled, prices)
	if err != nil {
		return nil, "", err
	}
	report, err := podlint.Check(ctx, compiled.Objects, in)
	if err != nil {
		return nil, "", fmt.Errorf("check the pods: %w", err)
	}
	requested := 0
	for _, w := range in.Workloads {
		requested += w.Pods
	}
	var b strings.Builder
	fmt.Fprintf(&b, ", with %s", text.Count(requested, "pod"))
	for _, s := range report.Skipped {
		fmt.Fprintf(&b, "\nThe rule %q was not checked: %s.", s.Rule, s.Why)
	}
	for _, n := range pods.NotesFor(compiled.Cluster) {
		fmt.Fprintf(&b, "\n%s", n)
	}
	return compiled.Diagnose(report.Findings), b.String(), nil
}

// podsSkipped reports that rules were skipped.
const podsSkipped = "; to check pods, too, add --pods or --workloads"
