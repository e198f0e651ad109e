package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/engine/compare"
	reports "github.com/lkeplan/lkeplan/engine/report"
)

func newPlan(env *env) *cobra.Command {
	d := comparison{env: env, base: "live"}
	var (
		detailed bool
		out      output
		saved    planFile
	)
	cmd := &cobra.Command{
		Use:   "plan [DIR]",
		Short: "Say what an apply would do to a cluster, and save it",
		Long: `Compare a directory with a cluster, as "lkeplan diff --base live" does, and save the
result with --out: "lkeplan apply FILE" does exactly that then, or nothing where the
cluster has changed since. The cluster is only read.

A plan that a guard or policy refuses is saved too, and cannot be applied.`,
		Example: "  lkeplan plan clusters/prod\n  lkeplan plan --out prod.plan --out html=plan.html clusters/prod\n  lkeplan apply prod.plan",
		Args:    oneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			d.args = args
			found, err := d.run(cmd.Context())
			if err != nil {
				return err
			}
			digest, err := found.plan.Digest()
			if err != nil {
				return err
			}
			verdict := found.verdict(detailed)
			r := found.report(verdict)
			r.Digest = digest
			if err := out.write(env, strings.Join(args, ""), r); err != nil {
				return err
			}
			if saved.name != "" {
				var b bytes.Buffer
				if err := compare.Save(found.head, found.base, found.plan, version(), d.prune, d.allow, time.Now()).Write(&b); err != nil {
					return err
				}
				if err := replaceFile(saved.name, b.Bytes()); err != nil {
					return err
				}
				fmt.Fprintf(env.Stderr, "saved; apply it with: lkeplan apply %s\n", saved.name)
			}
			return verdict.asError()
		},
	}
	d.flags(cmd)
	cmd.Flags().BoolVar(&d.prune, "prune", false, "delete what was applied from here and is no longer in the directory")
	cmd.Flags().BoolVar(&detailed, "detailed-exitcode", false, "exit with 2 where there are changes")
	out.flags(cmd)
	saved.reports = &out.files
	flag := cmd.Flags().Lookup("out")
	flag.Value, flag.Usage = &saved, "save the plan to a `FILE`, or write the result to one as FORMAT=FILE; may be repeated"
	return cmd
}

// planFile is the flag --out of plan: the file of the plan itself, or one more
// report.
type planFile struct {
	name    string
	reports *files
}

// String implements pflag.Value.
func (f *planFile) String() string { return f.name }

// Type implements pflag.Value.
func (f *planFile) Type() string { return "FILE" }

// Set implements pflag.Value.
func (f *planFile) Set(text string) error {
	if strings.Contains(text, "=") || appended[text] != "" {
		return f.reports.Set(text)
	}
	if f.name != "" {
		return fmt.Errorf("the plan is saved to %s already", f.name)
	}
	f.name = text
	return nil
}

func newShow(env *env) *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:     "show FILE",
		Short:   "Show a saved plan",
		Long:    `Show what "lkeplan plan --out FILE" has saved, in any format. No cluster is asked.`,
		Example: "  lkeplan show prod.plan\n  lkeplan show -o json prod.plan",
		Args:    oneFile,
		RunE: func(_ *cobra.Command, args []string) error {
			saved, err := readPlan(args[0])
			if err != nil {
				return err
			}
			digest, err := saved.Plan.Digest()
			if err != nil {
				return err
			}
			return out.write(env, saved.Plan.Head.Ref, reports.Report{Plan: saved.Plan, Digest: digest})
		},
	}
	out.flags(cmd)
	return cmd
}

// oneFile is the positional argument of commands that read one file.
func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes one file, not %d arguments", cmd.Name(), len(args))
	}
	return nil
}

func readPlan(name string) (compare.Saved, error) {
	file, err := os.Open(name)
	if err != nil {
		return compare.Saved{}, fmt.Errorf("plan %s: %w", name, bare(err))
	}
	defer file.Close()
	saved, err := compare.ReadSaved(file)
	if err != nil {
		return saved, fmt.Errorf("plan %s: %w", name, err)
	}
	return saved, nil
}
