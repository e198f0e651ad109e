package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/engine/files"
	reports "github.com/lkeplan/lkeplan/engine/report"
)

// output is where a command writes its report of a plan, and how: to standard
// output in one format, and to any number of files in others.
type output struct {
	format   choice
	files    outputs
	color    choice
	ascii    bool
	width    int
	maxChars int
}

// flags adds the flags of commands that report a plan.
func (o *output) flags(cmd *cobra.Command) {
	o.format = choice{value: "text", of: reports.Formats()}
	o.color = choice{value: "auto", of: []string{"auto", "always", "never"}}
	o.format.flag(cmd, "output", "o", "print the result as `FORMAT`")
	o.color.flag(cmd, "color", "", "color text `WHEN`")
	cmd.Flags().Var(&o.files, "out", "write the result to FILE, too: `FORMAT=FILE`; - is standard output; github-summary and github-output know their file; may be repeated")
	cmd.Flags().BoolVar(&o.ascii, "ascii", false, "write text in ASCII only (default: if the locale is not UTF-8)")
	cmd.Flags().IntVar(&o.width, "width", 0, "width of text in `COLUMNS` (default: that of the terminal)")
	cmd.Flags().IntVar(&o.maxChars, "max-chars", reports.MaxComment, "length of markdown in `CHARACTERS`; deleted and replaced nodes are never left out")
	// The only error is that there is no such flag.
	_ = cmd.RegisterFlagCompletionFunc("out", func(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
		for _, format := range reports.Formats() {
			names = append(names, format+"=")
		}
		return names, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	})
}

// write writes a report of a directory everywhere it is wanted.
func (o *output) write(env *env, dir string, r reports.Report) error {
	opts := reports.Options{Target: dir, Version: version(), MaxChars: o.maxChars, ASCII: o.ascii || !unicodeLocale(env.Getenv), Width: o.width}
	for _, f := range o.files {
		if f.name != "-" {
			opts.Color = o.color.value == "always"
			if err := f.write(env, r, opts); err != nil {
				return err
			}
		}
	}
	if o.width == 0 {
		opts.Width = columns(env)
	}
	opts.Color = o.color.value == "always" || o.color.value == "auto" && colored(env)
	if err := reports.Write(env.Stdout, o.format.value, r, opts); err != nil {
		return err
	}
	for _, f := range o.files {
		if f.name == "-" {
			if err := reports.Write(env.Stdout, f.format, r, opts); err != nil {
				return err
			}
		}
	}
	return nil
}

// appended are the formats that are added to what a file holds, and the
// variables in which a runner of GitHub Actions names the file.
var appended = map[string]string{"github-summary": "GITHUB_STEP_SUMMARY", "github-output": "GITHUB_OUTPUT"}

// A file is one report besides that on standard output.
type file struct {
	format, name string
}

// write puts the report in the place of what the file held, or after it.
func (f file) write(env *env, r reports.Report, opts reports.Options) error {
	var b bytes.Buffer
	if err := reports.Write(&b, f.format, r, opts); err != nil {
		return err
	}
	variable, adds := appended[f.format]
	if !adds {
		return files.Replace(f.name, b.Bytes())
	}
	name := cmp.Or(f.name, env.Getenv(variable))
	if name == "" {
		return fmt.Errorf("--out %s: write %s=FILE; $%s is not set", f.format, f.format, variable)
	}
	return files.Append(name, b.Bytes())
}

// outputs is a flag that may be repeated: the reports in files.
type outputs []file

// String is what was given, as it was.
func (list *outputs) String() string {
	var texts []string
	for _, f := range *list {
		texts = append(texts, f.format+"="+f.name)
	}
	return strings.Join(texts, " ")
}

// Type is how the flag's value is shown in the usage text.
func (list *outputs) Type() string { return "FORMAT=FILE" }

// Set takes one more.
func (list *outputs) Set(text string) error {
	format, name, _ := strings.Cut(text, "=")
	switch formats := reports.Formats(); {
	case !slices.Contains(formats, format):
		return fmt.Errorf("the format must be one of %s.%s", strings.Join(formats, ", "), eval.DidYouMean(format, formats))
	case name == "" && appended[format] == "":
		return fmt.Errorf("name a file: %s=FILE", format)
	}
	*list = append(*list, file{format, name})
	return nil
}

// terminal returns the terminal that a stream is; nil where it is none.
func terminal(w io.Writer) *os.File {
	if f, ok := w.(*os.File); ok && isTerminal(f) {
		return f
	}
	return nil
}

// colored reports whether standard output is a terminal that shows colors, and
// whose user wants them (no-color.org).
func colored(env *env) bool {
	return terminal(env.Stdout) != nil && env.Getenv("NO_COLOR") == "" && env.Getenv("TERM") != "dumb"
}

// columns is the width of the terminal; 0 where standard output is none.
func columns(env *env) int {
	f := terminal(env.Stdout)
	if f == nil {
		return 0
	}
	if n, err := strconv.Atoi(env.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// unicodeLocale reports whether the locale has more characters than ASCII. One
// that is not set, as in many containers, says nothing against it.
func unicodeLocale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(getenv(name)); locale != "" {
			return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
		}
	}
	return true
}
