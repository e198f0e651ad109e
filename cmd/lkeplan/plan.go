package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/diff"
	"github.com/lkeplan/lkeplan/engine/files"
	reports "github.com/lkeplan/lkeplan/engine/report"
)

const planHelp = `Compare a directory with a cluster, as "lkeplan diff --base live" does, and save
the plan to the file of --out. "lkeplan apply FILE" then makes exactly the
changes of the plan. If the apply would now make another change, because an object
has changed since then, "lkeplan apply" does nothing, and its exit code is 4.
Fields that the directory does not set do not count. "lkeplan plan" only reads the
cluster.

The command saves a plan even if a guard (a limit on one change) or a policy (a
condition that a plan must meet) refuses it, so that others can read the plan.
"lkeplan apply" does not apply such a plan.

If you name several directories, or use --recursive, the kubeconfig needs a context
for each cluster. The name of the context is the name in the cluster block. With
--out plans/, the plan of the directory clusters/prod is saved as
plans/clusters/prod.plan.`

const planExamples = `  lkeplan plan clusters/prod
  lkeplan plan --out prod.plan --out html=plan.html clusters/prod
  lkeplan apply prod.plan
  lkeplan plan --recursive --out plans/ clusters`

func newPlan(env *env) *cobra.Command {
	d := newComparison(env, "live")
	var (
		detailed bool
		out      flags.Output
		saved    planFile
		some     diff.Selection
	)
	cmd := &cobra.Command{
		Use:     "plan [DIR...]",
		Short:   "Show and save what an apply would do",
		Long:    planHelp,
		Example: planExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			d.Dirs = args
			if some.Several(args) {
				return d.runSeveral(cmd, some, detailed, &out, saved.saveOne)
			}
			found, err := d.Run(cmd.Context())
			if err != nil {
				return err
			}
			digest, err := found.Plan.Digest()
			if err != nil {
				return err
			}
			verdict := verdictOf(found.Plan, detailed)
			r := found.ReportOf(int(verdict))
			r.Digest = digest
			if err := out.Write(env.Data(), env.Getenv, r, d.about(cmd)); err != nil {
				return err
			}
			if err := saved.save(env.Stderr, &d.Comparison, found); err != nil {
				return err
			}
			return verdict.AsError()
		},
	}
	d.flags(cmd)
	d.atFlag(cmd)
	d.clusterFlag(cmd)
	cmd.Flags().BoolVar(&d.Prune, "prune", false,
		"also plan the deletion of objects that were applied from this directory and are no longer in it; apply deletes them")
	cmd.Flags().BoolVar(&detailed, "detailed-exitcode", false, "exit with 2 if there are changes")
	selectionFlags(cmd, &some)
	out.Add(cmd)
	saved.reports = &out.Files
	flag := cmd.Flags().Lookup("out")
	flag.Value = &saved
	flag.Usage = "save the plan to `FILE`; FORMAT=FILE, such as html=plan.html, writes a report to FILE instead; may be repeated"
	flags.RejectUnused(cmd, append(d.uses(), out.Uses()...)...)
	return cmd
}

// planFile is the flag --out of plan: the file of the plan, or another
// report.
type planFile struct {
	name    string
	reports *reports.Files
}

// String implements pflag.Value.
func (f *planFile) String() string { return f.name }

// Type implements pflag.Value.
func (f *planFile) Type() string { return "FILE" }

// Set implements pflag.Value.
func (f *planFile) Set(text string) error {
	if strings.Contains(text, "=") || reports.KnowsFile(text) {
		return f.reports.Set(text)
	}
	if f.name != "" {
		return fmt.Errorf("it is given twice, first as %s", f.name)
	}
	f.name = text
	return nil
}

// save writes the plan, if --out names a file.
func (f *planFile) save(messages io.Writer, d *diff.Comparison, found diff.Compared) error {
	if f.name == "" {
		return nil
	}
	var b bytes.Buffer
	plan := compare.Save(found.Head, found.Rules, found.Plan, flags.Version(), d.Prune, d.Allow, time.Now())
	plan.OtherCluster = d.Name
	if err := plan.Write(&b); err != nil {
		return err
	}
	if err := files.Replace(f.name, b.Bytes()); err != nil {
		return err
	}
	message := "saved; apply it with: lkeplan apply %s\n"
	_, waits := found.Plan.Waits()
	switch {
	case found.Plan.Refused():
		message = "saved to %s; a guard refuses the plan, so it cannot be applied\n"
	case found.Plan.Summary().Conflicts > 0:
		message = "saved to %s; conflicts with other owners, shown above, block its apply\n"
	case waits:
		message = "saved to %s; it cannot be applied before the time shown above\n"
	}
	fmt.Fprintf(messages, message, f.name)
	return nil
}

// saveOne writes the plan of one of several directories to a file in a directory.
func (f *planFile) saveOne(b *diff.Branch, messages io.Writer) error {
	if f.name == "" || b.Err != nil {
		return nil
	}
	if err := b.Outside(); err != nil {
		return err
	}
	one := planFile{name: filepath.Join(f.name, filepath.FromSlash(b.Member.Dir)+".plan")}
	if err := os.MkdirAll(filepath.Dir(one.name), 0o755); err != nil {
		return err
	}
	return one.save(messages, &b.Comparison, b.Found)
}

func newShow(env *env) *cobra.Command {
	var out flags.Output
	cmd := &cobra.Command{
		Use:   "show FILE",
		Short: "Show a saved plan",
		Long: `Show a plan that "lkeplan plan --out FILE" has saved, in the format of --output.
The command reads no cluster.`,
		Example: "  lkeplan show prod.plan\n  lkeplan show -o json prod.plan",
		Args:    flags.Arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			saved, err := compare.ReadSavedPlan(args[0])
			if err != nil {
				return err
			}
			digest, err := saved.Plan.Digest()
			if err != nil {
				return err
			}
			return out.Write(env.Data(), env.Getenv, reports.Report{Plan: saved.Plan, Digest: digest}, reports.Options{
				Target: saved.Plan.Head.Ref, Version: flags.Version(), Apply: []string{"lkeplan", "apply", args[0]},
			})
		},
	}
	out.Add(cmd)
	return cmd
}
