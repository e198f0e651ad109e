package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config/diag"
)

func newFmt(env *env) *cobra.Command {
	f := formatter{Stdout: env.Stdout}
	cmd := &cobra.Command{
		Use:   "fmt [FILE|DIR ...]",
		Short: "Rewrite files in the canonical format",
		Long: `Rewrite *.lke.hcl, *.lkevars.hcl and *.lketest.hcl files in the canonical format
and print the names of those that change. Only white space changes. A directory
stands for the files in it, and for those below it with --recursive; the working
directory is taken where nothing is given. "-" formats standard input to
standard output.

A file that cannot be parsed is left as it is and reported; the exit code is
then 1, and the other files are formatted all the same.`,
		Example: `  lkeplan fmt                      # the working directory
  lkeplan fmt --recursive clusters
  lkeplan fmt --check --diff clusters/prod
  lkeplan fmt - < main.lke.hcl`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"."}
			}
			paths := f.Paths
			if len(args) == 1 && args[0] == "-" {
				paths = func([]string) error { return f.Stream(env.Stdin) }
			}
			if err := paths(args); err != nil {
				return err
			}
			return finish(env, f)
		},
	}
	cmd.Flags().BoolVar(&f.Check, "check", false, "change nothing, and exit 1 if a file is not formatted")
	cmd.Flags().BoolVar(&f.Diff, "diff", false, "show what changes")
	cmd.Flags().BoolVarP(&f.Recursive, "recursive", "r", false, "format directories below, too")
	return cmd
}

// terraformFlags lets the flags of fmt have one dash, as fingers that know
// Terraform write them.
func terraformFlags(args []string) []string {
	if len(args) == 0 || args[0] != "fmt" {
		return args
	}
	long := []string{"fmt"}
	for _, arg := range args[1:] {
		switch arg {
		case "-check", "-diff", "-recursive":
			arg = "-" + arg
		}
		long = append(long, arg)
	}
	return long
}

// finish shows what is wrong with files, and says how the command ends.
func finish(env *env, f formatter) error {
	if err := diag.Text(env.Stderr, diag.New(f.Diagnostics, f.Files), env.Color); err != nil {
		return err
	}
	if f.Diagnostics.HasErrors() {
		fmt.Fprintln(env.Stderr, diag.Count(f.Diagnostics))
		return flags.ErrReported
	}
	if f.Check && f.Changed > 0 {
		return flags.ErrReported
	}
	return nil
}
