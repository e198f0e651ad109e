package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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
		Long: `Rewrite *.lke.hcl, *.lkevars.hcl and *.lketest.hcl files in the canonical
format, and print the names of the files that change. Only white space changes.
If you name a directory, fmt formats all files in it; --recursive includes its
subdirectories. Without arguments, fmt formats the working directory. With "-",
fmt reads standard input and writes to standard output.

If a file cannot be parsed, fmt reports the error and does not change the file.
The other files are formatted, and the exit code is 1.`,
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
			return printErrors(env, f)
		},
	}
	cmd.Flags().BoolVar(&f.Check, "check", false, "change no file; exit with 1 if a file is not formatted")
	cmd.Flags().BoolVar(&f.Diff, "diff", false, "show what changes")
	cmd.Flags().BoolVarP(&f.Recursive, "recursive", "r", false, "also format the files in subdirectories")
	return cmd
}

// terraformFlag is a flag that Terraform has with one dash, and lkeplan with two.
var terraformFlag = regexp.MustCompile(`^-(auto-approve|check|diff|recursive|json|out|upgrade|var|var-file)(=|$)`)

// terraformFlags accepts flags as Terraform has them.
func terraformFlags(args []string) []string {
	args = slices.Clone(args)
	for i, arg := range args {
		if terraformFlag.MatchString(arg) {
			args[i] = "-" + arg
		}
	}
	return args
}

// printErrors prints the errors of files, and returns the result of the command.
func printErrors(env *env, f formatter) error {
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

// A formatter is one run: how to format, and the result.
type formatter struct {
	Stdout    io.Writer
	Check     bool // change no file
	Diff      bool // print the changes
	Recursive bool // format the files of directories below, too

	Changed     int                  // files that are not, or were not, in the canonical format
	Diagnostics hcl.Diagnostics      // of files that cannot be parsed
	Files       map[string]*hcl.File // by name, for showing the diagnostics
}

// Paths formats files, and the files of directories. It finds all files before it writes
// the first.
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

// Stream formats a reader to standard output.
func (f *formatter) Stream(in io.Reader) error {
	src, err := io.ReadAll(io.LimitReader(in, syntax.MaxFileSize+1))
	if err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	const name = "standard input"
	formatted, ok := f.format(name, src)
	switch {
	case !ok:
	case !f.Check && !f.Diff:
		_, err := f.Stdout.Write(formatted)
		return err
	case !bytes.Equal(src, formatted):
		f.changed(name, src, formatted)
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

// find lists the files of a path.
func (f *formatter) find(path string) (names []string, err error) {
	info, err := os.Stat(path)
	if err == nil && links(path) {
		path, err = filepath.EvalSymlinks(path) // a file would replace the link
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, files.Cause(err))
	case !info.IsDir() && !canFormat(path):
		return nil, fmt.Errorf("%s: files named *.lke.hcl, *.lkevars.hcl and *.lketest.hcl are formatted", path)
	case !info.IsDir() && !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a file", path) // reading a pipe could block
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
		case entry.Type().IsRegular() && canFormat(name): // links are not followed
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

// canFormat reports whether a file is in the native syntax of the language, and is not
// hidden.
func canFormat(name string) bool {
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
	fmt.Fprintln(f.Stdout, diag.Harmless(diag.Visible(name)))
	f.changed(name, src, formatted)
	return nil
}

// readSource reads a file up to one byte more than the limit, so that the parser
// reports a file that is too large.
func readSource(name string) (src []byte, err error) {
	opened, err := os.Open(name)
	if err == nil {
		defer opened.Close()
		src, err = io.ReadAll(io.LimitReader(opened, syntax.MaxFileSize+1))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, files.Cause(err))
	}
	return src, nil
}

// changed counts a file that is not in the canonical format, and shows what changes.
func (f *formatter) changed(name string, src, formatted []byte) {
	f.Changed++
	if !f.Diff {
		return
	}
	for line := range strings.Lines(string(diff.Diff(name, src, name, formatted))) {
		if !strings.HasPrefix(line, "diff ") {
			fmt.Fprintln(f.Stdout, diag.Harmless(diag.Visible(strings.TrimRight(line, "\r\n"))))
		}
	}
}
