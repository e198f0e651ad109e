package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/engine/files"
	"github.com/lkeplan/lkeplan/schemas"
)

func newFmt(env *env) *cobra.Command {
	f := formatter{Stdout: env.Data()}
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

// A Formatter is one run: how to format, and what came of it.
type formatter struct {
	Stdout    io.Writer
	Check     bool // change nothing
	Diff      bool // show what changes
	Recursive bool // format the files of directories below, too

	Changed     int                  // files that are not, or were not, in the canonical format
	Diagnostics hcl.Diagnostics      // of files that cannot be parsed, which stay as they are
	Files       map[string]*hcl.File // by name, for showing the diagnostics
}

// Paths formats files, and the files of directories. All of them are found before
// the first is written.
func (f *formatter) Paths(paths []string) error {
	var names []string
	for _, path := range paths {
		found, err := f.find(path)
		if err != nil {
			return err
		}
		names = append(names, found...)
	}
	for _, name := range names {
		if err := f.file(name); err != nil {
			return err
		}
	}
	return nil
}

// Stream formats what a reader has to standard output.
func (f *formatter) Stream(in io.Reader) error {
	src, err := io.ReadAll(io.LimitReader(in, syntax.MaxFileSize+1))
	if err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	const name = "standard input"
	formatted, ok := f.format(name, src)
	if !ok {
		return nil
	}
	if !f.Check && !f.Diff {
		_, err := f.Stdout.Write(formatted)
		return err
	}
	if !bytes.Equal(src, formatted) {
		f.Changed++
		if f.Diff {
			f.show(name, src, formatted)
		}
	}
	return nil
}

// format returns bytes in the canonical format; ok is false if they cannot be
// parsed.
func (f *formatter) format(name string, src []byte) (formatted []byte, ok bool) {
	formatted, file, diags := syntax.Format(name, src)
	if f.Files == nil {
		f.Files = map[string]*hcl.File{}
	}
	f.Files[name] = file
	f.Diagnostics = append(f.Diagnostics, diags...)
	return formatted, !diags.HasErrors()
}

// find lists the files that a path stands for.
func (f *formatter) find(path string) (names []string, err error) {
	info, err := os.Stat(path)
	if err == nil && links(path) {
		path, err = filepath.EvalSymlinks(path) // which would be replaced by a file
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, files.Cause(err))
	case !info.IsDir() && !formattable(path):
		return nil, fmt.Errorf("%s: files named *.lke.hcl, *.lkevars.hcl and *.lketest.hcl are formatted", path)
	case !info.IsDir() && !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a file", path) // a pipe would be waited for
	case !info.IsDir():
		return []string{path}, nil
	}
	err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", name, files.Cause(err))
		case name == path:
			return nil
		case entry.IsDir() && (!f.Recursive || strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case entry.Type().IsRegular() && formattable(name): // a link is not what it points to
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

func links(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// formattable reports whether a file is one of the language in native syntax, and
// one that configuration is read from.
func formattable(name string) bool {
	base := filepath.Base(name)
	native := func(suffix string) bool { return strings.HasSuffix(base, suffix) }
	return slices.ContainsFunc([]string{".lke.hcl", ".lkevars.hcl", schemas.TestSuffix}, native) &&
		!strings.HasPrefix(base, ".")
}

// file formats one file.
func (f *formatter) file(name string) error {
	src, err := readSource(name)
	if err != nil {
		return err
	}
	formatted, ok := f.format(name, src)
	if !ok || bytes.Equal(src, formatted) {
		return nil
	}
	if !f.Check {
		if err := files.Replace(name, formatted); err != nil {
			return err
		}
	}
	f.Changed++
	fmt.Fprintln(f.Stdout, diag.Harmless(diag.Visible(name)))
	if f.Diff {
		f.show(name, src, formatted)
	}
	return nil
}

// readSource reads a file, but no more than is needed to see that it is too
// large.
func readSource(name string) ([]byte, error) {
	opened, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, files.Cause(err))
	}
	defer opened.Close()
	src, err := io.ReadAll(io.LimitReader(opened, syntax.MaxFileSize+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, files.Cause(err))
	}
	return src, nil
}

func (f *formatter) show(name string, src, formatted []byte) {
	for line := range strings.Lines(string(diff.Diff(name, src, name, formatted))) {
		if !strings.HasPrefix(line, "diff ") {
			fmt.Fprintln(f.Stdout, diag.Harmless(diag.Visible(strings.TrimRight(line, "\r\n"))))
		}
	}
}
