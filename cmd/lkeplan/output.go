package main

import (
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	reports "github.com/lkeplan/lkeplan/engine/report"
	"github.com/lkeplan/lkeplan/engine/report/outfile"
)

// output is where a command writes its report of a plan, and how: to standard
// output in one format, and to any number of files in others.
type output struct {
	format   choice
	files    outfile.Files
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
	cmd.Flags().Var(&o.files, "out",
		"write the result to FILE, too: `FORMAT=FILE`; - is standard output; github-summary and github-output know "+
			"their file; may be repeated")
	cmd.Flags().BoolVar(&o.ascii, "ascii", false, "write text in ASCII only (default: if the locale is not UTF-8)")
	cmd.Flags().IntVar(&o.width, "width", 0,
		"width of text in `COLUMNS` (default: that of the terminal)")
	cmd.Flags().IntVar(&o.maxChars, "max-chars", reports.MaxComment,
		"length of markdown in `CHARACTERS`; deleted and replaced nodes are never left out")
	// The only error is that there is no such flag.
	_ = cmd.RegisterFlagCompletionFunc("out", completeOut)
}

// completeOut completes --out with the names of the formats.
func completeOut(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
	for _, format := range reports.Formats() {
		names = append(names, format+"=")
	}
	return names, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// write writes a report of a directory to files, and then to standard output.
func (o *output) write(env *env, dir string, r reports.Report) error {
	opts := reports.Options{
		Target: dir, Version: version(), MaxChars: o.maxChars, Width: o.width,
		ASCII: o.ascii || !unicodeLocale(env.Getenv), Color: o.color.value == "always",
	}
	printed := []string{o.format.value}
	for _, f := range o.files {
		if f.Name == outfile.StandardOutput {
			printed = append(printed, f.Format)
		} else if err := f.Write(r, opts, env.Getenv); err != nil {
			return err
		}
	}
	if o.width == 0 {
		opts.Width = columns(env)
	}
	opts.Color = opts.Color || o.color.value == "auto" && colored(env.Stdout, env.Getenv)
	for _, format := range printed {
		if err := reports.Write(env.Stdout, format, r, opts); err != nil {
			return err
		}
	}
	return nil
}

// terminal returns the terminal that a stream is; nil where it is none.
func terminal(stream any) *os.File {
	if f, ok := stream.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return f
		}
	}
	return nil
}

// colored reports whether a stream is a terminal that shows colors, and whose user
// wants them (no-color.org).
func colored(stream any, getenv func(string) string) bool {
	return terminal(stream) != nil && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
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
