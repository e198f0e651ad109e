package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/syntax"
)

func newFmt(env *env) *cobra.Command {
	f := formatter{env: env}
	cmd := &cobra.Command{
		Use:   "fmt [FILE|DIR ...]",
		Short: "Rewrite files in the canonical format",
		Long: `Rewrite *.lke.hcl and *.lkevars.hcl files in the canonical format and print the
names of those that change. Only white space changes. A directory stands for the
files in it, and for those below it with --recursive; the working directory is
taken where nothing is given. "-" formats standard input to standard output.

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
			return f.run(args)
		},
	}
	cmd.Flags().BoolVar(&f.check, "check", false, "change nothing, and exit 1 if a file is not formatted")
	cmd.Flags().BoolVar(&f.diff, "diff", false, "show what changes")
	cmd.Flags().BoolVarP(&f.recursive, "recursive", "r", false, "format the directories below as well")
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

// A formatter is one run of fmt.
type formatter struct {
	env                    *env
	check, diff, recursive bool

	names   []string
	changed int
	diags   hcl.Diagnostics
	files   map[string]*hcl.File
}

func (f *formatter) run(args []string) error {
	f.files = map[string]*hcl.File{}
	if len(args) == 1 && args[0] == "-" {
		return f.standardInput()
	}
	for _, arg := range args {
		if err := f.find(arg); err != nil {
			return err
		}
	}
	for _, name := range f.names {
		if err := f.file(name); err != nil {
			return err
		}
	}
	return f.finish()
}

// find notes the files that an argument stands for.
func (f *formatter) find(arg string) error {
	info, err := os.Stat(arg)
	if err == nil && links(arg) {
		arg, err = filepath.EvalSymlinks(arg) // which would be replaced by a file
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", arg, bare(err))
	case !info.IsDir() && !formattable(arg):
		return fmt.Errorf("%s: files named *.lke.hcl and *.lkevars.hcl are formatted", arg)
	case !info.IsDir() && !info.Mode().IsRegular():
		return fmt.Errorf("%s: not a file", arg) // a pipe would be waited for
	case !info.IsDir():
		f.names = append(f.names, arg)
		return nil
	}
	return filepath.WalkDir(arg, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", name, bare(err))
		case name == arg:
			return nil
		case entry.IsDir() && (!f.recursive || strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case entry.Type().IsRegular() && formattable(name): // a link is not what it points to
			f.names = append(f.names, name)
		}
		return nil
	})
}

func links(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// formattable tells the files of the language in native syntax, leaving alone
// those that configuration is not read from either.
func formattable(name string) bool {
	base := filepath.Base(name)
	return !strings.HasPrefix(base, ".") && (strings.HasSuffix(base, ".lke.hcl") || strings.HasSuffix(base, ".lkevars.hcl"))
}

// file formats one file.
func (f *formatter) file(name string) error {
	src, err := readSource(name)
	if err != nil {
		return err
	}
	formatted, file, diags := syntax.Format(name, src)
	f.files[name] = file
	if f.diags = append(f.diags, diags...); diags.HasErrors() || bytes.Equal(src, formatted) {
		return nil
	}
	if !f.check {
		if err := replaceFile(name, formatted); err != nil {
			return err
		}
	}
	f.changed++
	fmt.Fprintln(f.env.Stdout, diag.Harmless(diag.Visible(name)))
	if f.diff {
		f.show(name, src, formatted)
	}
	return nil
}

// readSource reads a file, but no more than is needed to see that it is too
// large.
func readSource(name string) ([]byte, error) {
	opened, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, bare(err))
	}
	defer opened.Close()
	src, err := io.ReadAll(io.LimitReader(opened, syntax.MaxFileSize+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, bare(err))
	}
	return src, nil
}

func (f *formatter) show(name string, src, formatted []byte) {
	for line := range strings.Lines(string(diff.Diff(name, src, name, formatted))) {
		if !strings.HasPrefix(line, "diff ") {
			fmt.Fprintln(f.env.Stdout, diag.Harmless(diag.Visible(strings.TrimRight(line, "\r\n"))))
		}
	}
}

func (f *formatter) standardInput() error {
	src, err := io.ReadAll(io.LimitReader(f.env.Stdin, syntax.MaxFileSize+1))
	if err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	const name = "standard input"
	formatted, file, diags := syntax.Format(name, src)
	f.files[name], f.diags = file, diags
	switch {
	case diags.HasErrors():
	case bytes.Equal(src, formatted) && f.check:
	case f.check || f.diff:
		f.changed++
		if f.diff {
			f.show(name, src, formatted)
		}
	default:
		if _, err := f.env.Stdout.Write(formatted); err != nil {
			return err
		}
	}
	return f.finish()
}

// finish reports the files that could not be read.
func (f *formatter) finish() error {
	if err := diag.Text(f.env.Stderr, diag.New(f.diags, f.files), f.env.Color); err != nil {
		return err
	}
	if f.diags.HasErrors() {
		fmt.Fprintln(f.env.Stderr, diag.Count(f.diags))
		return errReported
	}
	if f.check && f.changed > 0 {
		return errReported
	}
	return nil
}

// replaceFile writes a file beside the one there is and then in its place, so
// that the file is whole at every moment.
func replaceFile(name string, data []byte) (err error) {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(name); err == nil {
		mode = info.Mode().Perm()
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, bare(err))
	}
	defer func() {
		if err != nil {
			os.Remove(tmp.Name())
		}
	}()
	_, writeErr := tmp.Write(data)
	if err := errors.Join(writeErr, tmp.Chmod(mode), tmp.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, bare(err))
	}
	return os.Rename(tmp.Name(), name)
}
